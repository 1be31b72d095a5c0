"""No page that is kept is older than what it shows, whatever changes, and however.

Every address that is kept, for a stranger and for a member, before and after each
change: what is shown is what a page made anew shows. Nothing less is proof, for a page
is kept under what it was read from, and a study's page under a part of that.
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

from benchmarks.keeping.deletion import delete_account, delete_study, delete_uploads
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
from benchmarks.own_tools.declaring import change_tool, declared, retire_tool
from benchmarks.plans.planning import create_plan
from benchmarks.power.logs import integrate_due, keep_power
from benchmarks.studies import checking
from benchmarks.studies.data_versions import (
    OF_LAB,
    OF_STUDY,
    studies_leant_on,
    telling_tables,
)
from benchmarks.studies.flags import decide_flag
from benchmarks.studies.saving import update_study
from benchmarks.studies.session_corrections import correct_sessions
from benchmarks.studies.systems import register_host, update_host
from benchmarks.together.comments import (
    Thing,
    author_of,
    edit_comment,
    remove_comment,
    write_comment,
)
from benchmarks.together.saved_views import save_view
from benchmarks.unattended.queue import put_checks
from benchmarks.uploads import intake, processing
from dashboard.kit import kept
from tests import jobs, publishing
from tests.dashboard import growing
from tests.dashboard.routes import counted
from tests.documents import network_run
from tests.own_tools import declaration, declare
from tests.power_logs import clock_of, piece, power
from tests.standing import standing

XEN = {"hypervisor": "Xen", "hypervisor_version": "3.3", "virtualization": "full"}
pytestmark = [pytest.mark.proof, pytest.mark.walk]
ADDRESS = "/studies/alpha-lab/study/"
MASK = re.compile(r'name="csrfmiddlewaretoken" value="\w+"|/static/[^"]+')
TOGETHER = ("overview", "evidence", "forest", "across", "across-pair")
OF_MEMBERS = ("", "flags/", "sessions/", "cells/{cell}/", "/")


def submit(agent, *documents):
    intake.submit_runs(agent=agent, documents=documents)
    processing.drain()


# By these readers, or not at all: kept pages may live on or not.
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
    """Three studies of one lab, two of them public, and one of another lab."""
    with standing(django_db_blocker):
        yield made_world()


def made_world():
    alpha, beta = (
        Lab.objects.create(slug=f"{name}-lab", name=f"{name} lab")
        for name in ("alpha", "beta")
    )
    agents = [Agent.objects.create(lab=lab, name="sender") for lab in (alpha, beta)]
    for lab in (alpha, beta):
        for slug in growing.HOSTS:
            Host.objects.create(lab=lab, slug=slug)
    study, sibling, foreign = (
        Study.objects.create(lab=lab, slug=slug, title=slug, visibility="public")
        for lab, slug in ((alpha, "study"), (alpha, "sibling"), (beta, "foreign"))
    )
    secret = Study.objects.create(lab=alpha, slug="secret", title="A secret")
    for at in range(2):
        system = {**XEN, "hypervisor_version": f"4.{at}", "options": {"swap": "disk"}}
        run = partial(network_run, study=study.slug, host="alpha")
        submit(agents[0], *growing.documents(run, system, at))
        growing.plan(study, rounds=1 + at)
    tool = declare(alpha, agents[0])
    boot = {"metric": "boot time", "parameters": {}, "value": 9.0, "unit": "s"}
    for system in ({}, XEN):
        run = network_run(study="study", host="alpha", samples=[boot], system=system)
        submit(agents[0], {**run, "tool": tool.slug})
    keep_power(agent=agents[0], document=piece(power(range(131))))
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
    write_comment(author=author_of(keeper), about=Thing(study), text="Too warm.")
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
        sentence="It is so.",
        fingerprint="f" * 64,
    )
    flag.cells.add(*study.cells.all()[:1])
    return flag


def sql(statement, *given):
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        assert cursor.rowcount


CHANGES = {
    "an upload here": lambda it: submit(
        it.agent, network_run(11.0, study="study", host="alpha", system=XEN)
    ),
    "one of a new system": lambda it: submit(
        it.agent,
        network_run(
            12.0, study="study", host="beta", system={**XEN, "guest_os": "Plan 9"}
        ),
    ),
    "an upload here, checked": lambda it: (
        submit(it.agent, network_run(9e9, study="study", host="alpha")),
        check(),
    ),
    "an upload into a sibling": lambda it: submit(
        it.agent, network_run(47.0, study="sibling", host="alpha")
    ),
    "a baseline in a sibling": lambda it: submit(
        it.agent, appended(10.0, study="sibling")
    ),
    "a baseline in a sibling, checked": lambda it: (
        submit(it.agent, appended(1e7, study="sibling")),
        check(),
    ),
    "an upload into a private sibling": lambda it: submit(
        it.agent, appended(61.0, study="secret")
    ),
    "an upload into another lab": lambda it: (
        submit(
            it.stranger,
            network_run(5.0, study="foreign", host="alpha", system=XEN),
        ),
        check(),
    ),
    "an upload that is taken in alone": lambda it: intake.submit_runs(
        agent=it.agent, documents=[network_run(3.0, study="study", host="alpha")]
    ),
    "an upload that nobody can read": lambda it: submit(
        it.agent,
        {
            key: value
            for key, value in network_run(study="study", host="alpha").items()
            if key != "samples"
        }
        | {"output": "nonsense"},
    ),
    "a run read again": lambda it: (
        jobs.put_upload(it.study.runs.first()),
        processing.drain(),
    ),
    "a run with trouble": lambda it: it.study.runs.filter(
        pk=it.study.runs.latest("pk").pk
    ).update(status="quarantined", reason=""),
    "a decision on a flag": lambda it: decide_flag(
        flag=it.flag(),
        status="dismissed",
        note="Not so.",
        who="carol",
        person=it.keeper,
    ),
    "a decision, checked": lambda it: (
        decide_flag(flag=it.flag(), status="confirmed", note="So.", who="carol"),
        check(),
    ),
    "a flag that goes": lambda it: it.flag().delete(),
    "a flag that quotes": lambda it: it.flag().quotes.add(it.secret),
    "a title": lambda it: update_study(study=it.study, title="Renamed"),
    "a title of a sibling": lambda it: update_study(study=it.sibling, title="Other"),
    "a title of another lab's": lambda it: update_study(study=it.foreign, title="Far"),
    "a title by SQL": lambda it: sql("UPDATE benchmarks_study SET title = 'By SQL'"),
    "the name of the lab": lambda it: Lab.objects.filter(pk=it.alpha.pk).update(
        name="A name"
    ),
    "hidden": lambda it: update_study(study=it.study, visibility="private"),
    "a sibling hidden": lambda it: update_study(study=it.sibling, visibility="private"),
    "a secret shown": lambda it: update_study(study=it.secret, visibility="public"),
    "shared with a lab": lambda it: it.secret.shared_with.add(it.beta),
    "archived": lambda it: sql("UPDATE benchmarks_study SET archived_at = now()"),
    "a place in the lab": lambda it: Membership.objects.filter(user=it.member).update(
        role="maintainer"
    ),
    "no place any more": lambda it: Membership.objects.filter(user=it.member).delete(),
    "a tool declared": lambda it: declare(
        it.alpha, it.agent, slug="other", title="Another"
    ),
    "a tool changed": lambda it: change_tool(
        tool=it.tool,
        declaration=declared(declaration(title="Another name")),
        by=it.agent,
    ),
    "a tool retired": lambda it: retire_tool(tool=it.tool, by=it.agent),
    "sessions corrected": lambda it: (
        correct_sessions(
            study=it.study,
            name="a sitting",
            who="carol",
            person=it.keeper,
            runs=[it.study.runs.exclude(started_at=None).latest("pk").pk],
        ),
        check(),
    ),
    "a session renamed": lambda it: Session.objects.filter(
        pk=Session.objects.filter(study=it.study).earliest("pk").pk
    ).update(name="renamed"),
    "a comment": lambda it: write_comment(
        author=author_of(it.keeper), about=Thing(it.study), text="Warmer."
    ),
    "a comment on a cell": lambda it: write_comment(
        author=author_of(it.keeper),
        about=Thing(it.study, cell=Cell.objects.get(pk=it.ids["cell"])),
        text="Warmer.",
    ),
    "a comment edited": lambda it: edit_comment(
        comment=it.study.comments.get(), author=author_of(it.keeper), text="Cold."
    ),
    "a comment removed": lambda it: remove_comment(
        comment=it.study.comments.get(), author=author_of(it.keeper)
    ),
    "a run deleted": lambda it: delete_uploads(
        lab=it.alpha,
        runs=Run.objects.filter(pk=it.study.runs.first().pk),
        who="carol",
        reason="wrong",
    ),
    "a baseline deleted": lambda it: delete_uploads(
        lab=it.alpha,
        runs=Run.objects.filter(study=it.sibling, tool="iometer"),
        who="carol",
        reason="wrong",
    ),
    "a study deleted": lambda it: delete_study(
        study=it.study, who="carol", reason="wrong"
    ),
    "a sibling deleted": lambda it: delete_study(
        study=it.sibling, who="carol", reason="wrong"
    ),
    "an account deleted": lambda it: delete_account(
        person=get_user_model().objects.get(pk=it.keeper.pk), who="carol"
    ),
    "an account renamed": lambda it: sql("UPDATE auth_user SET username = 'c' || id"),
    "a host described": lambda it: update_host(
        host=Host.objects.get(lab=it.alpha, slug="alpha"), title="A machine"
    ),
    "a host of another lab": lambda it: update_host(
        host=Host.objects.get(lab=it.beta, slug="alpha"), title="A machine"
    ),
    "a new host": lambda it: register_host(lab=it.alpha, slug="gamma"),
    "a system renamed": lambda it: System.objects.update(guest_os="Plan 9"),
    "an emulator found": lambda it: System.objects.filter(pk=it.ids["system"]).update(
        is_emulated=True
    ),
    "a meter renamed": lambda it: Meter.objects.update(name="another"),
    "power logged": lambda it: (
        keep_power(
            agent=it.agent,
            document=piece(power(range(131), 90.0, 130.0), number=2),
        ),
        integrate_due(timedelta(0)),
    ),
    "a plan": lambda it: create_plan(
        study=it.study,
        who="carol",
        title="More",
        design={
            "systems": [{"system": it.ids["system"]}],
            "tools": [{"tool": "hackbench"}],
            "repetitions": 2,
            "warm_up": 0,
        },
        budget_s=60,
    ),
    "no plans": lambda it: it.study.plans.all().delete(),
    "a version published": lambda it: publishing.published(it.study, it.keeper),
    "a check due": lambda it: put_checks([it.study.pk]),
    "a view saved": lambda it: save_view(
        name="Mine", address="/compare/", person=it.member, lab=None
    ),
    "means by SQL": lambda it: sql("UPDATE benchmarks_cell SET mean = mean * 2"),
    "a baseline's mean by SQL": lambda it: sql(
        "UPDATE benchmarks_cell SET mean = mean * 2 WHERE study_id = %s", it.sibling.pk
    ),
    "a case renamed": lambda it: sql(
        "UPDATE benchmarks_case SET component = 'memory' WHERE component = 'network'"
    ),
    "samples by SQL": lambda it: sql("UPDATE benchmarks_sample SET value = value + 1"),
    "run means by SQL": lambda it: sql("UPDATE benchmarks_runmean SET mean = 2 * mean"),
    "effects by SQL": lambda it: sql(
        "UPDATE benchmarks_effect SET log_ratio = log_ratio - 1"
    ),
    "evidence emptied": lambda it: sql_quietly("TRUNCATE benchmarks_publicevidence"),
    "flags emptied": lambda it: sql_quietly("TRUNCATE benchmarks_flag CASCADE"),
    "cells emptied": lambda it: sql_quietly("TRUNCATE benchmarks_cell CASCADE"),
}


def sql_quietly(statement):
    with connection.cursor() as cursor:
        # What is still to be proved of a table is proved before it is emptied.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(statement)


@pytest.fixture(scope="module")
def readers(world):
    """Who asks, and for what: a stranger for everything, a member where it differs."""
    everything = [each.format(**world.ids) for each in counted(ADDRESS, is_cached=True)]
    member = Client()
    member.force_login(world.member)
    own = [each if each.startswith("/") else ADDRESS + each for each in OF_MEMBERS]
    return [
        (Client(), everything),
        (member, [each.format(**world.ids) for each in own]),
    ]


@pytest.fixture(scope="module")
def before(world, readers):
    """What everybody is shown before anything changes, and what is kept of it."""
    with keeping({}) as texts:
        found = shown(readers)
        return found, dict(texts)


@contextmanager
def keeping(entries):
    """Keep pages beside these, as if a test's transaction were a committed one."""
    texts = LRUCache(64_000_000, getsizeof=kept.room_of)
    texts.update(entries)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept, "_texts", texts)
        patch.setattr(kept, "may_be_taken_back", lambda: False)
        patch.setattr(kept, "has_written", lambda: False)
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
    """Make a change; return the places where it is seen, and those that are stale."""
    old, entries = before

    def places(change):
        CHANGES[change](world)
        with keeping(entries) as texts:
            after = shown(readers)
            # Where another text is shown it was made anew.
            same = {place for place, answer in after.items() if answer == old[place]}
            texts.clear()
            anew = shown(readers, same)
        return after.keys() - same, {it for it in anew if anew[it] != after[it]}

    return places


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_kept_is_what_a_page_made_anew_shows(changed, change):
    seen, stale = changed(change)

    assert not stale
    # A change that nobody sees would prove nothing.
    assert seen or change in UNSEEN


