"""The table that a comparison's address chooses, with each cell's judgement."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.rows import Reference, comparison_rows
from benchmarks.comparing.sifting import ranks, sifted
from benchmarks.comparing.table import (
    ComparisonTable,
    comparison_table,
    rows_with_ratios,
)
from benchmarks.comparing.verdicts import VerdictMark, study_verdicts
from benchmarks.models import Study, System
from benchmarks.power.energy_per_work import cell_energies, energy_rows, tested
from dashboard.kit.selections import ENERGY, Selection, chooser, searched


@dataclass(frozen=True)
class JudgedTable:
    """A table and its query; ``tested`` cells were corrected together."""

    table: ComparisonTable
    reference: System | None
    show: str
    tested: int
    narrowed: Mapping[str, str]
    names: Mapping[int, str]
    """What the study's systems are called, by their ids."""
    chosen: Selection


def judged_table(study: Study, query: Mapping[str, str]) -> JudgedTable:
    """Return what the page shows for a query, with the judgement of each cell.

    Of two pinned systems the second is the baseline of the first.
    """
    choice = chooser(study, query)
    chosen, pinned = choice.selection, choice.pinned
    baseline, narrowed = choice.baseline, chosen.narrowed()
    if choice.is_direct:
        baseline = pinned[-1]
        narrowed["pin"] = ",".join(str(system.pk) for system in pinned)
    rows, count = judged_rows(
        study,
        baseline,
        chosen.show,
        systems=choice.facets.systems,
        filters=chosen.filters(),
    )
    if choice.is_direct:
        both = {system.pk for system in pinned}
        rows = [row for row in rows if row.system.id in both]
    return JudgedTable(
        searched(table_of(rows, chosen, {}), chosen.q),
        baseline or study.reference_system,
        chosen.show,
        count,
        narrowed,
        choice.names,
        chosen,
    )


def part_of(
    judged: JudgedTable, cases: Collection[int], systems: Collection[int]
) -> JudgedTable:
    """Return the same of some cases and systems alone; where none is named, of all."""
    cells = [
        cell
        for cell in judged.table.cells
        if not cases or cell.case.id in cases
        if not systems or cell.system.id in systems
    ]
    table = searched(table_of(cells, judged.chosen, {}), judged.chosen.q)
    return replace(judged, table=table)


def judged_rows(
    study: Study,
    baseline: System | None,
    show: str,
    *,
    systems: Iterable[System],
    filters: Mapping[str, Any],
) -> tuple[list[ComparisonRow], int]:
    """Return cells with judgements in the chosen measure, and the number tested."""
    read = partial(
        comparison_rows,
        study,
        systems=systems,
        filters=filters,
        reference=Reference.of(study, baseline) if baseline else None,
    )
    if show == ENERGY:
        energies = cell_energies(study, baseline)
        return energy_rows(read(), energies), tested(energies)
    verdicts = study_verdicts(study, baseline)
    return read(verdicts=verdicts), verdicts.tested


def table_of(
    rows: Sequence[ComparisonRow],
    chosen: Selection,
    marks: Mapping[int, VerdictMark],
) -> ComparisonTable:
    """Return rows as the chosen table; ``marks`` are of rows without judgements."""
    sieve = chosen.sieve
    shown = sifted(rows_with_ratios(rows) if chosen.only else rows, marks, sieve)
    ranked = ranks(shown, marks, sieve, chosen.sort) if chosen.sort else None
    table = comparison_table(
        shown, group=chosen.group, order=chosen.order, ranks=ranked
    )
    if not (chosen.q and chosen.order):
        return table
    return comparison_table(
        shown,
        group=chosen.group,
        order=chosen.order,
        ranks=ranked,
        best=searched(table, chosen.q).cells,
    )
