"""Sessions from start times, independent of order, with their reasons."""

import itertools
import random
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.analysis.sessions import (
    LONGEST_PAUSE,
    RunStart,
    derive_sessions,
    host_states,
    is_declared_name,
    lag_one_autocorrelation,
    match_stored_sessions,
    nearest_sessions,
    sessions_counted_together,
)

MORNING = datetime(2021, 5, 3, 8, 0, tzinfo=UTC)


def run(number, hours, **states):
    stated = {f"host_{name}": text for name, text in states.items()}
    return RunStart(number, MORNING + timedelta(hours=hours), stated)


def groups(*runs):
    return [session.runs for session in derive_sessions(runs)]


def reasons(*runs):
    return [session.reason for session in derive_sessions(runs)]


STATES = st.dictionaries(
    st.sampled_from(["host_kernel", "host_boot"]), st.sampled_from("ab"), max_size=2
)
RUNS = st.lists(st.tuples(st.integers(0, 4_000), STATES), max_size=12).map(
    lambda rows: [
        RunStart(number, MORNING + timedelta(minutes=minutes), states)
        for number, (minutes, states) in enumerate(rows)
    ]
)


def test_runs_of_an_afternoon_are_one_session():
    assert groups(run(1, 0), run(2, 5.9), run(3, 11.8)) == [(1, 2, 3)]


def test_a_session_begins_after_more_than_six_hours():
    runs = run(1, 0), run(2, 6), run(3, 12.5), run(4, 100)

    assert groups(*runs) == [(1, 2), (3,), (4,)]
    assert reasons(*runs) == [
        "the first runs on this host",
        "6.5 hours after the previous run",
        "3.6 days after the previous run",
    ]


@pytest.mark.parametrize("name", ["kernel", "firmware", "microcode"])
def test_a_session_begins_when_the_host_changes(name):
    runs = (
        run(1, 0, **{name: "5.10"}),
        run(2, 1),  # a guest reports no facts of its host
        run(3, 2, **{name: "5.15"}),
        run(4, 3),
        run(5, 4, **{name: "5.15"}),
    )

    assert groups(*runs) == [(1, 2), (3, 4, 5)]
    assert reasons(*runs)[1] == f"{name} changed from 5.10 to 5.15"


def test_a_fact_reported_later_is_not_a_change():
    assert groups(run(1, 0), run(2, 1, kernel="5.10")) == [(1, 2)]


def test_a_reboot_begins_a_session_on_another_day_only():
    evening = run(1, 10, boot="a"), run(2, 12, boot="b"), run(3, 15)
    night = run(4, 17, boot="b"), run(5, 18), run(6, 19, boot="c")

    assert groups(*evening, *night) == [(1, 2, 3, 4, 5, 6)]
    assert groups(*evening, run(4, 17, boot="c")) == [(1, 2, 3), (4,)]
    assert reasons(*evening, run(4, 17, boot="c"))[1] == "a reboot on another day"


def test_all_reasons_are_listed():
    runs = run(1, 0, kernel="5.10", boot="a"), run(2, 30, kernel="5.15", boot="b")

    assert reasons(*runs)[1] == (
        "30.0 hours after the previous run, kernel changed from 5.10 to 5.15, "
        "a reboot on another day"
    )


def test_a_session_is_named_by_its_first_start():
    session = derive_sessions([run(1, 0), run(2, 0.51)])[0]

    assert session.session_name(1) == "2021-05-03 08:00"
    assert session.session_name(2) == "2021-05-03 08:30"


@given(RUNS, st.randoms())
def test_the_order_of_uploads_does_not_matter(runs, chance: random.Random):
    shuffled = chance.sample(runs, len(runs))

    assert derive_sessions(shuffled) == derive_sessions(runs)


@given(RUNS)
def test_the_order_of_ids_does_not_matter(runs):
    other = [RunStart(-one.id, one.started_at, one.states) for one in runs]

    assert {frozenset(group) for group in groups(*runs)} == {
        frozenset(-one for one in group) for group in groups(*other)
    }


@given(RUNS)
def test_every_run_is_in_one_session_and_no_pause_is_too_long(runs):
    sessions = derive_sessions(runs)

    assert sorted(n for one in sessions for n in one.runs) == [one.id for one in runs]
    for session in sessions:
        pairs = zip(session.starts, session.starts[1:], strict=False)
        assert all(timedelta() <= b - a <= LONGEST_PAUSE for a, b in pairs)
    for before, after in itertools.pairwise(sessions):
        assert before.starts[-1] <= after.starts[0]


@given(RUNS)
def test_without_host_facts_only_pauses_count(runs):
    plain = [RunStart(one.id, one.started_at, {}) for one in runs]
    sessions = derive_sessions(plain)

    for before, after in itertools.pairwise(sessions):
        assert after.starts[0] - before.starts[-1] > LONGEST_PAUSE


