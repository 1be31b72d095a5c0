"""Cached pages are never stale, whatever changes.

For all cached URLs, requested by an anonymous user and a member before and after each
change, the response equals a newly rendered one. Partial tests would not suffice:
cached pages depend on the tables they read, and pages of a study on some rows of them.
"""

import re
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from types import SimpleNamespace

import pytest
from cachetools import LRUCache
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from benchmarks.collaboration.comments import (
    CommentTarget,
    author_of,
    edit_comment,
    remove_comment,
    write_comment,
)
from benchmarks.collaboration.saved_views import save_view
from benchmarks.comparison.setting_effects import effects_by_study
from benchmarks.custom_tools.registration import (
    change_tool,
    read_declaration,
    retire_tool,
)
from benchmarks.jobs.queue import enqueue_checks
from benchmarks.maintenance.deletion import delete_account, delete_study, delete_uploads
from benchmarks.models import (
    Agent,
    Cell,
    Flag,
    Host,
    Lab,
    Membership,
    Meter,
    Run,
    Session,
    Study,
    System,
)
from benchmarks.plans.planning import create_plan
from benchmarks.power.meter_logs import integrate_due, store_power_chunk
from benchmarks.studies import checking, study_cache
from benchmarks.studies.data_versions import (
    TABLES_COUNTED_BY_LAB,
    TABLES_COUNTED_BY_STUDY,
    baseline_studies,
    counted_tables,
)
from benchmarks.studies.flags import decide_flag
from benchmarks.studies.saving import update_study
from benchmarks.studies.session_corrections import correct_sessions
from benchmarks.studies.systems import register_host, update_host
from benchmarks.uploads import intake, processing
from dashboard.kit import page_cache
from tests import job_queue, publications
from tests.custom_tools import declaration, declare
from tests.dashboard import growing_study
from tests.dashboard.routes import counted
from tests.module_data import standing
from tests.power_logs import chunk, clock_of, power
from tests.upload_documents import network_run

XEN = {"hypervisor": "Xen", "hypervisor_version": "3.3", "virtualization": "full"}
WITH_PAGES = {**XEN, "options": {"hugepages": "2 MiB"}}
pytestmark = [pytest.mark.slow, pytest.mark.walk]
ADDRESS = "/studies/alpha-lab/study/"
MASK = re.compile(r'name="csrfmiddlewaretoken" value="\w+"|/static/[^"]+')
TOGETHER = ("home", "evidence", "evidence-question", "cross-study", "cross-study-pair")
OF_MEMBERS = ("", "flags/", "sessions/", "cells/{cell}/", "/")


def submit(agent, *documents):
    intake.submit_runs(agent=agent, documents=documents)
    processing.process_due_uploads()


# Changes that these users do not see: cached pages may or may not be kept.
UNSEEN = (
    *("shared with a lab", "a tool declared", "a host of another lab", "a new host"),
    *("a plan", "run means by SQL", "a tool retired", "an account deleted"),
)


def check():
    checking.check_due_studies(timedelta(0))


def appended(value, **changes):
    """Return a run of a case that only the sibling measured natively."""
    metric = {"metric": "network throughput", "parameters": {"operation": "append"}}
    samples = [{**metric, "value": value, "unit": "MB/s"}]
    return network_run(host="alpha", samples=samples, **changes)


@pytest.fixture(scope="module")
def world(django_db_setup, django_db_blocker):
    """Create three studies of one lab, two of them public, and one of another lab."""
    with standing(django_db_blocker):
        yield made_world()


