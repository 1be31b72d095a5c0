"""A site for all tests of this folder: six studies, an empty study, two users."""

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

from benchmarks.custom_tools.registration import (
    change_tool,
    read_declaration,
    retire_tool,
)
from benchmarks.models import (
    Agent,
    Cell,
    Flag,
    Lab,
    Membership,
    Plan,
    PublishingJob,
    Reparse,
    Report,
    Run,
    Study,
    System,
    Version,
)
from benchmarks.plans.planning import create_plan
from benchmarks.studies import checking, saving, systems
from benchmarks.uploads import processing, reparsing
from benchmarks.uploads.intake import submit_runs
from running import headless_browser
from tests import publications
from tests.custom_tools import boot_sample, declaration, declare, metric
from tests.dashboard import browser_site, served_studies
from tests.dashboard.access.page_checks import NOTE
from tests.reference_studies import load_study

STUDIES = (
    *("lmu-2010-xen", "lmu-2010-esxi", "uoc-2012-kvm"),
    *("heidelberg-2007-xen", "inqbus-2008-io"),
)
PASSWORD = "sesame-open-now"


@dataclass(frozen=True)
class Site:
    """The served site: its URL, IDs for URLs, and sessions of users."""

    url: str
    ids: dict[str, int | str]
    sessions: dict[str, str]

    def address(self, text: str) -> str:
        """Return a URL of `routes` with the IDs of this site's objects."""
        return text.format(**self.ids)

    def sign_in(self, visit: browser_site.Visit, who: str) -> None:
        """Sign this user in to a window."""
        cookie = {"name": settings.SESSION_COOKIE_NAME, "url": self.url}
        visit.context.add_cookies([{**cookie, "value": self.sessions[who]}])


@pytest.fixture(scope="package")
def site(django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    """Serve the studies, and pages that fail on purpose."""
    with ExitStack() as stack:
        stack.enter_context(served_studies.committed(django_db_blocker))
        # Every signed-in user may create a lab.
        broken = "tests.dashboard.access.broken_urls"
        stack.enter_context(
            override_settings(ROOT_URLCONF=broken, LAB_CREATION="everybody")
        )
        lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
        ids = load(lab)
        sessions = {role: session(lab, role) for role in ("maintainer", "viewer")}
        address = stack.enter_context(served_studies.served())
        yield Site(address, ids, sessions)


def load(lab: Lab) -> dict[str, int | str]:
    """Load all studies; return the IDs for placeholders in URLs."""
    agent = Agent.objects.create(lab=lab, name="alice")
    declared_tools(lab)
    measured_on_days(lab)
    xen, *_ = [load_study(agent, slug) for slug in STUDIES]
    saving.save_study(lab=lab, slug="bare", title="Bare", visibility="public")
    served_studies.check_all()
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
        "reparse": reparsing.create_reparse(study=xen).pk,
        "finished": finished_reparse(xen),
        "report": Report.objects.create(study=xen, request_digest="x").pk,
        "version": version.pk,
        "review": publications.reviewed(lab).pk,
        **publishing_jobs(xen, Study.objects.get(slug="bare")),
        "plan": planned(xen, native.system).pk,
    }


def declared_tools(lab: Lab) -> None:
    """Declare a tool in two versions, and a retired tool."""
    tool = declare(lab)
    metrics = [
        metric(),
        metric(name="boots", unit="", allows_zero=True, is_primary=False),
    ]
    change_tool(
        tool=tool,
        declaration=read_declaration(declaration(metrics=metrics)),
        actor=lab.agents.get(),
    )
    retire_tool(tool=declare(lab, slug="old", title="Old"), actor=lab.agents.get())
    # Measured in a public study, so that strangers see the tool.
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
    processing.process_due_uploads()


def measured_on_days(lab: Lab) -> None:
    """Measure a guest and its machine in shared and separate sessions."""
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
    processing.process_due_uploads()


def xen_systems(study: Study) -> list[int]:
    """Return two systems with common cases."""
    cells = Cell.objects.filter(study=study, system__hypervisor="Xen")
    return list(
        cells.order_by("system").values_list("system", flat=True).distinct()[:2]
    )


def planned(study: Study, system: System) -> Plan:
    """Create a plan of three steps; no agent joins."""
    design = {
        "systems": [{"system": system.pk}],
        "tools": [{"tool": "hackbench"}],
        "repetitions": 3,
        "warm_up": 0,
    }
    return create_plan(
        study=study, actor="maintainer", title="A plan", design=design, budget_s=60
    )


def published(study: Study) -> Version:
    """Publish a study as a user who has left since."""
    checking.check_due_studies(timedelta(0))
    left = get_user_model().objects.create_user("left")
    note = "The owner, in 2010."
    return publications.published(
        study, left, publishing_permission="granted", permission_note=note
    )


def publishing_jobs(failed_of: Study, waiting_of: Study) -> dict[str, int]:
    """Create a failed job, and a job that no worker takes."""
    person = get_user_model().objects.get(username="left")
    told = {
        "person": person,
        "publishing_permission": "unrestricted",
        "problem": "The study changed.",
    }
    failed = failed_of.publishing_jobs.create(**told, stage=PublishingJob.Stage.FAILED)
    waiting = waiting_of.publishing_jobs.create(
        person=person, publishing_permission="unrestricted"
    )
    return {"failed": failed.pk, "publishing": waiting.pk}


def finished_reparse(study: Study) -> int:
    """Create a reparse with a change and a failure."""
    run = Run.objects.filter(study=study).first().pk
    change = {"run": run, "case": "read", "kind": "changed"}
    return Reparse.objects.create(
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
    """Create a user with this role; return their session."""
    user = get_user_model().objects.create_user(role, password=PASSWORD)
    Membership.objects.create(lab=lab, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


@pytest.fixture(scope="package")
def chromium(site: Site) -> Iterator[Any]:
    with headless_browser.shared_chromium() as started:
        yield started


@pytest.fixture(scope="package")
def windows(chromium: Any, site: Site) -> Iterator[Any]:
    """Return a window per user; ``nobody`` is not signed in."""
    with ExitStack() as stack:

        def opened(who: str) -> browser_site.Visit:
            visit = stack.enter_context(
                browser_site.window(chromium, site.url, reduced_motion="reduce")
            )
            visit.context.add_init_script(NOTE)
            if who != "nobody":
                site.sign_in(visit, who)
            return visit

        yield {who: opened(who) for who in ("nobody", "maintainer", "viewer")}
