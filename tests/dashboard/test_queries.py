"""Every page asks as often for a large study as for a small one."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bench.routes import counted
from benchmarks.models import Cell, Flag, Plan, Run, System
from benchmarks.plans.planning import create_plan
from benchmarks.studies.lists import find_study, has_pages
from benchmarks.viewer import ANYONE

STUDY = "/studies/alpha-lab/study/"
SMALL, LARGE = 2, 7
PAGES = counted(STUDY)


@pytest.fixture
def grow(run_document, xen, submit, study):
    """Measure one more system after another, each in every way that has a page."""

    def to(systems):
        for at in range(systems):
            options = {"swap": f"disk {at}", "layers": "qemu-tcg > xen"}
            system = {**xen, "hypervisor_version": f"4.{at}", "options": options}
            submit(*documents(run_document, system, at))
            plan(study, rounds=1 + at)
        guests = study.cells.filter(flags=None, system__hypervisor="Xen")
        for cell in guests.order_by("pk")[: 2 * systems]:
            flag = Flag.objects.create(
                study=study,
                lab=study.lab,
                rule="unit_slip",
                severity="implausible",
                sentence="It is so.",
                fingerprint=f"{cell.pk:064}",
            )
            flag.cells.add(cell)

    return to


def plan(study, rounds):
    design = {
        "systems": [{"system": System.objects.latest("pk").pk}],
        "tools": [{"tool": "hackbench"}],
        "repetitions": rounds,
        "warm_up": 0,
    }
    create_plan(study=study, who="alice", title="A plan", design=design, budget_s=60)


def documents(run_document, system, at):
    day = f"2026-03-{at + 1:02}T08:00:00+00:00"
    together = {"scenario": "parallel", "vms": 2, "corun": f"together {at}"}
    for place in ({}, system):
        yield run_document(samples=swept(at), started_at=day, system=place)
        yield run_document(samples=sent(at), system=place)
    for slot in ("1", "2"):
        yield run_document(13.0 + at, system=system, slot=slot, **together)
    yield run_document(samples=drawn(at), tool="watts-up", system=system)


def swept(at):
    return [
        sample(50.0 + at, {"operation": "read", "block_size": f"{2**n} KiB"})
        for n in range(4)
    ]


def sent(at):
    return [sample(90.0 + at, {"operation": "read", "from": "a", "to": "b"})]


def sample(value, parameters):
    return {
        "metric": "network throughput",
        "parameters": parameters,
        "value": value,
        "unit": "MB/s",
    }


def drawn(at):
    return [
        {"metric": "energy", "value": 1000.0 + at, "unit": "J"},
        {"metric": "meter time", "value": 9.0, "unit": "s"},
    ]


def asked(client, page):
    cell = Cell.objects.filter(system__hypervisor="Xen").earliest("pk")
    guests = System.objects.filter(hypervisor="Xen").order_by("pk")
    run, plan = Run.objects.earliest("pk"), Plan.objects.latest("pk")
    one, other = guests.values_list("pk", flat=True)[:2]
    ids = {"system": one, "one": one, "other": other, "cell": cell.pk}
    address = page.format(**ids, run=run.pk, plan=plan.pk)
    with CaptureQueriesContext(connection) as found:
        answer = client.get(address)
        answer.getvalue()
    assert answer.status_code == 200, address
    return [query["sql"] for query in found]


def test_the_study_has_something_for_every_page(grow, study):
    grow(SMALL)
    told = has_pages()
    found = find_study(ANYONE, "alpha-lab/study", **told)

    assert {name: getattr(found, name) for name in told} == dict.fromkeys(told, True)


def test_no_page_asks_more_often_of_a_larger_study(client, grow):
    grow(SMALL)
    before = {page: len(asked(client, page)) for page in PAGES}
    grow(LARGE)
    after = {page: len(asked(client, page)) for page in PAGES}

    assert after == before
    assert max(after.values()) < 40
