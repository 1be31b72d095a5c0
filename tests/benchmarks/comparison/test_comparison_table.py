"""Comparison rows as a table that states only differences."""

import pytest

from benchmarks.comparison.comparison_table import comparison_table
from tests.comparison_rows import NATIVE, changed

XEN = changed(
    NATIVE,
    id=2,
    system_id=2,
    hypervisor="Xen",
    hypervisor_version="3.3",
    virtualization="full",
    vcpus=1,
    options={"hw_virt": "on"},
    value=13.08,
    baseline_value=52.97,
    efficiency=13.08 / 52.97,
    state="paired",
)
READ = {"case_id": 2, "case": "Network throughput · read"}


def texts(facts):
    return {fact.name: fact.value for fact in facts}


def labels(table):
    return [row.label for group in table.groups for row in group.rows]


def test_it_puts_a_case_in_a_row_and_a_system_in_a_column():
    table = comparison_table([XEN, NATIVE])

    assert [column.platform for column in table.head.columns] == ["native", "Xen 3.3"]
    (group,) = table.groups
    (row,) = group.rows
    assert [cell.id for cell in row.cells] == [1, 2]


def test_a_cell_that_was_not_measured_is_none():
    table = comparison_table([NATIVE, XEN, changed(XEN, id=3, **READ)])

    cells = {row.label: row.cells for row in table.groups[0].rows}
    assert cells["read"][0] is None
    assert cells["read"][1].id == 3


def test_the_order_of_input_rows_does_not_matter():
    rows = [NATIVE, XEN, changed(XEN, id=3, system_id=3, guest_bits=64)]

    assert comparison_table(rows) == comparison_table(rows[::-1])


def test_the_head_has_varying_properties_and_the_rest_is_constant():
    other = changed(XEN, id=3, system_id=3, guest_bits=64, options={"hw_virt": "off"})
    head = comparison_table([NATIVE, XEN, other]).head

    assert [level.name for level in head.levels] == ["guest_bits", "hw_virt"]
    assert texts(head.constants) == {"host": "alpha", "guest_os": "Ubuntu"}
    assert texts(head.guest_constants) == {"virtualization": "full", "vcpus": "1"}


def test_unreported_native_properties_do_not_vary():
    head = comparison_table([NATIVE, XEN]).head

    assert head.levels == ()
    assert "hw_virt" not in texts(head.constants)
    assert texts(head.guest_constants)["hw_virt"] == "on"
    assert texts(comparison_table([XEN]).head.constants)["hw_virt"] == "on"


def test_equal_adjacent_columns_share_a_heading():
    columns = [
        changed(XEN, id=at, system_id=at, guest_os=name, guest_bits=bits)
        for at, (name, bits) in enumerate(
            [("Ubuntu", 32), ("Ubuntu", 64), ("Windows", 32)], start=2
        )
    ]
    os, bits = comparison_table(columns).head.levels

    assert [(span.value, span.width) for span in os.spans] == [
        ("Ubuntu", 2),
        ("Windows", 1),
    ]
    assert [span.width for span in bits.spans] == [1, 1, 1]


def test_equal_values_under_different_headings_stay_separate():
    columns = [
        changed(XEN, id=at, system_id=at, guest_os=name, guest_bits=bits)
        for at, (name, bits) in enumerate(
            [("Ubuntu", 64), ("Windows", 64), ("Ubuntu", 32)], start=2
        )
    ]
    _os, bits = comparison_table(columns).head.levels

    assert [span.value for span in bits.spans] == ["32", "64", "64"]


def test_a_new_platform_begins_with_an_edge():
    esx = changed(XEN, id=3, system_id=3, hypervisor="VMware ESXi")
    head = comparison_table([NATIVE, XEN, esx]).head

    assert [span.value for span in head.first_level.spans] == [
        "native",
        "VMware ESXi 3.3",
        "Xen 3.3",
    ]
    assert [span.is_edge for span in head.first_level.spans] == [False, True, True]
    assert [column.is_edge for column in head.columns] == [False, True, True]


def test_unknown_options_become_levels_too():
    other = changed(XEN, id=3, system_id=3, options={"hw_virt": "on", "bridge": "br0"})
    head = comparison_table([XEN, other]).head

    assert [level.name for level in head.levels] == ["bridge"]
    assert [span.value for span in head.levels[0].spans] == ["", "br0"]


def test_facts_shared_by_rows_are_stated_once():
    table = comparison_table([XEN, changed(XEN, id=3, **READ)])

    (group,) = table.groups
    assert (group.component, group.tool, group.label) == (
        "network",
        "Iometer",
        "Network throughput",
    )
    assert (group.unit, group.better) == ("MB/s", "higher")
    assert texts(group.facts) == {"target": "iSCSI"}
    assert labels(table) == ["read", "write"]
    assert [row.facts for row in group.rows] == [(), ()]


