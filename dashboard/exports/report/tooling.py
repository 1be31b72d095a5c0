"""What was measured by which tool, in which unit, by whose clock."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from benchmarks.comparing.ordering import COMPONENTS, rank
from benchmarks.comparing.row import ComparisonRow
from dashboard import wording
from dashboard.exports.report.disclosure import not_stated
from dashboard.kit.document import Table, plain_table
from dashboard.wording import states

PART = " · "


def tools_table(
    rows: Iterable[ComparisonRow], versions: Mapping[str, Sequence[str]]
) -> Table:
    """Return a line for each metric; ``versions`` are those of each tool."""
    cells: dict[tuple[Any, ...], list[ComparisonRow]] = {}
    for row in rows:
        metric = row.case.label.partition(PART)[0]
        place = (
            rank(COMPONENTS, row.case.component),
            row.case.tool_title,
            metric,
            row.shown.unit,
        )
        cells.setdefault(place, []).append(row)
    head = (
        *(_("Tool"), _("Version"), _("What is measured"), _("Unit")),
        *(_("Better"), _("Timed by"), _("Cells")),
    )
    lines = (
        (
            tool,
            _versions(tool, versions.get(members[0].case.tool, ())),
            metric,
            unit,
            str(wording.BETTER.get(members[0].shown.better, "")),
            _clocks(members),
            str(len(members)),
        )
        for (_rank, tool, metric, unit), members in sorted(cells.items(), key=_place)
    )
    weights = (4, 3, 6, 3, 4, 6, 2)
    return plain_table(_("Benchmarks"), head, lines, numbers_from=6, weights=weights)


def _place(item: tuple[tuple[Any, ...], object]) -> tuple[Any, ...]:
    return item[0]


def _versions(tool: str, versions: Sequence[str]) -> str:
    """Say the versions; some tools print their name before them."""
    said = (version.removeprefix(f"{tool} ") or not_stated() for version in versions)
    return ", ".join(said) or not_stated()


def _clocks(rows: Iterable[ComparisonRow]) -> str:
    clocks = dict.fromkeys(row.clock for row in rows)
    return "; ".join(
        states.clock_name(clock) if clock else not_stated() for clock in clocks
    )
