"""The compare page where its cells show energy per work."""

import csv
from datetime import timedelta

import pytest

from benchmarks.models import Cell, System
from benchmarks.power.logs import integrate_due, keep_power
from tests.dashboard.exports import tex
from tests.power_logs import clock_of, piece

PAGE = "/studies/alpha-lab/study/compare/?show=energy"
DIRECT = "/studies/alpha-lab/study/direct/?show=energy"
UOC = "/studies/alpha-lab/uoc-2012-kvm/compare/?show=energy&scenario=all"
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
    integrate_due(timedelta(0))


def cells_of(client, address=PAGE):
    table = client.get(address).context["page"].table
    return [cell for group in table.groups for row in group.rows for cell in row.cells]


def test_a_cell_is_the_ratio_of_joules_for_the_same_work(client, text, metered):
    native, xen = cells_of(client)

    # 100 W at 50 MB/s are 2 J/MB, 120 W at 40 MB/s are 3.
    assert (native.shown.value, native.shown.unit) == (pytest.approx(2), "J/MB")
    assert xen.shown.value == pytest.approx(3)
    assert xen.shown.energy.ratio.ratio == pytest.approx(1.5)
    page = text(PAGE)
    assert "1.500" in page
    assert "[1.4" in page
    assert 'data-note="energy"' in page


def test_more_energy_is_shaded_like_slower(client, metered):
    _native, xen = cells_of(client)

    assert xen.shown.ratio == pytest.approx(1 / 1.5)


def test_what_ran_together_with_others_is_left_out(
    client, metered, submit, run_document
):
    before = cells_of(client)[0].shown.energy.costs
    submit(run_document(50.0, facts=clock_of(110, 120)))
    integrate_due(timedelta(0))

    assert len(cells_of(client)[0].shown.energy.costs) == len(before) - 1


def test_a_run_of_several_pieces_of_work_has_no_cost(
    client, metered, submit, run_document
):
    before = cells_of(client)[0].shown.energy.costs
    sample = {"metric": "network throughput", "value": 50.0, "unit": "MB/s"}
    both = [
        {**sample, "parameters": {"operation": operation}}
        for operation in ("write", "read")
    ]
    submit(run_document(samples=both, facts=clock_of(50, 60)))
    integrate_due(timedelta(0))

    # Nothing tells which of its joules went into writing.
    (native, _xen) = cells_of(client)
    assert native.shown.energy.costs == before


def test_another_column_can_be_the_reference(client, metered):
    xen = System.objects.get(hypervisor="Xen")

    native, _xen = cells_of(client, f"{PAGE}&baseline={xen.pk}")

    assert native.shown.energy.ratio.ratio == pytest.approx(2 / 3)


def test_a_study_without_power_says_what_to_do(text, pair):
    page = text(PAGE)

    assert 'data-lacks="power"' in page
    assert "virtlab-agent.pyz power" in page


def test_printed_totals_of_a_study_give_it_too(client, load_study):
    load_study("uoc-2012-kvm")
    base = System.objects.get(options={"storage": "HDD", "swap": "HDD"})

    cells = cells_of(client, f"{UOC}&baseline={base.pk}")

    ratios = [
        cell.shown.energy.ratio
        for cell in cells
        if cell.case.metric == "total time" and cell.shown.energy.ratio
    ]
    # As the energy page has it: HDD with swap on SSD takes 15.8 % less for the work.
    assert [round(ratio.ratio, 3) for ratio in ratios] == [0.842, 0.909, 0.91]
    assert {ratio.reason for ratio in ratios} == {"single_run"}


def card_of(text, cell, query="show=energy"):
    return text(f"{PAGE.partition('?')[0]}cell/?cell={cell}&{query}")


def test_its_card_tells_energies_with_interval_and_reasons(text, metered):
    card = card_of(text, Cell.objects.get(system__hypervisor="Xen").pk)

    assert "3\xa0J/MB, 3 runs" in card
    assert "<dd>whole machine</dd>" in card
    assert "2\xa0J/MB, 3 runs" in card
    assert "<b>1.500</b> times the energy for the same work" in card
    assert "1.4" in card.partition("for the same work")[2]
    assert "indicative: more energy" in card
    assert "With 3 runs it is only indicative" in card
    assert "MB/s" not in card


def test_the_card_of_the_baseline_has_no_ratio(text, metered):
    card = card_of(text, Cell.objects.get(system__hypervisor="native").pk)

    assert "2\xa0J/MB, 3 runs" in card
    assert "This is the native side." in card
    assert "card-ratio" not in card


