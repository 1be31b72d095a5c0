"""Numbers of tables and figures, in reading order; each figure names its tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from django.utils.translation import gettext as _

from dashboard.kit.document import Chart, Section, Table


def numbered(sections: Iterable[Section]) -> Iterator[Section]:
    """Return the sections with their tables and figures numbered throughout."""
    table_numbers, chart_numbers = count(1), count(1)
    for section in sections:
        tables = [
            replace(each, number=next(table_numbers)) if each.lines else each
            for each in section.tables
        ]
        charts = [
            replace(each, number=next(chart_numbers), source=_source(each, tables))
            for each in section.charts
        ]
        yield replace(section, tables=tuple(tables), charts=tuple(charts))


def _source(chart: Chart, tables: Sequence[Table]) -> str:
    """Say where a figure's numbers stand."""
    meant = [tables[at] for at in chart.of] or tables
    numbers = [each.number for each in meant]
    if len(numbers) == 1:
        return _("Its numbers: Table %(n)s.") % {"n": numbers[0]}
    ends = {"first": numbers[0], "last": numbers[-1]}
    return _("Its numbers: Tables %(first)s to %(last)s.") % ends
