"""/api/v1/evidence/: what all studies together say."""

from datetime import timedelta

import pytest

from benchmarks.studies import checking
from benchmarks.studies.saving import update_study

WORK = "network-throughput-out"


@pytest.fixture
def checked(submit, run_document, xen):
    """A Xen guest at 0.8 of its machine, and one of a single run elsewhere."""
    native, slow = (100.0, 100.4, 99.7, 100.1), (80.0, 80.3, 79.9, 80.1)
    submit(
        *(run_document(value) for value in native),
        *(run_document(value, system=xen) for value in slow),
    )
    checking.check_due_studies(timedelta(0))


def results(caller, **query):
    answer = caller.get("evidence/", **query)
    assert answer.status_code == 200, answer.json()
    return answer.json()["results"]


def test_it_lists_every_question_that_somebody_measured(anyone, checked):
    (item,) = results(anyone)

    assert (item["hypervisor"], item["work_class"]) == ("Xen", WORK)
    assert item["pool"]["mean"] == pytest.approx(0.8, rel=0.01)
    assert (item["pool"]["machine_count"], item["lab_count"]) == (1, 1)
    assert (item["strength"], item["machines"]) == ("weak", None)


def test_one_question_has_its_units(anyone, checked, host):
    (item,) = results(anyone, hypervisor="xen", work_class=WORK)

    (unit,) = item["machines"]
    assert unit["host"] == host.slug
    assert unit["studies"] == ["alpha-lab/study"]
    assert (
        unit["confidence_interval"][0] < unit["ratio"] < unit["confidence_interval"][1]
    )
    assert item["exclusions"] == []


def test_one_question_has_its_subgroups(anyone, checked):
    (item,) = results(anyone, hypervisor="xen", work_class=WORK)

    groups = {it["grouped_by"]: it for it in item["subgroups"]}
    assert set(groups) == {"benchmark", "decade", "virtualization", "path"}
    assert groups["virtualization"]["group"] == "full"
    assert groups["benchmark"]["pool"] == item["pool"]
    (summary,) = results(anyone)
    assert summary["subgroups"] is None


@pytest.mark.parametrize("query", [{}, {"hypervisor": "Xen", "work_class": WORK}])
def test_what_is_private_is_said_to_nobody_else(anyone, checked, study, query):
    update_study(study=study, visibility="private")

    assert not any(each["pool"]["machine_count"] for each in results(anyone, **query))
    assert not any(
        each["machines"] or each["exclusions"] for each in results(anyone, **query)
    )


@pytest.mark.parametrize(
    "query", [{"hypervisor": "KVM"}, {"work_class": "cpu-integer"}]
)
def test_what_nobody_measured_is_not_listed(anyone, checked, query):
    assert results(anyone, **query) == []


def test_an_unknown_class_is_refused_with_those_there_are(anyone, db):
    answer = anyone.get("evidence/", work_class="cooking")

    assert answer.status_code == 400
    assert "cpu-integer" in str(answer.json()["fields"])
