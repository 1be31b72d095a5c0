"""Effects of the options of systems, over all studies that varied them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from django.db.models import Exists, OuterRef

from benchmarks.comparison.comparison_row import (
    BaselineComparison,
    CellFields,
    ComparisonRow,
    State,
    build_row,
)
from benchmarks.comparison.row_queries import (
    ReferenceCells,
    comparison_rows,
    measured_cells,
)
from benchmarks.comparison.setting_changes import (
    ConfiguredSystem,
    OptionChange,
    option_changes,
    reference_pairs,
)
from benchmarks.comparison.study_verdicts import (
    STATES_WITHOUT_SPEED,
    primary_case_ids,
    primary_cases_of_rows,
    study_verdicts,
    verdicts_by_reference,
)
from benchmarks.comparison.system_comparability import ComparabilityCache
from benchmarks.models import Case, Cell, Study, System
from benchmarks.studies.study_cache import StudyCache
from benchmarks.system_options import SystemOption
from benchmarks.viewer import Viewer

DECIDED: Final = ("faster", "slower", "equivalent")
REST_FIELDS: Final = ("host_id", *System.STATED_FIELDS)


@dataclass(frozen=True)
class SettingEffect:
    """A result of a system relative to one whose options differ by ``changes``."""

    study: Study
    reference: System
    row: ComparisonRow
    changes: tuple[OptionChange, ...]

    @property
    def ratio(self) -> float | None:
        return self.row.result.ratio

    @property
    def interval(self) -> tuple[float, float] | None:
        return self.row.result.interval

    @property
    def verdict(self) -> str:
        assessment = self.row.result.assessment
        return assessment.verdict if assessment else "not_assessed"

    def change_of(self, option: SystemOption) -> OptionChange:
        return next(change for change in self.changes if change.option == option)

    def others(self, option: SystemOption) -> tuple[OptionChange, ...]:
        return tuple(change for change in self.changes if change.option != option)


@dataclass(frozen=True)
class OptionEffects:
    """All effects in which an option changed, those with the fewest others first."""

    option: SystemOption
    effects: tuple[SettingEffect, ...]

    @cached_property
    def fewest_others(self) -> int:
        return min(len(effect.changes) for effect in self.effects) - 1

    @cached_property
    def main(self) -> tuple[SettingEffect, ...]:
        """The effects with the fewest other changes."""
        fewest = self.fewest_others + 1
        return tuple(e for e in self.effects if len(e.changes) == fewest)

    @property
    def studies(self) -> tuple[Study, ...]:
        return tuple(
            {effect.study.pk: effect.study for effect in self.effects}.values()
        )

    @property
    def verdict_counts(self) -> Counter[str]:
        return Counter(effect.verdict for effect in self.main)

    def decided_ratios(self, verdict: str) -> list[float]:
        ratios = (e.ratio for e in self.main if e.verdict == verdict)
        return sorted(ratio for ratio in ratios if ratio is not None)


def setting_effects(viewer: Viewer) -> list[SettingEffect]:
    """Return the effects of options in all visible studies.

    A study's named references are used if there are any; otherwise, systems of one
    platform, guest and size that differ in one option are compared.
    """
    measured = Cell.objects.filter(
        study_id=OuterRef("pk"), system_id__isnull=False, n__gt=0
    ).exclude(system__options={})
    studies = Study.objects.visible_to(viewer).filter(Exists(measured), deleted_at=None)
    ordered = list(studies.select_related("lab").order_by("pk"))
    by_study = effects_by_study.results(viewer, ordered)
    return [effect for effects in by_study for effect in effects]


def case_names(effects: Iterable[SettingEffect]) -> dict[int, str]:
    """Return a name for each case: its label and the parameters that distinguish it."""
    cases = {effect.row.case.pk: effect.row for effect in effects}
    groups: dict[str, list[ComparisonRow]] = defaultdict(list)
    for row in cases.values():
        groups[f"{row.tool_title}: {row.case.label}"].append(row)
    names = {}
    for label, rows in groups.items():
        stated = [row.case.parameters for row in rows]
        varying = sorted(
            {
                name
                for parameters in stated
                for name in parameters
                if len({str(other.get(name)) for other in stated}) > 1
            }
        )
        for row in rows:
            texts = [
                f"{name.replace('_', ' ')} {row.case.parameters[name]}"
                for name in varying
                if name in row.case.parameters
            ]
            names[row.case.pk] = ", ".join([label, *texts])
    return names


def effects_by_option(effects: Iterable[SettingEffect]) -> list[OptionEffects]:
    """Put options of the vocabulary first."""
    groups: dict[SystemOption, list[SettingEffect]] = defaultdict(list)
    for effect in effects:
        for change in effect.changes:
            groups[change.option].append(effect)
    return [
        OptionEffects(option, tuple(sorted(group, key=lambda e: len(e.changes))))
        for option, group in sorted(
            groups.items(),
            key=lambda item: (not item[0].explanation, item[0].title.casefold()),
        )
    ]


def _read_effects(study: Study) -> Iterator[SettingEffect]:
    cells = Cell.objects.filter(study=study, n__gt=0).order_by()
    ids = cells.values("system_id").distinct()
    systems = System.objects.filter(pk__in=ids).select_related("host").order_by("pk")
    by_id = {system.pk: system for system in systems if not system.is_native}
    if study.reference_ids & by_id.keys():
        rows = _named_rows(study, by_id)
    else:
        rows = _paired_rows(study, by_id)
    for reference, row in rows:
        options = map(sized_options, (reference, row.system))
        if changes := option_changes(*options):
            yield SettingEffect(study, reference, row, changes)


def _study_effects(study: Study) -> tuple[SettingEffect, ...]:
    return tuple(_read_effects(study))


effects_by_study = StudyCache(_study_effects)


def sized_options(system: System) -> dict[str, str]:
    """Return the options of a system with its number of CPUs and its memory."""
    sizes: dict[str, str] = {}
    if system.vcpus:
        sizes["vcpus"] = str(system.vcpus)
    if system.memory_bytes:
        sizes["memory"] = f"{system.memory_bytes / 2**30:g} GiB"
    return {**sizes, **system.options}


def _pairs(by_id: Mapping[int, System]) -> dict[int, set[int]]:
    """Return the systems to compare with each reference system."""
    configured = [
        ConfiguredSystem(
            pk, system.options, tuple(getattr(system, name) for name in REST_FIELDS)
        )
        for pk, system in by_id.items()
    ]
    systems: dict[int, set[int]] = defaultdict(set)
    for pk, references in reference_pairs(configured).items():
        for reference in references:
            systems[reference].add(pk)
    return systems


def _named_rows(
    study: Study, by_id: Mapping[int, System]
) -> Iterator[tuple[System, ComparisonRow]]:
    """Yield rows with the references that the study names."""
    rows = comparison_rows(
        study,
        systems=by_id.values(),
        filters={"system__in": list(by_id)},
        verdicts=study_verdicts(study, has_near_cases=False),
    )
    primary = primary_cases_of_rows(rows)
    for row in sorted(rows, key=lambda row: row.system.pk):
        reference = by_id.get(study.reference_for(row.system.pk) or 0)
        is_compared = row.result.state == State.AGAINST_REFERENCE
        if reference in (None, row.system) or not is_compared:
            continue
        if row.case.pk in primary:
            yield reference, row


def _paired_rows(
    study: Study, by_id: Mapping[int, System]
) -> Iterator[tuple[System, ComparisonRow]]:
    """Yield rows with the references that differ from their systems in one option."""
    pairs = _pairs(by_id)
    if not pairs:
        return
    guests = {guest for guests in pairs.values() for guest in guests}
    measured, cases = measured_cells(study, n__gt=0, system__in=guests)
    references = ReferenceCells.load_several(study, [by_id[pk] for pk in pairs])
    verdicts = verdicts_by_reference(study, references)
    for pk, reference in references.items():
        comparability = ComparabilityCache(study, by_id, reference)
        own = [
            (fields, stored)
            for fields, stored in measured
            if fields.system_id in pairs[pk]
        ]
        compared = list(_compared(own, cases, by_id, reference))
        primary = primary_case_ids(
            {
                case.pk: case
                for _fields, case, comparison in compared
                if comparison.state not in STATES_WITHOUT_SPEED
            }
        )
        for fields, case, comparison in compared:
            is_compared = comparison.state == State.AGAINST_REFERENCE
            if is_compared and case.pk in primary:
                row = build_row(
                    fields,
                    study,
                    case,
                    by_id[fields.system_id],
                    comparison,
                    verdicts[pk].assessment(fields.pk),
                    comparability.level(fields.system_id, comparison),
                )
                yield reference.system, row


def _compared(
    measured: Iterable[tuple[CellFields, BaselineComparison]],
    cases: Mapping[int, Case],
    by_id: Mapping[int, System],
    reference: ReferenceCells,
) -> Iterator[tuple[CellFields, Case, BaselineComparison]]:
    """Compare the cells whose case the reference has, in the order of their systems."""
    ids = {case_id for case_id, *_ in reference.statistics}
    for fields, stored in sorted(measured, key=lambda item: item[0].system_id):
        if fields.case_id in ids:
            case = cases[fields.case_id]
            host_id = by_id[fields.system_id].host_id
            yield fields, case, reference.compare(fields, case, host_id, stored)
