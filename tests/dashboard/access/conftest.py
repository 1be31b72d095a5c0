"""One site for the whole folder: six studies, an empty study, two people."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client, override_settings
from django.utils import timezone

from benchmarks.models import (
    Agent,
    Cell,
    Flag,
    Lab,
    Membership,
    Plan,
    PublishingJob,
    Report,
    Reread,
    Run,
    Study,
    System,
    Version,
)
from benchmarks.own_tools.declaring import change_tool, declared, retire_tool
from benchmarks.plans.planning import create_plan
from benchmarks.studies import checking, saving, systems
from benchmarks.uploads import processing, rereading
from benchmarks.uploads.intake import submit_runs
from running import browser
from tests import publishing
from tests.dashboard import browsing, serving
from tests.dashboard.access.questions import NOTE
from tests.own_tools import boot_sample, declaration, declare, metric
from tests.reference import load_study

STUDIES = (
    *("lmu-2010-xen", "lmu-2010-esxi", "uoc-2012-kvm"),
    *("heidelberg-2007-xen", "inqbus-2008-io"),
)
PASSWORD = "sesame-open-now"


@dataclass(frozen=True)
class Site:
    """Where it is served, what stands for the words in its addresses, who is in."""

    url: str
    ids: dict[str, int | str]
    sessions: dict[str, str]

    def address(self, text: str) -> str:
        """Return an address of `routes` with its ids."""
        return text.format(**self.ids)

    def sign_in(self, visit: browsing.Visit, who: str) -> None:
        """Let a window be this person's."""
        cookie = {"name": settings.SESSION_COOKIE_NAME, "url": self.url}
        visit.context.add_cookies([{**cookie, "value": self.sessions[who]}])


