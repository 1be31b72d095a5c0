"""Set cells against their baselines and store the efficiency with the baseline used."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, cast

from django.db import connection, transaction

from benchmarks.analysis.baselines import (
    PATHS,
    CellConditions,
    choose_baseline,
    place_of,
    same_os,
    wanted_places,
)
from benchmarks.analysis.comparability import MeasuredCase, nearest
from benchmarks.database import any_of
from benchmarks.models import (
    Cell,
    CellSession,
    Efficiency,
    Job,
    Run,
    Study,
)
from benchmarks.models.cell import ratio_of_means
from benchmarks.models.study import EFFICIENCY_RULES
from benchmarks.own_tools.lookup import known_tool
from benchmarks.parsing.cases import no_speed
from benchmarks.parsing.contract import Better
from benchmarks.platforms import NATIVE
from benchmarks.sentences import Sentence, counted, joined, stored
from benchmarks.studies.writing import insert_or_replace
from benchmarks.tools import TOOLS
from benchmarks.unattended.queue import put_checks
from benchmarks.uploads.neighbourhoods import (
    PlacedCell,
    cells_of_others,
    cells_of_studies,
    placed,
)
from benchmarks.uploads.summaries import lock_cases

State = Efficiency.State
SUM = "sum"
# States of cells without a partner: the reason names the nearest native case.
UNPAIRED = (State.MISSING, State.OTHER_PARAMETERS, State.UNIT_MISMATCH)
# Native cases by tool and place: of all studies, public ones, each study.
ALL, PUBLIC = "all", "public"
NativeCases = Mapping[tuple[Any, ...], Mapping[int, MeasuredCase]]
# The scenario in which nothing else runs.
ALONE = "single"
_SESSIONS = f"""(
    SELECT array_agg(session_id) FROM {CellSession._meta.db_table} WHERE cell_id = %s
    HAVING bool_and(session_id IS NOT NULL)
)"""
# Sessions differ if they are known on both sides and none is shared, as in
# `analysis.baselines`. Subqueries instead of joins: before the first ANALYZE,
# PostgreSQL joined every cell of the study with every other cell.
MISJUDGED = f"""
    SELECT cell.id
    FROM {Cell._meta.db_table} AS cell
    JOIN {Efficiency._meta.db_table} AS against ON against.cell_id = cell.id
    WHERE cell.study_id = %(study)s
      AND against.state IN ('paired', 'other_session')
      AND cell.study_id = (
          SELECT study_id FROM {Cell._meta.db_table} WHERE id = against.baseline_id
      )
      AND (against.state = 'paired') = COALESCE(
          NOT {_SESSIONS % "cell.id"} && {_SESSIONS % "against.baseline_id"}, false
      )
"""
KEPT = ("baseline_id", "state", "ratio", "baseline_mean", "baseline_n", "reason")
# As it is stored: a reason is compared with its template and parts.
STORED = f"""
    SELECT cell_id, {", ".join(KEPT)} FROM {Efficiency._meta.db_table}
    WHERE cell_id = ANY(%s)
