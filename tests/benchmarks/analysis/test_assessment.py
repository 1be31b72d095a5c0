from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from benchmarks.analysis.assessment import (
    MeteredPair,
    assess_energies,
    cell_assessment,
    energy_ratio,
)
from benchmarks.analysis.energy_ratio import MeterFacts
from benchmarks.analysis.intervals import RunStatistics
from benchmarks.analysis.sessions import UNKNOWN_TIME
from benchmarks.analysis.verdict_gates import Gate
from benchmarks.analysis.verdict_reasons import NO_RUN_ALONE
from benchmarks.analysis.verdicts import assess_cells, correct_for_multiple_tests
from tests.benchmarks.analysis.session_samples import (
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


def cells(*rows):
    n, mean, deviation = np.array(rows, dtype=float).T
    m2 = deviation**2 * np.maximum(n - 1, 0)
    return RunStatistics.from_sums(n.astype(int), mean, m2, np.full(len(n), np.nan))


def said_of(cell, baseline=(5, 100.0, 0.5), gates=0):
    judged = assess_cells(cells(cell), cells(baseline), [True], gates=[gates])
    return cell_assessment(judged, 0)


def test_a_verdict_has_the_sentence_that_explains_it():
    assessment = said_of((5, 90.0, 0.5))

    assert (assessment.verdict, assessment.label, assessment.evidence_level) == (
        "slower",
        "slower",
        "verdict",
    )
    assert assessment.ratio == 0.9
    assert assessment.low < 0.9 < assessment.high < 0.98
    assert assessment.half_width == pytest.approx(
        (assessment.high - assessment.low) / 1.8
    )
    assert assessment.sentences == ("The confidence interval is entirely below 0.98.",)
    assert (assessment.reason_codes, assessment.advice) == ((), "")


@pytest.mark.parametrize(
    ("mean", "sentence"),
    [
        (110.0, "The confidence interval is entirely above 1.02."),
        (100.0, "The confidence interval is entirely between 0.98 and 1.02."),
        (
            97.8,
            "The confidence interval, 0.9708 to 0.9852, crosses the lower equivalence "
            "margin, 0.98.",
        ),
        (
            102.2,
            "The confidence interval, 1.015 to 1.029, crosses the upper equivalence "
            "margin, 1.02.",
        ),
    ],
)
def test_every_verdict_has_its_sentence(mean, sentence):
    assert said_of((5, mean, 0.5)).sentences == (sentence,)


def test_undetermined_results_have_the_number_of_runs_needed():
    assessment = said_of((5, 97.0, 1.0), (7, 100.0, 1.0))

    assert assessment.label == "undetermined"
    assert assessment.advice == (
        "Run both systems in one session, alternating between them, as a new study: "
        "earlier runs do not count. Plan 19 runs each (6 may be enough)."
    )


def test_a_single_run_is_labeled():
    assessment = said_of((1, 90.0, 0.0), (1, 100.0, 0.0))

    assert (assessment.ratio, assessment.low, assessment.high) == (0.9, None, None)
    assert (assessment.label, assessment.verdict) == ("single run", "not_assessed")
    assert assessment.reason_codes == ("single_run",)
    assert assessment.sentences == (
        "Runs: this system 1, the baseline 1. A verdict needs at least 5 each.",
    )
    assert "at least 5 runs each" in assessment.advice


def test_three_runs_are_indicative():
    assessment = said_of((3, 90.0, 0.5))

    assert assessment.label == "indicative: slower"
    assert assessment.sentences == (
        "Runs: this system 3, the baseline 5. A verdict needs at least 5 each.",
    )
    assert "at least 5 runs each" in assessment.advice


def test_a_noisy_baseline_has_no_verdict_and_shows_its_interval():
    assessment = said_of((5, 97.0, 1.0), (5, 100.0, 40.0))

    assert assessment.reason_codes == ("noisy_baseline",)
    assert assessment.sentences == (
        (
            "The baseline is too noisy: its 95% confidence interval is ±50%, and a "
            "verdict needs less than ±45%."
        ),
    )
    assert assessment.advice.startswith("Not even 200 runs each")


def test_all_reasons_are_listed():
    assessment = said_of((3, 90.0, 0.5), gates=Gate.FLAGGED | Gate.STALE_BASELINE)

    assert assessment.label == "not_assessed"
    assert assessment.reason_codes == ("few_runs", "stale_baseline", "flagged")
    assert len(assessment.sentences) == 3
    assert "flag" in assessment.sentences[0]
    assert assessment.advice.startswith("Check the values of this system.")


def test_a_reading_of_zero_has_no_ratio():
    assessment = said_of((5, 0.0, 0.0))

    assert (assessment.ratio, assessment.half_width, assessment.reason_codes) == (
        None,
        None,
        ("zero",),
    )


def test_a_verdict_lost_by_correction_is_explained():
    weak, undecided = (5, 96.3, 0.8), (5, 97.8, 0.8)
    rows = [weak] + [undecided] * 19
    judged = assess_cells(cells(*rows), cells(*[(5, 100.0, 0.8)] * 20), True)
    assert cell_assessment(judged, 0).verdict == "slower"

    assessment = cell_assessment(correct_for_multiple_tests(judged), 0)

    assert (assessment.verdict, assessment.direction) == ("undetermined", "slower")
    assert assessment.sentences == (
        (
            "This result alone would have a verdict, but correction for the 20 results "
            "that were tested together widens its interval. The confidence interval, "
            "0.9417 to 0.9848, crosses the lower equivalence margin, 0.98."
        ),
    )
    assert assessment.high < 0.98
    assert "at least 10 runs each" in assessment.advice


def test_an_assessment_is_immutable():
    with pytest.raises(FrozenInstanceError):
        said_of((5, 90.0, 0.5)).label = "faster"


def of_sessions(
    own, native, *, gates=0, side_gates=(0, 0), rho=float("nan"), moves=None, **words
):
    sessions = in_sessions(own, rho=rho), in_sessions(native)
    known = {"gates": [int(gates)], "sessions": sessions, "order_shifts": moves}
    known["side_gates"] = side_gates
    judged = assess_cells(rolled(own), rolled(native), [True], **known)
    return cell_assessment(judged, 0, **words)


UNTIMED = {UNKNOWN_TIME: runs(90)}


@pytest.mark.parametrize(
    ("own", "native", "design", "scope"),
    [
        (days(A, B, C), days(A, B, C), "shared", "across 3 sessions"),
        (days(A, B), days(A, B), "two_shared", "in both sessions"),
        (days(A), days(A), "one_shared", "in the session of 2021-05-03"),
        (days(B), days(B), "one_shared", "in one session"),
        (
            days(A, B, C),
            days(D, E, F),
            "separate_sessions",
            "across 3 sessions and 3 sessions of the baseline",
        ),
        (
            days(A),
            days(D, E, F),
            "assumed_spread",
            "assuming that sessions vary equally on both sides",
        ),
        (days(A), days(B), "unrepeated", "in different sessions"),
        (
            UNTIMED,
            UNTIMED,
            "assumed_one_session",
            "assuming one session because start times are not reported",
        ),
    ],
)
def test_an_assessment_names_its_scope(own, native, design, scope):
    assessment = of_sessions(own, native, session_days={A: "2021-05-03"})

    assert (assessment.design, assessment.scope) == (design, scope)
    assert assessment.is_weak == (design == "assumed_one_session")


def test_without_sessions_one_session_is_assumed_and_there_is_no_range():
    assessment = said_of((5, 90.0, 0.5))

    assert (assessment.design, assessment.range) == ("one_shared", None)


@pytest.mark.parametrize(
    ("own_starts", "native_starts", "word"),
    [
        ((50.0, 90.0), (0.0, 40.0), "after"),
        ((0.0, 40.0), (50.0, 90.0), "before"),
    ],
)
def test_a_confounded_order_names_the_sides(own_starts, native_starts, word):
    own, native = days(A, level=90), days(A)
    judged = assess_cells(
        *(rolled(own), rolled(native), [True]),
        sessions=(
            in_sessions(own, starts=own_starts),
            in_sessions(native, starts=native_starts),
        ),
    )

    assessment = cell_assessment(judged, 0)

    assert assessment.reason_codes == ("order_confounded",)
    assert f"came {word} those of the baseline" in assessment.sentences[0]
    assert "alternating" in assessment.advice


def test_sessions_are_counted_and_their_spread_is_reported():
    own = {A: runs(95), B: runs(99), C: runs(92)}

    assessment = of_sessions(own, days(A, B, C, D, level=100))

    logs = np.log([95 / 100, 99 / 101, 92 / 102])
    assert assessment.sessions == (3, 4, 3)
    assert assessment.between_sd == pytest.approx(logs.std(ddof=1))
    assert assessment.range[0] == pytest.approx(92 * 0.992 / (102 * 1.008))


def test_days_that_differ_need_more_sessions_instead_of_runs():
    own = {A: runs(95), B: runs(99), C: runs(97)}

    assessment = of_sessions(own, days(A, B, C))

    assert assessment.verdict == "undetermined"
    assert assessment.sessions_needed > 3
    assert f"about {assessment.sessions_needed} sessions" in assessment.advice
    assert "including the 3 existing ones" in assessment.advice
    assert "More runs per session would not" in assessment.advice


def test_separate_sessions_that_vary_too_much_are_replaced_by_shared_ones():
    own, native = {A: runs(94), B: runs(102), C: runs(110)}, days(D, E, F)

    advice = of_sessions(own, native).advice

    assert "in each of at least 3 new sessions" in advice
    assert "Not even 60 separate sessions" in advice
    assert "Report the interval" not in advice


def test_shared_sessions_that_vary_too_much_lead_to_a_new_study():
    own = {A: runs(90), B: runs(98), C: runs(106)}

    advice = of_sessions(own, days(A, B, C)).advice

    assert advice.startswith("Not even 60 sessions")
    assert "at least 3 sessions of a new study" in advice


@pytest.mark.parametrize("has_others", [False, True])
def test_missing_settings_are_an_alternative_to_a_run_alone(has_others):
    others = ["2 systems ran it alone, but with other settings."] * has_others
    missing = said_of((5, 90.0, 0.5), gates=Gate.NO_BASELINE)

    advised = missing.with_pairing_reason(" ".join([NO_RUN_ALONE, *others])).advice

    assert "with one VM alone" in advised
    assert ("settings" in advised) == has_others


def test_different_days_have_no_verdict_but_advice():
    assessment = of_sessions(days(A, level=90), days(B))

    assert assessment.reason_codes == ("unrepeated",)
    assert "variation between sessions is unknown" in assessment.sentences[0]
    assert "together in one session, or better in 3" in assessment.advice
    assert assessment.ratio == pytest.approx(90 / 101)


def test_two_sessions_that_disagree_are_undetermined():
    assessment = of_sessions({A: runs(90), B: runs(101)}, days(A, B))

    assert assessment.verdict == "undetermined"
    assert assessment.sentences == (
        (
            "The two sessions disagree: slower (ratio 0.9000) in one, equivalent "
            "(1.0000) in the other."
        ),
    )


def test_two_sessions_without_a_verdict_of_their_own_are_undetermined():
    assessment = of_sessions({A: runs(98), B: runs(99)}, days(A, B, level=100))

    assert "Neither session alone gives a verdict" in assessment.sentences[0]


def test_every_run_slower_decides_without_a_figure():
    own, native = {A: [1.2, 1.5, 1.4, 1.3, 1.25]}, {A: runs(100)}

    assessment = of_sessions(own, native, gates=Gate.DRIFT)

    assert (assessment.verdict, assessment.ratio) == ("slower", None)
    assert assessment.sentences == (
        "Every run is slower than every run of the baseline (ratio 0.0119 to 0.0151).",
    )
    assert assessment.range == (
        pytest.approx(1.2 / 100.8),
        pytest.approx(1.5 / 99.2),
    )
    assert assessment.reason_codes == ()


def test_a_verdict_despite_run_order_names_the_largest_shift():
    own, native = {A: runs(95.5, 10)}, {A: runs(100, 10)}

    assessment = of_sessions(own, native, gates=Gate.DRIFT, moves=([0.006], [0.006]))

    assert (assessment.verdict, assessment.ratio, assessment.low) == (
        "slower",
        None,
        None,
    )
    assert assessment.sentences == (
        (
            "The order of the runs changes the ratio by at most 1.2%. The result is "
            "slower even in the worst case."
        ),
    )
    assert assessment.range is not None
    assert assessment.reason_codes == ()


def test_dependent_runs_have_an_effective_number():
    tested = ([int(Gate.FEW_INDEPENDENT)], [0])
    own, native = {A: runs(97.2, 10)}, {A: runs(100, 10)}

    assessment = of_sessions(own, native, rho=0.5, side_gates=tested)

    assert assessment.reason_codes == ("few_independent",)
    assert assessment.sentences == (
        (
            "Each run of this system depends on the previous one: 10 runs count as "
            "4.1 independent runs."
        ),
    )
    assert of_sessions(own, native, rho=0.5).verdict == "undetermined"


@pytest.mark.parametrize(
    ("sides", "sentence"),
    [
        ((Gate.DRIFT, 0), "This system drifts over the session."),
        (
            (0, Gate.BIMODAL),
            "The baseline is bimodal (two speeds), so it has no single value.",
        ),
        ((Gate.DRIFT, Gate.DRIFT), "Both systems drift over the session."),
    ],
)
def test_a_reason_names_its_side(sides, sentence):
    own, native = {A: runs(99, 10)}, {A: runs(100, 10)}
    side_gates = tuple([int(gate)] for gate in sides)

    assert of_sessions(own, native, side_gates=side_gates).sentences == (sentence,)


ONE = MeterFacts("meter 1", 0.015)
TWO = MeterFacts("meter 2", 0.015)
BASE = (50.2, 49.7, 50.4, 50.1, 49.9)
MARGIN = 0.02


def said(own, base=BASE, meters=(ONE, ONE), gates=0):
    (assessment,) = assess_energies([pair_of(own, base, meters, gates)], MARGIN)
    return assessment


def pair_of(own, base=BASE, meters=(ONE, ONE), gates=0):
    sessions = [A] * len(own), [A] * len(base)
    return MeteredPair(own, base, meters, gates, sessions)


def times(factor):
    return tuple(factor * each for each in BASE)


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.2, "more"), (0.8, "less"), (1.0, "equivalent")]
)
def test_energy_verdicts_are_less_and_more(factor, verdict):
    assessment = said(times(factor))

    assert (assessment.verdict, assessment.label) == (verdict, verdict)
    assert assessment.low < factor < assessment.high


