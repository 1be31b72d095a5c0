import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.analysis.intervals import Method, RunStatistics, log_ratio_intervals
from benchmarks.analysis.session_intervals import (
    SessionDesign,
    design_intervals,
    exclude_first_runs,
    session_ratios,
)
from benchmarks.analysis.sessions import (
    RHO_ALLOWANCE,
    UNKNOWN_TIME,
    SessionStatistics,
    with_pooled_rho,
)
from tests.benchmarks.analysis.session_samples import (
    UNKNOWN,
    A,
    B,
    C,
    D,
    E,
    F,
    days,
    in_sessions,
    rolled,
    runs,
)


def designed(own, other, higher_is_better=True, **options):
    """Return the design of one cell and its baseline, both as {session: runs}."""
    sessions = in_sessions(own), in_sessions(other)
    return design_intervals(
        rolled(own), rolled(other), sessions, [higher_is_better], **options
    )


def made(own, other):
    return SessionDesign(int(designed(own, other).design[0]))


# --- Designs: the rows of docs/method.md.


@pytest.mark.parametrize(
    ("own", "other", "design"),
    [
        (days(A, B, C), days(A, B, C), SessionDesign.SHARED),
        (days(A, B, C, D), days(A, B, C, E, F), SessionDesign.SHARED),
        (days(A, B, C, n=1), days(A, B, C, n=1), SessionDesign.SHARED),
        (days(A, B), days(A, B), SessionDesign.TWO_SHARED),
        (days(A, B, C), days(A, B), SessionDesign.TWO_SHARED),
        (days(A), days(A), SessionDesign.ONE_SHARED),
        (days(A, B), days(A, C), SessionDesign.ONE_SHARED),
        (days(A), days(A, B, C), SessionDesign.ONE_SHARED),
        (days(A, B, C), days(D, E, F), SessionDesign.SEPARATE_SESSIONS),
        (days(A, B, C), days(A, B, D), SessionDesign.SEPARATE_SESSIONS),
        (days(A), days(B, C, D), SessionDesign.ASSUMED_SPREAD),
        (days(B, C, D), days(A), SessionDesign.ASSUMED_SPREAD),
        (days(A, E), days(B, C, D), SessionDesign.ASSUMED_SPREAD),
        (days(A), days(B), SessionDesign.UNREPEATED),
        (days(A, B), days(C, D), SessionDesign.UNREPEATED),
        (days(A, n=1), days(A), SessionDesign.SINGLE_RUN),
        (
            {UNKNOWN_TIME: runs(100)},
            {UNKNOWN_TIME: runs(90)},
            SessionDesign.ASSUMED_ONE_SESSION,
        ),
        ({UNKNOWN_TIME: runs(100)}, days(A), SessionDesign.ASSUMED_ONE_SESSION),
        ({UNKNOWN_TIME: runs(100)}, days(A, B, C), SessionDesign.ASSUMED_SPREAD),
    ],
)
def test_the_design_follows_from_the_sessions(own, other, design):
    assert made(own, other) == design


def test_a_side_without_runs_has_no_design():
    nothing = RunStatistics.from_sums([0], [UNKNOWN], [UNKNOWN], [UNKNOWN])

    judged = design_intervals(
        rolled(days(A)), nothing, (in_sessions(days(A)), in_sessions()), [True]
    )

    assert judged.design.tolist() == [SessionDesign.NONE]
    assert np.isnan(judged.intervals.ratio[0])


# --- Intervals equal the textbook's.


def log_means(side, *sessions):
    return np.log([np.mean(side[session]) for session in sessions])


OWN = {A: runs(95), B: runs(97), C: runs(91, 9), D: runs(94, 2)}
NATIVE = {A: runs(100), B: runs(103, 7), C: runs(99), D: runs(98)}


def test_shared_sessions_have_students_interval_of_log_ratios():
    judged = designed(OWN, NATIVE)

    logs = log_means(OWN, A, B, C, D) - log_means(NATIVE, A, B, C, D)
    low, high = stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    assert judged.intervals.ratio[0] == pytest.approx(np.exp(logs.mean()))
    assert judged.intervals.low[0] == pytest.approx(np.exp(low))
    assert judged.intervals.high[0] == pytest.approx(np.exp(high))
    assert judged.between_sd[0] == pytest.approx(logs.std(ddof=1))
    assert (judged.intervals.df[0], judged.shared_count[0]) == (3, 4)


