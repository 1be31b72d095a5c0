"""A study's report as plain texts."""

import re

import pytest

from benchmarks.analysis.verdict_gates import Gate, gate_sentence
from benchmarks.models import Flag, Host, Run, Study
from benchmarks.studies import checking
from benchmarks.studies.flags import decide_flag
from dashboard.exports.report import method_and_setup, result_matrix
from tests.dashboard.pages.report.report_texts import part, texts

ALL = ("mean of the VMs", "sum of the VMs")


@pytest.fixture
def pair(submit, run_document, xen):
    document = {"document": "Gebhardt 2010", "table": "Net Linux"}
    submit(run_document(52.97, **document), run_document(13.08, system=xen, **document))


def test_report_states_basis_of_study(xen_study, report_of):
    document = report_of(xen_study)

    assert document.byline.startswith("Bastian Gebhardt, LMU Munich")
    assert "AMD Athlon 64 X2 4800+, 2.4 GHz" in texts(part(document, "systems"))
    (single,) = [p for p in part(document, "matrix-1").paragraphs if "single run" in p]
    assert "verdicts are not possible" in single
    assert "246 not assessed" in part(document, "findings").paragraphs[0]
    assert "@techreport{lmu-2010-xen," in document.citation


def test_sections_are_in_order(study, pair, report_of):
    names = [each.name for each in report_of(study).sections]

    assert names == [
        *("about", "method", "systems", "profile", "findings"),
        *("matrix-1", "tables", "flags", "sources"),
    ]


def test_colophon_states_reader_time_and_version(study, report_of):
    colophon = report_of(study).colophon

    assert all(fact in colophon for fact in ("2026-11-21 05:00 UTC", "1.0", "carol"))


def test_missing_facts_are_reported(study, pair, report_of):
    Host.objects.update(facts={"cpu": "Xeon", "disks": ["a", "b"], "cores": 2})

    document = report_of(study)

    said = texts(part(document, "systems"))
    assert said[said.index("CPU") :][:2] == ["CPU", "Xeon"]
    assert said[said.index("Cores") :][:2] == ["Cores", "2"]
    assert said[-2] == "not reported"
    assert said[-1].startswith("microcode, SMT, turbo, frequency governor")
    assert "a, b" in said
    host, hypervisor, *_others = part(document, "systems").paragraphs[1:]
    assert host.startswith("Missing metadata (host): microcode, SMT")
    assert "pinning, guest memory, ballooning" in hypervisor
    assert ("Authors", "not reported") in document.facts


def test_matrix_has_ratio_and_value_of_each_cell(study, pair, report_of):
    said = texts(part(report_of(study), "matrix-1"))

    assert said[-3:] == ["52.97", "0.247", "13.08"]


def test_common_properties_are_stated_once(study, submit, run_document, xen, report_of):
    submit(run_document(13.08, system=xen))

    (table,) = part(report_of(study), "matrix-1").tables

    assert table.note.startswith("no baseline: ")
    assert [entry.subtext for line in table.rows for entry in line.cells] == [""] * 3


def test_profile_states_basis(study, pair, report_of):
    section = part(report_of(study), "profile")

    assert texts(section)[-2:] == ["0.247", "1 benchmark, single run"]
    assert "no interval is given" in section.paragraphs[1]


def test_largest_losses_state_verdicts(study, pair, report_of):
    said = texts(part(report_of(study), "findings"))

    assert said[-2:] == ["0.247", "single run"]


def test_conclusions_state_why_cells_are_not_assessed(study, pair, report_of):
    section = part(report_of(study), "findings")

    reasons = section.tables[0]
    (line,) = reasons.rows
    assert [entry.text for entry in line.cells] == [
        gate_sentence(Gate.SINGLE_RUN, Gate.SINGLE_RUN, Gate.SINGLE_RUN),
        "1",
    ]


def test_conclusions_state_range_of_means(xen_study, report_of):
    said = part(report_of(xen_study), "findings").paragraphs

    (network,) = [text for text in said if text.startswith("Network:")]
    low, high = re.findall(r"([\d.]+) \(([^)]*)\)", network)
    assert low[0] == "0.244"
    assert low[1].startswith("Xen 3.3, full, Windows Server 2003")
    assert high[1].endswith("paravirtual, Ubuntu Server 9.04, 64-bit, AMD-V / VT-x on")


def test_losses_exclude_corun_slowdowns(xen_study, report_of):
    losses = part(report_of(xen_study), "findings").tables[-1]
    groups = [line.cells[0].text for line in losses.rows if line.is_heading]

    assert groups == ["CPU", "Memory", "Disk", "Network"]
    assert len(losses.rows) - len(groups) <= 3 * len(groups)


