"""Choice of each cell's baseline, and storage of its relative performance."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, cast

from django.db import connection, transaction
from django.db.models import Q
from django.db.models.functions import Coalesce

from benchmarks.analysis.baselines import (
    OTHER_SESSION_SENTENCE,
    PATH_SCENARIOS,
    CellConditions,
    candidate_native_keys,
    choose_baseline,
    native_key,
    same_os,
)
from benchmarks.analysis.nearest_case import MeasuredCase, nearest_case
from benchmarks.analysis.verdict_reasons import NO_RUN_ALONE
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.database import ids_subquery
from benchmarks.hypervisor_names import NATIVE
from benchmarks.jobs.queue import enqueue_checks
from benchmarks.models import Cell, CellSession, Efficiency, Job, Run, Study
from benchmarks.models.cell import ratio_of_means
from benchmarks.models.study import CURRENT_EFFICIENCY_RULES
from benchmarks.parsing.no_ratio_reasons import no_ratio_reason
from benchmarks.parsing.tool import Better
from benchmarks.reference.data_files import published_studies
from benchmarks.reference.failure_notes import FAILURE_NOTE, failure_fields
from benchmarks.sentences import Sentence, join_sentences, pluralized, serialize
from benchmarks.studies.bulk_writes import insert_or_replace
from benchmarks.tools import TOOLS
from benchmarks.uploads.cell_summaries import lock_cases
from benchmarks.uploads.load_baseline_candidates import (
    CandidateCell,
    cells_of_other_studies,
    cells_of_studies,
    load_candidates,
)

State = Efficiency.State
SUM = "sum"
# If a similar case was measured natively, the reason names it.
STATES_WITHOUT_NATIVE = (State.MISSING, State.OTHER_PARAMETERS, State.UNIT_MISMATCH)
# A key of `NativeCases` begins with one of these or with the id of a study.
ALL_STUDIES, PUBLIC_STUDIES = "all", "public"
NativeCases = Mapping[tuple[Any, ...], Mapping[int, MeasuredCase]]
SINGLE = "single"
# Two cells have different sessions if all their sessions are known and none is common.
# Subqueries: without statistics, PostgreSQL would join every pair of cells.
_SESSIONS = f"""(
    SELECT array_agg(session_id) FROM {CellSession._meta.db_table} WHERE cell_id = %s
    HAVING bool_and(session_id IS NOT NULL)
)"""
OUTDATED_STATES_SQL = f"""
    SELECT cell.id
    FROM {Cell._meta.db_table} AS cell
    JOIN {Efficiency._meta.db_table} AS against ON against.cell_id = cell.id
    WHERE cell.study_id = %(study)s
      AND against.state IN ('paired', 'other_session', 'stale')
      AND cell.study_id = (
          SELECT study_id FROM {Cell._meta.db_table} WHERE id = against.baseline_id
      )
      AND (position(%(other_session)s IN against.reason) = 0) = COALESCE(
          NOT {_SESSIONS % "cell.id"} && {_SESSIONS % "against.baseline_id"}, false
      )
"""
STORED_FIELDS = (
    "baseline_id",
    "state",
    "ratio",
    "baseline_mean",
    "baseline_n",
    "reason",
)
# Raw SQL returns reasons as they are stored (serialized).
STORED_EFFICIENCIES_SQL = f"""
    SELECT cell_id, {", ".join(STORED_FIELDS)} FROM {Efficiency._meta.db_table}
    WHERE cell_id = ANY(%s)
