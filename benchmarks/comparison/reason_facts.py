"""Flags, shapes and clocks of cells, for the reasons why they have no verdict."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from django.db import connection
from django.db.models import Exists

from benchmarks.analysis.clock_reliability import (
    figures_sentence,
    figures_trust,
    run_trust,
)
from benchmarks.analysis.verdict_reasons import FlagFacts, SideFacts
from benchmarks.models import Cell, Flag, Run
from benchmarks.models.run import RUNS_OF_CELLS_SQL, runs_of_cells_sql
from benchmarks.models.study import links_to_hidden_studies
from benchmarks.plausibility.rules import RULES
from benchmarks.sentences import sentence_from_json, to_sentence, with_unit
from benchmarks.viewer import ANYONE

MAX_RUNS_READ = 20
RUN_IDS_SQL = f"""
    {runs_of_cells_sql("cell.id = ANY(%s)")}
    SELECT run.cell_id, (array_agg(run.id ORDER BY run.id))[:{MAX_RUNS_READ}]
    {RUNS_OF_CELLS_SQL} GROUP BY run.cell_id
"""


def side_facts(study_id: int, cell_ids: Collection[int]) -> dict[int, SideFacts]:
    flags, shapes = _flags(study_id, cell_ids), _shapes(cell_ids)
    clocks = clock_faults(cell_ids)
    return {
        pk: SideFacts(tuple(flags.get(pk, ())), shapes.get(pk, ""), clocks.get(pk, ""))
        for pk in cell_ids
    }


def _flags(study_id: int, cell_ids: Collection[int]) -> Mapping[int, list[FlagFacts]]:
    """Return the severe flags of cells.

    Messages are omitted if they may quote studies that the reader cannot see.
    """
    severe = Flag.objects.withholding_verdicts().filter(cells__in=cell_ids)
    hidden = links_to_hidden_studies(
        Flag.quoted_studies.through, "flag_id", ANYONE
    ).exclude(study_id=study_id)
    rows = severe.order_by("cells", "severity", "rule", "pk").values_list(
        "cells", "rule", "severity", "message", "study_id", Exists(hidden)
    )
    flags: dict[int, list[FlagFacts]] = defaultdict(list)
    for pk, name, severity, message, flagged_study, quotes_hidden in rows.distinct():
        rule = RULES.get(name)
        is_visible = flagged_study == study_id and not quotes_hidden
        flag = FlagFacts(
            to_sentence(rule.title if rule else name, {}),
            severity,
            message if is_visible else "",
        )
        if flag not in flags[pk]:
            flags[pk].append(flag)
    return flags


def _shapes(cell_ids: Collection[int]) -> Mapping[int, str]:
    cells = Cell.objects.filter(pk__in=cell_ids).exclude(shape_codes="")
    rows = cells.values_list("pk", "shape", "case__unit")
    return {
        pk: with_unit(sentence_from_json(shape), unit)
        for pk, shape, unit in rows
        if shape
    }


def clock_faults(cell_ids: Collection[int]) -> Mapping[int, str]:
    """Return what is wrong with the clocks of cells with a suspect clock."""
    suspect = Cell.objects.filter(pk__in=cell_ids, clock_trust="suspect")
    margins = dict(suspect.values_list("pk", "study__equivalence_margin_percent"))
    if not margins:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(RUN_IDS_SQL, [list(margins)])
        run_ids = dict(cursor.fetchall())
    ids = {run for runs in run_ids.values() for run in runs}
    runs = Run.objects.select_related("system").in_bulk(ids)
    clocks: dict[int, str] = {}
    for pk, cell_runs in run_ids.items():
        for run in map(runs.get, cell_runs):
            if run is None:
                continue
            is_virtual, margin = not run.system.is_native, margins[pk] / 100
            state = figures_trust(
                run.clock, run.facts, is_virtual=is_virtual, margin=margin
            )
            trust = run_trust(
                run.clock, run.facts, is_virtual=is_virtual, margin=margin
            )
            if trust and state == "suspect":
                clocks[pk] = figures_sentence(trust)
                break
    return clocks