def made_world():
    alpha, beta = (
        Lab.objects.create(slug=f"{name}-lab", name=f"{name} lab")
        for name in ("alpha", "beta")
    )
    agents = [Agent.objects.create(lab=lab, name="sender") for lab in (alpha, beta)]
    for lab in (alpha, beta):
        for slug in growing_study.HOSTS:
            Host.objects.create(lab=lab, slug=slug)
    study, sibling, foreign = (
        Study.objects.create(lab=lab, slug=slug, title=slug, visibility="public")
        for lab, slug in ((alpha, "study"), (alpha, "sibling"), (beta, "foreign"))
    )
    secret = Study.objects.create(lab=alpha, slug="secret", title="A secret")
    for at in range(2):
        system = {**XEN, "hypervisor_version": f"4.{at}", "options": {"swap": "disk"}}
        run = partial(network_run, study=study.slug, host="alpha")
        submit(agents[0], *growing_study.documents(run, system, at))
        growing_study.plan(study, rounds=1 + at)
    tool = declare(alpha, agents[0])
    boot = {"metric": "boot time", "parameters": {}, "value": 9.0, "unit": "s"}
    for system in ({}, XEN):
        run = network_run(study="study", host="alpha", samples=[boot], system=system)
        submit(agents[0], {**run, "tool": tool.slug})
    store_power_chunk(agent=agents[0], document=chunk(power(range(131))))
    for agent, slug in ((agents[0], "sibling"), (agents[1], "foreign")):
        submit(
            agent,
            *(network_run(50.0 + n, study=slug, host="alpha") for n in range(3)),
            *(
                network_run(20.0 + n, study=slug, host="alpha", system=XEN)
                for n in range(3)
            ),
        )
    submit(
        agents[0],
        *(
            network_run(40.0 + n, study="study", host="alpha", started_at=day(n))
            for n in range(3)
        ),
        *(
            network_run(
                15.0 + n,
                study="study",
                host="alpha",
                system=XEN,
                started_at=day(n),
                facts=clock_of(20 + 30 * n, 40 + 30 * n),
            )
            for n in range(3)
        ),
        *(
            network_run(25.0 + n, study="study", host="alpha", system=WITH_PAGES)
            for n in range(3)
        ),
        appended(60.0, study="sibling"),
        appended(33.0, study="study", system=XEN),
        network_run(44.0, study="secret", host="alpha"),
    )
    integrate_due(timedelta(0))
    check()
    member = get_user_model().objects.create_user("olga", password="sesame-open-now")
    keeper = get_user_model().objects.create_user("carol", password="sesame-open-now")
    Membership.objects.create(lab=alpha, user=member, role="viewer")
    Membership.objects.create(lab=alpha, user=keeper, role="maintainer")
    other = get_user_model().objects.create_user("dave")
    Membership.objects.create(lab=alpha, user=other, role="admin")
    flag = Flag.objects.filter(study=study).first() or made_flag(study)
    write_comment(
        author=author_of(keeper), target=CommentTarget(study), text="Too warm."
    )
    guests = System.objects.filter(cells__study=study, hypervisor="Xen").distinct()
    one, other = guests.order_by("pk").values_list("pk", flat=True)[:2]
    cell = study.cells.filter(case__parameters={"operation": "append"}).get()
    return SimpleNamespace(
        alpha=alpha,
        beta=beta,
        agent=agents[0],
        stranger=agents[1],
        study=study,
        sibling=sibling,
        secret=secret,
        foreign=foreign,
        member=member,
        keeper=keeper,
        flag=partial(Flag.objects.get, pk=flag.pk),
        tool=tool,
        ids={"cell": cell.pk, "system": one, "study": study.pk}
        | {"one": one, "other": other},
    )


def day(number):
    return f"2026-03-02T{8 + number:02}:00:00+00:00"


def made_flag(study):
    flag = Flag.objects.create(
        study=study,
        lab=study.lab,
        rule="unit_slip",
        severity="implausible",
        message="It is so.",
        fingerprint="f" * 64,
    )
    flag.cells.add(*study.cells.all()[:1])
    return flag


def sql(statement, *given):
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        assert cursor.rowcount


