"""GET /sweeps/, /network/ and /trend/: results by parameter, by connection, by time."""

import pytest

from benchmarks.models import Case, Host
from benchmarks.studies import checking


@pytest.fixture
def sizes(submit, run_document, xen):
    """Submit four block sizes, native and on Xen, which halves the largest."""
    for system, rates in (({}, (10, 20, 40, 80)), (xen, (10, 20, 40, 40))):
        for size, rate in zip((4, 8, 16, 32), rates, strict=True):
            document = run_document(rate, system=system)
            document["samples"][0]["parameters"] = {"block_size": f"{size} KiB"}
            submit(document)


@pytest.fixture
def paths(submit, run_document):
    """Submit a throughput from a to b that is twice the throughput from b to a."""
    for ends, rate in ((("a", "b"), 100), (("b", "a"), 50)):
        document = run_document(rate)
        document["samples"][0]["parameters"] = dict(
            zip(("from", "to"), ends, strict=True)
        )
        submit(document)


@pytest.fixture
def versions(submit, run_document, xen):
    """Submit a benchmark on two versions of Xen."""
    for version, rate in (("3.3", 40), ("4.18", 50)):
        submit(run_document(rate, system={**xen, "hypervisor_version": version}))


SLOW_AND_FAST = (50, 51, 50, 100, 101, 100, 51)
STEADY = (40, 41, 40, 39, 40, 41, 40)


@pytest.fixture
def bimodal(submit, run_document, study):
    """Return a function that submits seven runs of two kinds; the first is bimodal."""

    def measured(first, second):
        for rate in SLOW_AND_FAST:
            submit(run_document(rate, **first))
        for rate in STEADY:
            submit(run_document(rate, **second))
        checking.check_study(study)

    return measured


def test_bimodal_paths_have_mode_medians_instead_of_a_value(
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


def test_bimodal_versions_have_no_mean(anyone, bimodal, xen):
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


def test_sweeps_have_a_line_per_system_in_order_of_level(anyone, sizes):
    (sweep,) = anyone.get("sweeps/", study="study").json()["results"]

    assert (sweep["axis"], sweep["unit"]) == ("block_size", "MB/s")
    native, xen = sweep["lines"]
    assert [point["level"] for point in xen["points"]] == [4096, 8192, 16384, 32768]
    assert [point["ratio"] for point in xen["points"]] == [1, 1, 1, 0.5]
    assert [point["value"] for point in native["points"]] == [10, 20, 40, 80]
    assert xen["verdict_pattern"] is None


def test_matrices_have_paths_and_asymmetries(anyone, paths):
    (metric,) = anyone.get("network/", study="study").json()["results"]
    (matrix,) = metric["matrices"]

    sent = {tuple(path["endpoints"]): path["value"] for path in matrix["paths"]}
    assert sent == {("a", "b"): 100, ("b", "a"): 50}
    (found,) = matrix["asymmetries"]
    assert (found["larger_direction"], found["ratio"]) == (["a", "b"], 2)


def test_trends_are_selected_by_case(anyone, versions):
    case = Case.objects.get().pk
    told = anyone.get("trend/", study="study").json()
    found = anyone.get("trend/", study="study", case=case, host="alpha").json()

    assert [row["case_id"] for row in told["results"]] == [case]
    assert told["series"] == []
    (series,) = found["series"]
    assert [(p["version"], p["mean"]) for p in series["versions"]] == [
        ("3.3", 40),
        ("4.18", 50),
    ]
    assert series["changes"] is None


def test_hosts_can_have_the_longest_slug(anyone, versions):
    Host.objects.update(slug="h" * 100)

    found = anyone.get("trend/", study="study", host="h" * 100)

    assert found.status_code == 200
    assert [row["host"] for row in found.json()["results"]] == ["h" * 100]


def test_unmeasured_cases_are_404(anyone, versions):
    answer = anyone.get("trend/", study="study", case=999_999)

    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


@pytest.mark.parametrize("name", ["sweeps", "network", "trend"])
def test_study_is_required(anyone, study, name):
    assert anyone.get(f"{name}/").status_code == 400


@pytest.mark.parametrize(
    ("name", "queries"), [("sweeps", 12), ("network", 6), ("trend", 3)]
)
def test_query_counts_are_fixed(
    anyone, sizes, paths, versions, django_assert_num_queries, name, queries
):
    with django_assert_num_queries(queries):
        anyone.get(f"{name}/", study="study")