def test_an_energy_interval_equals_that_of_the_ratio():
    for meters in ((ONE, ONE), (ONE, TWO)):
        ratio = energy_ratio(times(1.2), BASE, meters)
        assessment = said(times(1.2), meters=meters)

        assert (assessment.low, assessment.high) == (
            pytest.approx(ratio.low),
            pytest.approx(ratio.high),
        )


def test_few_runs_are_only_indicative():
    assessment = said((60.0, 61.0, 59.5))

    assert (assessment.verdict, assessment.label) == (
        "not_assessed",
        "indicative: more",
    )
    assert assessment.reason_codes == ("few_runs",)


def test_a_single_run_has_the_number_of_runs_needed():
    assessment = said((60.0,))

    assert (assessment.verdict, assessment.low) == ("not_assessed", None)
    assert "at least 5 runs each" in assessment.advice


def test_gates_of_cells_apply_to_their_energy():
    assessment = said(times(1.2), gates=int(Gate.FLAGGED))

    assert (assessment.verdict, assessment.reason_codes) == (
        "not_assessed",
        ("flagged",),
    )


def by_sessions(own, base, gates=0):
    """Assess energies of runs in sessions: {session: joules} of both sides."""
    values, places = zip(
        *(
            (
                tuple(joule for joules in side.values() for joule in joules),
                tuple(at for at, joules in side.items() for _joule in joules),
            )
            for side in (own, base)
        ),
        strict=True,
    )
    pair = MeteredPair(*values, (ONE, ONE), int(gates), places)
    (assessment,) = assess_energies([pair], MARGIN, {A: "2026-11-20"})
    ratio = energy_ratio(*values, (ONE, ONE), places, {A: "2026-11-20"})
    return assessment, ratio


