"""The mistakes that `make mistakes` makes in published studies are those it says."""

import pytest

from bench.misprints import (
    BLIND,
    MISPRINTS,
    changed,
    design_half,
    exchanged,
    pasted,
    reading,
    report,
)
from bench.published import published, with_runs

STUDIES = ("lmu-2010-xen", "uoc-2012-kvm", "heidelberg-2007-xen", "inqbus-2008-io")


def study(slug="lmu-2010-xen"):
    return published()[slug]


def cells(made):
    return {cell.id: cell for cell in made.cells}


@pytest.mark.parametrize("slug", STUDIES)
def test_a_study_with_its_own_runs_is_itself(slug):
    assert with_runs(study(slug), study(slug).runs).cells == study(slug).cells


def two_cells():
    found = [c for c in study().cells if c.tool == "linpack" and c.scenario == "single"]
    return found[0], found[1]


def test_a_changed_cell_changes_its_efficiency_and_nothing_else():
    guest = next(c for c in study().cells if c.baseline and c.tool == "linpack")

    made = changed(study(), {guest.id: lambda value: 60 * value})

    after = cells(made.study)[guest.id]
    assert after.mean == pytest.approx(60 * guest.mean)
    assert after.efficiency == pytest.approx(guest.efficiency / 60)
    rest = [cell for cell in made.study.cells if cell.id != guest.id]
    assert rest == [cell for cell in study().cells if cell.id != guest.id]


def test_exchanged_cells_have_each_other_s_readings():
    one, other = two_cells()

    made = cells(exchanged(study(), [(one, other)]).study)

    assert (made[one.id].means, made[other.id].means) == (other.means, one.means)


def test_a_pasted_cell_has_the_other_s_readings():
    one, other = two_cells()

    made = cells(pasted(study(), [(one, other)], 1).study)

    assert made[one.id].means == made[other.id].means == one.means


def test_a_cell_may_get_more_readings_than_it_has_runs():
    cell, _ = two_cells()

    made = cells(reading(study(), {cell.id: [1.0, 2.0, 3.0]}).study)

    assert made[cell.id].means == (1.0, 2.0, 3.0)


def test_each_mistake_can_be_made_in_some_printed_study():
    without = {
        misprint.name
        for misprint in MISPRINTS
        if not any(
            next(misprint.places(one), None) is not None for one in published().values()
        )
    }

    # These need several runs a cell, or days.
    assert without <= {"a run of a cell x 10 or 1000", "half a cell pasted"}


def test_the_report_says_what_was_found_and_what_is_doubted_without_a_mistake():
    talk = {"inqbus-2008-io": study("inqbus-2008-io")}
    thousand = [each for each in MISPRINTS if each.name == "a cell x 1000"]
    text = report(talk, frozenset(), 1, thousand)

    assert "| a cell x 1000 | 0 | 0 | 0 | 1 |" in text
    assert "| inqbus-2008-io | 31 | 0.0 |  |" in text


@pytest.mark.parametrize("misprint", BLIND, ids=lambda one: one.name)
def test_what_is_uploaded_of_a_study_holds_what_is_mistaken(misprint):
    place = next(
        (part, place())
        for one in published().values()
        for part in misprint.parts(one)
        for place in misprint.places(part)
    )

    part, made = place
    assert made.touched <= {str(each.id) for each in part.cells}


def test_a_seed_draws_one_of_each_two_studies_of_a_size():
    studies = published().values()

    halves = {design_half(studies, seed) for seed in range(8)}

    assert design_half(studies, 3) == design_half(studies, 3)
    assert {len(half) for half in halves} == {5}
    assert len(halves) > 1
