"""Effects of the options of systems, over all studies that varied them."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

from django.db.models import Exists, OuterRef

from benchmarks.comparison.comparison_row import ComparisonRow, State
from benchmarks.comparison.row_queries import ReferenceCells, comparison_rows
from benchmarks.comparison.setting_changes import (
    ConfiguredSystem,
    OptionChange,
    option_changes,
    reference_pairs,
)
from benchmarks.comparison.study_verdicts import primary_cases_of_rows, study_verdicts
from benchmarks.models import Cell, Study, System
from benchmarks.studies.data_versions import rollup_change_counts
from benchmarks.system_options import SystemOption
from benchmarks.viewer import Viewer

DECIDED: Final = ("faster", "slower", "equivalent")
MAX_CACHED_STUDIES: Final = 128
STUDY_FIELDS: Final = (
    *("slug", "title", "author", "data_licence", "lab", "reference_system_id"),
    *("system_references", "equivalence_margin_percent", "sources"),
)
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
    counts = rollup_change_counts()
    found: list[SettingEffect] = []
    for study in studies.select_related("lab").order_by("pk"):
        version = counts.version([[study.pk, study.lab_id]])
        stated = tuple(str(getattr(study, name)) for name in STUDY_FIELDS)
        found += _study_effects(study, (version, *stated))
    return found


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
    """Group effects by each option that changed, those of the vocabulary first."""
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


@lru_cache(maxsize=MAX_CACHED_STUDIES)
def _study_effects(study: Study, _version: Hashable) -> tuple[SettingEffect, ...]:
    return tuple(_read_effects(study))


def _read_effects(study: Study) -> Iterator[SettingEffect]:
    cells = Cell.objects.filter(study=study, n__gt=0).order_by()
    ids = cells.values("system_id").distinct()
    systems = System.objects.filter(pk__in=ids).select_related("host").order_by("pk")
    by_id = {system.pk: system for system in systems if not system.is_native}
    if study.reference_ids & by_id.keys():
        measured = _rows(study, list(by_id.values()))
        references = [
            (pk, by_id[reference], measured)
            for pk in by_id
            if (reference := study.reference_for(pk)) in by_id and reference != pk
        ]
    else:
        references = []
        for reference, guests in _pairs(by_id).items():
            rows = _rows(study, guests, by_id[reference])
            references += [(guest.pk, by_id[reference], rows) for guest in guests]
    for pk, system, rows in references:
        changes = option_changes(sized_options(system), sized_options(by_id[pk]))
        for row in rows if changes else ():
            is_compared = row.result.state == State.AGAINST_REFERENCE
            if is_compared and row.system.pk == pk:
                yield SettingEffect(study, system, row, changes)


def sized_options(system: System) -> dict[str, str]:
    """Return the options of a system with its number of CPUs and its memory."""
    sizes: dict[str, str] = {}
    if system.vcpus:
        sizes["vcpus"] = str(system.vcpus)
    if system.memory_bytes:
        sizes["memory"] = f"{system.memory_bytes / 2**30:g} GiB"
    return {**sizes, **system.options}


def _pairs(by_id: Mapping[int, System]) -> dict[int, list[System]]:
    """Return the systems to compare with each reference system."""
    configured = [
        ConfiguredSystem(
            pk, system.options, tuple(getattr(system, name) for name in REST_FIELDS)
        )
        for pk, system in by_id.items()
    ]
    systems: dict[int, list[System]] = defaultdict(list)
    for pk, references in reference_pairs(configured).items():
        for reference in references:
            systems[reference].append(by_id[pk])
    return systems


def _rows(
    study: Study, systems: Sequence[System], reference: System | None = None
) -> list[ComparisonRow]:
    filters: dict[str, Any] = {"system__in": systems}
    cells = None
    if reference is not None:
        cells = ReferenceCells.load(study, reference)
        filters["case__in"] = {case_id for case_id, *_ in cells.statistics}
    rows = comparison_rows(
        study,
        systems=systems,
        filters=filters,
        reference=cells,
        verdicts=study_verdicts(study, reference, has_near_cases=False),
    )
    primary = primary_cases_of_rows(rows)
    return [row for row in rows if row.case.pk in primary]
