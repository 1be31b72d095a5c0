"""What may be said of each cell of a campaign: intervals, verdicts, refusals.

Computed from the rollups whenever it is asked for: a verdict depends on all cells that
are looked at together, on flags and on the reference, so there is nothing to store that
would stay true.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from benchmarks.analysis.gates import Gate, gates_of_shapes, gates_of_states
from benchmarks.analysis.intervals import Rollups
from benchmarks.analysis.judgement import Judgement, judgement_of
from benchmarks.analysis.multiplicity import correct
from benchmarks.analysis.verdicts import Judgements, judge
from benchmarks.models import Campaign, Case, Cell, Efficiency, System
from benchmarks.selectors.flags import withheld_cells

STATISTICS = ("n", "mean", "m2", "decimals", "shape_codes", "clock_trust")
SUSPECT = frozenset({"suspect"})


@dataclass(frozen=True)
class Verdicts:
    """The judgements of a campaign's cells; ``rows`` says where each cell stands."""

    rows: Mapping[int, int]
    judgements: Judgements

    def of(self, cell_id: int) -> Judgement | None:
        """Return what may be said of a cell, or None if it is not processed yet."""
        row = self.rows.get(cell_id)
        return None if row is None else judgement_of(self.judgements, row)

    @property
    def tested(self) -> int:
        """How many cells were tested together."""
        return self.judgements.tested


def campaign_verdicts(campaign: Campaign, reference: System | None = None) -> Verdicts:
    """Judge all cells of a campaign together, in two queries.

    Against their own baselines, or directly against those of a chosen system: then
    the noise of a shared native baseline is not in it.
    """
    cells = _against(campaign, reference) if reference else _own(campaign)
    ids = [row[0] for row in cells]
    judged = _judged(cells, withheld_cells(campaign), campaign.band_percent / 100)
    return Verdicts(dict(zip(ids, range(len(ids)), strict=True)), correct(judged))


def _judged(
    cells: Sequence[tuple[Any, ...]], withheld: frozenset[int], band: float
) -> Judgements:
    columns = list(zip(*cells, strict=True)) or [()] * (4 + 2 * len(STATISTICS))
    ids, better, states, baseline_ids = columns[:4]
    own, other = columns[4 : 4 + len(STATISTICS)], columns[4 + len(STATISTICS) :]
    flagged = _among(ids, withheld) | _among(baseline_ids, withheld)
    gates = gates_of_states(states) | flagged * int(Gate.FLAGGED)
    gates |= gates_of_shapes(own[-2]) | gates_of_shapes(other[-2])
    suspect = _among(own[-1], SUSPECT) | _among(other[-1], SUSPECT)
    gates |= suspect * int(Gate.CLOCK_SUSPECT)
    return judge(
        _rollups(*own),
        _rollups(*other),
        np.array(better) == "higher",
        gates=gates,
        band=band,
    )


def _among(ids: Sequence[Any], wanted: frozenset[Any]) -> NDArray[np.bool_]:
    return np.fromiter((each in wanted for each in ids), dtype=bool, count=len(ids))


def _rollups(n: Any, mean: Any, m2: Any, decimals: Any, *_: Any) -> Rollups:
    runs = np.nan_to_num(np.array(n, dtype=float))
    resolution = 10.0 ** -np.array(decimals, dtype=float)
    return Rollups.of(
        runs, np.array(mean, dtype=float), np.array(m2, dtype=float), resolution
    )


def _select(baseline: str, state: str) -> str:
    """Return the query for cells beside ``baseline``, a join to a cell called so."""
    wanted = [f"{side}.{name}" for side in ("cell", "baseline") for name in STATISTICS]
    return f"""
        SELECT cell.id, kase.better, {state}, baseline.id, {", ".join(wanted)}
        FROM {Cell._meta.db_table} AS cell
        JOIN {Case._meta.db_table} AS kase ON kase.id = cell.case_id
        {baseline}
        WHERE cell.campaign_id = %(campaign)s AND cell.n > 0
    """


OWN = _select(
    f"JOIN {Efficiency._meta.db_table} AS against ON against.cell_id = cell.id "
    f"LEFT JOIN {Cell._meta.db_table} AS baseline ON baseline.id = against.baseline_id",
    "against.state",
)
AGAINST = _select(
    f"""LEFT JOIN {Cell._meta.db_table} AS baseline
          ON baseline.campaign_id = cell.campaign_id AND baseline.n > 0
         AND baseline.system_id = %(reference)s AND baseline.case_id = cell.case_id
         AND baseline.scenario = cell.scenario AND baseline.load = cell.load
         AND baseline.seat = cell.seat AND baseline.vms IS NOT DISTINCT FROM cell.vms
         AND cell.system_id <> %(reference)s""",
    """CASE WHEN cell.system_id = %(reference)s THEN 'reference'
            WHEN kase.better = 'neither' THEN 'undirected'
            WHEN baseline.id IS NULL THEN 'missing' ELSE 'relative' END""",
)


def _own(campaign: Campaign) -> list[tuple[Any, ...]]:
    return _fetched(OWN, campaign=campaign.pk)


def _against(campaign: Campaign, reference: System) -> list[tuple[Any, ...]]:
    return _fetched(AGAINST, campaign=campaign.pk, reference=reference.pk)


def _fetched(query: str, **parameters: int) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, parameters)
        return list(cursor.fetchall())