def test_separate_sessions_have_welchs_interval_of_log_means():
    own = dict(zip((10, 11, 12, 13), OWN.values(), strict=True))

    judged = designed(own, NATIVE)

    sides = log_means(own, *own), log_means(NATIVE, *NATIVE)
    welch = stats.ttest_ind(*sides, equal_var=False).confidence_interval(0.95)
    assert judged.design[0] == SessionDesign.SEPARATE_SESSIONS
    assert np.log(judged.intervals.low[0]) == pytest.approx(welch.low)
    assert np.log(judged.intervals.high[0]) == pytest.approx(welch.high)


def test_a_single_session_assumes_the_other_sides_spread():
    judged = designed({9: runs(95)}, NATIVE)

    logs = log_means(NATIVE, *NATIVE)
    error = logs.std(ddof=1) * np.sqrt(1 + 1 / 4)
    assert judged.intervals.standard_error[0] == pytest.approx(error)
    half = stats.t.ppf(0.975, 3) * error
    assert judged.intervals.log_half_width[0] == pytest.approx(half)


def test_noisier_runs_in_a_single_session_widen_the_interval():
    wild = [70.0, 120.0, 95.0, 80.0, 110.0]

    calm, wilder = (designed({9: each}, NATIVE) for each in (runs(95), wild))

    added = rolled({9: wild}).log_variance()[0]
    more = wilder.intervals.standard_error[0] ** 2 - calm.intervals.standard_error**2
    assert more == pytest.approx(added, rel=0.01)


def test_one_shared_session_uses_only_its_runs():
    own, other = {A: runs(95), B: runs(70)}, {A: runs(100), C: runs(140)}

    judged = designed(own, other)

    alone = log_ratio_intervals(rolled({A: own[A]}), rolled({A: other[A]}), [True])
    assert judged.intervals.low[0] == pytest.approx(alone.low[0])
    assert (judged.cell.n[0], judged.session[0]) == (5, A)


@pytest.mark.parametrize("own", [{UNKNOWN_TIME: runs(95)}, {9: runs(95)}])
def test_unrepeated_days_have_the_interval_of_runs(own):
    native = {A: runs(100)}

    judged = designed(own, native)

    alone = log_ratio_intervals(rolled(own), rolled(native), [True])
    assert judged.intervals.low[0] == pytest.approx(alone.low[0])
    assert judged.intervals.method[0] == Method.WELCH


def test_two_shared_sessions_must_both_decide():
    own, native = {A: runs(95), B: runs(90)}, {A: runs(100), B: runs(100)}

    judged = designed(own, native)

    each = [
        log_ratio_intervals(rolled({A: own[s]}), rolled({A: native[s]}), [True])
        for s in (A, B)
    ]
    assert judged.intervals.df[0] == 1
    assert np.exp(judged.deciding_low[0]) == pytest.approx(each[1].low[0])
    assert np.exp(judged.deciding_high[0]) == pytest.approx(each[0].high[0])


def test_equal_sessions_have_the_uncertainty_of_rounding():
    own, native = ({s: [level] * 3 for s in (A, B, C)} for level in (95.0, 100.0))
    sides = (in_sessions(each, resolution=0.1) for each in (own, native))

    judged = design_intervals(rolled(own), rolled(native), tuple(sides), [True])

    error = np.sqrt(0.1**2 / 12 * (1 / 95**2 + 1 / 100**2))
    assert judged.intervals.standard_error[0] == pytest.approx(error)
    unread = designed(own, native).intervals
    assert (unread.method[0], unread.ratio[0]) == (Method.NONE, pytest.approx(0.95))


def test_the_error_of_two_meters_stays_however_many_sessions():
    plain, metered = (
        designed(OWN, NATIVE, extra_log_variance=extra) for extra in (0.0, 0.01)
    )

    grown = metered.intervals.standard_error**2 - plain.intervals.standard_error**2
    assert grown[0] == pytest.approx(0.01)
    assert metered.intervals.df[0] > plain.intervals.df[0]