def test_every_page_is_kept_and_knows_what_it_was_read_from(before, db):
    old, entries = before
    assert {status for status, _ in old.values()} == {200}
    # Tables of comparisons are kept by themselves, under the version of their study.
    pages = [each for each in entries.values() if each.version]
    assert len(pages) == len(old)
    assert [page.text[:2000] for page in pages if not page.parts] == []


# Whose rows a page of a study may read (`Reading.parts`), of each table.
OWN = {
    "study_id = ANY(%(studies)s)": OF_STUDY,
    "lab_id = ANY(%(labs)s)": OF_LAB,
}
THROUGH = {
    "cell": ("cellsession", "efficiency"),
    "run": ("runenergy", "runmean", "runwindow", "sample"),
    "flag": ("decision", "flag_cells", "flag_quotes", "flag_runs"),
}


def hide_all_but(study):
    """Let nothing be found but the rows of a study, and of what it leans on."""
    studies, labs = studies_leant_on(study.pk)
    by = {
        f"benchmarks_{table}": f"{parent}_id IN (SELECT id FROM benchmarks_{parent})"
        for parent, tables in THROUGH.items()
        for table in tables
    }
    by["benchmarks_owntoolversion"] = "tool_id IN (SELECT id FROM benchmarks_owntool)"
    by["benchmarks_case"] = "id IN (SELECT case_id FROM benchmarks_cell)"
    for rows, tables in OWN.items():
        by |= {table: rows for table in sorted(tables) if table not in by}
    with connection.cursor() as cursor:
        # Those that others are found by come first.
        for table, rows in sorted(by.items(), key=lambda each: "SELECT" in each[1]):
            cursor.execute(
                f"CREATE TEMP TABLE {table} (LIKE public.{table} INCLUDING ALL)"
                " ON COMMIT DROP"
            )
            cursor.execute(
                f"INSERT INTO {table} SELECT * FROM public.{table} WHERE {rows}",
                {"studies": studies, "labs": labs},
            )


def test_a_page_of_a_study_reads_no_other_study(world, readers, before, db):
    """But those of its baselines and quotes: a page that looks further is another."""
    old, _ = before
    telling_tables()  # asked for while all is there
    hide_all_but(world.study)
    looked_at = {place for place in old if place[1].startswith(ADDRESS)}
    with keeping({}):
        alone = shown(readers, looked_at | {(0, "/evidence/"), (0, "/")})

    others = {place for place in alone if alone[place] != old[place]}
    # The first page, for one, looks further.
    assert (0, "/") in others
    for place in others & looked_at:
        if place[1] != f"{ADDRESS}trend/":
            assert alone[place][1].splitlines() == old[place][1].splitlines()
