"""The compare page with energy per work."""

import csv
from datetime import timedelta

import pytest

from benchmarks.models import Cell, System
from benchmarks.power.meter_logs import integrate_due, store_power_chunk
from tests.dashboard.exports import latex_reader
from tests.power_logs import chunk, clock_of

PAGE = "/studies/alpha-lab/study/compare/?show=energy"
DIRECT = "/studies/alpha-lab/study/pair/?show=energy"
UOC = "/studies/alpha-lab/uoc-2012-kvm/compare/?show=energy&scenario=all"
NATIVE_W, XEN_W = (100.0, 101.0, 99.0), (120.0, 121.0, 119.0)


def windows(count):
    return [(100 * at, 100 * at + 30) for at in range(1, count + 1)]


@pytest.fixture
def metered(submit, run_document, xen, agent):
    """Submit three native runs (50 MB/s, 100 W) and three of Xen (40 MB/s, 120 W)."""
    watts, places = (*NATIVE_W, *XEN_W), windows(6)
    submit(
        *(
            run_document(
                40.0 if at > 2 else 50.0,
                system=xen if at > 2 else {},
                facts=clock_of(*place),
                session="Monday",
            )
            for at, place in enumerate(places)
        )
    )
    readings = [(second, 60.0) for second in range(700)]
    for power_w, (begin, end) in zip(watts, places, strict=True):
        for second in range(begin, end + 1):
            readings[second] = (second, power_w)
    store_power_chunk(agent=agent, document=chunk(readings))
    integrate_due(timedelta(0))


def cells_of(client, address=PAGE):
    """Return the cells of the page, native ones first."""
    table = client.get(address).context["page"].table
    return sorted(table.cells, key=lambda cell: not cell.system.is_native)


def test_cell_is_energy_ratio_for_same_work(client, text, metered):
    native, xen = cells_of(client)

    # 100 W at 50 MB/s are 2 J/MB, 120 W at 40 MB/s are 3.
    assert (native.result.value, native.result.unit) == (pytest.approx(2), "J/MB")
    assert xen.result.value == pytest.approx(3)
    assert xen.result.energy.ratio.ratio == pytest.approx(1.5)
    page = text(PAGE)
    assert "1.500" in page
    assert "[1.4" in page
    assert 'data-note="energy"' in page


def test_more_energy_is_shaded_like_slower(client, metered):
    _native, xen = cells_of(client)

    assert xen.result.ratio == pytest.approx(1 / 1.5)


def test_overlapping_runs_are_excluded(client, metered, submit, run_document):
    before = cells_of(client)[0].result.energy.joules_per_unit
    submit(run_document(50.0, facts=clock_of(110, 120)))
    integrate_due(timedelta(0))

    assert len(cells_of(client)[0].result.energy.joules_per_unit) == len(before) - 1


def test_run_of_several_workloads_has_no_energy(client, metered, submit, run_document):
    before = cells_of(client)[0].result.energy.joules_per_unit
    sample = {"metric": "network throughput", "value": 50.0, "unit": "MB/s"}
    both = [
        {**sample, "parameters": {"operation": operation}}
        for operation in ("write", "read")
    ]
    submit(run_document(samples=both, facts=clock_of(50, 60)))
    integrate_due(timedelta(0))

    # The energy of the writes is unknown.
    (native, _xen) = cells_of(client)
    assert native.result.energy.joules_per_unit == before


def test_another_column_can_be_reference(client, metered):
    xen = System.objects.get(hypervisor="Xen")

    native, _xen = cells_of(client, f"{PAGE}&baseline={xen.pk}")

    assert native.result.energy.ratio.ratio == pytest.approx(2 / 3)


def test_study_without_power_has_instructions(text, pair):
    page = text(PAGE)

    assert 'data-empty-reason="power"' in page
    assert "virtlab-agent.pyz power" in page


def test_printed_totals_are_used(client, load_study):
    load_study("uoc-2012-kvm")
    base = System.objects.get(options={"storage": "HDD", "swap": "HDD"})

    cells = cells_of(client, f"{UOC}&baseline={base.pk}")

    ratios = [
        cell.result.energy.ratio
        for cell in cells
        if cell.case.metric == "total time" and cell.result.energy.ratio
    ]
    # As on the energy page: HDD with swap on SSD takes 15.8 % less for the work.
    assert [round(ratio.ratio, 3) for ratio in ratios] == [0.842, 0.909, 0.91]
    assert {ratio.reason for ratio in ratios} == {"single_run"}


def card_of(text, cell, query="show=energy"):
    return text(f"{PAGE.partition('?')[0]}cell/?cell={cell}&{query}")


def test_card_shows_energy_interval_and_reasons(text, metered):
    card = card_of(text, Cell.objects.get(system__hypervisor="Xen").pk)

    assert "3\xa0J/MB, 3 runs" in card
    assert "<dd>whole machine</dd>" in card
    assert "2\xa0J/MB, 3 runs" in card
    assert "<b>1.500</b> times the energy for the same work" in card
    assert "1.4" in card.partition("for the same work")[2]
    assert "indicative: more energy" in card
    assert "Runs: this system 3, the baseline 3." in card
    assert "MB/s" not in card


def test_baseline_card_has_no_ratio(text, metered):
    card = card_of(text, Cell.objects.get(system__hypervisor="native").pk)

    assert "2\xa0J/MB, 3 runs" in card
    assert "This is the native result." in card
    assert "card-ratio" not in card


