"""What fuzz, overload, leaks and drill call good; the same seed is the same fuzz."""

import random
from collections import Counter

import pytest

from bench import drill, fuzz, leaks, overload, soak
from bench.attacked import percentile, verdict

OVERLOAD = {
    **{"seed": 1, "seconds": 9, "pages": 50, "slowest_s": 1.0, "acknowledged": 5},
    **{"lost": 0, "doubled": 0, "errors": 0, "unanswered": 0},
}
LEAKS = {
    **{"seed": 1, "crawlers": 3, "read": 90, "marks": 8, "unseen": 0, "leaks": 0},
    "errors": 0,
}


def test_a_fuzz_is_good_without_errors_and_with_something_taken():
    def figures(stuck=0, taken=3, **statuses):
        counted = Counter({int(name[1:]): n for name, n in statuses.items()})
        return fuzz.Figures(1, counted, stuck, taken)

    assert figures(_200=5, _404=3).is_good
    for bad in ({"_500": 1}, {"_503": 1}, {"stuck": 1}, {"taken": 0}, {"_0": 1}):
        assert not figures(**{"_200": 5, **bad}).is_good, bad


def drawn(seed):
    fuzzer = fuzz.Fuzzer(random.Random(seed), "token", "a=b", "mark")
    return [fuzzer.draw() for _ in range(1500)]


def test_the_same_seed_draws_the_same_requests_of_every_kind():
    requests = drawn(7)

    assert requests == drawn(7) != drawn(8)
    assert {"POST", "GET", "OPTIONS"} <= {request.method for request in requests}
    assert any("multipart" in it.headers.get("Content-Type", "") for it in requests)
    assert any("Host" in request.headers for request in requests)
    paths = {request.path.partition("?")[0] for request in requests}
    assert {"/api/v1/runs/", "/api/v1/parse/"} <= paths
    assert any(not path.startswith("/api/") for path in paths)


@pytest.mark.parametrize("name", ["lost", "doubled", "errors"])
def test_an_overload_loses_nothing_however_slow(name):
    assert overload.Figures(**OVERLOAD).is_good
    assert not overload.Figures(**OVERLOAD | {name: 1}).is_good


@pytest.mark.parametrize("bad", [{"slowest_s": 2.5}, {"unanswered": 1}, {"pages": 0}])
def test_an_overload_is_quick_only_if_all_are_answered_in_time(bad):
    assert overload.Figures(**OVERLOAD).is_quick
    assert not overload.Figures(**OVERLOAD | bad).is_quick


def grown(held):
    found = soak.growth([{"web": mib, soak.SHARED: 9.0 * mib} for mib in held])
    return [each.group for each in found if each.is_more]


def test_a_soak_finds_what_grows_after_the_first_minutes():
    noise = [30.0 * (n % 3 == 0) for n in range(25)]

    assert grown([100 + 40 * n for n in range(5)] + 25 * [300.0]) == []
    assert grown([300.0 + each for each in [*noise, *noise[:5]]]) == []
    assert grown([300.0 + 4 * n for n in range(30)]) == ["web"]


@pytest.mark.parametrize("name", ["leaks", "unseen", "errors"])
def test_leaks_are_good_only_if_the_lab_itself_meets_every_mark(name):
    assert leaks.Figures(**LEAKS).is_good
    assert not leaks.Figures(**LEAKS | {name: 1}).is_good


def test_a_crawl_begins_at_every_address_with_ids_and_the_private_study():
    addresses = leaks.addresses()

    assert not [it for it in addresses if "{" in it]
    assert f"/api/v1/cells/?study={leaks.PRIVATE}" in addresses
    assert f"/studies/first-lab/{leaks.PRIVATE}/compare.csv" in addresses
    assert "/api/v1/runs/1/samples/" in addresses


def held(**runs):
    return drill.Holdings({key: [row] for key, row in runs.items()}, {})


def test_a_drill_counts_what_is_missing_too_much_and_other():
    wanted = held(a=("processed", [1.0]), b=("processed", [2.0]))
    found = held(a=("processed", [1.5]), c=("processed", [3.0]))

    outcome = drill.Outcome.of("backup", wanted, found, [200, 500])

    assert (outcome.lost, outcome.doubled, outcome.wrong) == (1, 1, 1)
    assert outcome.unanswered == 1
    assert not outcome.is_good
    assert drill.Outcome.of("backup", wanted, wanted, [200]).is_good


def test_a_drill_tells_each_result_of_a_system_and_case():
    place = ("xen", "iperf")
    wanted = drill.Holdings({}, {place: [(1, 9.28), (1, 27.17)]})
    found = drill.Holdings({}, {place: [(1, 9.28), (1, 27.2)]})

    outcome = drill.Outcome.of("upgrade", wanted, found, [])

    assert outcome.wrong == 1
    assert "27.17" in outcome.line()
    assert "27.2)" in outcome.line()
    assert not drill.Outcome.of("upgrade", wanted, wanted, []).wrong


def test_a_control_that_was_not_found_fails(capsys):
    assert verdict(is_good=False, control=True, is_found=lambda: True) == 0
    assert verdict(is_good=True, control=True, is_found=lambda: False) == 1
    assert "NOT FOUND" in capsys.readouterr().out
    assert verdict(is_good=True, control=False, is_found=lambda: False) == 0


def test_a_twentieth_exceeds_the_95th_percentile():
    assert percentile([float(n) for n in range(100)], 0.95) == 95
    assert percentile([], 0.95) == 0
