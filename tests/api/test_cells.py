"""/cells/: statistics over runs."""

import pytest

from benchmarks.models import Case, System


def test_cells_have_statistics_over_run_means(anyone, submit, run_document):
    submit(*(run_document(value) for value in (10, 20, 30)))

    (cell,) = anyone.get("cells/", study="study").json()["results"]

    assert {
        name: cell[name] for name in ("n", "mean", "m2", "minimum", "median", "maximum")
    } == {"n": 3, "mean": 20, "m2": 200, "minimum": 10, "median": 20, "maximum": 30}
    assert (cell["tool"], cell["metric"], cell["unit"], cell["better"]) == (
        "iometer",
        "network throughput",
        "MB/s",
        "higher",
    )
    assert cell["parameters"] == {"operation": "write"}
    assert (cell["sample_count"], cell["component"]) == (3, "network")


def test_cells_can_be_filtered(anyone, measured):
    def count(**query):
        return len(anyone.get("cells/", **query).json()["results"])

    xen, case = System.objects.get(hypervisor="Xen"), Case.objects.get()
    assert count() == 2
    assert count(study="study", tool="iometer", metric="network throughput") == 2
    assert count(system=xen.pk, case=case.pk, scenario="single") == 1
    assert count(system=999) == count(scenario="inter-vm") == count(metric="time") == 0


def test_private_cells_are_visible_to_their_lab_only(
    anyone, reader, submit, run_document, private_study
):
    submit(run_document(study="secret-study"))

    assert anyone.get("cells/").json()["results"] == []
    assert anyone.get("cells/", study="secret-study").status_code == 404
    assert len(reader.get("cells/", study="secret-study").json()["results"]) == 1


@pytest.mark.parametrize("query", [{"scenario": "double"}, {"system": "native"}])
def test_invalid_filters_are_rejected(anyone, db, query):
    answer = anyone.get("cells/", **query)

    assert (answer.status_code, list(answer.json()["fields"])) == (400, list(query))


def test_query_count_is_fixed(anyone, measured, django_assert_num_queries):
    with django_assert_num_queries(1):
        anyone.get("cells/")