"""


@dataclass(slots=True)
class Found:
    """How a cell stands to its baseline, before it is stored."""

    cell: PlacedCell
    state: str
    reason: str
    baseline: PlacedCell | None = None
    ratio: float | None = None

    @property
    def kept(self) -> tuple[Any, ...]:
        """What is stored of it, in the order of `KEPT`."""
        leant_on: tuple[Any, ...] = (None, None, None)
        if self.baseline is not None:
            leant_on = (self.baseline.pk, self.baseline.mean, self.baseline.n)
        baseline_id, *side = leant_on
        return (baseline_id, str(self.state), self.ratio, *side, stored(self.reason))


def normalise_study(study: Study) -> None:
    """Set every cell of a study against its baseline again."""
    normalise(list(study.cells.all()))


def normalise_around(study: Study) -> None:
    """Recompute the efficiencies of a study whose visibility changed, and of cells
    without a native partner that may use its native runs."""
    cells = Cell.objects.filter(study=study)
    lock_cases(cells.order_by().values_list("lab_id", "case_id").distinct())
    places = cells.filter(system__hypervisor=NATIVE).order_by()
    unpaired = _unpaired(places.values_list("lab_id", "system__host_id", "case__tool"))
    normalise([*cells, *Cell.objects.filter(pk__in=unpaired)])


def renew_efficiencies() -> int:
    """Recompute studies of older rules, with their flags; return how many.

    Uploads that state CPU time costs are processed again.
    """
    older = Study.objects.filter(efficiency_rules__lt=EFFICIENCY_RULES)
    ids = list(older.order_by("pk").values_list("pk", flat=True))
    for study_id in ids:
        # One by one: a large study takes seconds, and what is done stays done.
        with transaction.atomic():
            study = Study.objects.select_for_update(no_key=True).get(pk=study_id)
            normalise_study(study)
            study.efficiency_rules = EFFICIENCY_RULES
            study.save(update_fields=["efficiency_rules"])
            put_checks([study.pk])
            _read_again(study)
    return len(ids)


def cells_misjudged(study: Study) -> list[Cell]:
    """Return the cells whose state contradicts the sessions derived since."""
    with connection.cursor() as cursor:
        cursor.execute(MISJUDGED, {"study": study.pk})
        ids = [pk for (pk,) in cursor.fetchall()]
    return list(Cell.objects.filter(pk__in=ids).order_by("pk"))


def _read_again(study: Study) -> None:
    """Have the uploads processed once more that say what data cost in CPU time."""
    with_costs = [tool.slug for tool in TOOLS.values() if tool.costs]
    uploads = Run.objects.filter(
        study=study, tool__in=with_costs, source=None, status=Run.Status.PARSED
    )
    # Imported here: processing makes efficiencies.
    from benchmarks.uploads.processing import jobs_of

    Job.objects.bulk_create(
        jobs_of(uploads.only("pk", "lab", "study", "tool")), ignore_conflicts=True
    )


def normalise(touched: Sequence[Cell]) -> None:
    """Recompute the efficiency of these cells and of all cells that use them.

    Other studies whose efficiencies changed are checked again.
    """
    ids = {cell.pk for cell in touched}
    places = {(cell.lab_id, cell.case_id, cell.study_id) for cell in touched}
    if others := _looking_for_near_ones(ids) - ids:
        columns = ("lab_id", "case_id", "study_id")
        places.update(Cell.objects.filter(pk__in=any_of(others)).values_list(*columns))
        ids |= others
    near = cells_of_studies(places, ids)
    given = [cell for cell in near if cell.pk in ids]
    near += cells_of_others(
        _lacking_natives(near),
        [cell for cell in given if cell.system.is_native],
        {study_id for _, _, study_id in places},
    )
    # For these groups of cells a changed one is, or may be, the baseline.
    leant_on = (
        {_partners(cell) for cell in given if cell.system.is_native}
        | {
            _study_case(cell)
            for cell in given
            if cell.system_id == cell.study.reference_system_id
        }
        | {_same_system(cell) for cell in given if cell.scenario == ALONE}
        | {_seats(cell) for cell in given if not _is_slot(cell)}
    )
    of_studies = {
        (cell.study_id, cell.lab_id, cell.case_id)
        for cell in given
        if cell.system.is_native
    }
    efficiencies = []
    for case, cells in _by_case(near).items():
        natives = _Natives(cells)
        efficiencies += [
            _efficiency_of(cell, cells, natives.seen_by(cell))
            for cell in cells
            if cell.pk in ids
            or leant_on & {_study_case(cell), _same_system(cell)}
            or (_is_slot(cell) and _seats(cell) in leant_on)
            or (
                _partners(cell) in leant_on
                # Others' native runs are nothing to whose study has its own.
                and ((cell.study_id, *case) in of_studies or not natives.has_own(cell))
            )
        ]
    # Slots lack the same system alone, not a native partner.
    missing = [each for each in efficiencies if each.state == State.MISSING]
    _name_near_cases([each for each in missing if not _is_slot(each.cell)])
    # Only those that differ are written: twice changes nothing.
    with connection.cursor() as cursor:
        cursor.execute(STORED, [[each.cell.pk for each in efficiencies]])
        kept = {cell_id: tuple(rest) for cell_id, *rest in cursor.fetchall()}
    changed = [each for each in efficiencies if each.kept != kept.get(each.cell.pk)]
    rows = [(each.cell.pk, each.cell.lab_id, *each.kept) for each in changed]
    insert_or_replace(Efficiency, ("cell_id", "lab_id", *KEPT), rows)
    # Of the cells' own studies a check is due anyway.
    leaning = {each.cell.study_id for each in changed}
    leaning -= {cell.study_id for cell in touched}
    put_checks(leaning)


def _by_case(
    cells: Iterable[PlacedCell],
) -> Mapping[tuple[int, int], Sequence[PlacedCell]]:
    """Return the cells that have runs by lab and case, in the order of their ids.

    By lab, too: another lab may use the name of a machine for another machine.
    """
    by_case: dict[tuple[int, int], list[PlacedCell]] = defaultdict(list)
    for cell in sorted(cells, key=attrgetter("pk")):
        if cell.n:
            by_case[cell.lab_id, cell.case_id].append(cell)
    return by_case


def _lacking_natives(cells: Iterable[PlacedCell]) -> list[PlacedCell]:
    """Return those of the cells for which another study's native runs may count."""
    lacking = []
    for same_case in _by_case(cells).values():
        natives = _Natives(same_case)
        lacking += [
            cell
            for cell in same_case
            if not (cell.system.is_native or _is_slot(cell) or natives.has_own(cell))
        ]
    return lacking


