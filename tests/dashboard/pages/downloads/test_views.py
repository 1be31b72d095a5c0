"""Exported files, and permissions."""

import csv
import io
import json

import pytest

from benchmarks.models import Cell, Study
from tests.dashboard.exports import latex_reader
from tests.dashboard.exports.conftest import HOSTILE

STUDY = "/studies/alpha-lab/study/"
ADDRESSES = [
    *(f"compare.{form}" for form in ("csv", "json", "tex")),
    *(f"cite.{form}" for form in ("bib", "csl.json")),
]


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_cells_of_page(text, pair):
    native, xen = table(text(f"{STUDY}compare.csv"))

    assert (native["value"], native["state"]) == ("52.97", "native")
    assert float(xen["ratio"]) == 13.08 / 52.97
    assert (xen["verdict"], xen["reason_codes"]) == ("not_assessed", "single_run")


def test_json_has_same_cells_with_numbers(text, pair):
    document = json.loads(text(f"{STUDY}compare.json"))

    assert document["compared_with"] == "compared with native"
    assert document["url"] == f"http://testserver{STUDY}compare/"
    _, xen = document["cells"]
    assert (xen["value"], xen["unit"], xen["id"]) == (13.08, "MB/s", pair.pk)


def test_latex_is_table_with_url(text, pair):
    source = text(f"{STUDY}compare.tex", data={"component": "network"})

    assert latex_reader.read(source).closed == ["tblr", "table"]
    assert "& 0.247" in source
    assert r"compare/?component=network" in source.replace(r"\allowbreak{}", "")
    assert "Gebhardt 2010" in source


def test_files_have_overhead_and_ratio(text, pair):
    native, xen = table(text(f"{STUDY}compare.csv"))

    assert float(xen["overhead"]) == pytest.approx(1 - 13.08 / 52.97)
    assert (native["overhead"], xen["overhead_low"]) == ("", "")


def test_latex_shows_chosen_quantity(text, pair):
    lost = text(f"{STUDY}compare.tex", data={"show": "overhead"})
    measured = text(f"{STUDY}compare.tex", data={"show": "value"})

    assert r"75.3{\rlap{\%}}" in lost
    assert "Overheads: the loss relative to the baseline" in lost
    assert r"\itshape 13.08" in measured
    assert "0.247" not in measured
    assert "Measured values are means over runs" in measured


@pytest.mark.parametrize("show", ["overhead", "value"])
def test_file_name_and_header_state_quantity(client, pair, show):
    answer = client.get(f"{STUDY}compare.json", {"show": show})

    assert answer.json()["view"] == show
    assert answer["Content-Disposition"].endswith(f'"study-{show}.json"')


@pytest.mark.parametrize("form", ["csv", "json", "tex"])
def test_page_query_filters_file(text, pair, form):
    assert "13.08" not in text(f"{STUDY}compare.{form}", data={"component": "CPU"})


@pytest.mark.parametrize("form", ["csv", "json", "tex"])
@pytest.mark.parametrize(("q", "is_there"), [("NETWORK write", True), ("disk", False)])
def test_search_filters_file(text, pair, form, q, is_there):
    assert ("52.97" in text(f"{STUDY}compare.{form}", data={"q": q})) is is_there


def test_file_states_filters(text, pair):
    query = {"component": "network", "q": "write"}
    address = f"http://testserver{STUDY}compare/?component=network&q=write"

    document = json.loads(text(f"{STUDY}compare.json", data=query))
    assert document["filters"] == {
        "scenario": "single",
        **query,
        "metrics": "primary",
    }
    assert (document["equivalence_margin_percent"], document["tested_cells"]) == (
        2.0,
        0,
    )
    lines = table(text(f"{STUDY}compare.csv", data=query))
    assert {line["url"] for line in lines} == {address}
    assert {line["compared_with"] for line in lines} == {"compared with native"}
    assert {line["created_on"] for line in lines} == {document["created_on"]}


def test_pair_is_exported_as_compared(text, pair, submit, run_document):
    submit(run_document(26.16, system={"hypervisor": "KVM"}))
    kvm = Cell.objects.get(system__hypervisor="KVM")
    pins = {"pin": f"{pair.system_id},{kvm.system_id}"}

    lines = table(text(f"{STUDY}compare.csv", data=pins))

    assert {line["hypervisor"]: (line["kind"], line["ratio"]) for line in lines} == {
        "Xen": ("relative_to_reference", "0.5"),
        "KVM": ("", ""),
    }
    assert "compared with KVM" in text(f"{STUDY}compare.tex", data=pins)
    assert f'href="{STUDY}compare.csv?pin=' in text(f"{STUDY}pair/", data=pins)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_missing_value_is_empty_not_zero(text, submit, run_document, xen, form):
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


def test_cpu_share_has_no_ratio(text, submit, run_document, xen):
    load = {"metric": "CPU utilization (network)", "parameters": {}, "unit": "%"}
    submit(
        run_document(samples=[{**load, "value": 2.4}]),
        run_document(samples=[{**load, "value": 37.8}], system=xen),
    )

    native, vm = table(text(f"{STUDY}compare.csv"))

    assert (vm["state"], vm["kind"], vm["value"]) == ("no_speed", "", "37.8")
    assert {vm[name] for name in ("ratio", "low", "high", "overhead")} == {""}
    assert "hypervisor's part is not included" in vm["state_message"]
    assert native["state"] == "no_speed"


