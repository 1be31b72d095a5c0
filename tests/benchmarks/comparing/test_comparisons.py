"""Cells side by side, as the API and the pages show them."""

from dataclasses import fields

import pytest

from benchmarks.comparing.comparisons import compared_cells, comparison_row
from benchmarks.comparing.row import ComparisonRow
from benchmarks.models import Efficiency
from benchmarks.viewer import ANYONE, Viewer


def rows_of(viewer=ANYONE, **options):
    return [comparison_row(cell) for cell in compared_cells(viewer, **options)]


def test_a_row_carries_its_baseline_and_its_origin(submit, run_document, xen):
    origin = {"document": "A thesis", "table": "Table 7"}
    submit(run_document(52.97), run_document(13.08, system=xen, **origin))

    native, vm = rows_of()

    assert (native.state, native.efficiency) == ("native", None)
    assert vm.efficiency == pytest.approx(0.24693, abs=1e-5)
    assert (vm.value, vm.unit, vm.n) == (13.08, "MB/s", 1)
    assert (vm.baseline_value, vm.baseline_system_id) == (52.97, native.system_id)
    assert (vm.document, vm.table) == ("A thesis", "Table 7")
    assert (vm.hypervisor, vm.hypervisor_version) == ("Xen", "3.3")
    assert (vm.operation, vm.component) == ("write", "network")


def test_a_row_has_every_field_it_promises(submit, run_document):
    submit(run_document())
    (row,) = rows_of()

    assert set(vars(row)) == {field.name for field in fields(ComparisonRow)}


def test_a_cell_that_has_no_efficiency_yet_says_so(submit, run_document):
    submit(run_document())
    Efficiency.objects.all().delete()

    assert [row.state for row in rows_of()] == ["waiting"]


def test_a_private_study_is_seen_by_its_lab_only(
    submit, run_document, private_study, lab, other_lab
):
    submit(run_document(study=private_study.slug))

    assert rows_of(ANYONE) == rows_of(Viewer(frozenset({other_lab.pk}))) == []
    assert len(rows_of(Viewer(frozenset({lab.pk})))) == 1


def test_it_asks_five_times_however_many_cells_there_are(
    submit, run_document, xen, django_assert_num_queries
):
    submit(
        *(run_document(float(value), system=xen, load=str(value)) for value in "123"),
        run_document(),
    )

    with django_assert_num_queries(5):
        assert len(rows_of()) == 4
