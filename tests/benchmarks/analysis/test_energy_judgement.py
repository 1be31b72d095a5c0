import pytest

from benchmarks.analysis.energy_judgement import EnergyPair, energy_judgements
from benchmarks.analysis.energy_ratio import MeterFacts, energy_ratio
from benchmarks.analysis.gates import Gate

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