"""


@dataclass(slots=True)
class ComputedEfficiency:
    cell: CandidateCell
    state: str
    reason: str
    baseline: CandidateCell | None = None
    ratio: float | None = None

    @property
    def stored_values(self) -> tuple[Any, ...]:
        baseline_values: tuple[Any, ...] = (None, None, None)
        if self.baseline is not None:
            baseline_values = (self.baseline.pk, self.baseline.mean, self.baseline.n)
        baseline_id, *statistics = baseline_values
        return (
            baseline_id,
            str(self.state),
            self.ratio,
            *statistics,
            serialize(self.reason),
        )


def recompute_study_efficiencies(study: Study) -> None:
    recompute_efficiencies(list(study.cells.all()))


def recompute_affected_efficiencies(study: Study) -> None:
    """Recompute the efficiencies of a study whose visibility changed.

    Also recompute cells that may use its native cells as baselines.
    """
    cells = Cell.objects.filter(study=study)
    lock_cases(cells.order_by().values_list("lab_id", "case_id").distinct())
    natives = cells.filter(system__hypervisor=NATIVE).order_by()
    unpaired = _unpaired(natives.values_list("lab_id", "system__host_id", "case__tool"))
    recompute_efficiencies([*cells, *Cell.objects.filter(pk__in=unpaired)])


def recompute_outdated() -> int:
    """Recompute studies with outdated `efficiency_rules`; return their number.

    Also queue uploads that may have derived CPU costs, or whose work may have failed.
    """
    outdated = Study.objects.filter(efficiency_rules__lt=CURRENT_EFFICIENCY_RULES)
    ids = list(outdated.order_by("pk").values_list("pk", flat=True))
    for study_id in ids:
        # A large study takes seconds: one transaction each.
        with transaction.atomic():
            study = Study.objects.select_for_update(no_key=True).get(pk=study_id)
            recompute_study_efficiencies(study)
            study.efficiency_rules = CURRENT_EFFICIENCY_RULES
            study.save(update_fields=["efficiency_rules"])
            enqueue_checks([study.pk])
            _queue_reprocessing(study)
    return len(ids)


def cells_with_outdated_state(study: Study) -> list[Cell]:
    """Return the cells whose efficiency contradicts the sessions of the last check."""
    with connection.cursor() as cursor:
        cursor.execute(
            OUTDATED_STATES_SQL,
            {"study": study.pk, "other_session": OTHER_SESSION_SENTENCE},
        )
        ids = [pk for (pk,) in cursor.fetchall()]
    return list(Cell.objects.filter(pk__in=ids).order_by("pk"))


def _queue_reprocessing(study: Study) -> None:
    _state_noted_failures(study)
    tools = [
        tool.slug for tool in TOOLS.values() if tool.derived_costs or tool.error_metrics
    ]
    runs = Run.objects.filter(study=study, status=Run.Status.PARSED)
    runs = runs.filter(
        Q(tool__in=tools)
        | ~Q(warnings=[])
        | ~Q(stated_failure="")
        | Q(**{"facts__execution__exit code__gt": 0})
    )
    uploads = Run.objects.filter(pk__in=runs.values(upload=Coalesce("first_run", "pk")))
    from benchmarks.uploads.processing import reprocessing_jobs

    Job.objects.bulk_create(
        reprocessing_jobs(uploads.only("pk", "lab", "study", "tool")),
        ignore_conflicts=True,
    )


def _state_noted_failures(study: Study) -> None:
    """Store the failures that notes of an earlier loaded reference study state."""
    if study.slug not in published_studies()["studies"]:
        return
    noted = Run.objects.filter(study=study, note__contains=FAILURE_NOTE)
    for run in noted.filter(stated_failure=""):
        run.stated_failure = failure_fields(run.note, run.facts).get("failed", "")
        run.save(update_fields=["stated_failure"])


def recompute_efficiencies(changed_cells: Sequence[Cell]) -> None:
    """Recompute efficiencies of these cells, and of cells whose baseline they may be.

    Queue checks of other studies whose efficiencies changed.
    """
    ids = {cell.pk for cell in changed_cells}
    keys = {(cell.lab_id, cell.case_id, cell.study_id) for cell in changed_cells}
    if unpaired := _unpaired_near_new_natives(ids) - ids:
        columns = ("lab_id", "case_id", "study_id")
        keys.update(
            Cell.objects.filter(pk__in=ids_subquery(unpaired)).values_list(*columns)
        )
        ids |= unpaired
    candidates = cells_of_studies(keys, ids)
    changed_candidates = [cell for cell in candidates if cell.pk in ids]
    candidates += cells_of_other_studies(
        _cells_without_native(candidates),
        [cell for cell in changed_candidates if cell.system.is_native],
        {study_id for _, _, study_id in keys},
    )
    # Groups of cells whose baseline may be a changed cell.
    baseline_groups = (
        {_native_group(cell) for cell in changed_candidates if cell.system.is_native}
        | {
            _reference_group(cell)
            for cell in changed_candidates
            if cell.system_id in cell.study.reference_ids
        }
        | {
            _single_run_group(cell)
            for cell in changed_candidates
            if cell.scenario == SINGLE
        }
        | {_slot_group(cell) for cell in changed_candidates if not _is_slot(cell)}
        | {
            _model_group(cell)
            for cell in changed_candidates
            if cell.system.is_native and cell.conditions.specimen
        }
    )
    own_native_cases = {
        (cell.study_id, cell.lab_id, cell.case_id)
        for cell in changed_candidates
        if cell.system.is_native
    }
    efficiencies = []
    for case, cells in _by_case(candidates).items():
        natives = _NativeCells(cells)
        efficiencies += [
            _choose_efficiency(cell, cells, natives.visible_to(cell))
            for cell in cells
            if cell.pk in ids
            or baseline_groups & {_reference_group(cell), _single_run_group(cell)}
            or (_is_slot(cell) and _slot_group(cell) in baseline_groups)
            or (cell.conditions.specimen and _model_group(cell) in baseline_groups)
            or (
                _native_group(cell) in baseline_groups
                # A study with own native cells does not use those of other studies.
                and (
                    (cell.study_id, *case) in own_native_cases
                    or not natives.is_measured_by_study(cell)
                )
            )
        ]
    # The baseline of a slot is a single run of the same system, never a native case.
    missing = [
        efficiency for efficiency in efficiencies if efficiency.state == State.MISSING
    ]
    _set_near_case_reasons(
        [efficiency for efficiency in missing if not _is_slot(efficiency.cell)]
    )
    with connection.cursor() as cursor:
        cursor.execute(
            STORED_EFFICIENCIES_SQL,
            [[efficiency.cell.pk for efficiency in efficiencies]],
        )
        stored = {cell_id: tuple(values) for cell_id, *values in cursor.fetchall()}
    changed = [
        efficiency
        for efficiency in efficiencies
        if efficiency.stored_values != stored.get(efficiency.cell.pk)
    ]
    rows = [
        (efficiency.cell.pk, efficiency.cell.lab_id, *efficiency.stored_values)
        for efficiency in changed
    ]
    insert_or_replace(Efficiency, ("cell_id", "lab_id", *STORED_FIELDS), rows)
    # The caller queues checks of the changed cells' own studies.
    dependent_studies = {efficiency.cell.study_id for efficiency in changed}
    dependent_studies -= {cell.study_id for cell in changed_cells}
    enqueue_checks(dependent_studies)


def conflicting_native_means(cell_ids: Collection[int]) -> dict[int, list[float]]:
    """Return the means of the native cells that disagree, by ambiguous cell."""
    if not cell_ids:
        return {}
    columns = ("lab_id", "case_id", "study_id")
    keys = set(Cell.objects.filter(pk__in=cell_ids).values_list(*columns))
    candidates = cells_of_studies(keys, cell_ids)
    candidates += cells_of_other_studies(
        _cells_without_native(candidates), [], {study for *_, study in keys}
    )
    means: dict[int, list[float]] = {}
    for cells in _by_case(candidates).values():
        natives = _NativeCells(cells)
        mean_by_id = {cell.pk: cell.mean for cell in cells}
        for cell in cells:
            if cell.pk in cell_ids:
                choice = choose_baseline(
                    cell.conditions,
                    natives.visible_to(cell),
                    equivalence_margin_percent=cell.study.equivalence_margin_percent,
                    max_age_days=cell.study.baseline_max_age_days,
                )
                if choice.state == "ambiguous":
                    means[cell.pk] = [mean_by_id[int(pk)] for pk in choice.rejected]
    return means


def _by_case(
    cells: Iterable[CandidateCell],
) -> Mapping[tuple[int, int], Sequence[CandidateCell]]:
    """Group the cells that have runs by lab and case, ordered by id.

    Baselines are matched by host name, which is unique only within a lab.
    """
    by_case: dict[tuple[int, int], list[CandidateCell]] = defaultdict(list)
    for cell in sorted(cells, key=attrgetter("pk")):
        if cell.n:
            by_case[cell.lab_id, cell.case_id].append(cell)
    return by_case


def _cells_without_native(cells: Iterable[CandidateCell]) -> list[CandidateCell]:
    """Return the cells that need a native cell of another study.

    Their study has no native cell of the same case, host and OS. Native cells and slots
    need none.
    """
    unpaired = []
    for same_case in _by_case(cells).values():
        natives = _NativeCells(same_case)
        unpaired += [
            cell
            for cell in same_case
            if not (
                cell.system.is_native
                or _is_slot(cell)
                or natives.is_measured_by_study(cell)
            )
        ]
    return unpaired


class _NativeCells:
    def __init__(self, cells: Iterable[CandidateCell]) -> None:
        self.by_key: dict[tuple[Any, ...], list[CandidateCell]] = defaultdict(list)
        self.by_study: dict[int, list[CellConditions]] = defaultdict(list)
        self.visible: dict[tuple[Any, ...], list[CellConditions]] = {}
        for cell in cells:
            if cell.system.is_native:
                self.by_key[native_key(cell.conditions)].append(cell)
                if cell.conditions.specimen:
                    self.by_study[cell.study_id].append(cell.conditions)

    def visible_to(self, cell: CandidateCell) -> Sequence[CellConditions]:
        """Return the possible baselines that all viewers of the cell can see."""
        keys = candidate_native_keys(cell.conditions)
        key = (cell.study_id, keys)
        if key not in self.visible:
            self.visible[key] = [
                native.conditions
                for location in keys
                for native in self.by_key.get(location, ())
                if cell.study.may_use_baselines_of(native.study)
            ]
        # Machines of one model replace native runs of the same machine.
        return self.visible[key] or self.by_study.get(cell.study_id, [])

    def is_measured_by_study(self, cell: CandidateCell) -> bool:
        return any(
            native.study_id == cell.study_id
            and same_os(cell.conditions, native.conditions)
            for native in self.by_key.get(candidate_native_keys(cell.conditions)[0], ())
        )


def _unpaired_near_new_natives(ids: set[int]) -> set[int]:
    """Return cells without native baseline whose host and tool have new native cells.

    Native cells that lost their runs count as new. Deletes the efficiencies of cells
    without runs.
    """
    Efficiency.objects.filter(cell__in=ids_subquery(ids), cell__n=0).delete()
    new = Cell.objects.filter(pk__in=ids_subquery(ids), efficiency=None)
    locations = new.filter(system__hypervisor=NATIVE).values_list(
        "lab_id", "system__host_id", "case__tool"
    )
    return _unpaired(locations)


def _unpaired(locations: Iterable[tuple[int, int, str]]) -> set[int]:
    cell_ids: set[int] = set()
    for lab, host, tool in set(locations):
        unpaired = Efficiency.objects.filter(
            state__in=STATES_WITHOUT_NATIVE,
            lab=lab,
            cell__system__host=host,
            cell__case__tool=tool,
            cell__n__gt=0,
        )
        cell_ids.update(unpaired.values_list("cell_id", flat=True))
    return cell_ids


def _set_near_case_reasons(missing: Sequence[ComputedEfficiency]) -> None:
    if not missing:
        return
    natives = _native_cases([efficiency.cell for efficiency in missing])
    for efficiency in missing:
        cell = efficiency.cell
        # As in `Study.may_use_baselines_of`.
        visible = (
            (ALL_STUDIES,) if cell.study.is_private else (PUBLIC_STUDIES, cell.study_id)
        )
        native_cases: dict[int, MeasuredCase] = {}
        for location in candidate_native_keys(cell.conditions):
            for studies in visible:
                key = (studies, cell.lab_id, cell.case.tool, *location)
                native_cases |= natives.get(key, {})
        nearest = nearest_case(cell.case.measured_case, native_cases.values())
        if nearest is not None:
            efficiency.state, efficiency.reason = nearest.kind, nearest.sentence


def _native_cases(cells: Sequence[CandidateCell]) -> NativeCases:
    natives = Cell.objects.filter(
        lab__in={cell.lab_id for cell in cells},
        system__host__in={cell.system.host_id for cell in cells},
        system__hypervisor=NATIVE,
        case__tool__in={cell.case.tool for cell in cells},
        n__gt=0,
    )
    cases: dict[tuple[Any, ...], dict[int, MeasuredCase]] = defaultdict(dict)
    measured_cases: dict[int, MeasuredCase] = {}
    for native in load_candidates(natives):
        case = native.case
        location = (native.lab_id, case.tool, *native_key(native.conditions))
        if case.pk not in measured_cases:
            measured_cases[case.pk] = case.measured_case
        measured_case = measured_cases[case.pk]
        cases[ALL_STUDIES, *location][case.pk] = measured_case
        cases[native.study_id, *location][case.pk] = measured_case
        if native.study.is_public:
            cases[PUBLIC_STUDIES, *location][case.pk] = measured_case
    return cases


def _native_group(cell: CandidateCell) -> tuple[Any, ...]:
    return ("native", cell.lab_id, cell.case_id, cell.system.host_id)


def _model_group(cell: CandidateCell) -> tuple[Any, ...]:
    return ("model", cell.study_id, cell.case_id)


def _reference_group(cell: CandidateCell) -> tuple[Any, ...]:
    return ("reference", cell.study_id, cell.case_id)


def _single_run_group(cell: CandidateCell) -> tuple[Any, ...]:
    return ("alone", cell.study_id, cell.system_id, cell.case_id)


def _slot_group(cell: CandidateCell) -> tuple[Any, ...]:
    """Return a key that slots share with sums and single runs of their benchmark."""
    return ("slots", cell.study_id, cell.case_id)


def _choose_efficiency(
    cell: CandidateCell,
    same_case: Sequence[CandidateCell],
    natives: Sequence[CellConditions],
) -> ComputedEfficiency:
    study = cell.study
    if _is_slot(cell):
        return _slowdown_efficiency(cell, same_case)
    choice = choose_baseline(
        cell.conditions,
        natives,
        equivalence_margin_percent=study.equivalence_margin_percent,
        max_age_days=study.baseline_max_age_days,
    )
    reference = study.reference_for(cell.system_id)
    if choice.state != "missing" or not reference:
        baseline = next(
            (native for native in same_case if native.pk == choice.baseline_id), None
        )
        return _compute_efficiency(cell, baseline, choice.state, choice.reason)
    if efficiency := _reference_efficiency(cell, same_case):
        return efficiency
    no_reference = Sentence(
        "The reference system has no result for this benchmark either."
    )
    return _compute_efficiency(
        cell, None, State.MISSING, join_sentences([choice.reason, no_reference])
    )


def _reference_efficiency(
    cell: CandidateCell, same_case: Sequence[CandidateCell]
) -> ComputedEfficiency | None:
    """Return None without a reference system, or without its result of this case and
    setup.
    """
    reference = cell.study.reference_for(cell.system_id)
    if cell.system_id == reference:
        return _compute_efficiency(cell, None, State.REFERENCE, "")
    reference_key = (cell.study_id, reference, *_setup(cell))
    for candidate in same_case if reference else ():
        if reference_key == (
            candidate.study_id,
            candidate.system_id,
            *_setup(candidate),
        ):
            return _compute_efficiency(cell, candidate, State.AGAINST_REFERENCE, "")
    return None


def _is_slot(cell: CandidateCell) -> bool:
    """Return whether the cell is one of several VMs or their mean.

    The load of the other VMs is not a cost of the hypervisor. Network paths between VMs
    are not slots.
    """
    is_alone = cell.scenario == SINGLE or cell.vms == 1
    is_path = cell.scenario in PATH_SCENARIOS
    return not (is_alone or is_path or cell.slot == SUM or cell.system.is_native)


def _slowdown_efficiency(
    cell: CandidateCell, same_case: Sequence[CandidateCell]
) -> ComputedEfficiency:
    """Return the efficiency of one of several VMs relative to one VM alone.

    Without a result of one VM alone, use the study's reference system, if there is one.
    """
    single_runs = [
        candidate
        for candidate in same_case
        if _single_run_group(candidate) == _single_run_group(cell)
        and candidate.scenario == SINGLE
    ]
    if single_runs:
        # A single VM may be stated as slot 1 of 1.
        baseline = min(
            single_runs,
            key=lambda candidate: (candidate.slot not in ("1", ""), candidate.pk),
        )
        reason = Sentence(
            "One of {n} VMs running together, relative to the same system with one "
            "VM alone.",
            n=cell.vms or Sentence("several"),
        )
        return _compute_efficiency(cell, baseline, State.SLOWDOWN, reason)
    return _reference_efficiency(cell, same_case) or _compute_efficiency(
        cell, None, State.MISSING, _no_single_run_reason(cell, same_case)
    )


def _no_single_run_reason(
    cell: CandidateCell, same_case: Sequence[CandidateCell]
) -> Sentence:
    """Return why one of several VMs has no ratio, and whether their sum has one."""
    sentences = [Sentence(NO_RUN_ALONE)]
    similar_systems = {
        candidate.system_id
        for candidate in same_case
        if candidate.scenario == SINGLE
        and candidate.study_id == cell.study_id
        and _platform_and_guest(candidate) == _platform_and_guest(cell)
    }
    if similar_systems:
        sentences.append(
            pluralized(
                "{n} system with the same hypervisor and guest ran it alone, but "
                "with settings that are not reported for this system.",
                "{n} systems with the same hypervisor and guest ran it alone, but "
                "with settings that are not reported for this system.",
                n=len(similar_systems),
            )
        )
    key = (cell.system_id, cell.study_id, cell.scenario, cell.vms, cell.load)
    sum_keys = (
        (
            candidate.system_id,
            candidate.study_id,
            candidate.scenario,
            candidate.vms,
            candidate.load,
        )
        for candidate in same_case
        if candidate.slot == SUM
    )
    if key in sum_keys:
        sentences.append(
            Sentence("The sum over all VMs is shown relative to the native machine.")
        )
    return join_sentences(sentences)


def _platform_and_guest(cell: CandidateCell) -> tuple[Any, ...]:
    system = cell.system
    names = ("host_id", "hypervisor", "hypervisor_version", "guest_os", "guest_bits")
    return tuple(getattr(system, name) for name in names)


def _setup(cell: CandidateCell) -> tuple[Any, ...]:
    return (cell.scenario, cell.vms, cell.slot, cell.load)


def _compute_efficiency(
    cell: CandidateCell, baseline: CandidateCell | None, state: str, reason: str
) -> ComputedEfficiency:
    efficiency = ComputedEfficiency(cell, state, reason)
    metric = require_tool(cell.case.tool).metric(cell.case.metric)
    why_not = no_ratio_reason(
        metric,
        cell.case.parameters,
        *(member.extremes for member in (cell, baseline) if member is not None),
        is_guest=not cell.system.is_native,
    )
    if cell.case.better == "neither":
        efficiency.state, efficiency.reason = State.UNDIRECTED, why_not or ""
    elif why_not:
        efficiency.state, efficiency.reason = State.NO_SPEED, why_not
    elif baseline is not None:
        efficiency.baseline = baseline
        better = cast(Better, cell.case.better)
        efficiency.ratio, problem = ratio_of_means(cell.mean, baseline.mean, better)
        efficiency.reason = problem or reason
        # The sum over several VMs relative to one machine is scaling, not efficiency.
        if cell.slot == SUM != baseline.slot and efficiency.ratio is not None:
            efficiency.state = State.SCALING
    return efficiency
