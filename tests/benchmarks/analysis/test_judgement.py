from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from benchmarks.analysis.energy import MeterFacts
from benchmarks.analysis.gates import Gate
from benchmarks.analysis.intervals import Rollups
from benchmarks.analysis.judgement import (
    EnergyPair,
    energy_judgements,
    energy_ratio,
    judgement_of,
)
from benchmarks.analysis.sessions import UNKNOWN_TIME
from benchmarks.analysis.verdicts import correct, judge
from tests.benchmarks.analysis.sittings import (
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
    return Rollups.of(n.astype(int), mean, m2, np.full(len(n), np.nan))


def said_of(cell, baseline=(5, 100.0, 0.5), gates=0):
    judged = judge(cells(cell), cells(baseline), [True], gates=[gates])
    return judgement_of(judged, 0)


def test_a_verdict_says_what_decided():
    judgement = said_of((5, 90.0, 0.5))

    assert (judgement.verdict, judgement.label, judgement.evidence_level) == (
        "slower",
        "slower",
        "verdict",
    )
    assert judgement.ratio == 0.9
    assert judgement.low < 0.9 < judgement.high < 0.98
    assert judgement.half_width == pytest.approx((judgement.high - judgement.low) / 1.8)
    assert judgement.sentences == ("The interval lies wholly below 0.98.",)
    assert (judgement.codes, judgement.advice) == ((), "")


@pytest.mark.parametrize(
    ("mean", "sentence"),
    [
        (110.0, "The interval lies wholly above 1.02."),
        (100.0, "The interval lies wholly between 0.98 and 1.02."),
        (97.8, "The interval reaches over 0.98 or 1.02."),
    ],
)
def test_every_verdict_has_its_sentence(mean, sentence):
    assert said_of((5, mean, 0.5)).sentences == (sentence,)


def test_what_is_not_decided_says_how_many_runs_would():
    judgement = said_of((5, 97.0, 1.0), (7, 100.0, 1.0))

    assert judgement.label == "undetermined"
    assert judgement.advice == "About 9 runs a side would decide it; there are 5 and 7."


def test_a_single_run_is_called_so():
    judgement = said_of((1, 90.0, 0.0), (1, 100.0, 0.0))

    assert (judgement.ratio, judgement.low, judgement.high) == (0.9, None, None)
    assert (judgement.label, judgement.verdict) == ("single run", "not_assessed")
    assert judgement.codes == ("single_run",)
    assert judgement.advice == "5 runs a side allow a verdict; there are 1 and 1."


def test_three_runs_are_indicative():
    judgement = said_of((3, 90.0, 0.5))

    assert judgement.label == "indicative: slower"
    assert judgement.sentences == (
        "With 3 runs it is only indicative: a verdict needs 5 a side.",
    )


def test_a_noisy_baseline_is_refused_with_its_width():
    judgement = said_of((5, 97.0, 1.0), (5, 100.0, 40.0))

    assert judgement.codes == ("noisy_baseline",)
    assert judgement.sentences == (
        "The baseline is too noisy: its own interval is ±50 %.",
    )
    assert (
        judgement.advice == "At this scatter, not even 200 runs a side would decide it."
    )


def test_all_reasons_are_said():
    judgement = said_of((3, 90.0, 0.5), gates=Gate.FLAGGED | Gate.OTHER_SESSION)

    assert judgement.label == "not_assessed"
    assert judgement.codes == ("few_runs", "other_session", "flagged")
    assert len(judgement.sentences) == 3
    assert judgement.advice == ""


def test_a_reading_of_zero_has_no_number():
    judgement = said_of((5, 0.0, 0.0))

    assert (judgement.ratio, judgement.half_width, judgement.codes) == (
        None,
        None,
        ("zero",),
    )


def test_a_verdict_lost_among_many_says_so():
    weak, undecided = (5, 96.3, 0.8), (5, 97.8, 0.8)
    rows = [weak] + [undecided] * 19
    judged = judge(cells(*rows), cells(*[(5, 100.0, 0.8)] * 20), True)
    assert judgement_of(judged, 0).verdict == "slower"

    judgement = judgement_of(correct(judged), 0)

    assert (judgement.verdict, judgement.direction) == ("undetermined", "slower")
    assert judgement.sentences == (
        "Decided by itself, but not as one of 20 results that were tested together.",
    )
    assert judgement.advice == ""


def test_a_judgement_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        said_of((5, 90.0, 0.5)).label = "faster"


def of_sessions(own, native, *, gates=0, rho=float("nan"), moves=None, **words):
    sessions = in_sessions(own, rho=rho), in_sessions(native)
    known = {"gates": [int(gates)], "sessions": sessions, "moves": moves}
    judged = judge(rolled(own), rolled(native), [True], **known)
    return judgement_of(judged, 0, **words)


UNTIMED = {UNKNOWN_TIME: runs(90)}


@pytest.mark.parametrize(
    ("own", "native", "design", "scope"),
    [
        (days(A, B, C), days(A, B, C), "shared", "across 3 sessions"),
        (days(A, B), days(A, B), "two_shared", "in both sessions"),
        (days(A), days(A), "one_shared", "in this session of 2021-05-03"),
        (days(B), days(B), "one_shared", "in one session"),
        (
            days(A, B, C),
            days(D, E, F),
            "repeated",
            "across 3 sessions and 3 of the baseline",
        ),
        (
            days(A),
            days(D, E, F),
            "borrowed",
            "assuming that one side's sessions vary as the other's do",
        ),
        (days(A), days(B), "unrepeated", "in different sessions"),
        (
            UNTIMED,
            UNTIMED,
            "assumed_one",
            "assuming one sitting: start times are not stated",
        ),
    ],
)
def test_a_statement_names_what_it_speaks_of(own, native, design, scope):
    judgement = of_sessions(own, native, days={A: "2021-05-03"})

    assert (judgement.design, judgement.scope) == (design, scope)
    assert judgement.is_weak == (design == "assumed_one")


def test_without_sessions_one_sitting_is_assumed_and_no_range_is_known():
    judgement = said_of((5, 90.0, 0.5))

    assert (judgement.design, judgement.range) == ("assumed_one", None)
    assert judgement.scope == "assuming one sitting: start times are not stated"


def test_sessions_are_counted_and_their_spread_is_told():
    own = {A: runs(95), B: runs(99), C: runs(92)}

    judgement = of_sessions(own, days(A, B, C, D, level=100))

    logs = np.log([95 / 100, 99 / 101, 92 / 102])
    assert judgement.sessions == (3, 4, 3)
    assert judgement.between_sd == pytest.approx(logs.std(ddof=1))
    assert judgement.range[0] == pytest.approx(92 * 0.992 / (102 * 1.008))


def test_days_that_differ_want_sessions_not_runs():
    own = {A: runs(95), B: runs(99), C: runs(97)}

    judgement = of_sessions(own, days(A, B, C))

    assert judgement.verdict == "undetermined"
    assert judgement.wanted_sessions > 3
    assert f"About {judgement.wanted_sessions} sessions" in judgement.advice
    assert "More runs in each would not" in judgement.advice


def test_different_days_are_refused_with_what_would_help():
    judgement = of_sessions(days(A, level=90), days(B))

    assert judgement.codes == ("unrepeated",)
    assert "how much these differ is not known" in judgement.sentences[0]
    assert "same session" in judgement.advice
    assert judgement.ratio == pytest.approx(90 / 101)


def test_two_sessions_that_disagree_say_so():
    judgement = of_sessions({A: runs(90), B: runs(101)}, days(A, B))

    assert judgement.verdict == "undetermined"
    assert "two sessions do not both" in judgement.sentences[0]


def test_no_figure_but_every_run_slower():
    own, native = {A: [1.2, 1.5, 1.4, 1.3, 1.25]}, {A: runs(100)}

    judgement = of_sessions(own, native, gates=Gate.DRIFT)

    assert (judgement.verdict, judgement.ratio) == ("slower", None)
    assert judgement.sentences == ("Every run is slower: 0.0119 to 0.0151.",)
    assert judgement.range == (
        pytest.approx(1.2 / 100.8),
        pytest.approx(1.5 / 99.2),
    )
    assert judgement.codes == ()


def test_a_word_in_spite_of_an_order_says_what_was_counted_against_it():
    own, native = {A: runs(95.5, 10)}, {A: runs(100, 10)}

    judgement = of_sessions(own, native, gates=Gate.DRIFT, moves=([0.006], [0.006]))

    assert (judgement.verdict, judgement.ratio, judgement.low) == ("slower", None, None)
    assert judgement.sentences == (
        "The order of the runs moves the ratio by 1.2 % at most; slower even if that "
        "is counted against it.",
    )
    assert judgement.range is not None
    assert judgement.codes == ()


def test_dependent_runs_say_what_they_are_worth():
    judgement = of_sessions({A: runs(97.2, 10)}, {A: runs(100, 10)}, rho=0.5)

    assert judgement.codes == ("few_independent",)
    assert "10 runs are worth 3.0" in judgement.sentences[0]


ONE = MeterFacts("meter 1", 0.015)
TWO = MeterFacts("meter 2", 0.015)
BASE = (50.2, 49.7, 50.4, 50.1, 49.9)
MARGIN = 0.02


def said(own, base=BASE, meters=(ONE, ONE), gates=0):
    (judgement,) = energy_judgements([EnergyPair(own, base, meters, gates)], MARGIN)
    return judgement


def times(factor):
    return tuple(factor * each for each in BASE)


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.2, "more"), (0.8, "less"), (1.0, "equivalent")]
)
def test_it_is_said_of_the_joules_and_not_of_a_speed(factor, verdict):
    judgement = said(times(factor))

    assert (judgement.verdict, judgement.label) == (verdict, verdict)
    assert judgement.low < factor < judgement.high


