"""The study's own tables, number by number.

Rows and columns stand in the order in which the study has them, as it was uploaded:
systems in rows and cases in columns, or the other way round where that takes fewer
columns. What all numbers have in common is said once.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks import tools
from benchmarks.comparing.columns import Fact
from benchmarks.comparing.printed import PrintedTable, PrintedValue
from benchmarks.models import System
from benchmarks.parsing.labels import case_details
from dashboard import wording
from dashboard.kit.document import Line, Section, Table, line

COLUMNS = 8
PART = " · "
SELF_EVIDENT = ("tool", "part", "unit")

Facts = Mapping[str, str]
Cells = Mapping[tuple[Hashable, Hashable], Sequence[str]]


@dataclass(frozen=True)
class Layout:
    """What stands in rows and columns; ``shared`` is what is said above the table.

    Systems and cases, or the other way round; VMs that ran together are columns.
    """

    by_system: bool
    systems: Mapping[int, str]
    shared: Facts

    def row(self, value: PrintedValue) -> Hashable:
        """Return what tells a row from another."""
        return value.system.pk if self.by_system else _case_key(value)

    def column(self, value: PrintedValue) -> Hashable:
        """Return what tells a column from another."""
        other = _case_key(value) if self.by_system else value.system.pk
        return (other, value.run.slot)

    def row_text(self, value: PrintedValue) -> str:
        """Return the label of a row."""
        if self.by_system:
            return self.systems[value.system.pk]
        return self._case_text(value)

    def column_text(self, value: PrintedValue) -> str:
        """Return the heading of a column."""
        slot = "" if _is_alone(value) else value.run.slot
        said = [wording.slot_text(slot)] if slot else []
        if self.by_system:
            said.insert(0, self._case_text(value))
        elif len(self.systems) > 1:
            said.insert(0, self.systems[value.system.pk])
        return ", ".join(said) or _("Value")

    def _case_text(self, value: PrintedValue) -> str:
        own = {k: v for k, v in _facts(value).items() if self.shared.get(k) != v}
        return _text(own) or value.case.label


def _layout(values: Sequence[PrintedValue]) -> Layout:
    """Return the layout with the fewest columns that a page takes."""
    systems = {value.system.pk: value.system for value in values}
    hosts = {system.host_id for system in systems.values()}
    names = {
        pk: _name(system, with_host=len(hosts) > 1) for pk, system in systems.items()
    }
    cases = {(_case_key(value), value.run.slot) for value in values}
    fits = len(cases) <= COLUMNS or len(systems) > COLUMNS
    shared = _shared([_facts(value) for value in values])
    return Layout(len(systems) > 1 and fits, names, shared)


def _name(system: System, *, with_host: bool) -> str:
    name = wording.system_name(system)
    return f"{name}, {system.host.slug}" if with_host else name


def originals(found: Iterable[PrintedTable]) -> Section:
    """Return the tables that a study printed, with their numbers as stored."""
    tables = tuple(table for each in found for table in _tables(each))
    text = _(
        "The numbers as they stand in the study, by its own tables, before anything "
        "was computed. Zeros at the end of a printed number are not kept."
    )
    return Section("tables", _("The study's own tables"), (text,), tables)


def _tables(it: PrintedTable) -> Iterator[Table]:
    """Return the table, in parts if it has more columns than a page takes."""
    layout = _layout(it.values)
    lead = [_text(layout.shared)]
    if len(layout.systems) == 1:
        lead += layout.systems.values()
    columns = _firsts(layout.column, it.values)
    rows, cells = _firsts(layout.row, it.values), _cells(it, layout)
    for at in range(0, len(columns), COLUMNS):
        part = columns[at : at + COLUMNS]
        corner = _("System") if layout.by_system else _("Case")
        yield Table(
            caption=": ".join(filter(None, (it.document, it.table))),
            head=(line(corner, *map(layout.column_text, part)),),
            lines=tuple(_lines(layout, rows, part, cells)),
            width=len(part) + 1,
            lead=", ".join(filter(None, lead)),
        )


def _cells(it: PrintedTable, layout: Layout) -> Cells:
    """Return the numbers of a table by their place, once for all its parts."""
    cells: dict[tuple[Hashable, Hashable], list[str]] = {}
    for value in it.values:
        place = (layout.row(value), layout.column(value))
        cells.setdefault(place, []).append(plain(value.value))
    return cells


def _lines(
    layout: Layout,
    rows: Sequence[PrintedValue],
    columns: Sequence[PrintedValue],
    cells: Cells,
) -> Iterator[Line]:
    places = [layout.column(column) for column in columns]
    for row in rows:
        key = layout.row(row)
        texts = [", ".join(cells.get((key, place), ())) for place in places]
        if any(texts):
            yield line(layout.row_text(row), *texts)


def plain(value: float) -> str:
    """Write a stored number with its digits and without groups of thousands."""
    return repr(value).removesuffix(".0")


def _firsts(
    key: Callable[[PrintedValue], Hashable], values: Iterable[PrintedValue]
) -> list[PrintedValue]:
    """Return the first value of each key, in order."""
    found: dict[Hashable, PrintedValue] = {}
    for value in values:
        found.setdefault(key(value), value)
    return list(found.values())


def _case_key(value: PrintedValue) -> Hashable:
    run = value.run
    return (value.case.pk, run.scenario, run.vms, run.load)


def _is_alone(value: PrintedValue) -> bool:
    return value.run.scenario == "single" and value.run.vms in (None, 1)


def _facts(value: PrintedValue) -> dict[str, str]:
    """Return all that is said of a number but its system and its VM."""
    case, run = value.case, value.run
    tool = tools.TOOLS.get(case.tool)
    parts = {f"part {at}": text for at, text in enumerate(case.label.split(PART))}
    details = case_details(tool, case.parameters) if tool else case.parameters
    stated = {"scenario": run.scenario, "vms": str(run.vms or ""), "load": run.load}
    if _is_alone(value):
        stated["vms"] = ""
    named = {"tool": tool.title if tool else case.tool, **parts, **details, **stated}
    return {name: str(text) for name, text in named.items() if text} | {
        "unit": case.unit
    }


def _shared(said: Sequence[Facts]) -> dict[str, str]:
    return {
        name: text
        for name, text in said[0].items()
        if all(other.get(name) == text for other in said)
    }


def _text(facts: Facts) -> str:
    texts = (
        text
        if name.split(" ")[0] in SELF_EVIDENT
        else wording.fact_text(Fact(name, text))
        for name, text in facts.items()
    )
    return ", ".join(filter(None, texts))