# --- Dependent runs.


def test_dependent_runs_count_as_fewer():
    own, native = {A: runs(95, 30)}, {A: runs(100, 30)}
    sides = in_sessions(own, rho=0.5), in_sessions(native)

    judged = design_intervals(rolled(own), rolled(native), sides, [True])

    # 30 runs in a chain: 3 for an infinite chain, minus the effect of its ends.
    widening = 3 - 4 / 30 * (1 - 0.5**30)
    assert judged.cell.effective_n[0] == pytest.approx(30 / widening**0.75)
    assert judged.baseline.effective_n[0] == 30
    independent = designed(own, native).intervals
    assert judged.intervals.log_half_width[0] > independent.log_half_width[0]


@pytest.mark.parametrize(("rho", "n"), [(0.5, 10), (0.8, 10), (0.8, 30)])
def test_the_variance_of_a_mean_of_dependent_runs_is_right_on_average(rho, n):
    rng = np.random.default_rng(n)
    chains = rng.normal(size=(4_000, n))
    for run in range(1, n):
        chains[:, run] *= np.sqrt(1 - rho**2)
        chains[:, run] += rho * chains[:, run - 1]
    cells = [{A: 1000 + chain} for chain in chains]

    sessions = in_sessions(*cells, rho=rho)

    told = (sessions.effective_variance / sessions.effective_runs).mean()
    assert told == pytest.approx(chains.mean(axis=1).var(), rel=0.1)


def test_a_constant_chain_has_a_finite_width():
    side = in_sessions({A: runs(95, 8)}, rho=1.0)

    assert side.effective_runs.tolist() == [3]
    assert np.isfinite(side.effective_variance).all()


def counted(own, other, *rhos):
    """Return the autocorrelation that counts for two sides of one session."""
    sides = [
        in_sessions({A: v}, rho=r) for v, r in zip((own, other), rhos, strict=True)
    ]
    return [side.rho[0] for side in with_pooled_rho(*sides, 1)]


def test_autocorrelation_is_pooled_over_both_sides():
    own, other = counted(runs(100, 10), runs(100, 10), 0.6, 0.2)

    # The mean plus an allowance for twenty runs.
    assert own == other == pytest.approx(0.4 + RHO_ALLOWANCE / 20)


def test_the_side_that_varies_more_counts_for_more():
    calm, wild = runs(100, 10), [100 + 10 * (each - 100) for each in runs(100, 10)]

    assert counted(calm, wild, 0.0, 0.6)[0] > 0.6
    assert counted(calm, wild, 0.6, -0.6)[0] == 0


def test_an_unclear_autocorrelation_is_ignored():
    assert counted(runs(100, 5), runs(100, 5), 0.25, 0.25) == [0, 0]
    assert counted(runs(100, 5), runs(100, 5), 0.7, 0.7)[0] > 0.7
    assert counted(runs(100, 10), runs(100, 10), 0.1, 0.1)[0] > 0.1


def test_a_side_of_unknown_order_has_no_autocorrelation():
    own, other = counted(runs(100, 10), runs(100, 10), 0.6, UNKNOWN)

    assert own == pytest.approx(0.6 + RHO_ALLOWANCE / 10)
    assert np.isnan(other)
    assert np.isnan(counted([100.0] * 10, [100.0] * 10, UNKNOWN, UNKNOWN)).all()


def test_autocorrelation_is_pooled_over_all_sessions():
    own = in_sessions({A: runs(100, 10), B: runs(90, 10)}, rho=[0.6, 0.0])
    native = in_sessions({A: runs(100, 10)}, rho=0.0)

    mine, theirs = with_pooled_rho(own, native, 1)

    expected = [pytest.approx(0.2 + RHO_ALLOWANCE / 30, abs=1e-3)]
    assert [*mine.rho] == expected * 2
    assert [*theirs.rho] == expected


# --- Outlying first runs.


def cold(level, n=10, first=60.0):
    return [first, *runs(level, n - 1)]