def test_rows_state_what_differs_within_their_group():
    other = changed(XEN, id=3, case_id=2, parameters={"target": "local"})
    rows = comparison_table([XEN, other]).groups[0].rows

    assert [texts(row.facts) for row in rows] == [
        {"target": "iSCSI"},
        {"target": "local"},
    ]


def test_different_units_are_stated_in_the_rows():
    other = changed(XEN, id=3, case_id=2, unit="%", better="lower")
    (group,) = comparison_table([XEN, other]).groups

    assert (group.unit, group.better) == ("", "")
    assert {row.unit for row in group.rows} == {"MB/s", "%"}
    assert {row.better for row in group.rows} == {"higher", "lower"}


def test_components_have_a_fixed_order():
    rows = [
        changed(XEN, id=at, case_id=at, component=name)
        for at, name in enumerate(["network", "power", "CPU", "disk", "memory"])
    ]

    components = [group.component for group in comparison_table(rows).groups]
    assert components == ["CPU", "memory", "disk", "network", "power"]


def test_numbers_in_labels_sort_as_numbers():
    rows = [
        changed(XEN, id=at, case_id=at, case=f"Time · n={n}")
        for at, n in enumerate([4000, 500, 2000])
    ]

    assert labels(comparison_table(rows)) == ["n=500", "n=2000", "n=4000"]


def test_rows_are_sorted_by_size():
    sizes = ["262144 B", "4096 B", "1048576 B", "whole disk"]
    rows = [
        changed(XEN, id=at, case_id=at, parameters={"block_size": size})
        for at, size in enumerate(sizes)
    ]

    found = [row.cells[0].case.parameters["block_size"] for row in _rows(rows)]
    assert found == ["4096 B", "262144 B", "1048576 B", "whole disk"]


def _rows(rows):
    (group,) = comparison_table(rows).groups
    return group.rows


def test_slots_of_parallel_vms_are_rows_and_sums_come_last():
    rows = [
        changed(XEN, id=at, scenario="parallel", vms=2, slot=slot)
        for at, slot in enumerate(["sum", "2", "1", "10"])
    ]
    table = comparison_table(rows)

    slots = [texts(row.facts)["slot"] for row in table.groups[0].rows]
    assert slots == ["1", "2", "10", "sum"]
    assert texts(table.groups[0].facts)["vms"] == "2"


def test_the_scenario_is_named_only_if_it_differs():
    alone = comparison_table([XEN])
    both = comparison_table([XEN, changed(XEN, id=3, scenario="parallel", vms=3)])

    assert alone.scenario == "single"
    assert "scenario" not in texts(alone.groups[0].facts)
    assert both.scenario == ""
    assert [texts(row.facts)["scenario"] for row in both.groups[0].rows] == [
        "single",
        "parallel",
    ]


def test_one_vm_alone_is_not_called_the_first_of_one():
    facts = texts(comparison_table([XEN]).groups[0].facts)

    assert "vms" not in facts
    assert "slot" not in facts


def test_it_counts_states_rows_and_cells():
    missing = changed(XEN, id=3, state="missing", efficiency=None, **READ)
    table = comparison_table([NATIVE, XEN, missing])

    assert table.states == {"native": 1, "paired": 1, "missing": 1}
    assert (table.row_count, table.cell_count) == (2, 3)


@pytest.mark.parametrize(("n", "is_single"), [(1, True), (5, False)])
def test_single_run_tables_are_detected(n, is_single):
    assert comparison_table([NATIVE, changed(XEN, n=n)]).is_single_run is is_single


def test_no_rows_make_an_empty_table():
    table = comparison_table([])

    assert (table.groups, table.head.columns, table.is_single_run) == ((), (), False)


def test_strange_digits_do_not_break_the_order():
    rows = [changed(XEN, id=at, case_id=at, case=case) for at, case in enumerate("²1٣")]

    assert len(comparison_table(rows).groups[0].rows) == 3


def on(row, number, model, **values):
    row = changed(row, system_id=number, id=number, host=f"host-{number}", **values)
    row.system.host.facts = {"machine_model": model}
    return row


def test_guests_come_before_native_columns_and_models_with_guests_first():
    rows = [
        on(NATIVE, 1, "a"),
        on(NATIVE, 2, "b"),
        on(XEN, 3, "b"),
        on(NATIVE, 4, "c"),
        on(XEN, 5, "c"),
    ]

    def order(**options):
        return [
            column.system_id
            for column in comparison_table(rows, **options).head.columns
        ]

    assert order()[:3] == [1, 2, 4]
    assert order(has_guests_first=True)[:2] == [3, 5]
    assert order(group="machine_model", has_guests_first=True) == [3, 2, 5, 4, 1]
