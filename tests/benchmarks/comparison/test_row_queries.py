"""Cells as rows, as the API and the pages show them."""

import pytest

from benchmarks.comparison.row_queries import (
    ReferenceCells,
    compared_cells,
    comparison_row,
    comparison_rows,
    study_facets,
)
from benchmarks.models import Efficiency, System
from benchmarks.viewer import ANYONE, Viewer


def rows_of(viewer=ANYONE, **options):
    return [comparison_row(cell) for cell in compared_cells(viewer, **options)]


def test_a_row_carries_its_baseline_and_its_origin(submit, run_document, xen):
    origin = {"document": "A thesis", "table": "Table 7"}
    submit(run_document(52.97), run_document(13.08, system=xen, **origin))

    native, vm = rows_of()

    assert (native.result.state, native.result.ratio) == ("native", None)
    assert vm.result.ratio == pytest.approx(0.24693, abs=1e-5)
    assert (vm.result.value, vm.result.unit, vm.result.n) == (13.08, "MB/s", 1)
    assert (vm.result.baseline_value, vm.result.baseline_system_id) == (
        52.97,
        native.system.id,
    )
    assert (vm.document, vm.table) == ("A thesis", "Table 7")
    assert (vm.system.hypervisor, vm.system.hypervisor_version) == ("Xen", "3.3")
    assert (vm.operation, vm.case.component) == ("write", "network")


def test_a_cell_without_a_comparison_is_marked(submit, run_document):
    submit(run_document())
    Efficiency.objects.all().delete()

    assert [row.result.state for row in rows_of()] == ["waiting"]


def test_a_private_study_is_visible_to_its_lab_only(
    submit, run_document, private_study, lab, other_lab
):
    submit(run_document(study=private_study.slug))

    assert rows_of(ANYONE) == rows_of(Viewer(frozenset({other_lab.pk}))) == []
    assert len(rows_of(Viewer(frozenset({lab.pk})))) == 1


def test_rows_of_cells_need_five_queries(
    submit, run_document, xen, django_assert_num_queries
):
    submit(
        *(run_document(float(value), system=xen, load=str(value)) for value in "123"),
        run_document(),
    )

    with django_assert_num_queries(5):
        assert len(rows_of()) == 4


def test_any_system_can_be_the_reference(submit, run_document, xen, study):
    esxi = {"hypervisor": "ESXi", "virtualization": "full"}
    submit(run_document(20.0, system=xen), run_document(30.0, system=esxi))
    reference = ReferenceCells.load(study, System.objects.get(hypervisor="Xen"))

    by_state = {
        row.result.state: row
        for row in (comparison_row(c, reference) for c in compared_cells(ANYONE))
    }

    assert by_state["reference"].result.ratio is None
    against = by_state["relative"].result
    assert (against.ratio, against.ratio_kind) == (1.5, "relative")


def test_facets_are_in_menu_order(study, submit, run_document, xen):
    submit(
        run_document(system=xen, scenario="parallel", vms=2, slot="1"),
        run_document(),
        run_document(system={"guest_os": "Windows", "guest_bits": 64}),
    )

    menu = study_facets(study)

    assert menu.scenarios == ("single", "parallel")
    assert menu.components == ("network",)
    assert menu.tools == (("iometer", "Iometer"),)
    assert menu.guest_oses == ("Ubuntu Server 9.04", "Windows")
    assert menu.guest_bits == (32, 64)
    assert [system.is_native for system in menu.systems] == [True, True, False]


def test_a_study_without_cells_has_no_facets(study, django_assert_num_queries):
    with django_assert_num_queries(1):
        menu = study_facets(study)

    assert (menu.scenarios, menu.systems) == ((), ())


def test_facets_need_two_queries(
    study, submit, run_document, django_assert_num_queries
):
    submit(*(run_document(system={"guest_os": f"Linux {n}"}) for n in range(5)))

    with django_assert_num_queries(2):
        assert len(study_facets(study).systems) == 5


def test_a_published_study_has_no_efficiency_of_shares_or_slots(load_study):
    study = load_study("lmu-2010-xen", lambda run: run["tool"] == "iometer")
    rows = [comparison_row(cell) for cell in compared_cells(ANYONE, study=study)]
    shares = [row for row in rows if row.result.unit == "%"]
    slots = [row for row in rows if row.scenario == "parallel" and row.slot.isdigit()]

    assert {(row.result.state, row.result.ratio) for row in shares} == {
        ("no_speed", None)
    }
    assert "efficiency" not in {row.result.ratio_kind for row in slots}
    assert {row.result.state for row in slots} <= {"slowdown", "missing", "no_speed"}
    assert any(row.result.ratio_kind == "slowdown" for row in slots)


def test_cells_of_a_newly_stored_system_are_skipped(submit, run_document, xen, study):
    submit(run_document(52.97))
    read_before = list(System.objects.select_related("host"))
    submit(run_document(13.08, system=xen))

    rows = comparison_rows(study, systems=read_before, filters={})

    assert [row.system.id for row in rows] == [read_before[0].pk]
