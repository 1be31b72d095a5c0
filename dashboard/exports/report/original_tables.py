"""Tables as printed in a study.

Rows are systems, or benchmarks if that gives fewer columns.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping

from django.utils.translation import gettext as _

from benchmarks.comparison.cell_details import PrintedTable, PrintedValue
from benchmarks.comparison.comparison_table import Fact
from benchmarks.custom_tools.lookup import find_tool
from benchmarks.parsing.case_labels import case_details
from dashboard import wording
from dashboard.kit.report_elements import ReportSection, ReportTable, table_row

COLUMNS_PER_TABLE = 8
PART = " · "
UNNAMED_FACTS = ("tool", "part", "unit")


def printed_tables_section(printed: Iterable[PrintedTable]) -> ReportSection:
    tables = tuple(table for source in printed for table in _tables(source))
    text = _(
        "These are the numbers as printed in the study's own tables, before any "
        "computation. Trailing zeros of printed numbers are not preserved."
    )
    return ReportSection("tables", _("The study's own tables"), (text,), tables)


def _tables(printed: PrintedTable) -> Iterator[ReportTable]:
    values = printed.values
    systems = {value.system.pk: value.system for value in values}
    names = wording.system_names(systems.values())
    facts = [_facts(value) for value in values]
    shared = {
        name: text
        for name, text in facts[0].items()
        if all(other_facts.get(name) == text for other_facts in facts)
    }
    cases = {(_case_key(value), value.run.slot) for value in values}
    fits = len(cases) <= COLUMNS_PER_TABLE or len(systems) > COLUMNS_PER_TABLE
    is_by_system = len(systems) > 1 and fits

    rows: dict[Hashable, str] = {}
    columns: dict[Hashable, str] = {}
    numbers: dict[tuple[Hashable, Hashable], list[str]] = {}
    for value, value_facts in zip(values, facts, strict=True):
        distinct_facts = {
            name: text for name, text in value_facts.items() if shared.get(name) != text
        }
        case = (_case_key(value), _facts_text(distinct_facts) or value.case.label)
        system = (value.system.pk, names[value.system.pk])
        (row, label), (column_key, heading) = (
            (system, case) if is_by_system else (case, system)
        )
        slot = "" if _is_single_vm(value) else value.run.slot
        parts = [heading] if is_by_system or len(systems) > 1 else []
        parts += [wording.slot_text(slot)] if slot else []
        column = (column_key, value.run.slot)
        rows.setdefault(row, label)
        columns.setdefault(column, ", ".join(parts) or _("Value"))
        # Show all stored digits, without thousands separators.
        number = repr(value.value).removesuffix(".0")
        numbers.setdefault((row, column), []).append(number)

    introduction = [_facts_text(shared), *(names.values() if len(names) == 1 else ())]
    for start in range(0, len(columns), COLUMNS_PER_TABLE):
        part = list(columns.items())[start : start + COLUMNS_PER_TABLE]
        keys = [column for column, _heading in part]
        corner = _("System") if is_by_system else _("Benchmark")
        lines = []
        for row, label in rows.items():
            texts = [", ".join(numbers.get((row, column), ())) for column in keys]
            if any(texts):
                lines.append(table_row(label, *texts))
        yield ReportTable(
            caption=": ".join(filter(None, (printed.document, printed.table))),
            header_rows=(table_row(corner, *(heading for _column, heading in part)),),
            rows=tuple(lines),
            column_count=len(part) + 1,
            introduction=", ".join(filter(None, introduction)),
        )


def _case_key(value: PrintedValue) -> Hashable:
    run = value.run
    return (value.case.pk, run.scenario, run.vms, run.load)


def _is_single_vm(value: PrintedValue) -> bool:
    return value.run.scenario == "single" and value.run.vms in (None, 1)


def _facts(value: PrintedValue) -> dict[str, str]:
    case, run = value.case, value.run
    tool = find_tool(case.tool)
    vms = "" if _is_single_vm(value) else str(run.vms or "")
    facts = {
        "tool": tool.title if tool else case.tool,
        # Labels are split so that common parts can be stated above the table.
        **{f"part {index}": text for index, text in enumerate(case.label.split(PART))},
        **(case_details(tool, case.parameters) if tool else case.parameters),
        "scenario": run.scenario,
        "vms": vms,
        "load": run.load,
    }
    return {name: str(text) for name, text in facts.items() if text} | {
        "unit": case.unit
    }


def _facts_text(facts: Mapping[str, str]) -> str:
    texts = (
        text
        if name.split(" ")[0] in UNNAMED_FACTS
        else wording.fact_text(Fact(name, text))
        for name, text in facts.items()
    )
    return ", ".join(filter(None, texts))
