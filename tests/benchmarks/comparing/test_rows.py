"""Cells side by side, as the API and the pages show them."""

import pytest

from benchmarks.comparing.rows import (
    Reference,
    compared_cells,
    comparison_row,
    comparison_rows,
    facets,
)
from benchmarks.models import Efficiency, System
from benchmarks.viewer import ANYONE, Viewer


def rows_of(viewer=ANYONE, **options):
    return [comparison_row(cell) for cell in compared_cells(viewer, **options)]


def test_a_row_carries_its_baseline_and_its_origin(submit, run_document, xen):
    origin = {"document": "A thesis", "table": "Table 7"}
    submit(run_document(52.97), run_document(13.08, system=xen, **origin))

    native, vm = rows_of()

    assert (native.shown.state, native.shown.ratio) == ("native", None)
    assert vm.shown.ratio == pytest.approx(0.24693, abs=1e-5)
    assert (vm.shown.value, vm.shown.unit, vm.shown.n) == (13.08, "MB/s", 1)
    assert (vm.shown.baseline_value, vm.shown.baseline_system_id) == (
        52.97,
        native.system.id,
    )
    assert (vm.document, vm.table) == ("A thesis", "Table 7")
    assert (vm.system.hypervisor, vm.system.hypervisor_version) == ("Xen", "3.3")
    assert (vm.operation, vm.case.component) == ("write", "network")


def test_a_cell_that_has_no_efficiency_yet_says_so(submit, run_document):
    submit(run_document())
    Efficiency.objects.all().delete()

    assert [row.shown.state for row in rows_of()] == ["waiting"]


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


def test_any_system_can_be_the_reference(submit, run_document, xen, study):
    esxi = {"hypervisor": "ESXi", "virtualization": "full"}
    submit(run_document(20.0, system=xen), run_document(30.0, system=esxi))
    reference = Reference.of(study, System.objects.get(hypervisor="Xen"))

    by_state = {
        row.shown.state: row
        for row in (comparison_row(c, reference) for c in compared_cells(ANYONE))
    }

    assert by_state["reference"].shown.ratio is None
    against = by_state["relative"].shown
    assert (against.ratio, against.kind) == (1.5, "relative")


def test_it_finds_what_occurs_in_the_order_of_a_menu(study, submit, run_document, xen):
    submit(
        run_document(system=xen, scenario="parallel", vms=2, slot="1"),
        run_document(),
        run_document(system={"guest_os": "Windows", "guest_bits": 64}),
    )

    menu = facets(study)

    assert menu.scenarios == ("single", "parallel")
    assert menu.components == ("network",)
    assert menu.tools == (("iometer", "Iometer"),)
    assert menu.guest_oses == ("Ubuntu Server 9.04", "Windows")
    assert menu.guest_bits == (32, 64)
    assert [system.is_native for system in menu.systems] == [True, True, False]


def test_a_study_without_cells_has_none(study, django_assert_num_queries):
    with django_assert_num_queries(1):
        menu = facets(study)

    assert (menu.scenarios, menu.systems) == ((), ())


def test_it_asks_twice_however_much_there_is(
    study, submit, run_document, django_assert_num_queries
):
    submit(*(run_document(system={"guest_os": f"Linux {n}"}) for n in range(5)))

    with django_assert_num_queries(2):
        assert len(facets(study).systems) == 5


def test_a_published_study_has_no_efficiency_of_shares_or_slots(load_study):
    study = load_study("lmu-2010-xen", lambda run: run["tool"] == "iometer")
    rows = [comparison_row(cell) for cell in compared_cells(ANYONE, study=study)]
    shares = [row for row in rows if row.shown.unit == "%"]
    slots = [row for row in rows if row.scenario == "parallel" and row.slot.isdigit()]

    assert {(row.shown.state, row.shown.ratio) for row in shares} == {
        ("no_speed", None)
    }
    assert "efficiency" not in {row.shown.kind for row in slots}
    assert {row.shown.state for row in slots} <= {"slowdown", "missing", "no_speed"}
    assert any(row.shown.kind == "slowdown" for row in slots)


def test_cells_of_a_system_that_was_stored_meanwhile_are_left_to_the_next_look(
    submit, run_document, xen, study
):
    submit(run_document(52.97))
    read_before = list(System.objects.select_related("host"))
    submit(run_document(13.08, system=xen))

    rows = comparison_rows(study, systems=read_before, filters={})

    assert [row.system.id for row in rows] == [read_before[0].pk]
