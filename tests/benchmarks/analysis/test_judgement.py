from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from benchmarks.analysis.energy import MeterFacts, energy_ratio
from benchmarks.analysis.gates import Gate
from benchmarks.analysis.intervals import Rollups
from benchmarks.analysis.judgement import EnergyPair, energy_judgements, judgement_of
from benchmarks.analysis.verdicts import correct, judge


def cells(*rows):
    n, mean, deviation = np.array(rows, dtype=float).T
    m2 = deviation**2 * np.maximum(n - 1, 0)
    return Rollups.of(n.astype(int), mean, m2, np.full(len(n), np.nan))


def said_of(cell, baseline=(5, 100.0, 0.5), gates=0):
    judged = judge(cells(cell), cells(baseline), [True], gates=[gates])
    return judgement_of(judged, 0)


def test_a_verdict_says_what_decided():
    said = said_of((5, 90.0, 0.5))

    assert (said.verdict, said.label, said.evidence_level) == (
        "slower",
        "slower",
        "verdict",
    )
    assert said.ratio == 0.9
    assert said.low < 0.9 < said.high < 0.98
    assert said.half_width == pytest.approx((said.high - said.low) / 1.8)
    assert said.sentences == ("The interval lies wholly below 0.98.",)
    assert (said.codes, said.advice) == ((), "")


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
    said = said_of((5, 97.0, 1.0), (7, 100.0, 1.0))

    assert said.label == "undetermined"
    assert said.advice == "About 9 runs a side would decide it; there are 5 and 7."


def test_a_single_run_is_called_so():
    said = said_of((1, 90.0, 0.0), (1, 100.0, 0.0))

    assert (said.ratio, said.low, said.high) == (0.9, None, None)
    assert (said.label, said.verdict) == ("single run", "not_assessed")
    assert said.codes == ("single_run",)
    assert said.advice == "5 runs a side allow a verdict; there are 1 and 1."


def test_three_runs_are_indicative():
    said = said_of((3, 90.0, 0.5))

    assert said.label == "indicative: slower"
    assert said.sentences == (
        "With 3 runs it is only indicative: a verdict needs 5 a side.",
    )


def test_a_noisy_baseline_is_refused_with_its_width():
    said = said_of((5, 97.0, 1.0), (5, 100.0, 40.0))

    assert said.codes == ("noisy_baseline",)
    assert said.sentences == ("The baseline is too noisy: its own interval is ±50 %.",)
    assert said.advice == "Not even 200 runs a side would decide it as things stand."


def test_all_reasons_are_said():
    said = said_of((3, 90.0, 0.5), gates=Gate.FLAGGED | Gate.OTHER_SESSION)

    assert said.label == "not_assessed"
    assert said.codes == ("few_runs", "other_session", "flagged")
    assert len(said.sentences) == 3
    assert said.advice == ""


def test_a_reading_of_zero_has_no_number():
    said = said_of((5, 0.0, 0.0))

    assert (said.ratio, said.half_width, said.codes) == (None, None, ("zero",))


def test_a_verdict_lost_among_many_says_so():
    weak, undecided = (5, 96.3, 0.8), (5, 97.8, 0.8)
    rows = [weak] + [undecided] * 19
    judged = judge(cells(*rows), cells(*[(5, 100.0, 0.8)] * 20), True)
    assert judgement_of(judged, 0).verdict == "slower"

    said = judgement_of(correct(judged), 0)

    assert (said.verdict, said.direction) == ("undetermined", "slower")
    assert said.sentences == (
        "Decided by itself, but not as one of 20 cells that were tested together.",
    )
    assert said.advice == ""


def test_a_judgement_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        said_of((5, 90.0, 0.5)).label = "faster"


ONE = MeterFacts("meter 1", 0.015)
TWO = MeterFacts("meter 2", 0.015)
BASE = (50.2, 49.7, 50.4, 50.1, 49.9)
MARGIN = 0.02


def said(own, base=BASE, meters=(ONE, ONE), gates=0):
    (found,) = energy_judgements([EnergyPair(own, base, meters, gates)], MARGIN)
    return found


def times(factor):
    return tuple(factor * each for each in BASE)


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.2, "more"), (0.8, "less"), (1.0, "equivalent")]
)
def test_it_is_said_of_the_joules_and_not_of_a_speed(factor, verdict):
    found = said(times(factor))

    assert (found.verdict, found.label) == (verdict, verdict)
    assert found.low < factor < found.high


def test_its_interval_is_that_of_the_ratio():
    for meters in ((ONE, ONE), (ONE, TWO)):
        ratio = energy_ratio(times(1.2), BASE, meters)
        found = said(times(1.2), meters=meters)

        assert (found.low, found.high) == (
            pytest.approx(ratio.low),
            pytest.approx(ratio.high),
        )


def test_few_runs_are_only_indicative():
    found = said((60.0, 61.0, 59.5))

    assert (found.verdict, found.label) == ("not_assessed", "indicative: more")
    assert found.codes == ("few_runs",)


def test_a_single_run_says_how_many_would_allow_a_verdict():
    found = said((60.0,))

    assert (found.verdict, found.low) == ("not_assessed", None)
    assert "5 runs a side allow a verdict" in found.advice


def test_what_stands_against_the_cells_stands_against_their_energy():
    found = said(times(1.2), gates=int(Gate.FLAGGED))

    assert (found.verdict, found.codes) == ("not_assessed", ("flagged",))


def test_many_are_corrected_together():
    close = tuple(each * 1.032 for each in BASE)
    alone = said(close)
    pairs = [EnergyPair(close, BASE, (ONE, ONE))]
    noise = [EnergyPair((40.0, 60.0, 45.0, 58.0, 50.0), BASE, (ONE, ONE))] * 200
    together = energy_judgements(pairs + noise, MARGIN)[0]

    assert (alone.verdict, together.verdict) == ("more", "undetermined")
    assert "201 cells" in together.sentences[0]


def test_two_meters_of_unknown_accuracy_are_not_judged():
    with pytest.raises(ValueError, match="unknown accuracy"):
        said(times(1.2), meters=(ONE, MeterFacts("meter 3", None)))


def test_nothing_is_judged_of_nothing():
    assert energy_judgements([], MARGIN) == []
