"""What all studies say: the matrix, and one question with all that was measured."""

from dataclasses import replace
from datetime import timedelta
from math import log
from types import SimpleNamespace
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from benchmarks import tools
from benchmarks.analysis.pooling import EvidenceStrength
from benchmarks.evidence.reading import Found, HostRead, Question, StudyRead
from benchmarks.evidence.records import question_record
from benchmarks.evidence.synthesis import NOTHING, Part, synthesis
from benchmarks.models import Study, System
from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from dashboard.charts.forest import MOST_MACHINES, forest_marks
from dashboard.kit.evidence_matrix import matrix_of
from dashboard.pages.evidence.forest import forest_page
from dashboard.wording import evidence

WORK = "network-throughput-out"
FOREST = "/evidence/forest/"
NATIVE = (100.0, 100.4, 99.7, 100.1, 99.9, 100.2)
SLOW = (80.0, 80.3, 79.9, 80.1, 79.8, 80.2)


@pytest.fixture
def measured(submit, run_document, xen):
    """A Xen guest beside its machine, six runs a side."""
    submit(
        *(run_document(value) for value in NATIVE),
        *(run_document(value, system=xen) for value in SLOW),
    )
    checking.check_due_studies(timedelta(0))


def cell_of(matrix, hypervisor):
    """The cell of network throughput out."""
    row = matrix["measured"]["areas"][0]["rows"][0]
    return SimpleNamespace(**row["cells"][matrix["hypervisors"].index(hypervisor)])


def test_the_matrix_says_what_was_measured_and_by_how_many(client, measured):
    matrix = client.get("/evidence/").context["matrix"]

    xen = cell_of(matrix, "Xen")
    assert (xen.figure, xen.labs, xen.strength) == ("0.8001", "1 lab", "weak")
    assert not xen.is_hollow


def test_what_people_choose_among_has_a_place_though_nobody_measured_it(
    client, measured
):
    matrix = client.get("/evidence/").context["matrix"]

    assert {"KVM", "VMware ESXi", "Hyper-V"} < set(matrix["hypervisors"])
    assert cell_of(matrix, "Hyper-V").is_empty


def test_the_first_page_has_the_classes_that_somebody_measured(client, measured):
    page = client.get("/").content.decode()

    assert "throughput out" in page
    assert "context switch" not in page


def test_a_question_shows_its_machines_studies_and_cells(client, measured, study):
    page = client.get(FOREST, {"hypervisor": "Xen", "work": WORK}).context["page"]

    (unit,) = page["units"]
    assert [title for title, _address in unit["studies"]] == [study.title]
    assert unit["ratio"] == "0.8001"
    assert unit["cell_count"] == len(unit["cells"]) == 1
    assert "One machine" in page["answer"]


def test_hypervisors_are_known_however_they_are_spelled(client, measured):
    answer = client.get(FOREST, {"hypervisor": "xen project", "work": WORK})

    assert answer.context["page"]["question"].hypervisor == "Xen"


def test_what_nobody_measured_names_the_tools_that_would(client, measured):
    answer = client.get(FOREST, {"hypervisor": "Hyper-V", "work": WORK})

    assert "iperf3" in answer.context["page"]["tools"]
    assert "This was not measured here" in answer.content.decode()


@pytest.mark.parametrize(
    "query", [{}, {"hypervisor": "Xen"}, {"hypervisor": "Xen", "work": "cooking"}]
)
def test_a_question_without_a_subject_is_not_there(client, query, db):
    assert client.get(FOREST, query).status_code == 404


def test_a_hidden_study_leaves_every_page_at_once(client, measured, study):
    update_study(study=study, visibility=Study.Visibility.PRIVATE)

    assert client.get("/evidence/").context["matrix"]["is_empty"]
    page = client.get(FOREST, {"hypervisor": "Xen", "work": WORK}).context["page"]
    assert not page["units"]


def test_a_lab_sees_its_own_private_numbers_put_together(
    client, measured, study, person
):
    update_study(study=study, visibility=Study.Visibility.PRIVATE)
    client.force_login(person)

    matrix = client.get("/evidence/").context["matrix"]
    assert cell_of(matrix, "Xen").figure == "0.8001"


def machines(*ratios, sd=0.01, obstacle=""):
    return [
        Part(at, f"lab {at}", ("hpl", "performance"), obstacle, log(ratio), sd)
        for at, ratio in enumerate(ratios)
    ]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([], ("not measured",)),
        (machines(0.8), ("One machine: 0.800", "is not known")),
        (machines(0.8, 0.9), ("Two machines: 0.800 and 0.900", "too few")),
        (machines(0.8, 0.9, 0.85), ("in another lab expect", "indicative")),
        (machines(*[0.8] * 5), ("5 labs: 0.800", "in another lab expect")),
        (
            machines(0.8, sd=None, obstacle="single_run"),
            ("single runs: 0.800", "Weak evidence"),
        ),
        (machines(0.1, obstacle="emulation"), ("nothing that can be pooled",)),
    ],
)
def test_the_answer_says_no_more_than_is_known(parts, words):
    answer = evidence.answer(synthesis(parts))

    assert all(each in answer for each in words)


