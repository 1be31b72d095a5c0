"""Search for cells whose runs another study or host already has.

Only studies that every viewer of the searched study can see are read, so flags and
pools reveal no private data. The earlier upload is the original.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from django.db import connection

from benchmarks.jobs.queue import enqueue_checks
from benchmarks.models import Cell, RunFingerprint, Study, System
from benchmarks.models.run import RUN_ORDER_SQL, RUNS_OF_CELLS_SQL, runs_of_cells_sql
from benchmarks.plausibility.run_copies import (
    MIN_PARTIAL_SURPRISE,
    MIN_SURPRISE,
    RunCopy,
    RunVector,
    joint_surprise,
    run_patterns,
    similar_runs,
)
from benchmarks.studies.bulk_writes import insert_new, update_columns

MAX_CANDIDATES = 20
RUN_VECTORS_SQL = f"""
    {runs_of_cells_sql("cell.id = ANY(%s)", "received_at")}
    SELECT run.cell_id, array_agg(run.mean ORDER BY {RUN_ORDER_SQL}),
           max(run.decimals), min(run.received_at)
    {RUNS_OF_CELLS_SQL}
    GROUP BY run.cell_id
"""
# Viewers of a private study see its lab's studies, those of others only public ones.
_SEES_SQL = (
    "({0}.id = {1}.id OR {1}.visibility = 'public'"
    " OR {0}.lab_id = {1}.lab_id AND {0}.visibility = 'private')"
)
CANDIDATES_SQL = f"""
    SELECT own.cell_id, other.cell_id, {_SEES_SQL.format("own_study", "study")},
           {_SEES_SQL.format("study", "own_study")}
    FROM unnest(%(cells)s::bigint[], %(patterns)s::bigint[]) AS own (cell_id, pattern)
    JOIN {RunFingerprint._meta.db_table} AS other ON other.pattern = own.pattern
    JOIN {Cell._meta.db_table} AS cell ON cell.id = own.cell_id
    JOIN {Cell._meta.db_table} AS other_cell ON other_cell.id = other.cell_id
    JOIN {Study._meta.db_table} AS own_study ON own_study.id = cell.study_id
    JOIN {Study._meta.db_table} AS study ON study.id = other_cell.study_id
    JOIN {System._meta.db_table} AS system ON system.id = cell.system_id
    JOIN {System._meta.db_table} AS other_system
      ON other_system.id = other_cell.system_id
    WHERE other.cell_id <> own.cell_id AND other_cell.n > 0
      AND (study.id <> cell.study_id OR other_system.host_id <> system.host_id)
    GROUP BY own.cell_id, other.cell_id, own_study.id, study.id
    ORDER BY own.cell_id, count(*) DESC, other.cell_id
