"""What leaves the site, and who may have it."""

import csv
import io
import json

import pytest

from benchmarks.models import Cell, Study
from tests.dashboard.exports import tex
from tests.dashboard.exports.conftest import HOSTILE

STUDY = "/studies/alpha-lab/study/"
ADDRESSES = [
    *(f"compare.{form}" for form in ("csv", "json", "tex")),
    *(f"cite.{form}" for form in ("bib", "csl.json")),
]


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_the_cells_of_the_page(text, pair):
    native, xen = table(text(f"{STUDY}compare.csv"))

    assert (native["value"], native["state"]) == ("52.97", "native")
    assert float(xen["ratio"]) == 13.08 / 52.97
    assert (xen["verdict"], xen["reasons"]) == ("not_assessed", "single_run")


def test_json_has_the_same_cells_with_numbers(text, pair):
    document = json.loads(text(f"{STUDY}compare.json"))

    assert document["against"] == "compared with native"
    assert document["address"] == f"http://testserver{STUDY}compare/"
    _, xen = document["cells"]
    assert (xen["value"], xen["unit"], xen["id"]) == (13.08, "MB/s", pair.pk)


def test_latex_is_a_table_with_its_address(text, pair):
    source = text(f"{STUDY}compare.tex", data={"component": "network"})

    assert tex.read(source).closed == ["tblr", "table"]
    assert "& 0.247" in source
    assert r"compare/?component=network" in source.replace(r"\allowbreak{}", "")
    assert "Gebhardt 2010" in source


def test_every_file_of_speeds_has_the_overhead_beside_the_ratio(text, pair):
    native, xen = table(text(f"{STUDY}compare.csv"))

    assert float(xen["overhead"]) == pytest.approx(1 - 13.08 / 52.97)
    assert (native["overhead"], xen["overhead_low"]) == ("", "")


def test_latex_tells_what_the_page_shows(text, pair):
    lost = text(f"{STUDY}compare.tex", data={"show": "overhead"})
    measured = text(f"{STUDY}compare.tex", data={"show": "value"})

    assert r"75.3{\rlap{~\%}}" in lost
    assert "Overheads: the loss against the baseline" in lost
    assert r"\itshape 13.08" in measured
    assert "0.247" not in measured
    assert "Measured values: means over runs" in measured


@pytest.mark.parametrize("show", ["overhead", "value"])
def test_a_file_is_named_and_headed_after_what_is_shown(client, pair, show):
    answer = client.get(f"{STUDY}compare.json", {"show": show})

    assert answer.json()["shows"] == show
    assert answer["Content-Disposition"].endswith(f'"study-{show}.json"')


@pytest.mark.parametrize("form", ["csv", "json", "tex"])
def test_the_query_of_the_page_narrows_the_file(text, pair, form):
    assert "13.08" not in text(f"{STUDY}compare.{form}", data={"component": "CPU"})


@pytest.mark.parametrize("form", ["csv", "json", "tex"])
@pytest.mark.parametrize(("q", "is_there"), [("NETWORK write", True), ("disk", False)])
def test_a_search_narrows_the_file_as_it_does_the_page(text, pair, form, q, is_there):
    assert ("52.97" in text(f"{STUDY}compare.{form}", data={"q": q})) is is_there


def test_a_file_says_what_it_was_narrowed_to(text, pair):
    query = {"component": "network", "q": "write"}
    address = f"http://testserver{STUDY}compare/?component=network&q=write"

    document = json.loads(text(f"{STUDY}compare.json", data=query))
    assert document["filters"] == {"scenario": "single", **query}
    assert (document["equivalence_margin_percent"], document["tested"]) == (2.0, 0)
    lines = table(text(f"{STUDY}compare.csv", data=query))
    assert {line["address"] for line in lines} == {address}
    assert {line["against"] for line in lines} == {"compared with native"}
    assert {line["made_on"] for line in lines} == {document["made_on"]}


