"""/evidence/: results pooled over all studies."""

from datetime import timedelta

import pytest

from benchmarks.studies import checking
from benchmarks.studies.saving import update_study
from tests.upload_documents import interleaved

WORK = "network-throughput-out"


@pytest.fixture
def checked(submit, run_document, xen):
    """Submit repeated runs, native and in a Xen guest at 0.8 of native."""
    native, slow = (100.0, 100.4, 99.7, 100.1), (80.0, 80.3, 79.9, 80.1)
    submit(
        *interleaved(
            (run_document(value) for value in native),
            (run_document(value, system=xen) for value in slow),
        )
    )
    checking.check_due_studies(timedelta(0))


def results(caller, **query):
    answer = caller.get("evidence/", **query)
    assert answer.status_code == 200, answer.json()
    return answer.json()["results"]


def test_measured_questions_are_listed(anyone, checked):
    (item,) = results(anyone)

    assert (item["hypervisor"], item["work_class"]) == ("Xen", WORK)
    assert item["pool"]["mean"] == pytest.approx(0.8, rel=0.01)
    assert (item["pool"]["machine_count"], item["lab_count"]) == (1, 1)
    assert (item["strength"], item["machines"]) == ("weak", None)


def test_single_questions_have_machines(anyone, checked, host):
    (item,) = results(anyone, hypervisor="xen", work_class=WORK)

    (unit,) = item["machines"]
    assert unit["host"] == host.slug
    assert unit["studies"] == ["alpha-lab/study"]
    assert (
        unit["confidence_interval"][0] < unit["ratio"] < unit["confidence_interval"][1]
    )
    assert item["exclusions"] == []


def test_single_questions_have_subgroups(anyone, checked):
    (item,) = results(anyone, hypervisor="xen", work_class=WORK)

    groups = {row["grouped_by"]: row for row in item["subgroups"]}
    assert set(groups) == {"benchmark", "decade", "virtualization", "path"}
    assert groups["virtualization"]["group"] == "full"
    assert groups["benchmark"]["pool"] == item["pool"]
    (summary,) = results(anyone)
    assert summary["subgroups"] is None


@pytest.mark.parametrize("query", [{}, {"hypervisor": "Xen", "work_class": WORK}])
def test_private_results_are_visible_to_their_lab_only(anyone, checked, study, query):
    update_study(study=study, visibility="private")

    assert not any(row["pool"]["machine_count"] for row in results(anyone, **query))
    assert not any(
        row["machines"] or row["exclusions"] for row in results(anyone, **query)
    )


@pytest.mark.parametrize(
    "query", [{"hypervisor": "KVM"}, {"work_class": "cpu-integer"}]
)
def test_unmeasured_questions_are_not_listed(anyone, checked, query):
    assert results(anyone, **query) == []


def test_unknown_work_classes_are_rejected_with_the_known_ones(anyone, db):
    answer = anyone.get("evidence/", work_class="cooking")

    assert answer.status_code == 400
    assert "cpu-integer" in str(answer.json()["fields"])
