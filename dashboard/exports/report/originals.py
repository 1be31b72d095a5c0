"""The study's own tables, number by number, in the order of its upload.

Systems are rows and cases columns, or the other way round for fewer columns; what all
numbers share is stated once above the table.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping

from django.utils.translation import gettext as _

from benchmarks.comparing.cell_evidence import PrintedTable, PrintedValue
from benchmarks.comparing.table import Fact
from benchmarks.own_tools.lookup import find_tool
from benchmarks.parsing.cases import case_details
from dashboard import wording
from dashboard.kit.document import Section, Table, line

COLUMNS = 8
PART = " · "
SELF_EVIDENT = ("tool", "part", "unit")


def originals(printed: Iterable[PrintedTable]) -> Section:
    """Return the tables that a study printed, with their numbers as stored."""
    tables = tuple(table for source in printed for table in _tables(source))
    text = _(
        "The numbers as the study's own tables print them, before anything was "
        "computed. Trailing zeros of a printed number are not kept."
    )
    return Section("tables", _("The study's own tables"), (text,), tables)


def _tables(printed: PrintedTable) -> Iterator[Table]:
    """Yield the table, in parts if it has more columns than a page takes."""
    values = printed.values
    systems = {value.system.pk: value.system for value in values}
    names = wording.system_names(systems.values())
    facts = [_facts(value) for value in values]
    shared = {
        name: text
        for name, text in facts[0].items()
        if all(others.get(name) == text for others in facts)
    }
    cases = {(_case_key(value), value.run.slot) for value in values}
    fits = len(cases) <= COLUMNS or len(systems) > COLUMNS
    is_by_system = len(systems) > 1 and fits

    rows: dict[Hashable, str] = {}
    columns: dict[Hashable, str] = {}
    numbers: dict[tuple[Hashable, Hashable], list[str]] = {}
    for value, stated in zip(values, facts, strict=True):
        own = {name: text for name, text in stated.items() if shared.get(name) != text}
        case = (_case_key(value), _text(own) or value.case.label)
        system = (value.system.pk, names[value.system.pk])
        (row, label), (other, heading) = (
            (system, case) if is_by_system else (case, system)
        )
        slot = "" if _is_alone(value) else value.run.slot
        parts = [heading] if is_by_system or len(systems) > 1 else []
        parts += [wording.slot_text(slot)] if slot else []
        column = (other, value.run.slot)
        rows.setdefault(row, label)
        columns.setdefault(column, ", ".join(parts) or _("Value"))
        # With all the digits that are stored, without groups of thousands.
        number = repr(value.value).removesuffix(".0")
        numbers.setdefault((row, column), []).append(number)

    lead = [_text(shared), *(names.values() if len(names) == 1 else ())]
    for start in range(0, len(columns), COLUMNS):
        part = list(columns.items())[start : start + COLUMNS]
        keys = [column for column, _heading in part]
        corner = _("System") if is_by_system else _("Benchmark")
        lines = []
        for row, label in rows.items():
            texts = [", ".join(numbers.get((row, column), ())) for column in keys]
            if any(texts):
                lines.append(line(label, *texts))
        yield Table(
            caption=": ".join(filter(None, (printed.document, printed.table))),
            head=(line(corner, *(heading for _column, heading in part)),),
            lines=tuple(lines),
            width=len(part) + 1,
            lead=", ".join(filter(None, lead)),
        )


def _case_key(value: PrintedValue) -> Hashable:
    run = value.run
    return (value.case.pk, run.scenario, run.vms, run.load)


def _is_alone(value: PrintedValue) -> bool:
    return value.run.scenario == "single" and value.run.vms in (None, 1)


def _facts(value: PrintedValue) -> dict[str, str]:
    """Return all that is stated of a number but its system and its VM."""
    case, run = value.case, value.run
    tool = find_tool(case.tool)
    vms = "" if _is_alone(value) else str(run.vms or "")
    facts = {
        "tool": tool.title if tool else case.tool,
        # In parts: what all labels have in common stands once, above the table.
        **{f"part {at}": text for at, text in enumerate(case.label.split(PART))},
        **(case_details(tool, case.parameters) if tool else case.parameters),
        "scenario": run.scenario,
        "vms": vms,
        "load": run.load,
    }
    return {name: str(text) for name, text in facts.items() if text} | {
        "unit": case.unit
    }


def _text(facts: Mapping[str, str]) -> str:
    texts = (
        text
        if name.split(" ")[0] in SELF_EVIDENT
        else wording.fact_text(Fact(name, text))
        for name, text in facts.items()
    )
    return ", ".join(filter(None, texts))