def test_metrics_are_listed_with_tool_unit_and_clock(xen_study, report_of):
    section = part(report_of(xen_study), "systems")
    (table,) = [each for each in section.tables if each.caption == "Benchmarks"]
    rows = [[entry.text for entry in line.cells] for line in table.rows]

    (linpack,) = [row for row in rows if row[0] == "LINPACK"]
    assert linpack[1] == "not reported"
    assert linpack[3:6] == ["s", "lower is better", "a time server outside the host"]


def test_corun_vms_are_side_by_side(xen_study, report_of):
    (table,) = part(report_of(xen_study), "matrix-2").tables
    slots = [entry.text for entry in table.header_rows[-1].cells]

    assert slots == ["", *(f"VM {n}" for n in (1, 2, 3)), *ALL]
    assert {len(line.cells) for line in table.rows if not line.is_heading} == {6}


def test_method_describes_only_existing_parts(xen_study, study, report_of):
    of_study = " ".join(part(report_of(xen_study), "method").paragraphs)
    of_none = " ".join(part(report_of(study), "method").paragraphs)

    assert "Jain's index" in of_study
    assert "Lenth" in of_study
    assert "Jain's index" not in of_none
    assert "Energy: " not in of_study
    assert "more than 30 days away" in of_none


def test_every_table_has_title(xen_study, report_of):
    tables = [table for each in report_of(xen_study).sections for table in each.tables]

    assert all(table.caption for table in tables)


def test_repeated_runs_have_interval_and_verdict(
    study, submit, run_document, xen, report_of
):
    natives = [run_document(100 + at / 10) for at in range(6)]
    guests = [run_document(40 + at / 10, system=xen) for at in range(6)]
    submit(*natives, *guests)

    document = report_of(study)

    # The star: start times are unknown. No day explains such a difference.
    assert "0.4015 ▼*" in texts(part(document, "matrix-1"))
    assert any("slower" in text for text in texts(part(document, "findings")))
    assert any(
        text.startswith("1 benchmark, 6 runs")
        for text in texts(part(document, "profile"))
    )
    assert "tables" not in [each.name for each in document.sections]


def test_flags_have_decisions(study, pair, report_of):
    Run.objects.update(warnings=[{"code": "doubt", "sentence": "It is doubtful."}])
    checking.check_study(study)
    flag = Flag.objects.first()
    decide_flag(flag=flag, status="dismissed", note="It was meant so.", actor="carol")

    said = texts(part(report_of(study), "flags"))

    assert flag.message in said
    assert any(t.startswith("dismissed, carol, ") and "meant so" in t for t in said)


def test_flagged_numbers_are_marked_everywhere(study, pair, report_of):
    Run.objects.update(warnings=[{"code": "doubt", "sentence": "It is doubtful."}])
    checking.check_study(study)
    Flag.objects.update(severity="impossible")

    document = report_of(study)

    assert "0.247 ⚑" in texts(part(document, "matrix-1"))
    losses = texts(part(document, "findings"))
    assert losses[-1] == "single run; flagged"


def test_empty_study_has_report(study, report_of):
    document = report_of(study)

    assert not part(document, "flags").tables
    assert len(part(document, "flags").paragraphs) == 1
    assert not part(document, "profile").tables
    assert not part(document, "findings").tables


def test_query_count_is_constant(
    study, pair, submit, run_document, report_of, django_assert_num_queries
):
    submit(*(run_document(system={"guest_os": f"Linux {n}"}) for n in range(5)))
    stored = Study.objects.select_related("lab").get()

    with django_assert_num_queries(29):
        report_of(stored)


def test_omitted_tables_are_referenced(study, pair, report_of, monkeypatch):
    monkeypatch.setattr(result_matrix, "MAX_REPORT_CELLS", 1)
    monkeypatch.setattr(method_and_setup, "MAX_SYSTEM_ROWS", 1)
    Host.objects.update(facts={"note": "x" * 5000})

    document = report_of(study)

    assert not part(document, "matrix-1").tables
    assert "2 results" in part(document, "matrix-1").paragraphs[0]
    systems_part = part(document, "systems")
    assert any("1 of 2 systems" in text for text in systems_part.paragraphs)
    assert len(systems_part.tables[0].rows) == 1
    assert max(map(len, texts(systems_part))) <= 1001


def test_empty_study_has_no_empty_table(study, report_of):
    sections = {part.name: part for part in report_of(study).sections}

    assert "measurements" in sections["systems"].paragraphs[0]
    assert not sections["systems"].tables
    assert len(sections["findings"].paragraphs) == 1
    assert "ratio" in sections["findings"].paragraphs[0]