CHANGES = {
    "an upload here": lambda world: submit(
        world.agent, network_run(11.0, study="study", host="alpha", system=XEN)
    ),
    "one of a new system": lambda world: submit(
        world.agent,
        network_run(
            12.0, study="study", host="beta", system={**XEN, "guest_os": "Plan 9"}
        ),
    ),
    "an upload here, checked": lambda world: (
        submit(world.agent, network_run(9e9, study="study", host="alpha")),
        check(),
    ),
    "an upload into a sibling": lambda world: submit(
        world.agent, network_run(47.0, study="sibling", host="alpha")
    ),
    "a baseline in a sibling": lambda world: submit(
        world.agent, appended(10.0, study="sibling")
    ),
    "a baseline in a sibling, checked": lambda world: (
        submit(world.agent, appended(1e7, study="sibling")),
        check(),
    ),
    "an upload into a private sibling": lambda world: submit(
        world.agent, appended(61.0, study="secret")
    ),
    "an upload into another lab": lambda world: (
        submit(
            world.stranger,
            network_run(5.0, study="foreign", host="alpha", system=XEN),
        ),
        check(),
    ),
    "an upload that is taken in alone": lambda world: intake.submit_runs(
        agent=world.agent, documents=[network_run(3.0, study="study", host="alpha")]
    ),
    "an upload that nobody can read": lambda world: submit(
        world.agent,
        {
            key: value
            for key, value in network_run(study="study", host="alpha").items()
            if key != "samples"
        }
        | {"output": "nonsense"},
    ),
    "a run read again": lambda world: (
        job_queue.put_upload(world.study.runs.first()),
        processing.process_due_uploads(),
    ),
    "a run with trouble": lambda world: world.study.runs.filter(
        pk=world.study.runs.latest("pk").pk
    ).update(status="quarantined", reason=""),
    "a decision on a flag": lambda world: decide_flag(
        flag=world.flag(),
        status="dismissed",
        note="Not so.",
        actor="carol",
        person=world.keeper,
    ),
    "a decision, checked": lambda world: (
        decide_flag(flag=world.flag(), status="confirmed", note="So.", actor="carol"),
        check(),
    ),
    "a flag that goes": lambda world: world.flag().delete(),
    "a flag that quotes": lambda world: world.flag().quoted_studies.add(world.secret),
    "a title": lambda world: update_study(study=world.study, title="Renamed"),
    "a title of a sibling": lambda world: update_study(
        study=world.sibling, title="Other"
    ),
    "a title of another lab's": lambda world: update_study(
        study=world.foreign, title="Far"
    ),
    "a title by SQL": lambda world: sql("UPDATE benchmarks_study SET title = 'By SQL'"),
    "the name of the lab": lambda world: Lab.objects.filter(pk=world.alpha.pk).update(
        name="A name"
    ),
    "hidden": lambda world: update_study(study=world.study, visibility="private"),
    "a sibling hidden": lambda world: update_study(
        study=world.sibling, visibility="private"
    ),
    "a secret shown": lambda world: update_study(
        study=world.secret, visibility="public"
    ),
    "shared with a lab": lambda world: world.secret.shared_with.add(world.beta),
    "archived": lambda world: sql("UPDATE benchmarks_study SET archived_at = now()"),
    "a place in the lab": lambda world: Membership.objects.filter(
        user=world.member
    ).update(role="maintainer"),
    "no place any more": lambda world: Membership.objects.filter(
        user=world.member
    ).delete(),
    "a tool declared": lambda world: declare(
        world.alpha, world.agent, slug="other", title="Another"
    ),
    "a tool changed": lambda world: change_tool(
        tool=world.tool,
        declaration=read_declaration(declaration(title="Another name")),
        actor=world.agent,
    ),
    "a tool retired": lambda world: retire_tool(tool=world.tool, actor=world.agent),
    "sessions corrected": lambda world: (
        correct_sessions(
            study=world.study,
            name="a sitting",
            actor="carol",
            person=world.keeper,
            runs=[world.study.runs.exclude(started_at=None).latest("pk").pk],
        ),
        check(),
    ),
    "a session renamed": lambda world: Session.objects.filter(
        pk=Session.objects.filter(study=world.study).earliest("pk").pk
    ).update(name="renamed"),
    "a comment": lambda world: write_comment(
        author=author_of(world.keeper),
        target=CommentTarget(world.study),
        text="Warmer.",
    ),
    "a comment on a cell": lambda world: write_comment(
        author=author_of(world.keeper),
        target=CommentTarget(world.study, cell=Cell.objects.get(pk=world.ids["cell"])),
        text="Warmer.",
    ),
    "a comment edited": lambda world: edit_comment(
        comment=world.study.comments.get(), author=author_of(world.keeper), text="Cold."
    ),
    "a comment removed": lambda world: remove_comment(
        comment=world.study.comments.get(), author=author_of(world.keeper)
    ),
    "a run deleted": lambda world: delete_uploads(
        lab=world.alpha,
        runs=Run.objects.filter(pk=world.study.runs.first().pk),
        actor="carol",
        reason="wrong",
    ),
    "a baseline deleted": lambda world: delete_uploads(
        lab=world.alpha,
        runs=Run.objects.filter(study=world.sibling, tool="iometer"),
        actor="carol",
        reason="wrong",
    ),
    "a study deleted": lambda world: delete_study(
        study=world.study, actor="carol", reason="wrong"
    ),
    "a sibling deleted": lambda world: delete_study(
        study=world.sibling, actor="carol", reason="wrong"
    ),
    "an account deleted": lambda world: delete_account(
        person=get_user_model().objects.get(pk=world.keeper.pk), actor="carol"
    ),
    "an account renamed": lambda world: sql(
        "UPDATE auth_user SET username = 'c' || id"
    ),
    "a host described": lambda world: update_host(
        host=Host.objects.get(lab=world.alpha, slug="alpha"), title="A machine"
    ),
    "a host of another lab": lambda world: update_host(
        host=Host.objects.get(lab=world.beta, slug="alpha"), title="A machine"
    ),
    "a new host": lambda world: register_host(lab=world.alpha, slug="gamma"),
    "a system renamed": lambda world: System.objects.update(guest_os="Plan 9"),
    "an emulator found": lambda world: System.objects.filter(
        pk=world.ids["system"]
    ).update(is_emulated=True),
    "a meter renamed": lambda world: Meter.objects.update(name="another"),
    "power logged": lambda world: (
        store_power_chunk(
            agent=world.agent,
            document=chunk(power(range(131), 90.0, 130.0), number=2),
        ),
        integrate_due(timedelta(0)),
    ),
    "a plan": lambda world: create_plan(
        study=world.study,
        actor="carol",
        title="More",
        design={
            "systems": [{"system": world.ids["system"]}],
            "tools": [{"tool": "hackbench"}],
            "repetitions": 2,
            "warm_up": 0,
        },
        budget_s=60,
    ),
    "no plans": lambda world: world.study.plans.all().delete(),
    "a version published": lambda world: publications.published(
        world.study, world.keeper
    ),
    "a check due": lambda world: enqueue_checks([world.study.pk]),
    "a view saved": lambda world: save_view(
        name="Mine", path="/compare/", person=world.member, lab=None
    ),
    "means by SQL": lambda world: sql("UPDATE benchmarks_cell SET mean = mean * 2"),
    "a baseline's mean by SQL": lambda world: sql(
        "UPDATE benchmarks_cell SET mean = mean * 2 WHERE study_id = %s",
        world.sibling.pk,
    ),
    "a case renamed": lambda world: sql(
        "UPDATE benchmarks_case SET component = 'memory' WHERE component = 'network'"
    ),
    "samples by SQL": lambda world: sql(
        "UPDATE benchmarks_sample SET value = value + 1"
    ),
    "run means by SQL": lambda world: sql(
        "UPDATE benchmarks_runmean SET mean = 2 * mean"
    ),
    "effects by SQL": lambda world: sql(
        "UPDATE benchmarks_effect SET log_ratio = log_ratio - 1"
    ),
    "evidence emptied": lambda world: sql_quietly("TRUNCATE benchmarks_publicevidence"),
    "flags emptied": lambda world: sql_quietly("TRUNCATE benchmarks_flag CASCADE"),
    "cells emptied": lambda world: sql_quietly("TRUNCATE benchmarks_cell CASCADE"),
}


