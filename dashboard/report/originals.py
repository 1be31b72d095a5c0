"""The study's own tables, number by number."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from benchmarks import tools
from benchmarks.models import System
from benchmarks.selectors.comparison_columns import Fact
from benchmarks.selectors.ordering import natural
from benchmarks.selectors.printed import PrintedTable, PrintedValue
from benchmarks.tools.labels import case_details
from dashboard import wording
from dashboard.report.document import Line, Section, Table, line

COLUMNS = 6
CIRCUMSTANCES = ("scenario", "vms", "seat", "load")
Key = tuple[Any, ...]


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
    systems = sorted({v.system.pk: v.system for v in it.values}.values(), key=_order)
    cases = sorted({_key(value): value for value in it.values}.items(), key=_case_order)
    cells: dict[tuple[int, Key], list[str]] = {}
    for value in it.values:
        cells.setdefault((value.system.pk, _key(value)), []).append(plain(value.value))
    for at in range(0, len(cases) if len(systems) > 1 else 1, COLUMNS):
        if len(systems) > 1:
            yield _by_system(it, systems, cases[at : at + COLUMNS], cells)
        else:
            yield _of_one_system(it, systems[0], cases, cells)


Cells = Mapping[tuple[int, Key], Sequence[str]]
Cases = Sequence[tuple[Key, PrintedValue]]


def _by_system(
    it: PrintedTable, systems: Sequence[System], cases: Cases, cells: Cells
) -> Table:
    head = line(_("System"), *(_case_text(value) for _key, value in cases))
    lines = (
        line(wording.system_name(system), *_texts(system, cases, cells))
        for system in systems
    )
    return _table(it, head, tuple(lines), len(cases) + 1)


def _of_one_system(
    it: PrintedTable, system: System, cases: Cases, cells: Cells
) -> Table:
    head = line(_("Case"), wording.system_name(system))
    lines = (
        line(_case_text(value), *_texts(system, [(key, value)], cells))
        for key, value in cases
    )
    return _table(it, head, tuple(lines), 2)


def _texts(system: System, cases: Cases, cells: Cells) -> Iterator[str]:
    for key, _value in cases:
        yield ", ".join(cells.get((system.pk, key), ()))


def _table(it: PrintedTable, head: Line, lines: tuple[Line, ...], width: int) -> Table:
    caption = ": ".join(filter(None, (it.document, it.table)))
    return Table(caption, (head,), lines, width)


def plain(value: float) -> str:
    """Write a stored number with its digits and without groups of thousands."""
    return repr(value).removesuffix(".0")


def _key(value: PrintedValue) -> Key:
    run = value.run
    return (value.case.pk, *(getattr(run, name) for name in CIRCUMSTANCES))


def _case_text(value: PrintedValue) -> str:
    """Return a case with what tells it from the others of its table, and its unit."""
    case, run = value.case, value.run
    tool = tools.TOOLS.get(case.tool)
    details = case_details(tool, case.parameters) if tool else case.parameters
    alone = run.scenario == "single" and run.vms in (None, 1)
    stated = {name: getattr(run, name) for name in CIRCUMSTANCES[alone * 4 :]}
    facts = {**details, **{name: str(text) for name, text in stated.items() if text}}
    said = [wording.fact_text(Fact(name, str(text))) for name, text in facts.items()]
    unit = f" ({case.unit})" if case.unit else ""
    title = tool.title if tool else case.tool
    return ", ".join([f"{title} {case.label}", *said]) + unit


def _order(system: System) -> Any:
    return (not system.is_native, natural(system.label))


def _case_order(item: tuple[Key, PrintedValue]) -> Any:
    value = item[1]
    seat = value.run.seat
    return (
        value.case.tool,
        natural(value.case.label),
        value.case.pk,
        value.run.vms or 0,
        not seat.isdigit(),
        natural(seat),
    )
