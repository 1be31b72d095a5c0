"""Studies are created once and changed on purpose."""

import pytest

from benchmarks.errors import StudyExistsError, UnknownSystemError
from benchmarks.models import Efficiency, Study, System
from benchmarks.studies.saving import save_study, update_study


def test_saying_the_same_twice_is_one_study(lab):
    first, created = save_study(lab=lab, slug="study", title="A study")
    second, created_again = save_study(lab=lab, slug="study", title="A study")

    assert (first, created, created_again) == (second, True, False)


def test_another_title_under_the_same_slug_is_a_conflict(lab):
    save_study(lab=lab, slug="study", title="A study")

    with pytest.raises(StudyExistsError, match="another title"):
        save_study(lab=lab, slug="study", title="Another study")


def test_two_labs_may_use_the_same_slug(lab, other_lab):
    save_study(lab=lab, slug="study", title="A study")
    save_study(lab=other_lab, slug="study", title="Another study")

    assert Study.objects.count() == 2


def test_a_reference_system_of_another_lab_is_unknown(
    study, other_lab, submit, run_document
):
    submit(run_document())
    System.objects.update(lab=other_lab)

    with pytest.raises(UnknownSystemError):
        update_study(study=study, reference_system=System.objects.get().pk)


def test_a_wider_margin_settles_what_was_ambiguous(study, submit, run_document, xen):
    one, two = {"options": {"memory": "1 GiB"}}, {"options": {"memory": "2 GiB"}}
    submit(
        run_document(50.0, system=one),
        run_document(52.0, system=two),
        run_document(25.0, system=xen),
    )
    assert Efficiency.objects.filter(state="ambiguous").count() == 1

    update_study(study=study, equivalence_margin_percent=5.0)

    assert Efficiency.objects.filter(state="paired").count() == 1