def test_a_late_run_joins_the_nearest_placed_run():
    (session,) = derive_sessions([run(n, n) for n in range(6)])

    assert nearest_sessions(session, {1: 70, 4: 90}) == {0: 70, 2: 70, 3: 90, 5: 90}
    assert nearest_sessions(session, {1: 70, 3: 90})[2] == 70
    assert nearest_sessions(session, {}) == {}


def test_a_session_that_grows_or_is_split_keeps_its_identity():
    assert match_stored_sessions([[1, 2, 3]], {1: 7, 2: 7}) == [7]
    assert match_stored_sessions([[1], [2, 3]], {1: 7, 2: 7, 3: 7}) == [None, 7]
    assert match_stored_sessions([[1, 2, 3]], {1: 7, 2: 8, 3: 8}) == [8]
    assert match_stored_sessions([[1, 2], [3]], {1: 7, 2: 8, 3: 8}) == [7, 8]
    assert match_stored_sessions([[4]], {1: 7, 4: None}) == [None]


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("day 1", True),
        ("plan 4", True),
        ("agent-lab", True),
        ("agent-0123456789ab", False),
        ("", False),
    ],
)
def test_an_agents_generated_name_is_not_declared(name, is_one):
    assert is_declared_name(name) == is_one


def test_facts_may_have_any_type():
    facts = {"host_kernel": "5.10", "host_boot": 7, "host_firmware": None, "a": "b"}

    assert host_states(facts) == {"host_kernel": "5.10"}


def test_lag_one_autocorrelation_is_unbiased():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(400):
        values = [0.0]
        for noise in rng.normal(size=140):
            values.append(0.6 * values[-1] + noise)
        found.append(lag_one_autocorrelation(values[100:]))

    assert np.mean([one or 0.0 for one in found]) == pytest.approx(0.6, abs=0.03)


@pytest.mark.parametrize("n", [5, 8, 10, 30])
def test_independent_runs_have_zero_autocorrelation_on_average(n):
    rng = np.random.default_rng(n)

    found = [lag_one_autocorrelation(rng.normal(size=n)) for _ in range(4_000)]

    assert np.mean(found) == pytest.approx(0, abs=0.03)


@pytest.mark.parametrize(
    "values",
    [[1, 2, 3, 4], [0.1] * 20, [0.0] * 9],
    ids=["too few", "equal", "zeros"],
)
def test_autocorrelation_is_none_if_unknown(values):
    assert lag_one_autocorrelation(values) is None


def test_alternating_runs_have_negative_autocorrelation():
    assert lag_one_autocorrelation([1, 9] * 6) < -1


@given(
    st.lists(st.integers(-1000, 1000), min_size=8, max_size=20),
    st.sampled_from([1e-300, 0.5, 1e300 / 1000]),
)
def test_autocorrelation_does_not_depend_on_the_unit(values, unit):
    own, other = (
        lag_one_autocorrelation(values),
        lag_one_autocorrelation([value * unit for value in values]),
    )

    assert (own is None) == (other is None)
    assert own is None or own == pytest.approx(other)
    assert own is None or -2 < own < 1


def test_a_drift_is_removed_before_autocorrelation():
    rng = np.random.default_rng(5)
    values = [100 + k + noise for k, noise in enumerate(rng.normal(0, 0.5, 30))]

    assert lag_one_autocorrelation(values) > 0.8
    assert (lag_one_autocorrelation(values, slope=1.0) or 0.0) < 0.5


# --- Sessions that count as one.


def counted(*hosts):
    """Return {session: the one it counts with} for hosts of (session, hour) runs."""
    by_run, starts = {}, []
    for runs in hosts:
        host = []
        for session, hour in runs:
            run = len(by_run)
            by_run[run] = session
            host.append(RunStart(run, MORNING + timedelta(hours=hour), {}))
        starts.append(host)
    found = sessions_counted_together(starts, by_run)
    return {session: one.counted_with for session, one in found.items()}


def test_named_sessions_of_one_sitting_count_as_one():
    assert counted([(1, 0), (1, 1), (2, 2), (2, 3), (3, 8)]) == {2: 1, 3: 1}


def test_sessions_more_than_six_hours_apart_count_separately():
    assert counted([(1, 0), (2, 7), (3, 24)]) == {}


def test_sessions_that_overlap_on_other_days_count_as_one():
    assert counted([(1, 0), (1, 48), (2, 24)]) == {2: 1}


def test_the_first_session_counts_for_all():
    assert counted([(9, 0), (4, 1), (2, 2)]) == {4: 9, 2: 9}


def test_sessions_of_different_hosts_count_separately():
    assert counted([(1, 0), (1, 1)], [(2, 0), (2, 1)]) == {}


def test_sessions_are_linked_by_each_host():
    assert counted([(1, 0), (2, 1)], [(2, 100), (3, 101)]) == {2: 1, 3: 1}
