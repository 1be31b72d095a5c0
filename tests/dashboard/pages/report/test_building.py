"""A study's report: everything that has to be said, as plain texts."""

import re
from datetime import timedelta

import pytest

from benchmarks.analysis.gates import SENTENCES, Gate
from benchmarks.models import Flag, Host, Run, Study
from benchmarks.studies import checking
from benchmarks.studies.flags import decide_flag
from dashboard.exports.report import disclosure, matrix
from tests.dashboard.pages.report.reading import part, texts

ALL = ("mean of the VMs", "sum of the VMs")


@pytest.fixture
def pair(submit, run_document, xen):
    document = {"document": "Gebhardt 2010", "table": "Net Linux"}
    submit(run_document(52.97, **document), run_document(13.08, system=xen, **document))


def test_the_study_says_what_it_stands_on(xen_study, made):
    document = made(xen_study)

    assert document.byline.startswith("Bastian Gebhardt, LMU Munich")
    assert "AMD Athlon 64 X2 4800+, 2.4 GHz" in texts(part(document, "systems"))
    (single,) = [p for p in part(document, "matrix-1").paragraphs if "single run" in p]
    assert "no verdict is possible" in single
    assert "not assessed 246" in part(document, "findings").paragraphs[0]
    assert "@techreport{lmu-2010-xen," in document.citation


def test_its_parts_are_in_reading_order(study, pair, made):
    names = [each.name for each in made(study).sections]

    assert names == [
        *("about", "method", "systems", "profile", "findings"),
        *("matrix-1", "tables", "flags", "sources"),
    ]


def test_it_says_who_made_it_when_and_from_which_version(study, made):
    colophon = made(study).colophon

    assert all(fact in colophon for fact in ("2026-11-21 05:00 UTC", "1.0", "carol"))


def test_what_nobody_stated_is_said_to_be_so(study, pair, made):
    Host.objects.update(facts={"cpu": "Xeon", "disks": ["a", "b"], "cores": 2})

    document = made(study)

    said = texts(part(document, "systems"))
    assert said[said.index("CPU") :][:2] == ["CPU", "Xeon"]
    assert said[said.index("Cores") :][:2] == ["Cores", "2"]
    assert said[-2] == "not stated"
    assert said[-1].startswith("microcode, SMT, turbo, frequency governor")
    assert "a, b" in said
    host, hypervisor, *_others = part(document, "systems").paragraphs[1:]
    assert host.startswith("Missing metadata of the host: microcode, SMT")
    assert "pinning, guest memory, ballooning" in hypervisor
    assert ("Authors", "not stated") in document.facts


def test_the_matrix_has_ratio_and_value_of_each_cell(study, pair, made):
    said = texts(part(made(study), "matrix-1"))

    assert said[-3:] == ["52.97", "0.247", "13.08"]


def test_what_is_so_of_all_cells_is_said_once(study, submit, run_document, xen, made):
    submit(run_document(13.08, system=xen))

    (table,) = part(made(study), "matrix-1").tables

    assert table.note.startswith("no baseline: ")
    assert [entry.sub for line in table.lines for entry in line.entries] == [""] * 3


def test_the_profile_says_what_it_rests_on(study, pair, made):
    section = part(made(study), "profile")

    assert texts(section)[-2:] == ["0.247", "1 benchmark, single run"]
    assert "no interval is given" in section.paragraphs[1]


def test_the_largest_losses_say_what_may_be_said_of_them(study, pair, made):
    said = texts(part(made(study), "findings"))

    assert said[-2:] == ["0.247", "single run"]


def test_the_findings_say_why_cells_are_not_assessed(study, pair, made):
    section = part(made(study), "findings")

    reasons = section.tables[0]
    (line,) = reasons.lines
    assert [entry.text for entry in line.entries] == [SENTENCES[Gate.SINGLE_RUN], "1"]


def test_the_findings_say_from_where_to_where_the_means_reach(xen_study, made):
    said = part(made(xen_study), "findings").paragraphs

    (network,) = [text for text in said if text.startswith("Network:")]
    low, high = re.findall(r"([\d.]+) \(([^)]*)\)", network)
    assert low[0] == "0.244"
    assert low[1].startswith("Xen 3.3, full, Windows Server 2003")
    assert high[1].endswith("paravirtual, Ubuntu Server 9.04, 64-bit, AMD-V / VT-x on")


def test_losses_are_told_of_each_component_and_slowdowns_are_none(xen_study, made):
    losses = part(made(xen_study), "findings").tables[-1]
    groups = [line.entries[0].text for line in losses.lines if line.is_heading]

    assert groups == ["CPU", "Memory", "Disk", "Network"]
    assert len(losses.lines) - len(groups) <= 3 * len(groups)