def test_energies_of_one_session_name_its_day():
    assessment, ratio = by_sessions({A: times(1.2)}, {A: BASE})

    assert (assessment.verdict, assessment.design) == ("more", "one_shared")
    assert assessment.scope == ratio.scope == "in the session of 2026-11-20"


def test_energies_of_different_days_have_an_interval_but_no_verdict():
    """Energies depend on the room temperature, as times depend on the day."""
    assessment, ratio = by_sessions({A: times(1.05)}, {B: BASE})

    assert (assessment.verdict, assessment.reason_codes) == (
        "not_assessed",
        ("unrepeated",),
    )
    assert ratio.is_across_sessions
    assert (ratio.low, ratio.high) == (
        pytest.approx(assessment.low),
        pytest.approx(assessment.high),
    )


def test_energies_of_shared_sessions_are_compared_session_by_session():
    own = {at: times(1.1 + 0.01 * at) for at in (A, B, C)}
    base = {at: times(1 + 0.01 * at) for at in (A, B, C)}

    assessment, ratio = by_sessions(own, base)

    assert (assessment.verdict, assessment.design) == ("more", "shared")
    assert ratio.scope == "across 3 sessions"
    assert ratio.ratio == pytest.approx((1.1 * 1.11 / 1.01 * 1.12 / 1.02) ** (1 / 3))