def test_slot_has_slowdown_without_overhead(text, submit, run_document, xen):
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


def test_chosen_baseline_makes_ratios_relative(text, pair):
    native = Cell.objects.get(system__hypervisor="native")
    chosen = {"baseline": native.system_id}

    (_, xen) = table(text(f"{STUDY}compare.csv", data=chosen))
    assert xen["kind"] == "relative_to_reference"
    assert "compared with native, Ubuntu" in text(f"{STUDY}compare.tex", data=chosen)


@pytest.mark.parametrize("address", ADDRESSES)
def test_file_is_named_after_study(client, pair, address):
    answer = client.get(STUDY + address)

    ending = address.partition(".")[2]
    assert answer["Content-Disposition"] == f'attachment; filename="study.{ending}"'


@pytest.mark.parametrize("address", ADDRESSES)
def test_private_study_is_404_for_others(client, private_study, person, address):
    private = f"/studies/alpha-lab/secret-study/{address}"
    assert client.get(private).status_code == 404

    client.force_login(person)
    assert client.get(private).status_code == 200


@pytest.mark.parametrize(
    "address", ["compare.xls", "compare.", "cite.ris", "cite.json"]
)
def test_unknown_format_is_404(client, study, address):
    assert client.get(STUDY + address).status_code == 404


@pytest.mark.parametrize("address", ADDRESSES)
def test_post_is_not_allowed(client, study, address):
    assert client.post(STUDY + address).status_code == 405


def test_compare_page_links_to_filtered_files(text, pair):
    page = text(f"{STUDY}compare/", data={"component": "network"})

    assert f'href="{STUDY}compare.csv?component=network"' in page
    assert f'href="{STUDY}compare.tex?component=network"' in page


def test_htmx_fragment_links_to_filtered_files(client, pair):
    part = client.get(
        f"{STUDY}compare/?bits=32",
        headers={"HX-Request": "true", "HX-Target": "comparison"},
    )

    assert f"{STUDY}compare.json?bits=32" in part.content.decode()


def test_study_page_shows_citation(text, study):
    page = text(STUDY)

    assert "@misc{study," in page
    assert f"{STUDY}cite.csl.json" in page


def test_uploaded_names_stay_text(text, submit, run_document, xen):
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

    assert set(latex_reader.read(text(f"{STUDY}compare.tex")).closed) == {
        "tblr",
        "table",
    }
    lines = table(text(f"{STUDY}compare.csv"))
    assert len(lines) == len(HOSTILE)
    assert not [line for line in lines if line["guest_os"][0] in "=+-@"]
    (item,) = json.loads(text(f"{STUDY}cite.csl.json"))
    assert item["title"] == HOSTILE[1]


@pytest.mark.parametrize("form", ["csv", "json", "tex"])
def test_query_count_is_constant(
    client, pair, submit, run_document, django_assert_num_queries, form
):
    submit(*(run_document(system={"guest_os": f"Linux {n}"}) for n in range(5)))

    with django_assert_num_queries(9):
        client.get(f"{STUDY}compare.{form}")


def samples(client, cell, **query):
    answer = client.get(f"{STUDY}cells/{cell.pk}/samples.csv", query)
    assert answer["Content-Disposition"].endswith(f'"study-cell-{cell.pk}.csv"')
    return table(answer.getvalue().decode())


def test_export_has_samples_of_both_sides(client, submit, run_document, xen):
    day = "2026-03-01T08:00:00Z"
    submit(
        run_document(52.97, session="Monday", clock="external", started_at=day),
        run_document(13.08, system=xen),
        run_document(13.1, system=xen),
    )
    cell = Cell.objects.get(system__hypervisor="Xen")

    first, second, native = samples(client, cell)

    assert (first["role"], first["value"], first["unit"]) == ("cell", "13.08", "MB/s")
    assert (int(second["run"]) > int(first["run"]), second["declared_session"]) == (
        True,
        "",
    )
    assert (native["role"], native["value"]) == ("baseline", "52.97")
    assert native["started_at"] == "2026-03-01T08:00:00+00:00"
    assert (native["declared_session"], native["clock"]) == ("Monday", "external")
    assert native["url"] == f"http://testserver{STUDY}cells/{cell.pk}/"


def test_export_has_samples_of_chosen_baseline(
    client, text, pair, submit, run_document
):
    submit(run_document(26.16, system={"hypervisor": "KVM"}))
    kvm = Cell.objects.get(system__hypervisor="KVM").system_id

    _, other = samples(client, pair, baseline=kvm)

    assert (other["value"], other["system_id"]) == ("26.16", str(kvm))
    page = text(f"{STUDY}cells/{pair.pk}/", data={"baseline": kvm})
    assert f'href="{STUDY}cells/{pair.pk}/samples.csv?baseline={kvm}"' in page


def test_samples_of_unknown_cell_are_404(client, pair):
    assert client.get(f"{STUDY}cells/999999/samples.csv").status_code == 404
