"""Lists and lookup of studies."""

import pytest

from benchmarks.errors import MalformedError, NotFoundError
from benchmarks.models import Lab, Study
from benchmarks.studies.lookup import find_study
from benchmarks.studies.overview import study_cards
from benchmarks.viewer import ANYONE, Viewer


def test_study_is_found_by_slug_or_with_lab(study):
    assert find_study(ANYONE, "study") == study
    assert find_study(ANYONE, "alpha-lab/study") == study


def test_private_study_is_not_found_by_others(private_study, lab, other_lab):
    for viewer in (ANYONE, Viewer(frozenset({other_lab.pk}))):
        with pytest.raises(NotFoundError):
            find_study(viewer, "secret-study")

    assert find_study(Viewer(frozenset({lab.pk})), "secret-study")


def test_own_study_takes_precedence(study, other_lab):
    twin = Study.objects.create(
        lab=other_lab, slug="study", title="Twin", visibility="public"
    )

    assert find_study(Viewer(frozenset({other_lab.pk})), "study") == twin
    with pytest.raises(MalformedError, match="alpha-lab/study"):
        find_study(ANYONE, "study")


def test_own_study_is_found_among_many_with_the_same_slug(study, lab):
    labs = [
        Lab.objects.create(slug=f"lab-{number}", name=f"Lab {number}")
        for number in range(11)
    ]
    for item in labs:
        Study.objects.create(lab=item, slug="study", title="T", visibility="public")

    assert find_study(Viewer(frozenset({lab.pk})), "study") == study
    with pytest.raises(MalformedError):
        find_study(ANYONE, "study")


def test_card_has_the_counts_of_the_study(submit, run_document, xen, study):
    submit(run_document(50.0), run_document(25.0, system=xen))

    (card,) = study_cards(ANYONE)

    assert (card.counts.runs, card.counts.cells, card.counts.systems) == (2, 2, 2)
    assert (card.counts.compared_cells, card.counts.waiting_runs) == (1, 0)
    assert card.rollup.hypervisors == ("Xen", "native")
    assert card.rollup.tools == ("iometer",)


def test_the_overview_takes_a_fixed_number_of_queries(
    lab, study, submit, run_document, django_assert_num_queries
):
    for place in range(3):
        Study.objects.create(
            lab=lab, slug=f"study-{place}", title="x", visibility="public"
        )
    submit(run_document())

    with django_assert_num_queries(8):
        assert len(study_cards(ANYONE)) == 4