def test_sessions_with_different_energies_are_described_as_energy():
    own = {A: times(0.9), B: times(1.1)}

    assessment, _ratio = by_sessions(own, {A: BASE, B: BASE})

    assert "less energy (ratio 0.9000) in one, more energy" in assessment.sentences[0]


def test_separated_energies_are_described_as_energy():
    own = {A: (60.0, 95.0, 61.0, 96.0, 60.5)}
    assessment, _ratio = by_sessions(own, {A: BASE}, Gate.DRIFT)

    assert assessment.verdict == "more"
    assert assessment.sentences == (
        (
            "Every run takes more energy than every run of the baseline (ratio 1.19 to "
            "1.93)."
        ),
    )


def test_energies_are_corrected_together():
    close = tuple(each * 1.032 for each in BASE)
    alone = said(close)
    pairs = [pair_of(close)]
    noise = [pair_of((40.0, 60.0, 45.0, 58.0, 50.0))] * 200
    together = assess_energies(pairs + noise, MARGIN)[0]

    assert (alone.verdict, together.verdict) == ("more", "undetermined")
    assert "201 results" in together.sentences[0]


def test_two_meters_of_unknown_accuracy_raise():
    with pytest.raises(ValueError, match="unknown accuracy"):
        said(times(1.2), meters=(ONE, MeterFacts("meter 3", None)))


def test_no_energies_have_no_assessments():
    assert assess_energies([], MARGIN) == []