def sql_quietly(statement):
    with connection.cursor() as cursor:
        # Check deferred constraints before the table is emptied.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(statement)


@pytest.fixture(scope="module")
def readers(world):
    """Return clients with their URLs: anonymous, and a member where pages differ."""
    everything = [url.format(**world.ids) for url in counted(ADDRESS, is_cached=True)]
    member = Client()
    member.force_login(world.member)
    own = [url if url.startswith("/") else ADDRESS + url for url in OF_MEMBERS]
    return [
        (Client(), everything),
        (member, [url.format(**world.ids) for url in own]),
    ]


@pytest.fixture(scope="module")
def before(world, readers):
    """Return the responses before any change, and the cache entries."""
    with keeping({}) as texts:
        found = shown(readers)
        return found, dict(texts), dict(effects_by_study.entries)


@contextmanager
def keeping(entries, studies=()):
    """Cache pages and studies as if the test's transaction were committed."""
    texts = LRUCache(64_000_000, getsizeof=page_cache.cache_entry_bytes)
    texts.update(entries)
    by_study = LRUCache(100)
    by_study.update(studies)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_cache, "_texts", texts)
        patch.setattr(page_cache, "is_in_transaction", lambda: False)
        patch.setattr(page_cache, "has_written", lambda: False)
        patch.setattr(study_cache, "is_snapshot", lambda: True)
        patch.setattr(effects_by_study, "entries", by_study)
        yield texts