def test_summaries_answer_as_the_whole_does():
    for parts in (machines(0.8), machines(0.8, 0.9), machines(0.8, 0.9, 0.7)):
        whole = synthesis(parts)
        assert evidence.answer(whole.summary) == evidence.answer(whole)
        assert evidence.headline(whole.summary) == evidence.headline(whole)


def test_single_runs_are_dashed_and_have_no_interval():
    found = synthesis(machines(0.8, sd=None, obstacle="single_run"))
    cell = cell_of(matrix_of({Question("Xen", WORK): found}), "Xen")

    assert (cell.is_hollow, cell.beside) == (True, "")


def test_every_strength_and_obstacle_has_its_words():
    assert set(evidence.STRENGTHS) == set(evidence.WHY) == set(EvidenceStrength)
    assert set(evidence.OBSTACLES) == set(evidence.Obstacle.values)


def test_nothing_is_an_empty_page():
    page = forest_page(Question("Xen", WORK), [], {})

    assert (page["units"], page["left_out"], page["drawing"]) == ((), (), None)
    assert evidence.answer(NOTHING)
    assert MOST_MACHINES > 10


def test_of_one_machine_a_subgroup_tells_its_interval_and_no_prediction():
    page = forest_page(Question("Xen", WORK), one_lab(), {})

    (part,) = page["subgroups"]
    assert "to" in part["interval"]
    assert part["predicted"] == "\N{EN DASH}"


def one_lab():
    study = StudyRead(1, "alpha-lab", "study", "Study", "", "", "2010", "")
    (part,) = machines(0.8)
    return [Found(part, study, HostRead(1, "alpha", ""), "full", "", (1,), -0.2, -0.2)]


def found(*ratios):
    """Each of a machine of its own, all of one study."""
    (one,) = one_lab()
    return [
        replace(one, part=part, host=HostRead(part.unit, part.lab, ""))
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
def test_what_is_not_pooled_is_not_explained_and_few_machines_are_faint(
    ratios, is_pooled, is_faint
):
    parts = found(*ratios)
    page = forest_page(Question("Xen", WORK), parts, {})
    marks = forest_marks(question_record(Question("Xen", WORK), parts))

    assert page["is_pooled"] is is_pooled
    assert ("diamond" in page["drawing"].note) is is_pooled
    pooled = [mark for mark in marks if mark.kind in ("pooled", "predicted")]
    assert [mark.is_faint for mark in pooled] == is_faint


def test_a_group_says_of_how_many_machines_its_figure_is():
    single = machines(0.5, sd=None, obstacle="single_run")
    parts = [*machines(0.8, 0.9, 0.7), *(replace(it, unit=9) for it in single)]

    assert (
        evidence.counted_text(synthesis(parts)) == "3 machines, 1 more of single runs"
    )
    assert evidence.counted_text(synthesis(single)) == "1 machine"


def test_an_empty_place_leads_to_what_fills_it(client, text, person, host, xen):
    found = {Question("Xen", WORK): synthesis(machines(0.8))}
    cell = cell_of(matrix_of(found), "KVM")
    assert cell.address.endswith("#fill")
    assert "how to add it" in cell.heard
    assert "how to add it" in cell.why

    page = text(cell.address)

    assert 'id="fill"' in page
    assert "iperf3" in page
    upload = "/upload/?hypervisor=KVM"
    assert f'href="/login/?next={quote(upload, safe="")}"' in page
    client.force_login(person)
    assert f'href="{upload}"' in text(cell.address)


def test_a_keeper_is_led_to_a_plan_of_their_own_systems(
    client, text, person, study, submit, run_document, xen
):
    submit(run_document(80.0, system=xen))
    client.force_login(person)
    page = forest_page(Question("Xen", WORK), [], {}, person)

    asked = parse_qs(urlsplit(page["plan"]).query)
    form = client.get(page["plan"])

    assert form.status_code == 200
    assert asked["system"] == [str(System.objects.get(hypervisor="Xen").pk)]
    assert "iperf3" in asked["tool"]


def test_what_no_tool_measures_is_said(text, db, monkeypatch):
    monkeypatch.setattr(tools, "TOOLS", {})

    page = text(f"/evidence/forest/?hypervisor=KVM&work={WORK}")

    assert "No tool that is read here measures this class of work." in page
