"""The evidence across studies: the matrix, and the page of a question."""

from dataclasses import replace
from datetime import timedelta
from math import log
from types import SimpleNamespace
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from benchmarks import tools
from benchmarks.analysis.meta_analysis import EvidenceStrength
from benchmarks.evidence.json_records import question_record
from benchmarks.evidence.queries import HostInfo, Question, StudyAverage, StudyInfo
from benchmarks.evidence.synthesis import NO_EVIDENCE, BenchmarkAverage, synthesis
from benchmarks.models import Study, System
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from benchmarks.work_classes import WORK_CLASSES
from dashboard.charts.forest_plot import MAX_MACHINES, forest_rows
from dashboard.kit.evidence_matrix import matrix_context
from dashboard.pages.evidence.question_page import question_page
from dashboard.wording import evidence
from tests.upload_documents import interleaved

WORK = "network-throughput-out"
FOREST = "/evidence/question/"
NATIVE = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = (80.0, 80.3, 79.9, 80.1, 79.8, 80.2)


@pytest.fixture
def measured(submit, run_document, xen):
    """Measure a Xen guest and its machine, six runs each."""
    submit(
        *interleaved(
            (run_document(value) for value in NATIVE),
            (run_document(value, system=xen) for value in SLOW),
        )
    )
    checking.check_due_studies(timedelta(0))


def cell_of(matrix, hypervisor):
    """Return the cell of outgoing network throughput."""
    row = matrix["measured"]["areas"][0]["rows"][0]
    return SimpleNamespace(**row["cells"][matrix["hypervisors"].index(hypervisor)])


def test_matrix_shows_results_and_lab_counts(client, measured):
    matrix = client.get("/evidence/").context["matrix"]

    xen = cell_of(matrix, "Xen")
    assert (xen.value, xen.labs, xen.strength) == ("0.80013", "1 lab", "weak")
    assert "hollow" not in xen.classes


def test_common_hypervisors_are_listed_without_results(client, measured):
    matrix = client.get("/evidence/").context["matrix"]

    assert {"KVM", "VMware ESXi", "Hyper-V"} < set(matrix["hypervisors"])
    assert cell_of(matrix, "Hyper-V").is_empty


def test_home_page_has_measured_classes_only(client, measured):
    page = client.get("/").content.decode()
    table = page[page.index("<table") : page.index("</table>")]

    assert "throughput out" in table
    assert "context switch" not in table


def test_question_shows_machines_studies_and_cells(client, measured, study):
    page = client.get(FOREST, {"hypervisor": "Xen", "work": WORK}).context["page"]

    (unit,) = page["units"]
    assert [title for title, _address in unit["studies"]] == [study.title]
    assert unit["ratio"] == "0.80013"
    assert unit["cell_count"] == len(unit["cells"]) == 1
    assert "One machine" in page["summary"]


def test_hypervisor_names_ignore_spelling(client, measured):
    answer = client.get(FOREST, {"hypervisor": "xen project", "work": WORK})

    assert answer.context["page"]["question"].hypervisor == "Xen"


def test_unmeasured_question_names_suitable_tools(client, measured):
    answer = client.get(FOREST, {"hypervisor": "Hyper-V", "work": WORK})

    assert "iperf3" in answer.context["page"]["tools"]
    assert "Not measured." in answer.content.decode()


@pytest.mark.parametrize(
    "query", [{}, {"hypervisor": "Xen"}, {"hypervisor": "Xen", "work": "cooking"}]
)
def test_question_without_subject_is_404(client, query, db):
    assert client.get(FOREST, query).status_code == 404


def test_hidden_study_leaves_every_page(client, measured, study):
    update_study(study=study, visibility=Study.Visibility.PRIVATE)

    assert client.get("/evidence/").context["matrix"]["is_empty"]
    page = client.get(FOREST, {"hypervisor": "Xen", "work": WORK}).context["page"]
    assert not page["units"]


def test_lab_sees_own_private_results_pooled(client, measured, study, person):
    update_study(study=study, visibility=Study.Visibility.PRIVATE)
    client.force_login(person)

    matrix = client.get("/evidence/").context["matrix"]
    assert cell_of(matrix, "Xen").value == "0.80013"


def machines(*ratios, sd=0.01, obstacle=""):
    return [
        BenchmarkAverage(
            at, f"lab {at}", ("hpl", "performance"), obstacle, log(ratio), sd
        )
        for at, ratio in enumerate(ratios)
    ]


def in_labs(labs, parts):
    return [replace(part, lab=lab) for lab, part in zip(labs, parts, strict=True)]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([], ("Not measured",)),
        (machines(0.8), ("One machine: 80.0%", "unknown")),
        (machines(0.8, 0.9), ("Two machines: 80.0% and 90.0%", "cannot be estimated")),
        (machines(0.8, 0.9, 0.85), ("a machine of another lab", "Indicative")),
        (
            machines(*[0.8] * 5),
            ("5 labs: on average 80", "a machine of another lab"),
        ),
        (
            in_labs("aaa", machines(0.8, 0.9, 0.85)),
            ("3 machines of one lab", "another machine of this lab"),
        ),
        (
            in_labs("aab", machines(0.8, 0.9, 0.85)),
            ("3 machines of two labs", "cannot be estimated from two labs"),
        ),
        (
            in_labs("aabc", machines(0.8, 0.9, 0.85, 0.8)),
            ("4 machines of 3 labs", "a machine of another lab", "Indicative"),
        ),
        (
            machines(0.8, sd=None, obstacle="single_run"),
            ("single runs: 80.0%", "Weak evidence"),
        ),
        (machines(0.1, obstacle="emulation"), ("none of them can be pooled",)),
    ],
)
def test_summary_is_limited_by_evidence(parts, words):
    answer = evidence.question_summary(synthesis(parts))

    assert all(each in answer for each in words)


