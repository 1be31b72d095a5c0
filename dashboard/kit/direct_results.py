"""Results without a native side, as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.urls import reverse

from benchmarks.comparison.direct_comparisons import DirectGroup, DirectResult
from dashboard import wording
from dashboard.kit.url_parts import query_string

MAX_GROUPS: Final = 30


def direct_results(groups: Sequence[DirectGroup]) -> dict[str, Any]:
    """Return the rows of a table, and how many groups are left out."""
    return {
        "rows": [_row(group) for group in groups[:MAX_GROUPS]],
        "more_count": max(len(groups) - MAX_GROUPS, 0),
    }


def _row(group: DirectGroup) -> dict[str, Any]:
    study, case = group.study, group.case
    systems = [result.system for result in group.results]
    names = wording.short_system_names(systems)
    path = [study.lab.slug, study.slug]
    compare = reverse("dashboard:compare", args=path)
    return {
        "case": case,
        "host": group.host.slug,
        "study": study,
        "compare": compare + query_string({"baseline": str(group.reference.pk)}),
        "results": [
            {
                "name": names[result.system.pk],
                "url": reverse("dashboard:cell", args=[*path, result.cell_id]),
                "value": _value(result, case.unit),
                "runs": wording.runs_text(result.n),
            }
            for result in group.results
        ],
    }


def _value(result: DirectResult, unit: str) -> str:
    interval = result.interval
    ends = (interval.low, interval.high) if interval else None
    return wording.quantity(result.mean, unit, interval=ends)