def test_its_interval_is_that_of_the_ratio():
    for meters in ((ONE, ONE), (ONE, TWO)):
        ratio = energy_ratio(times(1.2), BASE, meters)
        judgement = said(times(1.2), meters=meters)

        assert (judgement.low, judgement.high) == (
            pytest.approx(ratio.low),
            pytest.approx(ratio.high),
        )


def test_few_runs_are_only_indicative():
    judgement = said((60.0, 61.0, 59.5))

    assert (judgement.verdict, judgement.label) == ("not_assessed", "indicative: more")
    assert judgement.codes == ("few_runs",)


def test_a_single_run_says_how_many_would_allow_a_verdict():
    judgement = said((60.0,))

    assert (judgement.verdict, judgement.low) == ("not_assessed", None)
    assert "5 runs a side allow a verdict" in judgement.advice


def test_what_stands_against_the_cells_stands_against_their_energy():
    judgement = said(times(1.2), gates=int(Gate.FLAGGED))

    assert (judgement.verdict, judgement.codes) == ("not_assessed", ("flagged",))


def by_sessions(own, base, gates=0):
    """Judge energies of runs in sessions: {session: joules} of both sides."""
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
    pair = EnergyPair(*values, (ONE, ONE), int(gates), places)
    (judgement,) = energy_judgements([pair], MARGIN, {A: "2026-11-20"})
    ratio = energy_ratio(*values, (ONE, ONE), places, {A: "2026-11-20"})
    return judgement, ratio