def test_summaries_equal_full_synthesis():
    two_labs = in_labs("aab", machines(0.8, 0.9, 0.7))
    for parts in (machines(0.8), machines(0.8, 0.9), machines(0.8, 0.9, 0.7), two_labs):
        whole = synthesis(parts)
        assert evidence.question_summary(whole.summary) == evidence.question_summary(
            whole
        )
        assert evidence.matrix_entry(whole.summary) == evidence.matrix_entry(whole)


def test_single_runs_are_dashed_without_interval():
    single_run = synthesis(machines(0.8, sd=None, obstacle="single_run"))
    cell = cell_of(matrix_context({Question("Xen", WORK): single_run}), "Xen")

    assert (cell.classes, cell.detail) == ("heat-slow-2 hollow", "one machine")


def test_every_strength_and_exclusion_has_text():
    assert set(evidence.EVIDENCE_STRENGTHS) == set(EvidenceStrength)
    assert set(evidence.EXCLUSION_TEXTS) > set(evidence.Exclusion.values)
    assert set(evidence.SHORT_EXCLUSIONS) == set(evidence.EXCLUSION_TEXTS)
    assert set(evidence.WORK_PHRASES) == set(WORK_CLASSES)
    assert set(evidence.DOUBT_TEXTS) == set(evidence.Doubt.values)


def test_no_evidence_has_empty_page():
    page = question_page(Question("Xen", WORK), [], {})

    assert (page["units"], page["left_out"], page["chart"]) == ((), (), None)
    assert evidence.question_summary(NO_EVIDENCE)
    assert MAX_MACHINES > 10


def test_subgroup_of_one_machine_has_no_prediction():
    page = question_page(Question("Xen", WORK), one_lab(), {})

    (part,) = page["subgroups"]
    assert "to" in part["interval"]
    assert part["predicted"] == "\N{EN DASH}"


def one_lab():
    study = StudyInfo(1, "alpha-lab", "study", "Study", "", "", "2010", "")
    (part,) = machines(0.8)
    return [
        StudyAverage(
            part, study, HostInfo(1, "alpha", ""), "full", "", (1,), -0.2, -0.2
        )
    ]


def study_averages(*ratios):
    """Return averages of different machines in one study."""
    (one,) = one_lab()
    return [
        replace(one, average=part, host=HostInfo(part.machine, part.lab, ""))
        for part in machines(*ratios)
    ]


@pytest.mark.parametrize(
    ("ratios", "is_pooled", "is_faint"),
    [
        ((0.8,), False, []),
        ((0.8, 0.9), False, []),
        ((0.8, 0.9, 0.7), True, [True, True]),
        ((0.8, 0.9, 0.7, 0.85, 0.75), True, [False, False]),
    ],
)
def test_few_machines_are_faint_without_explanation(ratios, is_pooled, is_faint):
    parts = study_averages(*ratios)
    page = question_page(Question("Xen", WORK), parts, {})
    marks = forest_rows(question_record(Question("Xen", WORK), parts))

    assert page["is_pooled"] is is_pooled
    assert ("diamond" in page["chart"].note) is is_pooled
    pooled = [mark for mark in marks if mark.kind in ("pooled", "predicted")]
    assert [mark.is_faint for mark in pooled] == is_faint


def test_group_states_machine_count():
    single = machines(0.5, sd=None, obstacle="single_run")
    parts = [*machines(0.8, 0.9, 0.7), *(replace(it, machine=9) for it in single)]

    assert (
        evidence.machine_counts_text(synthesis(parts))
        == "3 machines, and 1 more with single runs"
    )
    assert evidence.machine_counts_text(synthesis(single)) == "1 machine"


def test_empty_cell_links_to_upload_or_plan(client, text, person, host, xen):
    syntheses = {Question("Xen", WORK): synthesis(machines(0.8))}
    cell = cell_of(matrix_context(syntheses), "KVM")
    assert cell.url.endswith("#add-data")
    assert "plan a measurement" in cell.aria_label

    page = text(cell.url)

    assert 'id="add-data"' in page
    assert "iperf3" in page
    upload = "/upload/?hypervisor=KVM"
    assert f'href="/login/?next={quote(upload, safe="")}"' in page
    client.force_login(person)
    assert f'href="{upload}"' in text(cell.url)


def test_editor_is_linked_to_plan_of_own_systems(
    client, text, person, study, submit, run_document, xen
):
    submit(run_document(80.0, system=xen))
    client.force_login(person)
    page = question_page(Question("Xen", WORK), [], {}, person)

    asked = parse_qs(urlsplit(page["plan"]).query)
    form = client.get(page["plan"])

    assert form.status_code == 200
    assert asked["system"] == [str(System.objects.get(hypervisor="Xen").pk)]
    assert "iperf3" in asked["tool"]


def test_work_without_tool_is_reported(text, db, monkeypatch):
    monkeypatch.setattr(tools, "TOOLS", {})

    page = text(f"/evidence/question/?hypervisor=KVM&work={WORK}")

    assert "None of the supported tools measures this work class." in page


def test_matrix_shows_ratios_of_machines_without_pool():
    value, _detail = evidence.matrix_entry(synthesis(machines(0.65, 0.98)))

    assert "%" not in value
    assert value.startswith("0.65")