def test_card_reports_missing_power(text, pair):
    card = card_of(text, pair.pk)

    assert "the power of this work alone was not measured" in card
    assert "13.08" not in card
    assert "0\xa0J" not in card


def test_cell_links_keep_mode(text, metered):
    xen = Cell.objects.get(system__hypervisor="Xen")

    assert f'href="../cells/{xen.pk}/?show=energy"' in text(PAGE)
    page = text(f"/studies/alpha-lab/study/cells/{xen.pk}/?show=energy")
    assert "1.500 times the energy" in page
    assert 'compare/?scenario=single&amp;show=energy"' in page


def test_two_pinned_systems_are_compared_by_energy(text, metered):
    native, xen = System.objects.order_by("pk")

    page = text(f"{DIRECT}&pin={xen.pk},{native.pk}")

    assert "3\xa0J/MB" in page
    assert ">1.500</a>" in page
    assert "indicative: more energy" in page
    assert f"?baseline={native.pk}&amp;show=energy" in page
    assert "MB/s" not in page.split("system-pair-table")[1]


def test_pinned_systems_without_power_are_reported(text, pair):
    native = Cell.objects.get(system__hypervisor="native")

    page = text(f"{DIRECT}&pin={native.system_id},{pair.system_id}")

    assert 'data-empty-reason="power"' in page


def file_of(client, form, query="show=energy"):
    return client.get(f"/studies/alpha-lab/study/compare.{form}?{query}")


def test_csv_has_energy_columns(client, metered):
    answer = file_of(client, "csv")

    native, xen = csv.DictReader(answer.content.decode().splitlines())
    assert not {"value", "ratio", "unit"} & xen.keys()
    assert (xen["energy_unit"], xen["metered_runs"]) == ("J/MB", "3")
    assert float(xen["energy"]) == pytest.approx(3)
    assert float(xen["baseline_energy"]) == pytest.approx(2)
    assert float(xen["energy_ratio"]) == pytest.approx(1.5)
    assert float(xen["energy_low"]) < 1.5 < float(xen["energy_high"])
    assert (xen["verdict"], xen["reason_codes"]) == ("not_assessed", "few_runs")
    assert (native["state"], native["energy_ratio"]) == ("native", "")
    assert answer["Content-Disposition"].endswith('"study-energy.csv"')


def test_json_states_energy(client, metered):
    document = file_of(client, "json").json()

    assert document["view"] == "energy"
    assert document["compared_with"] == "energy per unit of work, compared with native"
    assert document["cells"][1]["meter"] == "machine"


def test_latex_has_energy_ratio_and_states_it(client, metered):
    source = file_of(client, "tex").content.decode()

    assert latex_reader.read(source).closed == ["tblr", "table"]
    assert r" & 1.500" in source
    assert "energy per unit of work, compared with native" in source
    assert "Ratios of the energy (joules) for the same work" in source
    assert "J/MB" in source


def test_chart_shows_energy_ratio(client, metered):
    figure = client.get(PAGE.replace("compare/", "compare/chart/")).json()

    assert figure["data"][0]["x"] == [pytest.approx(1.5)]
    assert "Energy for the same work" in figure["layout"]["xaxis"]["title"]["text"]


def test_unmetered_energy_is_missing_not_zero(
    client, text, metered, submit, run_document, xen
):
    sample = {"metric": "network throughput", "value": 50.0, "unit": "MB/s"}
    read = [{**sample, "parameters": {"operation": "read"}}]
    submit(
        run_document(samples=read, facts=clock_of(650, 690)),
        run_document(samples=read, system=xen),
    )
    integrate_due(timedelta(0))
    cell = Cell.objects.get(
        system__hypervisor="Xen", case__parameters={"operation": "read"}
    )

    lines = csv.DictReader(file_of(client, "csv").content.decode().splitlines())
    (line,) = [line for line in lines if line["id"] == str(cell.pk)]
    assert (line["state"], line["energy"], line["energy_ratio"]) == (
        "unmetered",
        "",
        "",
    )
    assert (line["metered_runs"], line["energy_unit"]) == ("0", "J/MB")
    native, xen_system = System.objects.order_by("pk")
    pins = text(f"{DIRECT}&pin={xen_system.pk},{native.pk}")
    assert "no power" in pins
    assert "0\xa0J" not in pins
    assert "power of this work alone was not measured" in card_of(text, cell.pk)


def test_printed_energy_has_no_interval_but_reason(client, text, load_study):
    load_study("uoc-2012-kvm")
    base = System.objects.get(options={"storage": "HDD", "swap": "HDD"})
    cell = next(
        cell
        for cell in cells_of(client, f"{UOC}&baseline={base.pk}")
        if cell.case.metric == "total time" and cell.result.energy_ratio
    )
    place = UOC.partition("?")[0]

    card = text(f"{place}cell/?cell={cell.id}&baseline={base.pk}&show=energy")
    assert "<b>0.842</b> times the energy" in card
    assert "Runs: this system 1, the baseline 1." in card
    pins = text(f"{UOC.replace('compare/', 'pair/')}&pin={cell.system.id},{base.pk}")
    assert ">0.842</a>" in pins
    assert (
        "Runs: this system 1, the baseline 1. A verdict needs at least 5 each." in pins
    )


def test_query_count_is_constant(client, metered, django_assert_num_queries):
    with django_assert_num_queries(17):
        client.get(PAGE)