@pytest.fixture(scope="package")
def site(django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    """Serve the studies, and pages that fail on purpose beside them."""
    with ExitStack() as stack:
        stack.enter_context(serving.committed(django_db_blocker))
        # Whoever is signed in may see the page that makes a lab.
        broken = "tests.dashboard.access.broken_urls"
        stack.enter_context(
            override_settings(ROOT_URLCONF=broken, LABS_MADE_BY="everybody")
        )
        lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
        ids = load(lab)
        sessions = {role: session(lab, role) for role in ("maintainer", "viewer")}
        address = stack.enter_context(serving.served())
        yield Site(address, ids, sessions)


def load(lab: Lab) -> dict[str, int | str]:
    """Load all that is shown; return the ids for which words stand in addresses."""
    agent = Agent.objects.create(lab=lab, name="alice")
    declared_tools(lab)
    measured_on_days(lab)
    xen, *_ = [load_study(agent, slug) for slug in STUDIES]
    saving.save_study(lab=lab, slug="bare", title="Bare", visibility="public")
    serving.check_all()
    cells = Cell.objects.filter(study=xen)
    compared = cells.filter(efficiency__ratio__gt=0).order_by("pk").first()
    native = cells.filter(system__hypervisor="native").order_by("pk").first()
    speeds = Cell.objects.get(system__host__slug="inqbus-server-b")
    one, other = xen_systems(xen)
    version = published(xen)
    repeated = Cell.objects.get(study__slug="days", system__hypervisor="KVM", n=9)
    machine = System.objects.get(
        cells__study__slug="days", hypervisor="native", cells__n=9
    )
    return {
        "repeated": repeated.pk,
        "guest": repeated.system_id,
        "machine": machine.pk,
        "tool": "boot-time",
        "cell": compared.pk,
        "native": native.pk,
        "bimodal": speeds.pk,
        "study": xen.pk,
        "one": one,
        "other": other,
        "run": Run.objects.filter(study=xen).first().pk,
        "flag": Flag.objects.filter(study=xen, status="open").first().pk,
        "reread": rereading.begin_reread(study=xen).pk,
        "finished": finished_reread(xen),
        "report": Report.objects.create(study=xen, stamp="x").pk,
        "version": version.pk,
        "review": publishing.reviewed(lab).pk,
        **publishing_jobs(xen, Study.objects.get(slug="bare")),
        "plan": planned(xen, native.system).pk,
    }


def declared_tools(lab: Lab) -> None:
    """Declare a tool in two versions, and one that is retired."""
    tool = declare(lab)
    metrics = [
        metric(),
        metric(name="boots", unit="", zero_allowed=True, primary=False),
    ]
    change_tool(
        tool=tool,
        declaration=declared(declaration(metrics=metrics)),
        by=lab.agents.get(),
    )
    retire_tool(tool=declare(lab, slug="old", title="Old"), by=lab.agents.get())
    # Measured in a public study: strangers see it, too.
    saving.save_study(lab=lab, slug="boots", title="Boots", visibility="public")
    systems.register_host(lab=lab, slug="stopwatch", title="Stopwatch")
    run = {
        "key": str(uuid4()),
        "study": "boots",
        "system": {"host": "stopwatch", "hypervisor": "native"},
        "tool": "boot-time",
        "scenario": "single",
        "samples": [boot_sample()],
    }
    submit_runs(agent=lab.agents.get(), documents=[run])
    processing.drain()


def measured_on_days(lab: Lab) -> None:
    """Measure a guest and its machine in three sessions, in two, and on days apart."""
    saving.save_study(lab=lab, slug="days", title="Days", visibility="public")
    systems.register_host(lab=lab, slug="rack", title="Rack")
    design = {
        "write": ((3, 4, 5), (3, 4, 5)),
        "read": ((3, 4), (3, 4)),
        "mixed": ((3,), (9,)),
    }
    documents = [
        {
            "key": str(uuid4()),
            "study": "days",
            "system": {"host": "rack", "hypervisor": platform},
            "tool": "iometer",
            "scenario": "single",
            "started_at": f"2026-05-{day:02}T10:{minute:02}:00Z",
            "samples": [
                {
                    "metric": "network throughput",
                    "parameters": {"operation": operation},
                    "value": (50 - 4 * side) * (1 + 0.01 * day + 0.002 * minute),
                    "unit": "MB/s",
                }
            ],
        }
        for operation, sides in design.items()
        for side, (platform, days) in enumerate(
            zip(("native", "KVM"), sides, strict=True)
        )
        for day in days
        for minute in range(3)
    ]
    submit_runs(agent=lab.agents.get(), documents=documents)
    processing.drain()


def xen_systems(study: Study) -> list[int]:
    """Return two systems that have cases in common."""
    cells = Cell.objects.filter(study=study, system__hypervisor="Xen")
    return list(
        cells.order_by("system").values_list("system", flat=True).distinct()[:2]
    )


def planned(study: Study, system: System) -> Plan:
    """Plan three steps of a study; no agent ever asks for them."""
    design = {
        "systems": [{"system": system.pk}],
        "tools": [{"tool": "hackbench"}],
        "repetitions": 3,
        "warm_up": 0,
    }
    return create_plan(
        study=study, who="maintainer", title="A plan", design=design, budget_s=60
    )


def published(study: Study) -> Version:
    """Publish a study as somebody who has left since."""
    checking.check_due_studies(timedelta(0))
    left = get_user_model().objects.create_user("left")
    note = "The owner, in 2010."
    return publishing.published(study, left, licence="permitted", licence_note=note)


def publishing_jobs(failed_of: Study, waiting_of: Study) -> dict[str, int]:
    """Keep a job that failed, and one that no worker takes."""
    person = get_user_model().objects.get(username="left")
    told = {"person": person, "licence": "free", "problem": "The study changed."}
    failed = failed_of.publishing_jobs.create(**told, stage=PublishingJob.Stage.FAILED)
    waiting = waiting_of.publishing_jobs.create(person=person, licence="free")
    return {"failed": failed.pk, "publishing": waiting.pk}


def finished_reread(study: Study) -> int:
    """Keep a reread in which something changed and something failed."""
    run = Run.objects.filter(study=study).first().pk
    change = {"run": run, "case": "read", "kind": "changed"}
    return Reread.objects.create(
        study=study,
        finished_at=timezone.now(),
        total=2,
        done=2,
        changed=1,
        failed=1,
        changes=[change | {"before": [13.08], "after": [14.08]}],
        failures=[{"run": run, "error": "No parser knows this output."}],
    ).pk


def session(lab: Lab, role: str) -> str:
    """Let a person of this role in; return their session."""
    user = get_user_model().objects.create_user(role, password=PASSWORD)
    Membership.objects.create(lab=lab, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


@pytest.fixture(scope="package")
def chromium(site: Site) -> Iterator[Any]:
    with browser.chromium() as started:
        yield started


@pytest.fixture(scope="package")
def windows(chromium: Any, site: Site) -> Iterator[Any]:
    """Return the one window of each person; nobody is signed in as ``nobody``."""
    with ExitStack() as stack:

        def opened(who: str) -> browsing.Visit:
            visit = stack.enter_context(
                browsing.window(chromium, site.url, reduced_motion="reduce")
            )
            visit.context.add_init_script(NOTE)
            if who != "nobody":
                site.sign_in(visit, who)
            return visit

        yield {who: opened(who) for who in ("nobody", "maintainer", "viewer")}
