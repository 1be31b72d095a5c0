"""What stands behind one cell."""

import pytest

from benchmarks.comparing import cell_evidence as evidence_module
from benchmarks.comparing.cell_evidence import evidence
from benchmarks.errors import NotFoundError
from benchmarks.models import Cell, Study
from benchmarks.viewer import ANYONE, Viewer


@pytest.fixture
def xen_cell(submit, run_document, xen):
    submit(
        run_document(50.0),
        run_document(60.0),
        run_document(11.0, system=xen),
        run_document(99.0, system=xen, scenario="parallel", vms=2, slot="1"),
    )
    return Cell.objects.get(system__hypervisor="Xen", scenario="single")


def test_it_names_the_runs_of_the_cell_and_of_its_baseline(study, xen_cell):
    sides = evidence(ANYONE, study, xen_cell.pk, None)

    assert sides.row.shown.ratio == pytest.approx(11 / 55)
    assert [run.value for run in sides.runs] == [11.0]
    assert sorted(run.value for run in sides.baseline_runs) == [50.0, 60.0]
    assert sides.baseline.system.is_native


def test_it_takes_a_chosen_system_as_the_baseline(study, xen_cell):
    native = Cell.objects.get(system__hypervisor="native")
    sides = evidence(ANYONE, study, xen_cell.pk, native.system_id)

    assert (sides.row.shown.state, sides.baseline) == ("relative", native)


def test_a_native_cell_has_no_baseline(study, xen_cell):
    native = Cell.objects.get(system__hypervisor="native")
    sides = evidence(ANYONE, study, native.pk, None)

    assert (sides.baseline, sides.baseline_runs) == (None, ())
    assert len(sides.runs) == 2


def test_a_cell_of_a_study_that_is_not_visible_is_not_there(study, xen_cell, lab):
    Study.objects.update(visibility=Study.Visibility.PRIVATE)

    assert evidence(Viewer(frozenset({lab.pk})), study, xen_cell.pk, None)
    with pytest.raises(NotFoundError):
        evidence(ANYONE, study, xen_cell.pk, None)


@pytest.mark.parametrize(("cell", "system"), [(0, None), (None, 987_654)])
def test_what_does_not_exist_is_not_found(study, xen_cell, cell, system):
    wanted = xen_cell.pk if cell is None else cell

    with pytest.raises(NotFoundError):
        evidence(ANYONE, study, wanted, system)


def test_a_public_study_has_no_baseline_in_a_private_one_whoever_asks(
    lab, study, private_study, submit, run_document, xen
):
    submit(
        run_document(50.0, study=private_study.slug),
        run_document(11.0, system=xen),
    )
    cell = Cell.objects.get(study=study)

    for viewer in (ANYONE, Viewer(frozenset({lab.pk}))):
        assert evidence(viewer, study, cell.pk, None).baseline is None


def test_the_first_runs_are_the_earliest_whether_samples_are_cut_or_not(
    study, submit, run_document, monkeypatch
):
    # Uploaded in another order than they were measured; one does not say when.
    submit(
        run_document(4.0, started_at="2026-03-03T08:00:00Z"),
        run_document(1.0, started_at="2026-03-01T08:00:00Z"),
        run_document(2.0),
        run_document(3.0, started_at="2026-03-02T08:00:00Z"),
    )
    cell = Cell.objects.get()

    def values():
        sides = evidence_module.evidence(ANYONE, study, cell.pk, None)
        return [run.value for run in sides.runs]

    whole = values()
    monkeypatch.setattr(evidence_module, "SAMPLES_SHOWN", 2)

    assert values() == whole == [1.0, 3.0, 4.0, 2.0]
