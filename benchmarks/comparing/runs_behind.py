"""How many runs and sessions stand behind some cells, when, by which tools."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection

from benchmarks.models.run import RUNS_OF_CELLS, of_cells

COUNTED = f"""
    {of_cells("cell.id = ANY(%s)", "tool", "tool_version")}
    SELECT run.tool, run.tool_version, run.sitting_id, count(DISTINCT run.id),
           count(DISTINCT run.id) FILTER (WHERE run.started_at IS NULL),
           min(run.started_at), max(run.started_at)
    {RUNS_OF_CELLS}
    GROUP BY run.tool, run.tool_version, run.sitting_id
    ORDER BY run.tool, run.tool_version
"""


@dataclass(frozen=True)
class RunsBehind:
    """``undated`` runs do not state when they began; ``versions`` are those of tools.

    ``sessions`` are those that the study's check found; 0 where there are none.
    """

    runs: int = 0
    sessions: int = 0
    undated: int = 0
    first: datetime | None = None
    last: datetime | None = None
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def runs_behind(cells: Collection[int]) -> RunsBehind:
    """Return what stands behind these cells, in one query. A run counts once."""
    with connection.cursor() as cursor:
        cursor.execute(COUNTED, [list(cells)])
        lines = cursor.fetchall()
    versions: dict[str, tuple[str, ...]] = {}
    for tool, version, *_rest in lines:
        known = versions.get(tool, ())
        versions[tool] = known if version in known else (*known, version)
    begun = [moment for line in lines for moment in line[5:] if moment]
    return RunsBehind(
        runs=sum(line[3] for line in lines),
        sessions=len({line[2] for line in lines} - {None}),
        undated=sum(line[4] for line in lines),
        first=min(begun, default=None),
        last=max(begun, default=None),
        versions=versions,
    )
