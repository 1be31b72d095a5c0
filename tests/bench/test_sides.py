"""The calibration judges as a page does."""

import numpy as np
import pytest

from bench.sides import drawn
from bench.statements import ONE_SHARED, said, wrong
from bench.worlds import LAYOUTS, WORLDS
from benchmarks.analysis.designs import Design
from benchmarks.analysis.gates import Gate
from benchmarks.analysis.verdicts import Verdict

BY_NAME = {world.name: world for world in WORLDS}
DESIGNS = {
    "2 shared sessions": Design.TWO_SHARED,
    "3 shared sessions": Design.SHARED,
    "one shared session": Design.ONE_SHARED,
    "2 and 2 sessions": Design.UNREPEATED,
    "3 and 3 sessions": Design.REPEATED,
    "3 native sessions, 1 of the guest": Design.BORROWED,
    "one session each": Design.UNREPEATED,
    "one session each, times unknown": Design.ASSUMED_ONE,
}


def pair(world="independent", layout=ONE_SHARED, cells=5, n=10):
    return drawn(np.random.default_rng(1), BY_NAME[world], layout, cells, n, 0.01)


@pytest.mark.parametrize("name", DESIGNS)
def test_each_layout_is_judged_by_its_design(name):
    layout = next(each for each in LAYOUTS if each.name == name)

    judged = pair(layout=layout).judged(0.95)

    assert set(judged.designed.design) == {DESIGNS[name]}


def test_gates_of_the_shape_stand_against_a_word():
    judged = pair("two modes 6 % apart", n=30).judged(0.98)

    assert (judged.gates & int(Gate.BIMODAL)).all()
    assert set(judged.verdict) == {Verdict.NOT_ASSESSED}


def test_complete_separation_gives_a_word_all_the_same():
    judged = pair("drift 4 %", n=30).judged(0.5)

    assert judged.is_separated.all()
    assert set(judged.verdict) == {Verdict.SLOWER}


def test_runs_that_depend_on_each_other_count_as_fewer():
    judged = pair("AR(1) 0.8", n=300).judged(1.0)

    assert (judged.designed.cell.worth < 150).all()


def test_a_coarse_display_is_read_anew_at_each_truth():
    judged = pair("coarse clock").judged(0.5)

    assert np.allclose(judged.intervals.ratio, 0.5, atol=0.02)


def test_at_the_edge_every_word_is_wrong():
    judged = pair(cells=40, n=100).judged(1.0)

    assert wrong(judged, 1.0) == 0
    assert wrong(judged, 0.98) == np.mean(judged.verdict != Verdict.UNDETERMINED)


def test_words_and_reasons_of_a_row_add_up():
    row = said(BY_NAME["AR(1) 0.5"], ONE_SHARED, np.random.default_rng(2), 20, 10)

    wrong_word, right_word = float(row[2]), float(row[5])
    assert wrong_word + right_word + sum(map(float, row[7:])) == pytest.approx(100)