def shown(readers, only=None):
    found = {}
    for number, (client, addresses) in enumerate(readers):
        for address in addresses:
            if only is None or (number, address) in only:
                answer = client.get(address)
                text = MASK.sub("", answer.text) if answer.status_code == 200 else ""
                found[number, address] = answer.status_code, text
    return found


@pytest.fixture
def changed(world, readers, before, db):
    """Make a change; return the pages that changed, and stale ones."""
    old, entries, studies = before

    def places(change):
        CHANGES[change](world)
        with keeping(entries, studies) as texts:
            after = shown(readers)
            # Changed responses were rendered again.
            same = {place for place, answer in after.items() if answer == old[place]}
            texts.clear()
            effects_by_study.entries.clear()
            anew = shown(readers, same)
        return after.keys() - same, {item for item in anew if anew[item] != after[item]}

    return places


@pytest.mark.parametrize("change", CHANGES)
def test_cached_pages_equal_newly_rendered_ones(changed, change):
    seen, stale = changed(change)

    assert not stale
    # A change without visible effect would test nothing.
    assert seen or change in UNSEEN


def test_every_page_is_cached_with_its_version(before, db):
    old, entries, _ = before
    assert {status for status, _ in old.values()} == {200}
    # Tables of comparisons are cached separately by the study's data version.
    pages = [entry for entry in entries.values() if entry.version]
    assert len(pages) == len(old)
    assert [page.text[:2000] for page in pages if not page.version_parts] == []


# Rows of each table that a study page may read (`TableTracker.parts`).
OWN = {
    "study_id = ANY(%(studies)s)": TABLES_COUNTED_BY_STUDY,
    "lab_id = ANY(%(labs)s)": TABLES_COUNTED_BY_LAB,
}
THROUGH = {
    "cell": ("cellsession", "efficiency"),
    "run": ("runenergy", "runmean", "runwindow", "sample"),
    "flag": ("flagdecision", "flag_cells", "flag_quoted_studies", "flag_runs"),
}


def hide_all_but(study):
    """Hide all rows except those of a study and its baselines."""
    studies, labs = baseline_studies(study.pk)
    by = {
        f"benchmarks_{table}": f"{parent}_id IN (SELECT id FROM benchmarks_{parent})"
        for parent, tables in THROUGH.items()
        for table in tables
    }
    by["benchmarks_customtoolversion"] = (
        "tool_id IN (SELECT id FROM benchmarks_customtool)"
    )
    by["benchmarks_case"] = "id IN (SELECT case_id FROM benchmarks_cell)"
    for rows, tables in OWN.items():
        by |= {table: rows for table in sorted(tables) if table not in by}
    with connection.cursor() as cursor:
        # Tables that others refer to come first.
        for table, rows in sorted(by.items(), key=lambda item: "SELECT" in item[1]):
            cursor.execute(
                f"CREATE TEMP TABLE {table} (LIKE public.{table} INCLUDING ALL)"
                " ON COMMIT DROP"
            )
            cursor.execute(
                f"INSERT INTO {table} SELECT * FROM public.{table} WHERE {rows}",
                {"studies": studies, "labs": labs},
            )


def test_study_pages_read_no_other_studies(world, readers, before, db):
    """Study pages are unchanged without other studies; the trend page is excluded."""
    old, *_ = before
    counted_tables()  # cache it before tables are hidden
    hide_all_but(world.study)
    looked_at = {place for place in old if place[1].startswith(ADDRESS)}
    with keeping({}):
        alone = shown(readers, looked_at | {(0, "/evidence/"), (0, "/")})

    others = {place for place in alone if alone[place] != old[place]}
    # The home page, for example, reads other studies.
    assert (0, "/") in others
    for place in others & looked_at:
        if place[1] != f"{ADDRESS}trend/":
            assert alone[place][1].splitlines() == old[place][1].splitlines()