def test_energies_of_one_session_speak_of_that_day():
    judgement, ratio = by_sessions({A: times(1.2)}, {A: BASE})

    assert (judgement.verdict, judgement.design) == ("more", "one_shared")
    assert judgement.scope == ratio.scope == "in this session of 2026-11-20"


def test_energies_of_different_days_get_no_word_and_the_same_interval():
    """Joules follow the temperature of a room as times follow a day."""
    judgement, ratio = by_sessions({A: times(1.05)}, {B: BASE})

    assert (judgement.verdict, judgement.codes) == ("not_assessed", ("unrepeated",))
    assert ratio.is_across_days
    assert (ratio.low, ratio.high) == (
        pytest.approx(judgement.low),
        pytest.approx(judgement.high),
    )


def test_energies_of_shared_sessions_are_compared_session_by_session():
    own = {at: times(1.1 + 0.01 * at) for at in (A, B, C)}
    base = {at: times(1 + 0.01 * at) for at in (A, B, C)}

    judgement, ratio = by_sessions(own, base)

    assert (judgement.verdict, judgement.design) == ("more", "shared")
    assert ratio.scope == "across 3 sessions"
    assert ratio.ratio == pytest.approx((1.1 * 1.11 / 1.01 * 1.12 / 1.02) ** (1 / 3))


def test_energies_apart_are_said_in_joules():
    own = {A: (60.0, 95.0, 61.0, 96.0, 60.5)}
    judgement, _ratio = by_sessions(own, {A: BASE}, Gate.DRIFT)

    assert judgement.verdict == "more"
    assert judgement.sentences == ("Every run takes more energy: 1.19 to 1.93.",)


def test_many_are_corrected_together():
    close = tuple(each * 1.032 for each in BASE)
    alone = said(close)
    pairs = [EnergyPair(close, BASE, (ONE, ONE))]
    noise = [EnergyPair((40.0, 60.0, 45.0, 58.0, 50.0), BASE, (ONE, ONE))] * 200
    together = energy_judgements(pairs + noise, MARGIN)[0]

    assert (alone.verdict, together.verdict) == ("more", "undetermined")
    assert "201 results" in together.sentences[0]


def test_two_meters_of_unknown_accuracy_are_not_judged():
    with pytest.raises(ValueError, match="unknown accuracy"):
        said(times(1.2), meters=(ONE, MeterFacts("meter 3", None)))


def test_nothing_is_judged_of_nothing():
    assert energy_judgements([], MARGIN) == []
