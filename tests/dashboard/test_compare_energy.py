"""The compare page where its cells show energy per work."""

import csv
from datetime import timedelta

import pytest

from benchmarks.models import System
from benchmarks.services import energies
from benchmarks.services.power import keep_power
from tests.power_logs import clock_of, piece

PAGE = "/campaigns/alpha-lab/study/compare/?show=energy"
UOC = "/campaigns/alpha-lab/uoc-2012-kvm/compare/?show=energy&scenario=all"
NATIVE_W, XEN_W = (100.0, 101.0, 99.0), (120.0, 121.0, 119.0)


def windows(count):
    return [(100 * at, 100 * at + 30) for at in range(1, count + 1)]


@pytest.fixture
def metered(submit, run_document, xen, agent):
    """Three native runs at 50 MB/s and some 100 W, three of Xen at 40 and 120 W."""
    watts, places = (*NATIVE_W, *XEN_W), windows(6)
    submit(
        *(
            run_document(
                40.0 if at > 2 else 50.0,
                system=xen if at > 2 else {},
                facts=clock_of(*place),
            )
            for at, place in enumerate(places)
        )
    )
    readings = [(second, 60.0) for second in range(700)]
    for power_w, (begin, end) in zip(watts, places, strict=True):
        for second in range(begin, end + 1):
            readings[second] = (second, power_w)
    keep_power(agent=agent, document=piece(readings))
    energies.integrate_due(timedelta(0))


def cells_of(client, address=PAGE):
    table = client.get(address).context["page"].table
    return [cell for group in table.groups for row in group.rows for cell in row.cells]


def test_a_cell_is_the_ratio_of_joules_for_the_same_work(client, text, metered):
    native, xen = cells_of(client)

    # 100 W at 50 MB/s are 2 J/MB, 120 W at 40 MB/s are 3.
    assert (native.value, native.unit) == (pytest.approx(2), "J/MB")
    assert xen.value == pytest.approx(3)
    assert xen.energy.ratio.ratio == pytest.approx(1.5)
    page = text(PAGE)
    assert "1.500" in page
    assert "[1.4" in page
    assert "a fifth more joules for the same work" in page


def test_more_energy_is_shaded_like_slower(client, metered):
    _native, xen = cells_of(client)

    assert xen.ratio == pytest.approx(1 / 1.5)


def test_what_ran_together_with_others_is_left_out(
    client, metered, submit, run_document
):
    before = cells_of(client)[0].energy.costs
    submit(run_document(50.0, facts=clock_of(110, 120)))
    energies.integrate_due(timedelta(0))

    assert len(cells_of(client)[0].energy.costs) == len(before) - 1


def test_a_run_of_several_pieces_of_work_has_no_cost(
    client, metered, submit, run_document
):
    before = cells_of(client)[0].energy.costs
    sample = {"metric": "network throughput", "value": 50.0, "unit": "MB/s"}
    both = [{**sample, "parameters": {"operation": each}} for each in ("write", "read")]
    submit(run_document(samples=both, facts=clock_of(50, 60)))
    energies.integrate_due(timedelta(0))

    # Nothing tells which of its joules went into writing.
    (native, _xen) = cells_of(client)
    assert native.energy.costs == before


def test_another_column_can_be_the_reference(client, metered):
    xen = System.objects.get(hypervisor="Xen")

    native, _xen = cells_of(client, f"{PAGE}&baseline={xen.pk}")

    assert native.energy.ratio.ratio == pytest.approx(2 / 3)


def test_a_campaign_without_power_says_what_to_do(text, pair):
    page = text(PAGE)

    assert "No power was measured for this choice" in page
    assert "virtlab-agent.pyz power" in page


def test_printed_totals_of_a_study_give_it_too(client, load_study):
    load_study("uoc-2012-kvm", lambda run: True)
    base = System.objects.get(options={"storage": "HDD", "swap": "HDD"})

    cells = cells_of(client, f"{UOC}&baseline={base.pk}")

    found = [
        cell.energy.ratio
        for cell in cells
        if cell.metric == "total time" and cell.energy.ratio
    ]
    # As the energy page has it: HDD with swap on SSD takes 15.8 % less for the work.
    assert [round(each.ratio, 3) for each in found] == [0.842, 0.909, 0.91]
    assert {each.reason for each in found} == {"single_run"}


def test_the_files_hold_speeds(client, metered):
    answer = client.get(PAGE.replace("compare/", "compare.csv"))

    rows = list(csv.DictReader(answer.content.decode().splitlines()))
    assert [row["unit"] for row in rows] == ["MB/s", "MB/s"]


def test_its_queries_are_fixed(client, metered, django_assert_num_queries):
    with django_assert_num_queries(12):
        client.get(PAGE)