def test_two_pinned_systems_leave_as_they_are_compared(
    text, pair, submit, run_document
):
    submit(run_document(26.16, system={"hypervisor": "KVM"}))
    kvm = Cell.objects.get(system__hypervisor="KVM")
    pins = {"pin": f"{pair.system_id},{kvm.system_id}"}

    lines = table(text(f"{STUDY}compare.csv", data=pins))

    assert {line["hypervisor"]: (line["kind"], line["ratio"]) for line in lines} == {
        "Xen": ("relative", "0.5"),
        "KVM": ("", ""),
    }
    assert "compared with KVM" in text(f"{STUDY}compare.tex", data=pins)
    assert f'href="{STUDY}compare.csv?pin=' in text(f"{STUDY}direct/", data=pins)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_what_is_missing_is_empty_and_never_zero(text, submit, run_document, xen, form):
    load = {"metric": "jitter", "parameters": {}, "unit": "ms"}
    submit(
        run_document(tool="iperf3", samples=[{**load, "value": 0.0}]),
        run_document(tool="iperf3", samples=[{**load, "value": 13.08}], system=xen),
    )

    written = text(f"{STUDY}compare.{form}")

    cells = table(written) if form == "csv" else json.loads(written)["cells"]
    nothing = "" if form == "csv" else None
    native, vm = cells
    assert (float(native["value"]), float(vm["baseline_value"])) == (0.0, 0.0)
    assert {vm[name] for name in ("ratio", "low", "high", "overhead", "vcpus")} == {
        nothing
    }


def test_a_share_of_processor_time_has_no_ratio_in_any_column(
    text, submit, run_document, xen
):
    load = {"metric": "CPU utilization (network)", "parameters": {}, "unit": "%"}
    submit(
        run_document(samples=[{**load, "value": 2.4}]),
        run_document(samples=[{**load, "value": 37.8}], system=xen),
    )

    native, vm = table(text(f"{STUDY}compare.csv"))

    assert (vm["state"], vm["kind"], vm["value"]) == ("no_speed", "", "37.8")
    assert {vm[name] for name in ("ratio", "low", "high", "overhead")} == {""}
    assert "hypervisor's part is not seen" in vm["reason"]
    assert native["state"] == "no_speed"


def test_a_slot_is_written_as_slowdown_without_overhead(
    text, submit, run_document, xen
):
    together = {"system": xen, "scenario": "parallel", "vms": 2}
    submit(
        run_document(50.0),
        run_document(40.0, system=xen),
        *(run_document(10.0, slot=slot, **together) for slot in ("1", "2")),
    )

    (slot, _) = [
        line
        for line in table(text(f"{STUDY}compare.csv?scenario=parallel"))
        if line["scenario"] == "parallel"
    ]

    assert (slot["kind"], slot["ratio"], slot["overhead"]) == ("slowdown", "0.25", "")


def test_a_chosen_baseline_makes_ratios_relative(text, pair):
    native = Cell.objects.get(system__hypervisor="native")
    chosen = {"baseline": native.system_id}

    (_, xen) = table(text(f"{STUDY}compare.csv", data=chosen))
    assert xen["kind"] == "relative"
    assert "compared with native, Ubuntu" in text(f"{STUDY}compare.tex", data=chosen)


@pytest.mark.parametrize("address", ADDRESSES)
def test_it_is_a_file_named_after_the_study(client, pair, address):
    answer = client.get(STUDY + address)

    ending = address.partition(".")[2]
    assert answer["Content-Disposition"] == f'attachment; filename="study.{ending}"'


@pytest.mark.parametrize("address", ADDRESSES)
def test_what_is_private_is_not_there_for_others(
    client, private_study, person, address
):
    private = f"/studies/alpha-lab/secret-study/{address}"
    assert client.get(private).status_code == 404

    client.force_login(person)
    assert client.get(private).status_code == 200


@pytest.mark.parametrize(
    "address", ["compare.xls", "compare.", "cite.ris", "cite.json"]
)
def test_other_endings_are_not_there(client, study, address):
    assert client.get(STUDY + address).status_code == 404


@pytest.mark.parametrize("address", ADDRESSES)
def test_they_are_only_read(client, study, address):
    assert client.post(STUDY + address).status_code == 405