"""


class StoredRuns(NamedTuple):
    vector: RunVector
    received_at: datetime


class Candidate(NamedTuple):
    """A cell that shares a fingerprint, and whether each side's viewers see the
    other.
    """

    cell_id: int
    is_visible: bool
    sees_own: bool


class CellCopy(NamedTuple):
    """A cell that repeats the runs of another cell, which was uploaded first."""

    original_id: int
    runs: RunCopy


def find_copies(study: Study) -> dict[int, CellCopy]:
    """Return the copies among a study's cells, and store their fingerprints.

    Queue checks of other studies whose copies of this study's cells changed.
    """
    own_ids = list(study.cells.filter(n__gt=0).values_list("pk", flat=True))
    runs = _stored_runs(own_ids)
    ids = list(runs)
    patterns = dict(
        zip(ids, run_patterns([runs[pk].vector for pk in ids]), strict=True)
    )
    _store_fingerprints(study, patterns)
    candidates = _candidates(patterns)
    other_ids = {found.cell_id for chosen in candidates.values() for found in chosen}
    runs |= _stored_runs(other_ids - runs.keys())
    cells = Cell.objects.select_related("system").in_bulk(
        {*own_ids, *other_ids} & runs.keys()
    )
    similar = {
        (pk, found.cell_id): copy
        for pk, chosen in candidates.items()
        for found in chosen
        if found.cell_id in cells
        and (copy := similar_runs(runs[found.cell_id].vector, runs[pk].vector))
    }
    certain = _certain_copies(similar, cells)
    copies: dict[int, CellCopy] = {}
    confirmed: set[int] = set()
    outdated: set[int] = set()
    for pk, chosen in candidates.items():
        for found in chosen:
            if (pk, found.cell_id) not in certain:
                continue
            other, copy = cells[found.cell_id], similar[pk, found.cell_id]
            is_first = found.sees_own and (
                not found.is_visible or _age(pk, runs) < _age(other.pk, runs)
            )
            if is_first:
                confirmed.add(other.pk)
                if other.original_id is None:
                    outdated.add(other.study_id)
            elif found.is_visible and (
                pk not in copies
                or _age(other.pk, runs) < _age(copies[pk].original_id, runs)
            ):
                copies[pk] = CellCopy(other.pk, copy)
    former = Cell.objects.filter(original__study=study).exclude(pk__in=confirmed)
    outdated |= set(former.values_list("study_id", flat=True))
    enqueue_checks(outdated - {study.pk}, others_changed=True)
    return copies


def _certain_copies(
    similar: Mapping[tuple[int, int], RunCopy], cells: Mapping[int, Cell]
) -> set[tuple[int, int]]:
    """Return the pairs of cells that hardly agree by chance.

    Cells of one benchmark on several systems of a machine count together, because
    systems have independent runs.
    """
    groups: dict[tuple[int, tuple[int, int], int], dict[int, tuple[int, int]]] = (
        defaultdict(dict)
    )
    for pair, copy in similar.items():
        own, other = (cells[pk] for pk in pair)
        if own.case_id == other.case_id:
            hosts = own.system.host_id, other.system.host_id
            best = groups[own.case_id, hosts, other.study_id]
            former = best.get(own.system_id)
            if former is None or similar[former].surprise < copy.surprise:
                best[own.system_id] = pair
    certain = {pair for pair, copy in similar.items() if copy.surprise >= MIN_SURPRISE}
    for (case, (host, _), _), best in groups.items():
        compared = sum(
            cell.case_id == case and cell.system.host_id == host
            for cell in cells.values()
        )
        surprises = [similar[pair].surprise for pair in best.values()]
        if joint_surprise(surprises, compared) >= MIN_SURPRISE:
            certain.update(
                pair
                for pair in best.values()
                if similar[pair].surprise >= MIN_PARTIAL_SURPRISE
            )
    return certain


def store_originals(study: Study, copies: Mapping[int, CellCopy]) -> bool:
    """Store the original of each copy; return whether one changed."""
    stored = study.cells.filter(original__isnull=False)
    before = dict(stored.values_list("pk", "original_id"))
    after = {pk: copy.original_id for pk, copy in copies.items()}
    changed = {pk for pk, _ in before.items() ^ after.items()}
    cells = list(study.cells.filter(pk__in=changed).only("pk").order_by("pk"))
    for cell in cells:
        cell.original_id = after.get(cell.pk)
    update_columns(Cell, ("original_id",), cells)
    return bool(cells)


def studies_with_copies(cells: Iterable[int]) -> set[int]:
    """Return the studies that have copies of these cells."""
    copies = Cell.objects.filter(original__in=list(cells)).order_by()
    return set(copies.values_list("study_id", flat=True).distinct())


def _age(pk: int, runs: Mapping[int, StoredRuns]) -> tuple[datetime, int]:
    return runs[pk].received_at, pk


def _stored_runs(cells: Collection[int]) -> dict[int, StoredRuns]:
    if not cells:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(RUN_VECTORS_SQL, [list(cells)])
        return {
            pk: StoredRuns(RunVector(tuple(means), decimals), received_at)
            for pk, means, decimals, received_at in cursor
        }


def _store_fingerprints(study: Study, patterns: Mapping[int, Iterable[int]]) -> None:
    stored = RunFingerprint.objects.filter(cell__study=study)
    rows = {
        (cell_id, pattern): pk
        for pk, cell_id, pattern in stored.values_list("pk", "cell_id", "pattern")
    }
    found = {(pk, pattern) for pk, hashes in patterns.items() for pattern in hashes}
    obsolete = [pk for row, pk in rows.items() if row not in found]
    RunFingerprint.objects.filter(pk__in=obsolete).delete()
    insert_new(RunFingerprint, ("cell_id", "pattern"), sorted(found - rows.keys()))


def _candidates(patterns: Mapping[int, Collection[int]]) -> dict[int, list[Candidate]]:
    pairs = [(pk, pattern) for pk, hashes in patterns.items() for pattern in hashes]
    parameters = {
        "cells": [pk for pk, _ in pairs],
        "patterns": [pattern for _, pattern in pairs],
    }
    candidates: dict[int, list[Candidate]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(CANDIDATES_SQL, parameters)
        for pk, *columns in cursor:
            if len(candidates[pk]) < MAX_CANDIDATES:
                candidates[pk].append(Candidate(*columns))
    return candidates