class _Natives:
    """The native cells of a case, by where they were measured."""

    def __init__(self, cells: Iterable[PlacedCell]) -> None:
        self.at: dict[tuple[Any, ...], list[PlacedCell]] = defaultdict(list)
        self.seen: dict[tuple[Any, ...], list[CellConditions]] = {}
        for cell in cells:
            if cell.system.is_native:
                self.at[place_of(cell.conditions)].append(cell)

    def seen_by(self, cell: PlacedCell) -> Sequence[CellConditions]:
        """Those that a cell may be compared with: who sees its study sees them, too."""
        places = wanted_places(cell.conditions)
        key = (cell.study_id, places)
        if key not in self.seen:
            self.seen[key] = [
                native.conditions
                for place in places
                for native in self.at.get(place, ())
                if cell.study.may_rest_on(native.study)
            ]
        return self.seen[key]

    def has_own(self, cell: PlacedCell) -> bool:
        """Return whether its study has the same OS and bits there: no other counts."""
        return any(
            native.study_id == cell.study_id
            and same_os(cell.conditions, native.conditions)
            for native in self.at.get(wanted_places(cell.conditions)[0], ())
        )


def _looking_for_near_ones(ids: set[int]) -> set[int]:
    """Return the cells without a partner that may be near a native case that is new, or
    that lost its runs."""
    Efficiency.objects.filter(cell__in=any_of(ids), cell__n=0).delete()
    new = Cell.objects.filter(pk__in=any_of(ids), efficiency=None)
    places = new.filter(system__hypervisor=NATIVE).values_list(
        "lab_id", "system__host_id", "case__tool"
    )
    return _unpaired(places)


def _unpaired(places: Iterable[tuple[int, int, str]]) -> set[int]:
    """Return the cells without a partner at these labs, hosts and tools."""
    found: set[int] = set()
    for lab, host, tool in set(places):
        unpaired = Efficiency.objects.filter(
            state__in=UNPAIRED,
            lab=lab,
            cell__system__host=host,
            cell__case__tool=tool,
            cell__n__gt=0,
        )
        found.update(unpaired.values_list("cell_id", flat=True))
    return found