def test_excluding_a_first_run_keeps_the_others():
    left = in_sessions({A: cold(100)}, first=60.0).exclude_first_runs()

    others = in_sessions({A: runs(100, 9)})
    assert left.n.tolist() == [9]
    assert left.mean == pytest.approx(others.mean)
    assert left.variance == pytest.approx(others.variance)


def test_cells_exclude_the_first_runs_of_all_sessions():
    cell = {A: cold(100), B: runs(101, 6), C: cold(102, first=70.0)}
    side = in_sessions(cell, first=[60.0, UNKNOWN, 70.0])

    left = exclude_first_runs(rolled(cell), side)

    others = rolled({A: runs(100, 9), B: runs(101, 6), C: runs(102, 9)})
    assert left.n.tolist() == others.n.tolist() == [24]
    assert left.mean == pytest.approx(others.mean)
    assert left.variance == pytest.approx(others.variance)


def test_no_run_of_five_is_excluded():
    side = in_sessions({A: cold(100, n=5)}, first=60.0)

    assert side.exclude_first_runs().n.tolist() == [5]


def test_negative_autocorrelation_adds_no_runs():
    side = in_sessions({A: runs(95, 10)}, rho=-0.6)

    assert side.effective_runs.tolist() == [10]


# --- Many cells, and invariances.


def many():
    own = (days(A, B, C), OWN, {9: runs(95)}, {UNKNOWN_TIME: runs(80)}, days(A, B))
    other = (days(D, E, F), NATIVE, NATIVE, {UNKNOWN_TIME: runs(90)}, days(A, B, n=7))
    return own, other


def test_many_cells_equal_single_assessments():
    own, other = many()
    sides = in_sessions(*own), in_sessions(*other)
    together = design_intervals(rolled(*own), rolled(*other), sides, True)

    for row, pair in enumerate(zip(own, other, strict=True)):
        alone = designed(*pair)
        assert together.design[row] == alone.design[0]
        for name in ("ratio", "log_half_width", "df"):
            here, there = (getattr(each.intervals, name) for each in (together, alone))
            np.testing.assert_allclose(here[row], there[0])
        np.testing.assert_allclose(together.deciding_low[row], alone.deciding_low[0])


level = st.floats(50.0, 200.0)
side = st.dictionaries(
    st.integers(-1, 4), st.lists(level, min_size=1, max_size=4), min_size=1, max_size=5
)


@given(side, side, st.floats(1e-6, 1e6), st.randoms(use_true_random=False))
def test_units_order_and_direction_do_not_matter(own, other, unit, chance):
    plain = designed(own, other)
    scaled = [
        {s: [unit * v for v in x] for s, x in side.items()} for side in (own, other)
    ]
    shuffled = [dict(chance.sample([*side.items()], len(side))) for side in scaled]
    reciprocal = designed(own, other, higher_is_better=False)

    moved = designed(*shuffled)

    for name in ("deciding_low", "deciding_high"):
        np.testing.assert_allclose(
            getattr(moved, name), getattr(plain, name), rtol=1e-6, atol=1e-9
        )
    np.testing.assert_allclose(
        reciprocal.deciding_low, -plain.deciding_high, rtol=1e-6, atol=1e-9
    )


def test_each_shared_session_has_its_own_ratio():
    own, native = in_sessions({**OWN, 7: runs(50)}), in_sessions(NATIVE)

    ratios = session_ratios(own, native, higher_is_better=True)

    assert [each.session for each in ratios] == [A, B, C, D]
    assert ratios[0].ratio == pytest.approx(0.95)
    assert ratios[0].low < 0.95 < ratios[0].high
    assert (ratios[2].n, ratios[2].baseline_n) == (9, 5)


def test_cells_of_unknown_time_are_separate_sessions():
    cells = rolled({A: runs(95)}, {A: runs(80)})

    sides = SessionStatistics.one_session(cells, [90.0, 70.0], [99.0, 90.0])

    assert sides.session.tolist() == [UNKNOWN_TIME] * 2
    assert sides.row.tolist() == [0, 1]
    assert sides.maximum.tolist() == [99.0, 90.0]
