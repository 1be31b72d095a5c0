"""What each session of a cell says beside its baseline's: for the page of one cell."""

from dataclasses import dataclass
from math import isfinite

import numpy as np

from benchmarks.analysis.designs import SessionRatio, session_ratios
from benchmarks.analysis.intervals import log_ratio_intervals
from benchmarks.analysis.sessions import UNKNOWN_TIME, SessionRollups
from benchmarks.comparing.verdicts import TWO_METERS, rollups_of
from benchmarks.models import Cell, CellSession, Session

Side = dict[int | None, CellSession]


@dataclass(frozen=True)
class Sitting:
    """A session of a cell, of its baseline or of both; means are in the case's unit.

    ``session`` is None for runs of unknown time. ``ratio`` is that of both sides in
    this session. Where they share none it is that of the cell's session against all
    runs of the baseline, and ``is_across_days``.
    """

    session: Session | None
    own: CellSession | None
    other: CellSession | None
    ratio: SessionRatio | None = None
    is_across_days: bool = False

    @property
    def has_interval(self) -> bool:
        return self.ratio is not None and isfinite(self.ratio.low)


def cell_sittings(cell: Cell, baseline: Cell | None) -> tuple[Sitting, ...]:
    """Return the sessions of both sides in the order of time, unknown ones last.

    In one query. A cell that was not checked yet has none.
    """
    cells = [cell] if baseline is None else [cell, baseline]
    stored = CellSession.objects.filter(cell__in=cells).select_related("session")
    rows = sorted(
        stored,
        key=lambda row: (row.first_at is None, row.first_at, row.session_id or 0),
    )
    own = {row.session_id: row for row in rows if row.cell_id == cell.pk}
    other = {row.session_id: row for row in rows if row.cell_id != cell.pk}
    shared = own.keys() & other.keys() - {None}
    ratios: dict[int | None, SessionRatio] = {}
    if baseline is not None and cell.case.better:
        ratios = _ratios(cell, baseline, own, other)
    return tuple(
        Sitting(
            session=session,
            own=own.get(pk),
            other=other.get(pk),
            ratio=ratios.get(pk),
            is_across_days=not shared,
        )
        for pk, session in {row.session_id: row.session for row in rows}.items()
    )


def _ratios(
    cell: Cell, baseline: Cell, own: Side, other: Side
) -> dict[int | None, SessionRatio]:
    sides = _rollups(cell, own), _rollups(baseline, other)
    one, another = (side.setting.get("meter") for side in (cell, baseline))
    extra = TWO_METERS if one and another and one != another else 0.0
    is_higher_better = cell.case.better == "higher"
    paired = session_ratios(
        *sides, higher_is_better=is_higher_better, extra_log_variance=extra
    )
    if paired:
        return {ratio.session: ratio for ratio in paired}
    ours = sides[0]
    theirs = rollups_of([baseline]).take(np.zeros(ours.n.size, dtype=np.int64))
    intervals = log_ratio_intervals(
        ours.rollups, theirs, is_higher_better, extra_log_variance=extra
    )
    columns = (
        *(ours.session, intervals.ratio, intervals.low, intervals.high),
        *(ours.n, theirs.n),
    )
    found = (
        SessionRatio(*values)
        for values in zip(*(column.tolist() for column in columns), strict=True)
    )
    return {each.session: each for each in found if each.session != UNKNOWN_TIME}


def _rollups(cell: Cell, sessions: Side) -> SessionRollups:
    rows = list(sessions.values())
    return SessionRollups.of(
        [0] * len(rows),
        [row.session_id or UNKNOWN_TIME for row in rows],
        [row.n for row in rows],
        [row.mean for row in rows],
        [row.m2 for row in rows],
        [row.minimum for row in rows],
        [row.maximum for row in rows],
        [np.nan if row.rho is None else row.rho for row in rows],
        np.nan if cell.resolution is None else cell.resolution,
    )
