"""The overhead profile of a study: what each system costs, component by component.

A mean is over the cases that all compared systems have (`pooling.overall`). The
spectrum shows the pairs of all visible studies, without any mean.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import exp

import numpy as np

from benchmarks.analysis.pooling import overall
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.rows import comparison_rows
from benchmarks.comparing.table import COMPONENTS, Column, column_head, rank
from benchmarks.comparing.verdicts import Verdicts, primary_rows, study_verdicts
from benchmarks.models import Cell, Efficiency, Study, System
from benchmarks.studies.lists import StudyCard
from benchmarks.studies.rollups import BAND, STEPS_PER_E, Bin
from benchmarks.viewer import Viewer

SCENARIO = "single"
RUNS_FOR_AN_INTERVAL = 2
APART = (Efficiency.State.STALE, Efficiency.State.OTHER_SESSION)


@dataclass(frozen=True)
class Band:
    study: Study
    component: str
    hypervisor: str
    pairs: int
    lowest: float
    highest: float
    lines: tuple[float, ...]
    """Ratios at which at least one pair lies, ascending."""
    is_lowest_doubted: bool = False
    is_highest_doubted: bool = False
    """Whether a flag withholds the verdict of what lies at that end."""


@dataclass(frozen=True)
class Share:
    """One component of one system: 1 is the baseline's speed.

    The 95 % interval is None with one case or a single run behind a case. ``spread`` is
    the geometric standard deviation between cases; ``doubted`` cases are flagged,
    ``apart`` ones have a stale baseline or one of another session.
    """

    component: str
    mean: float
    low: float | None
    high: float | None
    spread: float | None
    minimum: float
    maximum: float
    worst: str
    cases: int
    left_out: int
    least_runs: int
    runs: int
    doubted: int
    apart: int

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.low is None or self.high is None:
            return None
        return self.low, self.high


@dataclass(frozen=True)
class ProfileRow:
    """A system and its components; None where it shares no case with the others."""

    column: Column
    shares: tuple[Share | None, ...]

    @property
    def stated(self) -> list[Share]:
        return [share for share in self.shares if share]


@dataclass(frozen=True)
class Profile:
    components: tuple[str, ...]
    rows: tuple[ProfileRow, ...]
    is_relative: bool
    """The ratios are to the study's reference system, not to native."""


def spectrum(cards: Iterable[StudyCard], *, limit: int = 12) -> list[Band]:
    bands = []
    for card in cards:
        for (component, platform, version), members in groupby(
            card.rollup.bins, key=lambda row: row[: len(BAND)]
        ):
            rows = [Bin(*row) for row in members]
            band = Band(
                study=card.study,
                component=component,
                hypervisor=f"{platform} {version}".strip(),
                pairs=sum(row.pairs for row in rows),
                lowest=min(row.lowest for row in rows),
                highest=max(row.highest for row in rows),
                lines=tuple(exp(row.step / STEPS_PER_E) for row in rows),
                is_lowest_doubted=rows[0].doubted > 0,
                is_highest_doubted=rows[-1].doubted > 0,
            )
            bands.append(band)
    most = sorted(bands, key=lambda band: -band.pairs)[:limit]
    return sorted(
        most, key=lambda band: (rank(COMPONENTS, band.component), band.hypervisor)
    )


def study_profile(viewer: Viewer, study: Study) -> Profile:
    measured = Cell.objects.visible_to(viewer).filter(study=study, n__gt=0)
    systems = System.objects.filter(pk__in=measured.values("system"))
    rows = comparison_rows(
        study,
        systems=systems.select_related("host"),
        filters={"scenario": SCENARIO},
    )
    return judged_profile(rows, study_verdicts(study))


def judged_profile(rows: Iterable[ComparisonRow], verdicts: Verdicts) -> Profile:
    errors = verdicts.judgements.intervals.standard_error
    alone = [row for row in rows if row.scenario == SCENARIO]
    noise = {
        row.id: float(errors[verdicts.rows[row.id]] ** 2)
        for row in alone
        if row.id in verdicts.rows
    }
    doubted = {pk for pk, mark in verdicts.marks().items() if mark.is_flagged}
    return profile(alone, noise, doubted)


def profile(
    rows: Iterable[ComparisonRow],
    log_variances: Mapping[int, float],
    doubted: Container[int] = (),
) -> Profile:
    """Shape compared cells into a profile.

    ``log_variances`` are squared standard errors of log ratios, NaN or absent if
    unknown; ``doubted`` cells are flagged.
    """
    with_ratios = [row for row in rows if _ratio(row)]
    primary = primary_rows(with_ratios)
    compared = [row for row in with_ratios if row.case.id in primary]
    columns = column_head(compared).columns
    components = sorted(
        {row.case.component for row in compared},
        key=lambda name: rank(COMPONENTS, name),
    )
    by_component = [
        _shares(
            [row for row in compared if row.case.component == name],
            log_variances,
            doubted,
        )
        for name in components
    ]
    return Profile(
        components=tuple(components),
        rows=tuple(
            ProfileRow(
                column, tuple(some.get(column.system_id) for some in by_component)
            )
            for column in columns
        ),
        is_relative=any(row.shown.kind == "relative" for row in compared),
    )


def _ratio(row: ComparisonRow) -> float | None:
    return row.shown.ratio if row.shown.kind in ("efficiency", "relative") else None


def _shares(
    rows: Sequence[ComparisonRow],
    log_variances: Mapping[int, float],
    doubted: Container[int],
) -> dict[int, Share]:
    # All rows are of one scenario and component: this is what is left of their place.
    cells = {(row.system.id, row.place): row for row in rows}
    systems = list(dict.fromkeys(row.system.id for row in rows))
    places = list(dict.fromkeys(row.place for row in rows))
    table = [[cells.get((system, place)) for place in places] for system in systems]
    ratios = [[_number(_ratio(row) if row else None) for row in line] for line in table]
    noise = [
        [_number(log_variances.get(row.id) if row else None) for row in line]
        for line in table
    ]
    # Places, not names: a case stands in several places under one name.
    labels = [str(column) for column in range(len(places))]
    shares = {}
    # Not strict: systems that share no case have no mean at all.
    for system, mean, line in zip(
        systems, overall(ratios, noise, labels), table, strict=False
    ):
        left_out = {int(label) for label in mean.left_out}
        kept = [row for place, row in enumerate(line) if row and place not in left_out]
        worst = line[int(mean.worst)]
        least = min(
            min(row.shown.n, row.shown.baseline_n or row.shown.n) for row in kept
        )
        has_interval = least >= RUNS_FOR_AN_INTERVAL
        shares[system] = Share(
            component=kept[0].case.component,
            mean=mean.mean,
            low=mean.low if has_interval else None,
            high=mean.high if has_interval else None,
            spread=mean.spread,
            minimum=mean.minimum,
            maximum=mean.maximum,
            worst=f"{worst.tool_title}: {worst.case.label}" if worst else "",
            cases=mean.cases,
            left_out=len(left_out),
            least_runs=least,
            runs=sum(row.shown.n for row in kept),
            doubted=sum(row.id in doubted for row in kept),
            apart=sum(row.shown.state in APART for row in kept),
        )
    return shares


def _number(value: float | None) -> float:
    return np.nan if value is None else value