def test_what_was_measured_is_told_with_tool_unit_and_clock(xen_study, made):
    section = part(made(xen_study), "systems")
    (table,) = [each for each in section.tables if each.caption == "Benchmarks"]
    rows = [[entry.text for entry in line.entries] for line in table.lines]

    (linpack,) = [row for row in rows if row[0] == "LINPACK"]
    assert linpack[1] == "not stated"
    assert linpack[3:6] == ["s", "lower is better", "a time server outside the host"]


def test_vms_that_ran_together_stand_side_by_side(xen_study, made):
    (table,) = part(made(xen_study), "matrix-2").tables
    slots = [entry.text for entry in table.head[-1].entries]

    assert slots == ["", *(f"VM {n}" for n in (1, 2, 3)), *ALL]
    assert {len(line.entries) for line in table.lines if not line.is_heading} == {6}


def test_the_method_tells_of_a_part_only_where_there_is_one(xen_study, study, made):
    of_study = " ".join(part(made(xen_study), "method").paragraphs)
    of_none = " ".join(part(made(study), "method").paragraphs)

    assert "Jain's index" in of_study
    assert "Lenth" in of_study
    assert "Jain's index" not in of_none
    assert "Energy: " not in of_study
    assert "more than 30 days away" in of_none


def test_every_table_of_a_report_has_a_title(xen_study, made):
    tables = [table for each in made(xen_study).sections for table in each.tables]

    assert all(table.caption for table in tables)


def test_several_runs_come_with_interval_and_verdict(
    study, submit, run_document, xen, made
):
    natives = [run_document(100 + at / 10) for at in range(6)]
    guests = [run_document(80 + at / 10, system=xen) for at in range(6)]
    submit(*natives, *guests)

    document = made(study)

    # The star: nobody says when they ran.
    assert "0.8005 ▼*" in texts(part(document, "matrix-1"))
    assert any("slower" in text for text in texts(part(document, "findings")))
    assert any(
        text.startswith("1 benchmark, 6 runs")
        for text in texts(part(document, "profile"))
    )
    assert "tables" not in [each.name for each in document.sections]


def test_flags_stand_with_what_was_decided_about_them(study, pair, made):
    Run.objects.update(warnings=[{"code": "doubt", "sentence": "It is doubtful."}])
    checking.check_due_studies(timedelta(0))
    flag = Flag.objects.first()
    decide_flag(flag=flag, status="dismissed", note="It was meant so.", who="carol")

    said = texts(part(made(study), "flags"))

    assert flag.sentence in said
    assert any(t.startswith("dismissed, carol, ") and "meant so" in t for t in said)


def test_a_number_that_a_flag_doubts_says_so_wherever_it_stands(study, pair, made):
    Run.objects.update(warnings=[{"code": "doubt", "sentence": "It is doubtful."}])
    checking.check_due_studies(timedelta(0))
    Flag.objects.update(severity="impossible")

    document = made(study)

    assert "0.247 ⚑" in texts(part(document, "matrix-1"))
    losses = texts(part(document, "findings"))
    assert losses[-1] == "single run; flagged"


def test_an_empty_study_has_a_report(study, made):
    document = made(study)

    assert not part(document, "flags").tables
    assert len(part(document, "flags").paragraphs) == 1
    assert not part(document, "profile").tables
    assert not part(document, "findings").tables


def test_its_queries_are_fixed(
    study, pair, submit, run_document, made, django_assert_num_queries
):
    submit(*(run_document(system={"guest_os": f"Linux {n}"}) for n in range(5)))
    stored = Study.objects.select_related("lab").get()

    with django_assert_num_queries(28):
        made(stored)


def test_what_is_too_much_for_paper_is_said_to_be_elsewhere(
    study, pair, made, monkeypatch
):
    monkeypatch.setattr(matrix, "MOST_CELLS", 1)
    monkeypatch.setattr(disclosure, "SYSTEMS", 1)
    Host.objects.update(facts={"note": "x" * 5000})

    document = made(study)

    assert not part(document, "matrix-1").tables
    assert "2 results" in part(document, "matrix-1").paragraphs[0]
    systems_part = part(document, "systems")
    assert any("1 of 2 systems" in text for text in systems_part.paragraphs)
    assert len(systems_part.tables[0].lines) == 1
    assert max(map(len, texts(systems_part))) <= 1001


def test_a_study_without_anything_says_so_and_has_no_empty_table(study, made):
    sections = {part.name: part for part in made(study).sections}

    assert "measured" in sections["systems"].paragraphs[0]
    assert not sections["systems"].tables
    assert len(sections["findings"].paragraphs) == 1
    assert "ratio" in sections["findings"].paragraphs[0]