def test_the_card_of_a_cell_without_power_says_so(text, pair):
    card = card_of(text, pair.pk)

    assert "no power was measured that belongs to this work alone" in card
    assert "13.08" not in card
    assert "0\xa0J" not in card


def test_links_of_its_cells_keep_the_mode(text, metered):
    xen = Cell.objects.get(system__hypervisor="Xen")

    assert f'href="../cells/{xen.pk}/?show=energy"' in text(PAGE)
    page = text(f"/studies/alpha-lab/study/cells/{xen.pk}/?show=energy")
    assert "1.500 times the energy" in page
    assert 'compare/?scenario=single&amp;show=energy"' in page


def test_two_pins_are_compared_by_their_energies(text, metered):
    native, xen = System.objects.order_by("pk")

    page = text(f"{DIRECT}&pin={xen.pk},{native.pk}")

    assert "3\xa0J/MB" in page
    assert ">1.500</a>" in page
    assert "indicative: more energy" in page
    assert f"?baseline={native.pk}&amp;show=energy" in page
    assert "MB/s" not in page.split("direct-table")[1]


def test_pins_without_power_say_so(text, pair):
    native = Cell.objects.get(system__hypervisor="native")

    page = text(f"{DIRECT}&pin={native.system_id},{pair.system_id}")

    assert 'data-lacks="power"' in page


def file_of(client, form, query="show=energy"):
    return client.get(f"/studies/alpha-lab/study/compare.{form}?{query}")


def test_csv_has_energies_in_columns_of_their_own(client, metered):
    answer = file_of(client, "csv")

    native, xen = csv.DictReader(answer.content.decode().splitlines())
    assert not {"value", "ratio", "unit"} & xen.keys()
    assert (xen["energy_unit"], xen["metered_runs"]) == ("J/MB", "3")
    assert float(xen["energy"]) == pytest.approx(3)
    assert float(xen["baseline_energy"]) == pytest.approx(2)
    assert float(xen["energy_ratio"]) == pytest.approx(1.5)
    assert float(xen["energy_low"]) < 1.5 < float(xen["energy_high"])
    assert (xen["verdict"], xen["reasons"]) == ("not_assessed", "few_runs")
    assert (native["state"], native["energy_ratio"]) == ("native", "")
    assert answer["Content-Disposition"].endswith('"study-energy.csv"')


def test_json_says_that_it_holds_energies(client, metered):
    document = file_of(client, "json").json()

    assert document["shows"] == "energy"
    assert document["against"] == "energy per work, compared with native"
    assert document["cells"][1]["meter"] == "machine"


def test_latex_has_the_ratio_of_joules_and_says_so(client, metered):
    source = file_of(client, "tex").content.decode()

    assert tex.read(source).closed == ["tblr", "table"]
    assert r" & 1.500" in source
    assert "energy per work, compared with native" in source
    assert "Ratios of the joules for the same work" in source
    assert "J/MB" in source


def test_its_chart_draws_the_ratio_of_joules(client, metered):
    figure = client.get(PAGE.replace("compare/", "compare/chart/")).json()

    assert figure["data"][0]["x"] == [pytest.approx(1.5)]
    assert "Energy for the same work" in figure["layout"]["xaxis"]["title"]["text"]


def test_what_nobody_metered_is_missing_and_never_0(
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
    assert "no power was measured" in card_of(text, cell.pk)


def test_a_printed_energy_has_no_interval_and_says_why(client, text, load_study):
    load_study("uoc-2012-kvm")
    base = System.objects.get(options={"storage": "HDD", "swap": "HDD"})
    cell = next(
        cell
        for cell in cells_of(client, f"{UOC}&baseline={base.pk}")
        if cell.case.metric == "total time" and cell.shown.joules
    )
    place = UOC.partition("?")[0]

    card = text(f"{place}cell/?cell={cell.id}&baseline={base.pk}&show=energy")
    assert "<b>0.842</b> times the energy" in card
    assert "A single run: no uncertainty estimate." in card
    pins = text(f"{UOC.replace('compare/', 'direct/')}&pin={cell.system.id},{base.pk}")
    assert ">0.842</a>" in pins
    assert "5 runs a side allow a verdict; there are 1 and 1." in pins


def test_its_queries_are_fixed(client, metered, django_assert_num_queries):
    with django_assert_num_queries(15):
        client.get(PAGE)
