"""GET /sweeps/, /network/, /trend/: values along a parameter, a path, a time."""

import pytest

from benchmarks.models import Case, Host
from benchmarks.studies import checking


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


SLOW_AND_FAST = (50, 51, 50, 100, 101, 100, 51)
STEADY = (40, 41, 40, 39, 40, 41, 40)


@pytest.fixture
def bimodal(submit, run_document, study):
    """Seven runs each of two kinds: those of the first have two speeds."""

    def measured(first, second):
        for rate in SLOW_AND_FAST:
            submit(run_document(rate, **first))
        for rate in STEADY:
            submit(run_document(rate, **second))
        checking.check_study(study)

    return measured


def test_a_path_of_two_speeds_has_no_value_but_both_speeds(
    anyone, submit, run_document, study
):
    for ends, rates in ((("a", "b"), SLOW_AND_FAST), (("b", "a"), STEADY)):
        for rate in rates:
            document = run_document(rate)
            document["samples"][0]["parameters"] = {"from": ends[0], "to": ends[1]}
            submit(document)
    checking.check_study(study)

    (metric,) = anyone.get("network/", study="study").json()["results"]
    (matrix,) = metric["matrices"]
    sent, back = matrix["paths"]

    assert (sent["value"], sent["shape_codes"]) == (None, ["bimodal"])
    assert (sent["mode_medians"], sent["range"]) == ([50.5, 100], [50, 101])
    assert sent["shape_message"].startswith("No single value: two speeds, ")
    assert back["value"] == pytest.approx(40.14, abs=0.01)
    assert (back["shape_codes"], back["shape_message"], back["range"]) == ([], "", None)
    assert matrix["asymmetries"] == []


def test_a_version_of_two_speeds_has_no_mean(anyone, bimodal, xen):
    bimodal(
        {"system": {**xen, "hypervisor_version": "4.18"}},
        {"system": {**xen, "hypervisor_version": "4.19"}},
    )
    case = Case.objects.get().pk

    (series,) = anyone.get("trend/", study="study", case=case).json()["series"]
    old, new = series["versions"]

    assert (old["mean"], old["low"], old["high"]) == (None, None, None)
    assert (old["shape_codes"], old["mode_medians"]) == (["bimodal"], [50.5, 100])
    assert new["mean"] == pytest.approx(40.14, abs=0.01)
    assert new["shape_codes"] == []


def test_a_sweep_has_a_line_a_system_lowest_level_first(anyone, sizes):
    (sweep,) = anyone.get("sweeps/", study="study").json()["results"]

    assert (sweep["axis"], sweep["unit"]) == ("block_size", "MB/s")
    native, xen = sweep["lines"]
    assert [point["level"] for point in xen["points"]] == [4096, 8192, 16384, 32768]
    assert [point["ratio"] for point in xen["points"]] == [1, 1, 1, 0.5]
    assert [point["value"] for point in native["points"]] == [10, 20, 40, 80]
    assert xen["verdict_pattern"] is None


def test_a_matrix_has_its_paths_and_what_differs_by_direction(anyone, paths):
    (metric,) = anyone.get("network/", study="study").json()["results"]
    (matrix,) = metric["matrices"]

    sent = {tuple(path["endpoints"]): path["value"] for path in matrix["paths"]}
    assert sent == {("a", "b"): 100, ("b", "a"): 50}
    (found,) = matrix["asymmetries"]
    assert (found["larger_direction"], found["ratio"]) == (["a", "b"], 2)


def test_a_history_is_asked_for_by_its_case(anyone, versions):
    case = Case.objects.get().pk
    told = anyone.get("trend/", study="study").json()
    found = anyone.get("trend/", study="study", case=case, host="alpha").json()

    assert [each["case_id"] for each in told["results"]] == [case]
    assert told["series"] == []
    (series,) = found["series"]
    assert [(p["version"], p["mean"]) for p in series["versions"]] == [
        ("3.3", 40),
        ("4.18", 50),
    ]
    assert series["changes"] is None


def test_a_host_may_have_the_longest_slug_there_is(anyone, versions):
    Host.objects.update(slug="h" * 100)

    found = anyone.get("trend/", study="study", host="h" * 100)

    assert found.status_code == 200
    assert [each["host"] for each in found.json()["results"]] == ["h" * 100]


def test_a_case_that_was_not_measured_is_not_found(anyone, versions):
    answer = anyone.get("trend/", study="study", case=999_999)

    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


@pytest.mark.parametrize("name", ["sweeps", "network", "trend"])
def test_a_study_must_be_named(anyone, study, name):
    assert anyone.get(f"{name}/").status_code == 400


@pytest.mark.parametrize(
    ("name", "queries"), [("sweeps", 12), ("network", 6), ("trend", 3)]
)
def test_their_queries_are_fixed(
    anyone, sizes, paths, versions, django_assert_num_queries, name, queries
):
    with django_assert_num_queries(queries):
        anyone.get(f"{name}/", study="study")