def test_the_compare_page_offers_its_own_query(text, pair):
    page = text(f"{STUDY}compare/", data={"component": "network"})

    assert f'href="{STUDY}compare.csv?component=network"' in page
    assert f'href="{STUDY}compare.tex?component=network"' in page


def test_a_part_for_htmx_offers_its_own_query_too(client, pair):
    part = client.get(
        f"{STUDY}compare/?bits=32",
        headers={"HX-Request": "true", "HX-Target": "comparison"},
    )

    assert f"{STUDY}compare.json?bits=32" in part.content.decode()


def test_the_study_page_shows_how_it_is_cited(text, study):
    page = text(STUDY)

    assert "@misc{study," in page
    assert f"{STUDY}cite.csl.json" in page


def test_names_out_of_uploads_stay_texts(text, submit, run_document, xen):
    for at, name in enumerate(HOSTILE):
        name = name.replace("\N{RIGHT-TO-LEFT MARK}", "")
        submit(
            run_document(
                system={**xen, "guest_os": name, "options": {"swap": name}},
                document=name,
                table=name,
                load=name,
                value=at + 1,
            )
        )
    Study.objects.update(title=HOSTILE[1], author=HOSTILE[2], institution=HOSTILE[3])

    assert set(tex.read(text(f"{STUDY}compare.tex")).closed) == {"tblr", "table"}
    lines = table(text(f"{STUDY}compare.csv"))
    assert len(lines) == len(HOSTILE)
    assert not [line for line in lines if line["guest_os"][0] in "=+-@"]
    (item,) = json.loads(text(f"{STUDY}cite.csl.json"))
    assert item["title"] == HOSTILE[1]


@pytest.mark.parametrize("form", ["csv", "json", "tex"])
def test_its_queries_are_fixed(
    client, pair, submit, run_document, django_assert_num_queries, form
):
    submit(*(run_document(system={"guest_os": f"Linux {n}"}) for n in range(5)))

    with django_assert_num_queries(9):
        client.get(f"{STUDY}compare.{form}")


def samples(client, cell, **query):
    answer = client.get(f"{STUDY}cells/{cell.pk}/samples.csv", query)
    assert answer["Content-Disposition"].endswith(f'"study-cell-{cell.pk}.csv"')
    return table(answer.getvalue().decode())


def test_every_sample_of_both_sides_leaves_with_its_run_and_unit(
    client, submit, run_document, xen
):
    day = "2026-03-01T08:00:00Z"
    submit(
        run_document(52.97, session="Monday", clock="external", started_at=day),
        run_document(13.08, system=xen),
        run_document(13.1, system=xen),
    )
    cell = Cell.objects.get(system__hypervisor="Xen")

    first, second, native = samples(client, cell)

    assert (first["side"], first["value"], first["unit"]) == ("cell", "13.08", "MB/s")
    assert (int(second["run"]) > int(first["run"]), second["session"]) == (True, "")
    assert (native["side"], native["value"]) == ("baseline", "52.97")
    assert native["started_at"] == "2026-03-01T08:00:00+00:00"
    assert (native["session"], native["clock"]) == ("Monday", "external")
    assert native["address"] == f"http://testserver{STUDY}cells/{cell.pk}/"


def test_the_samples_are_those_of_the_baseline_that_was_chosen(
    client, text, pair, submit, run_document
):
    submit(run_document(26.16, system={"hypervisor": "KVM"}))
    kvm = Cell.objects.get(system__hypervisor="KVM").system_id

    _, other = samples(client, pair, baseline=kvm)

    assert (other["value"], other["system_id"]) == ("26.16", str(kvm))
    page = text(f"{STUDY}cells/{pair.pk}/", data={"baseline": kvm})
    assert f'href="{STUDY}cells/{pair.pk}/samples.csv?baseline={kvm}"' in page


def test_samples_of_no_cell_are_not_there(client, pair):
    assert client.get(f"{STUDY}cells/999999/samples.csv").status_code == 404
