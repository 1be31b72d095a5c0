"""Cells read as rows: all of a study (`comparison_rows`), or a few of any study."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from django.db.models import Case as Choice
from django.db.models import F, JSONField, Q, QuerySet, When

from benchmarks.analysis.judgement import Judgement, TableRatio
from benchmarks.comparing.lights import NO_PAIR, ChosenSystem, Lights, known_systems
from benchmarks.comparing.row import (
    CIRCUMSTANCES,
    OWN,
    Against,
    ComparisonRow,
    State,
    row_of,
)
from benchmarks.comparing.table import COMPONENTS, rank
from benchmarks.comparing.verdicts import Verdicts
from benchmarks.models import Case, Cell, Study, System
from benchmarks.models.cell import ratio_of_means
from benchmarks.models.run import SCENARIOS
from benchmarks.own_tools.lookup import known_tool
from benchmarks.parsing.contract import Better
from benchmarks.sentences import Sentence, joined
from benchmarks.text import natural
from benchmarks.viewer import Viewer

# Shapes are long: they come only with the few cells that no single figure describes.
SHAPE = Choice(
    When(~Q(shape_codes=""), then=F("shape")), default=None, output_field=JSONField()
)
STORED = (
    *("state", "ratio", "baseline_mean", "baseline_n", "baseline__system", "reason"),
    "baseline__shape_codes",
)
"""What is kept of a cell and its baseline, in the order of `Against`."""


@dataclass(frozen=True)
class Reference(ChosenSystem):
    """What was measured on a system that somebody chose to compare with."""

    measured: Mapping[tuple[Any, ...], tuple[float | None, int, str]]

    @classmethod
    def of(
        cls, study: Study, system: System, *, beside: Study | None = None
    ) -> "Reference":
        """Look up a system's cells of a study to compare with, in one query."""
        cells = Cell.objects.filter(study=study, system=system, n__gt=0)
        names = ("case_id", *CIRCUMSTANCES, "mean", "n", "shape_codes")
        return cls(
            study,
            system,
            {tuple(row[:-3]): row[-3:] for row in cells.values_list(*names)},
            beside=None if beside == study else beside,
        )

    def against(
        self, own: Mapping[str, Any], case: Case, host_id: int, stored: Against
    ) -> Against:
        """Compare a cell's own values with this system's in the same circumstances.

        ``stored`` is the comparison with the cell's own baseline.
        """
        # `verdicts.AGAINST` decides the same in SQL, in this order. Stale and other
        # session are known there only: they stand against the verdict, not against the
        # ratio.
        better = case.better
        if stored.state == State.NO_SPEED:
            return Against(State.NO_SPEED, reason=stored.reason)
        if self.is_itself(own["system_id"]):
            return Against(State.REFERENCE)
        if better == "neither":
            return Against(State.UNDIRECTED)
        place = (own["case_id"], *(own[name] for name in CIRCUMSTANCES))
        if place not in self.measured:
            near = self.near(case, place[1:])
            if near is None:
                nothing = Sentence("The reference has no such result.")
                return Against(State.MISSING, reason=nothing)
            said = near.sentence(is_native=self.system.is_native)
            return Against(near.kind, reason=said)
        mean, n, doubts = self.measured[place]
        ratio, reason = ratio_of_means(own["mean"], mean, cast(Better, better))
        pk, state = self.system.pk, State.RELATIVE
        hosts = self.hosts.get(host_id)
        if hosts is not None and not hosts.is_alike:
            state, reason = State.OTHER_HOST, joined([reason, hosts.sentence])
            if self.is_refused(host_id):
                # Studies of two machines share no more than their natives' ratios.
                ratio = None
        return Against(state, ratio, mean, n, pk, reason, doubts)


class AnnotatedCell(Protocol):
    baseline_system_id: int | None
    baseline_doubts: str | None


@dataclass(frozen=True)
class Facets:
    """What a study's comparison can be narrowed to, each list in a menu's order."""

    scenarios: tuple[str, ...]
    components: tuple[str, ...]
    tools: tuple[tuple[str, str], ...]
    guest_oses: tuple[str, ...]
    guest_bits: tuple[int, ...]
    systems: tuple[System, ...]


