"""GET /sweeps/, /network/, /history/: values along a parameter, a path, a time."""

import pytest

from benchmarks.models import Case


@pytest.fixture
def sizes(submit, run_document, xen):
    """Four block sizes, once native and once on Xen, which halves the largest."""
    for system, rates in (({}, (10, 20, 40, 80)), (xen, (10, 20, 40, 40))):
        for size, rate in zip((4, 8, 16, 32), rates, strict=True):
            document = run_document(rate, system=system)
            document["samples"][0]["parameters"] = {"block_size": f"{size} KiB"}
            submit(document)


@pytest.fixture
def paths(submit, run_document):
    """From a to b twice as much as comes back."""
    for ends, rate in ((("a", "b"), 100), (("b", "a"), 50)):
        document = run_document(rate)
        document["samples"][0]["parameters"] = dict(
            zip(("from", "to"), ends, strict=True)
        )
        submit(document)


@pytest.fixture
def versions(submit, run_document, xen):
    """Two versions of Xen, one case."""
    for version, rate in (("3.3", 40), ("4.18", 50)):
        submit(run_document(rate, system={**xen, "hypervisor_version": version}))


def test_a_sweep_has_a_line_a_system_lowest_level_first(anyone, sizes):
    (sweep,) = anyone.get("sweeps/", campaign="study").json()["results"]

    assert (sweep["axis"], sweep["unit"]) == ("block_size", "MB/s")
    native, xen = sweep["lines"]
    assert [point["level"] for point in xen["points"]] == [4096, 8192, 16384, 32768]
    assert [point["ratio"] for point in xen["points"]] == [1, 1, 1, 0.5]
    assert [point["value"] for point in native["points"]] == [10, 20, 40, 80]
    assert xen["course"] is None


def test_a_matrix_has_its_paths_and_what_differs_by_direction(anyone, paths):
    (metric,) = anyone.get("network/", campaign="study").json()["results"]
    (matrix,) = metric["matrices"]

    sent = {tuple(path["ends"]): path["value"] for path in matrix["paths"]}
    assert sent == {("a", "b"): 100, ("b", "a"): 50}
    (found,) = matrix["asymmetries"]
    assert (found["larger"], found["factor"]) == (["a", "b"], 2)


def test_a_history_is_asked_for_by_its_case(anyone, versions):
    case = Case.objects.get().pk
    told = anyone.get("history/", campaign="study").json()
    found = anyone.get("history/", campaign="study", case=case, host="alpha").json()

    assert [each["case_id"] for each in told["results"]] == [case]
    assert told["series"] == []
    (series,) = found["series"]
    assert [(p["version"], p["mean"]) for p in series["versions"]] == [
        ("3.3", 40),
        ("4.18", 50),
    ]
    assert series["changes"] is None


def test_a_case_that_was_not_measured_is_not_found(anyone, versions):
    answer = anyone.get("history/", campaign="study", case=999_999)

    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


@pytest.mark.parametrize("name", ["sweeps", "network", "history"])
def test_a_campaign_must_be_named(anyone, campaign, name):
    assert anyone.get(f"{name}/").status_code == 400


@pytest.mark.parametrize(
    ("name", "queries"), [("sweeps", 8), ("network", 7), ("history", 2)]
)
def test_their_queries_are_fixed(
    anyone, sizes, paths, versions, django_assert_num_queries, name, queries
):
    with django_assert_num_queries(queries):
        anyone.get(f"{name}/", campaign="study")
