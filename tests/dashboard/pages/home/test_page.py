"""The home page: an answer, new studies, and a member's own work."""

from datetime import timedelta
from math import exp, log

import pytest

from benchmarks.analysis.meta_analysis import EvidenceStrength
from benchmarks.evidence.queries import Question
from benchmarks.evidence.subjects import MachineName
from benchmarks.models import Study
from benchmarks.studies import checking
from dashboard.pages.home.answer import (
    answer_context,
    answer_sentence,
    best_known_work,
)
from dashboard.wording import evidence
from tests.benchmarks.evidence.test_synthesis import models
from tests.dashboard.pages.evidence.test_pages import machines, synthesis

WORK = "application-database"
XEN, KVM = Question("Xen", WORK), Question("KVM", WORK)


def test_shows_new_study(text, pair, study):
    page = text("/")

    assert study.title in page
    assert "/studies/alpha-lab/study/compare/" in page
    assert "all processed" in page


def test_no_studies_are_reported(text, db):
    assert "No studies yet" in text("/")


def test_private_studies_are_hidden_from_strangers(text, client, pair, person):
    Study.objects.update(visibility=Study.Visibility.PRIVATE)

    assert "/studies/alpha-lab/study/" not in text("/")
    client.force_login(person)
    assert "/studies/alpha-lab/study/" in text("/")


def test_query_count_is_independent_of_studies(
    client, pair, lab, django_assert_num_queries
):
    for number in range(5):
        Study.objects.create(lab=lab, slug=f"more-{number}", visibility="public")

    with django_assert_num_queries(15):
        client.get("/")


def test_members_see_their_uploads_and_open_flags(text, client, pair, person, study):
    study.flags.create(lab=study.lab, rule="unit-slip", severity="check", message="Odd")
    client.force_login(person)

    page = text("/")

    assert "Last uploads" in page
    assert "1 open flag" in page


def test_default_question_is_the_best_measured_one():
    one, two = synthesis(machines(0.9)), synthesis(machines(0.9, 0.8))
    evidence = {
        Question("Xen", "memory-read"): two,
        Question("Xen", "disk-random-read"): one,
        Question("KVM", "disk-random-read"): one,
        Question("Docker", "cpu-integer"): two,
    }

    assert best_known_work(evidence) == "disk-random-read"
    assert best_known_work({}) == WORK


def test_rows_are_the_chosen_hypervisors():
    context = answer_context({XEN: synthesis(machines(0.9))}, WORK, ["KVM", "Xen", "?"])

    assert [row["name"] for row in context["rows"]] == ["KVM", "Xen"]
    kvm, xen = context["rows"]
    assert kvm["url"].endswith("#add-data")
    assert "points" not in kvm
    assert len(xen["points"]) == 1


def test_unknown_choices_give_the_main_hypervisors():
    context = answer_context({}, "nonsense", ["nonsense"])

    assert len(context["rows"]) == len(context["main"]) == 4


def test_other_hypervisors_are_offered_if_they_were_measured():
    evidence = {
        Question("Docker", WORK): synthesis(machines(0.9)),
        Question("bhyve", WORK): synthesis(machines(0.9, obstacle="emulation")),
    }

    assert answer_context(evidence, WORK, [])["others"] == [("Docker", False)]


def test_answer_for_one_machine_is_of_its_results():
    asked = []

    def of_machine(slug, questions):
        asked.append((slug, questions))
        return {XEN: synthesis(machines(0.5))}

    context = answer_context(
        {XEN: synthesis(machines(0.9)), KVM: synthesis(machines(0.8))},
        WORK,
        ["Xen", "KVM"],
        machine="big-one",
        machines=[MachineName("big-one", "Big One"), MachineName("other", "Other")],
        evidence_of_machine=of_machine,
    )

    kvm, xen = context["rows"]
    assert asked == [("big-one", [KVM, XEN])]
    assert xen["value"] == "49\N{EN DASH}51%"
    assert xen["url"] == "/machines/big-one/"
    assert "points" not in kvm
    assert "Big One" in context["sentence"]
    assert [chosen for *_names, chosen in context["machines"]] == [True, False]


def test_unknown_machine_means_any_machine():
    context = answer_context({XEN: synthesis(machines(0.9))}, WORK, [], machine="?")

    assert any("points" in row for row in context["rows"])


def test_machines_with_results_are_offered(text, pair):
    checking.check_due_studies(timedelta(0))
    url = "/?work=network-throughput&machine=alpha"

    assert '<option value="alpha" selected>alpha<' in text(url)
    fragment = text(url, headers={"HX-Target": "answer"})
    assert fragment.lstrip().startswith('<div id="answer">')
    assert "<h1>" not in fragment


def test_sentence_starts_with_the_fastest_and_names_missing_ones():
    known = synthesis(machines(0.8)), synthesis(machines(0.95))

    text = answer_sentence(
        WORK, [("Xen", known[0]), ("KVM", known[1]), ("Hyper-V", synthesis([]))]
    )

    assert text.index("KVM") < text.index("Xen") < text.index("Hyper-V")
    assert "Not measured: Hyper-V" in text
    assert "Weak evidence" in text


def test_sentence_without_any_result():
    assert "No study" in answer_sentence(WORK, [("Xen", synthesis([]))])


@pytest.mark.parametrize("ratios", [(0.9,), (0.9, 0.8), (0.9, 0.8, 0.7, 0.95, 0.85)])
def test_bar_contains_its_points(ratios):
    (row,) = answer_context({XEN: synthesis(machines(*ratios))}, WORK, ["Xen"])["rows"]

    left, width = float(row["x"][:-1]), float(row["width"][:-1])
    points = [float(point[:-1]) for point in row["points"]]
    assert left - 0.01 <= min(points) <= max(points) <= left + width + 0.01
    assert row["synthesis"].strength != EvidenceStrength.NONE


def test_machines_of_one_model_are_not_called_one_machine():
    known = synthesis(models(6, log(0.9)))

    (row,) = answer_context({XEN: known}, WORK, ["Xen"])["rows"]
    text = answer_sentence(WORK, [("Xen", known)])

    assert "6 models, 12 machines, 1 provider" in row["detail"]
    assert "12 machines" in text
    assert "labs" not in evidence.strength_reason(known)
    predicted = evidence.percent_range(*map(exp, known.machines[0].predicted))
    assert row["value"] == predicted