def comparison_rows(
    study: Study,
    *,
    systems: Iterable[System],
    filters: Mapping[str, Any],
    reference: Reference | None = None,
    verdicts: Verdicts | None = None,
    told: Mapping[int, TableRatio] | None = None,
) -> list[ComparisonRow]:
    """Return a study's cells of these systems as rows, in two queries.

    With ``verdicts`` every row has a judgement; ``told`` (`Verdicts.ratios`) has the
    ratios that are not those of means, for a table without judgements.
    """
    columns = (*OWN, "doubted_shape", *(f"efficiency__{name}" for name in STORED))
    cells = Cell.objects.filter(study=study, n__gt=0, **filters).order_by("pk")
    measured = list(cells.annotate(doubted_shape=SHAPE).values_list(*columns))
    cases = Case.objects.in_bulk({values[0] for values in measured})
    by_id = {system.pk: system for system in systems}
    # A baseline may be a system of another study.
    place = len(OWN) + 1 + STORED.index("baseline__system")
    others = {values[place] for values in measured}
    others = {reference.system.pk} if reference else others
    known = known_systems(by_id.values(), others)
    lights = Lights(study, known, reference)
    rows = []
    for values in measured:
        # Not strict: behind these stand the values of `STORED`.
        own = dict(zip((*OWN, "shape"), values, strict=False))
        if own["system_id"] not in by_id:
            continue  # stored after these systems were read
        case, (*stored, doubts) = cases[own["case_id"]], values[len(OWN) + 1 :]
        against = Against(*(*stored, doubts or "")) if stored[0] else Against()
        if reference is not None:
            host_id = known[own["system_id"]].host_id
            against = reference.against(own, case, host_id, against)
        rows.append(
            row_of(
                own,
                study,
                case,
                by_id[own["system_id"]],
                against,
                verdicts.of(own["pk"]) if verdicts else None,
                lights.of(own["system_id"], against),
                (told or {}).get(own["pk"]),
            )
        )
    return rows


def compared_cells(
    viewer: Viewer,
    *,
    study: Study | None = None,
    filters: Mapping[str, Any] | None = None,
) -> QuerySet[Cell]:
    """Return visible cells with all that a comparison row needs, in five queries."""
    cells = Cell.objects.visible_to(viewer).filter(n__gt=0, **(filters or {}))
    if study is not None:
        cells = cells.filter(study=study)
    return (
        cells.select_related("efficiency")
        .annotate(
            baseline_system_id=F("efficiency__baseline__system_id"),
            baseline_doubts=F("efficiency__baseline__shape_codes"),
        )
        .prefetch_related("case", "system__host", "study")
        .order_by("pk")
    )


def comparison_row(
    cell: Cell,
    reference: Reference | None = None,
    judgement: Judgement | None = None,
    lights: Lights | None = None,
) -> ComparisonRow:
    """Return a cell as a row, against its own baseline or a chosen reference."""
    own = {name: getattr(cell, name) for name in (*OWN, "shape")}
    against = Against()
    stored = getattr(cell, "efficiency", None)
    if stored is not None:
        annotated = cast(AnnotatedCell, cell)
        against = Against(
            state=stored.state,
            ratio=stored.ratio,
            baseline_value=stored.baseline_mean,
            baseline_n=stored.baseline_n,
            baseline_system_id=annotated.baseline_system_id,
            reason=stored.reason,
            baseline_doubts=annotated.baseline_doubts or "",
        )
    if reference is not None:
        against = reference.against(own, cell.case, cell.system.host_id, against)
    light = lights.of(cell.system_id, against) if lights else NO_PAIR
    return row_of(own, cell.study, cell.case, cell.system, against, judgement, light)


def facets(study: Study) -> Facets:
    """Return what occurs among a study's cells, in two queries."""
    cells = Cell.objects.filter(study=study, n__gt=0).order_by()
    names = ("scenario", "case__component", "case__tool", "system")
    rows = list(cells.values_list(*names).distinct())
    scenarios, components, slugs, ids = (
        {row[column] for row in rows} for column in range(len(names))
    )
    systems = sorted(
        System.objects.filter(pk__in=ids).select_related("host"),
        key=lambda system: (not system.is_native, natural(system.label), system.pk),
    )
    return Facets(
        scenarios=tuple(sorted(scenarios, key=lambda name: rank(SCENARIOS, name))),
        components=tuple(sorted(components, key=lambda name: rank(COMPONENTS, name))),
        tools=tuple((slug, known_tool(slug).title) for slug in sorted(slugs)),
        guest_oses=tuple(sorted({system.guest_os for system in systems} - {""})),
        guest_bits=tuple(
            sorted({system.guest_bits for system in systems if system.guest_bits})
        ),
        systems=tuple(systems),
    )
