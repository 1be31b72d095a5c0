"""The evidence behind one cell."""

import pytest

from benchmarks.comparison import cell_details as evidence_module
from benchmarks.comparison.cell_details import cell_details
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
    sides = cell_details(ANYONE, study, xen_cell.pk, None)

    assert sides.row.result.ratio == pytest.approx(11 / 55)
    assert [run.value for run in sides.runs] == [11.0]
    assert sorted(run.value for run in sides.baseline_runs) == [50.0, 60.0]
    assert sides.baseline.system.is_native


def test_a_chosen_system_is_the_baseline(study, xen_cell):
    native = Cell.objects.get(system__hypervisor="native")
    sides = cell_details(ANYONE, study, xen_cell.pk, native.system_id)

    assert (sides.row.result.state, sides.baseline) == ("relative", native)


def test_a_native_cell_has_no_baseline(study, xen_cell):
    native = Cell.objects.get(system__hypervisor="native")
    sides = cell_details(ANYONE, study, native.pk, None)

    assert (sides.baseline, sides.baseline_runs) == (None, ())
    assert len(sides.runs) == 2


def test_a_cell_of_an_invisible_study_is_not_found(study, xen_cell, lab):
    Study.objects.update(visibility=Study.Visibility.PRIVATE)

    assert cell_details(Viewer(frozenset({lab.pk})), study, xen_cell.pk, None)
    with pytest.raises(NotFoundError):
        cell_details(ANYONE, study, xen_cell.pk, None)


@pytest.mark.parametrize(("cell", "system"), [(0, None), (None, 987_654)])
def test_an_unknown_cell_is_not_found(study, xen_cell, cell, system):
    wanted = xen_cell.pk if cell is None else cell

    with pytest.raises(NotFoundError):
        cell_details(ANYONE, study, wanted, system)


def test_a_private_baseline_is_hidden_from_everyone_else(
    lab, study, private_study, submit, run_document, xen
):
    submit(
        run_document(50.0, study=private_study.slug),
        run_document(11.0, system=xen),
    )
    cell = Cell.objects.get(study=study)

    for viewer in (ANYONE, Viewer(frozenset({lab.pk}))):
        assert cell_details(viewer, study, cell.pk, None).baseline is None


def test_the_earliest_runs_come_first_even_if_truncated(
    study, submit, run_document, monkeypatch
):
    # Uploaded in another order than measured; one has no start time.
    submit(
        run_document(4.0, started_at="2026-03-03T08:00:00Z"),
        run_document(1.0, started_at="2026-03-01T08:00:00Z"),
        run_document(2.0),
        run_document(3.0, started_at="2026-03-02T08:00:00Z"),
    )
    cell = Cell.objects.get()

    def values():
        sides = evidence_module.cell_details(ANYONE, study, cell.pk, None)
        return [run.value for run in sides.runs]

    whole = values()
    monkeypatch.setattr(evidence_module, "MAX_SAMPLES", 2)

    assert values() == whole == [1.0, 3.0, 4.0, 2.0]
