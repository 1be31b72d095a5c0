"""Overhead profile of a study: the relative performance of each system by component."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import exp

import numpy as np

from benchmarks.analysis.overall_performance import overall_performance
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.comparison.comparison_table import (
    COMPONENTS,
    Column,
    column_head,
    rank_by_order,
)
from benchmarks.comparison.row_queries import comparison_rows
from benchmarks.comparison.study_verdicts import (
    StudyVerdicts,
    primary_cases_of_rows,
    study_verdicts,
)
from benchmarks.models import Cell, Efficiency, Study, System
from benchmarks.studies.overview import StudyCard
from benchmarks.studies.study_rollups import BIN_FIELDS, BINS_PER_E, RatioBin
from benchmarks.viewer import Viewer

SCENARIO = "single"
MIN_RUNS_FOR_INTERVAL = 2
UNPAIRED_STATES = (Efficiency.State.STALE, Efficiency.State.OTHER_SESSION)


@dataclass(frozen=True)
class SpectrumBand:
    study: Study
    component: str
    hypervisor: str
    pairs: int
    lowest: float
    highest: float
    lines: tuple[float, ...]
    is_lowest_flagged: bool = False
    is_highest_flagged: bool = False


@dataclass(frozen=True)
class ComponentMean:
    """Mean performance of a system in one component, relative to the baseline's.

    There is no 95 % interval for one case, or if a case has a single run.
    ``unpaired_count`` cases have a stale baseline or one from another session.
    """

    component: str
    mean: float
    low: float | None
    high: float | None
    spread: float | None
    minimum: float
    maximum: float
    slowest_case: str
    case_count: int
    excluded_count: int
    min_runs: int
    runs: int
    flagged_count: int
    unpaired_count: int

    @property
    def interval(self) -> tuple[float, float] | None:
        if self.low is None or self.high is None:
            return None
        return self.low, self.high


@dataclass(frozen=True)
class ProfileRow:
    """A system and its means, None for components without shared cases."""

    column: Column
    component_means: tuple[ComponentMean | None, ...]

    @property
    def known_means(self) -> list[ComponentMean]:
        return [mean for mean in self.component_means if mean]


@dataclass(frozen=True)
class Profile:
    components: tuple[str, ...]
    rows: tuple[ProfileRow, ...]
    is_relative: bool
    """Whether ratios are relative to the study's reference system, not to native."""


def spectrum(cards: Iterable[StudyCard], *, limit: int = 12) -> list[SpectrumBand]:
    bands = []
    for card in cards:
        for (component, platform, version), members in groupby(
            card.rollup.bins, key=lambda row: row[: len(BIN_FIELDS)]
        ):
            rows = [RatioBin(*row) for row in members]
            band = SpectrumBand(
                study=card.study,
                component=component,
                hypervisor=f"{platform} {version}".strip(),
                pairs=sum(row.pairs for row in rows),
                lowest=min(row.lowest for row in rows),
                highest=max(row.highest for row in rows),
                lines=tuple(exp(row.step / BINS_PER_E) for row in rows),
                is_lowest_flagged=rows[0].flagged > 0,
                is_highest_flagged=rows[-1].flagged > 0,
            )
            bands.append(band)
    largest = sorted(bands, key=lambda band: -band.pairs)[:limit]
    return sorted(
        largest,
        key=lambda band: (rank_by_order(COMPONENTS, band.component), band.hypervisor),
    )


def study_profile(viewer: Viewer, study: Study) -> Profile:
    measured = Cell.objects.visible_to(viewer).filter(study=study, n__gt=0)
    systems = System.objects.filter(pk__in=measured.values("system"))
    rows = comparison_rows(
        study,
        systems=systems.select_related("host"),
        filters={"scenario": SCENARIO},
    )
    return profile_with_verdicts(rows, study_verdicts(study))


def profile_with_verdicts(
    rows: Iterable[ComparisonRow], verdicts: StudyVerdicts
) -> Profile:
    errors = verdicts.assessments.intervals.standard_error
    single_rows = [row for row in rows if row.scenario == SCENARIO]
    noise = {
        row.id: float(errors[verdicts.row_by_cell[row.id]] ** 2)
        for row in single_rows
        if row.id in verdicts.row_by_cell
    }
    flagged = {
        pk for pk, verdict in verdicts.cell_verdicts().items() if verdict.is_flagged
    }
    return profile(single_rows, noise, flagged)


def profile(
    rows: Iterable[ComparisonRow],
    log_variances: Mapping[int, float],
    flagged_cells: Container[int] = (),
) -> Profile:
    """Return the profile of the primary cases that have a ratio.

    ``log_variances`` are squared standard errors of log ratios, by cell id.
    """
    with_ratios = [row for row in rows if _ratio(row)]
    primary = primary_cases_of_rows(with_ratios, with_tails=False)
    compared = [row for row in with_ratios if row.case.id in primary]
    columns = column_head(compared).columns
    components = sorted(
        {row.case.component for row in compared},
        key=lambda name: rank_by_order(COMPONENTS, name),
    )
    by_component = [
        _component_means(
            [row for row in compared if row.case.component == name],
            log_variances,
            flagged_cells,
        )
        for name in components
    ]
    return Profile(
        components=tuple(components),
        rows=tuple(
            ProfileRow(
                column, tuple(means.get(column.system_id) for means in by_component)
            )
            for column in columns
        ),
        is_relative=any(row.result.ratio_kind == "relative" for row in compared),
    )


def _ratio(row: ComparisonRow) -> float | None:
    return (
        row.result.ratio
        if row.result.ratio_kind in ("efficiency", "relative")
        else None
    )


def _component_means(
    rows: Sequence[ComparisonRow],
    log_variances: Mapping[int, float],
    flagged: Container[int],
) -> dict[int, ComponentMean]:
    cells = {(row.system.id, row.key): row for row in rows}
    systems = list(dict.fromkeys(row.system.id for row in rows))
    keys = list(dict.fromkeys(row.key for row in rows))
    table = [[cells.get((system, key)) for key in keys] for system in systems]
    ratios = [[_number(_ratio(row) if row else None) for row in line] for line in table]
    noise = [
        [_number(log_variances.get(row.id) if row else None) for row in line]
        for line in table
    ]
    # Cases are named by position, because several can have the same label.
    labels = [str(column) for column in range(len(keys))]
    means = {}
    for system, mean, line in zip(
        systems, overall_performance(ratios, noise, labels), table, strict=False
    ):
        excluded = {int(label) for label in mean.excluded_cases}
        used = [row for key, row in enumerate(line) if row and key not in excluded]
        worst = line[int(mean.slowest_case)]
        min_runs = min(
            min(row.result.n, row.result.baseline_n or row.result.n) for row in used
        )
        has_interval = min_runs >= MIN_RUNS_FOR_INTERVAL
        means[system] = ComponentMean(
            component=used[0].case.component,
            mean=mean.mean,
            low=mean.low if has_interval else None,
            high=mean.high if has_interval else None,
            spread=mean.spread,
            minimum=mean.minimum,
            maximum=mean.maximum,
            slowest_case=f"{worst.tool_title}: {worst.case.label}" if worst else "",
            case_count=mean.case_count,
            excluded_count=len(excluded),
            min_runs=min_runs,
            runs=sum(row.result.n for row in used),
            flagged_count=sum(row.id in flagged for row in used),
            unpaired_count=sum(row.result.state in UNPAIRED_STATES for row in used),
        )
    return means


def _number(value: float | None) -> float:
    return np.nan if value is None else value