def _name_near_cases(missing: Sequence[Found]) -> None:
    """Say of cells without a native partner which near case was measured natively."""
    if not missing:
        return
    natives = _native_cases([efficiency.cell for efficiency in missing])
    for efficiency in missing:
        cell = efficiency.cell
        # Of public studies, and of its own: what `may_rest_on` says.
        seen = (ALL,) if cell.study.is_private else (PUBLIC, cell.study_id)
        near_ones: dict[int, MeasuredCase] = {}
        for place in wanted_places(cell.conditions):
            for studies in seen:
                key = (studies, cell.lab_id, cell.case.tool, *place)
                near_ones |= natives.get(key, {})
        near = nearest(cell.case.measured, near_ones.values())
        if near is not None:
            efficiency.state, efficiency.reason = near.kind, near.sentence()


def _native_cases(cells: Sequence[PlacedCell]) -> NativeCases:
    natives = Cell.objects.filter(
        lab__in={cell.lab_id for cell in cells},
        system__host__in={cell.system.host_id for cell in cells},
        system__hypervisor=NATIVE,
        case__tool__in={cell.case.tool for cell in cells},
        n__gt=0,
    )
    cases: dict[tuple[Any, ...], dict[int, MeasuredCase]] = defaultdict(dict)
    known: dict[int, MeasuredCase] = {}
    for native in placed(natives):
        case = native.case
        place = (native.lab_id, case.tool, *place_of(native.conditions))
        if case.pk not in known:
            known[case.pk] = case.measured
        measured = known[case.pk]
        cases[ALL, *place][case.pk] = measured
        cases[native.study_id, *place][case.pk] = measured
        if native.study.is_public:
            cases[PUBLIC, *place][case.pk] = measured
    return cases


def _partners(cell: PlacedCell) -> tuple[Any, ...]:
    """The cells that a native one may be the baseline of."""
    return ("native", cell.lab_id, cell.case_id, cell.system.host_id)


def _study_case(cell: PlacedCell) -> tuple[Any, ...]:
    """The cells that one of the study's reference system may be the baseline of."""
    return ("reference", cell.study_id, cell.case_id)


def _same_system(cell: PlacedCell) -> tuple[Any, ...]:
    """The cells that what one system did alone may be the baseline of."""
    return ("alone", cell.study_id, cell.system_id, cell.case_id)


def _seats(cell: PlacedCell) -> tuple[Any, ...]:
    """The slots whose reason may name this cell: the sum, or one that ran alone."""
    return ("seats", cell.study_id, cell.case_id)


def _efficiency_of(
    cell: PlacedCell, same_case: Sequence[PlacedCell], natives: Sequence[CellConditions]
) -> Found:
    """Return the cell's efficiency, given all cells of its case around it."""
    study = cell.study
    if _is_slot(cell):
        return _slowdown_of(cell, same_case)
    choice = choose_baseline(
        cell.conditions,
        natives,
        equivalence_margin_percent=study.equivalence_margin_percent,
        max_age_days=study.baseline_max_age_days,
    )
    reference = study.reference_system_id
    if choice.state != "missing" or not reference:
        baseline = next((one for one in same_case if one.pk == choice.chosen), None)
        return _against(cell, baseline, choice.state, choice.reason)
    # Without native runs a study is compared with its reference system.
    if cell.system_id == reference:
        return _against(cell, None, State.REFERENCE, "")
    wanted = (cell.study_id, reference, *_circumstances(cell))
    for other in same_case:
        if wanted == (other.study_id, other.system_id, *_circumstances(other)):
            return _against(cell, other, State.RELATIVE, "")
    nor = Sentence("The reference system does not have this benchmark either.")
    return _against(cell, None, State.MISSING, joined([choice.reason, nor]))


def _is_slot(cell: PlacedCell) -> bool:
    """Whether it is one VM of several, or their mean: not their sum, not a path.

    The load of the other VMs is not a cost of the hypervisor.
    """
    is_alone = cell.scenario == ALONE or cell.vms == 1
    is_path = cell.scenario in PATHS
    return not (is_alone or is_path or cell.slot == SUM or cell.system.is_native)


def _slowdown_of(cell: PlacedCell, same_case: Sequence[PlacedCell]) -> Found:
    """Set one VM of several against the same system with one VM alone."""
    alone = [
        other
        for other in same_case
        if _same_system(other) == _same_system(cell) and other.scenario == ALONE
    ]
    if alone:
        # Mostly there is one; one VM alone may be stated as the first of one.
        best = min(alone, key=lambda other: (other.slot not in ("1", ""), other.pk))
        reason = Sentence(
            "One of {n} VMs that ran together, beside the same system with one alone.",
            n=cell.vms or Sentence("several"),
        )
        return _against(cell, best, State.SLOWDOWN, reason)
    reference = cell.study.reference_system_id
    if cell.system_id == reference:
        return _against(cell, None, State.REFERENCE, "")
    wanted = (cell.study_id, reference, *_circumstances(cell))
    for other in same_case if reference else ():
        if wanted == (other.study_id, other.system_id, *_circumstances(other)):
            return _against(cell, other, State.RELATIVE, "")
    return _against(cell, None, State.MISSING, _nothing_alone(cell, same_case))


def _nothing_alone(cell: PlacedCell, same_case: Sequence[PlacedCell]) -> Sentence:
    """Say why one of several VMs has no ratio, and what has one."""
    parts = [
        Sentence(
            "One of several VMs is compared with the same system running alone: "
            "there is no such run of this benchmark."
        )
    ]
    alike = {
        other.system_id
        for other in same_case
        if other.scenario == ALONE
        and other.study_id == cell.study_id
        and _product(other) == _product(cell)
    }
    if alike:
        parts.append(
            counted(
                "{n} system of the same hypervisor and guest ran it alone, with "
                "options that this one does not state.",
                "{n} systems of the same hypervisor and guest ran it alone, with "
                "options that this one does not state.",
                n=len(alike),
            )
        )
    wanted = (cell.system_id, cell.study_id, cell.scenario, cell.vms, cell.load)
    together = (
        (other.system_id, other.study_id, other.scenario, other.vms, other.load)
        for other in same_case
        if other.slot == SUM
    )
    if wanted in together:
        parts.append(
            Sentence("The sum of all of them is shown beside the native machine.")
        )
    return joined(parts)


def _product(cell: PlacedCell) -> tuple[Any, ...]:
    """What is the same whatever the options of a system are."""
    system = cell.system
    names = ("host_id", "hypervisor", "hypervisor_version", "guest_os", "guest_bits")
    return tuple(getattr(system, name) for name in names)


def _circumstances(cell: PlacedCell) -> tuple[Any, ...]:
    return (cell.scenario, cell.vms, cell.slot, cell.load)


def _against(
    cell: PlacedCell, baseline: PlacedCell | None, state: str, reason: str
) -> Found:
    found = Found(cell, state, reason)
    metric = known_tool(cell.case.tool).metric(cell.case.metric)
    why_not = no_speed(
        metric,
        cell.case.parameters,
        *(side.extremes for side in (cell, baseline) if side is not None),
        is_guest=not cell.system.is_native,
    )
    if cell.case.better == "neither":
        found.state, found.reason = State.UNDIRECTED, why_not or ""
    elif why_not:
        found.state, found.reason = State.NO_SPEED, why_not
    elif baseline is not None:
        found.baseline = baseline
        better = cast(Better, cell.case.better)
        found.ratio, problem = ratio_of_means(cell.mean, baseline.mean, better)
        found.reason = problem or reason
        # Several VMs together against one machine: that is scaling, no efficiency.
        if cell.slot == SUM != baseline.slot and found.ratio is not None:
            found.state = State.SCALING
    return found
