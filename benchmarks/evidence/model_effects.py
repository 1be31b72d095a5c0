"""Effects of guests whose native runs are of other machines of the same model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import Final, Protocol

from benchmarks.analysis.machine_comparability import (
    Load,
    load_of,
    specimen_from_facts,
)
from benchmarks.analysis.machine_models import flagged_models
from benchmarks.models import Case, Effect, Efficiency, System

Exclusion = Effect.Exclusion
ONE_READING: Final = frozenset(
    {"", Exclusion.UNTIMED, Exclusion.NO_INTERVAL, Exclusion.NO_SPREAD}
)
"""Exclusions of repeated runs that do not matter for one reading of a machine."""


class PairedCell(Protocol):
    @property
    def pk(self) -> int: ...
    @property
    def system_id(self) -> int: ...
    @property
    def case_id(self) -> int: ...
    @property
    def mean(self) -> float: ...
    @property
    def state(self) -> str: ...
    @property
    def baseline_id(self) -> int | None: ...
    @property
    def baseline_mean(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class ModelOfCell:
    """The machine model of a cell.

    ``is_flagged``: something probably slowed down its native runs.
    """

    name: str
    provider: str
    load: Load
    is_flagged: bool = False


def models_of_cells(
    cells: Iterable[PairedCell],
    systems: Mapping[int, System],
    cases: Mapping[int, Case],
) -> dict[int, ModelOfCell]:
    """Return the machine models of cells whose baseline is of another machine."""
    paired = [
        cell
        for cell in cells
        if cell.state == Efficiency.State.SAME_MODEL
        and cell.mean > 0
        and (cell.baseline_mean or 0.0) > 0
    ]
    models = {
        cell.pk: _model(systems[cell.system_id], cases[cell.case_id]) for cell in paired
    }
    by_case: dict[tuple[int, Load], list[PairedCell]] = defaultdict(list)
    for cell in paired:
        by_case[cell.case_id, models[cell.pk].load].append(cell)
    for (case_id, load), members in by_case.items():
        sign = 1 if cases[case_id].better == "higher" else -1
        flagged = _flagged(members, models, load, sign)
        for cell in members:
            model = models[cell.pk]
            if model.name in flagged:
                models[cell.pk] = ModelOfCell(model.name, model.provider, load, True)
    return models


def limit_to_other_machines(effect: Effect, model: ModelOfCell | None) -> None:
    """Change an effect whose native runs are of another machine.

    The machine counts as one reading; the spread of machines gives the variance.
    """
    effect.variance = effect.log_low = effect.log_high = None
    effect.doubt = ""
    if model is None:
        effect.log_ratio = None
        return
    effect.machine_model, effect.provider = model.name, model.provider
    if effect.exclusion in ONE_READING:
        effect.exclusion = Exclusion.SINGLE_RUN
    # The scheduler decides which hyperthreads such a benchmark gets.
    if effect.exclusion == Exclusion.SINGLE_RUN and model.load == Load.SOME_CPUS:
        effect.exclusion = Exclusion.PLACEMENT
    if model.is_flagged:
        effect.doubt = Effect.Doubt.FLAGGED


def _flagged(
    cells: Iterable[PairedCell],
    models: Mapping[int, ModelOfCell],
    load: Load,
    sign: int,
) -> set[str]:
    natives: dict[str, dict[int, float]] = defaultdict(dict)
    guests: dict[str, list[float]] = defaultdict(list)
    ratios: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        name = models[cell.pk].name
        native, guest = log(cell.baseline_mean or 1.0), log(cell.mean)
        natives[name][cell.baseline_id or 0] = native
        guests[name].append(guest)
        ratios[name].append(sign * (guest - native))
    native_logs = {name: list(values.values()) for name, values in natives.items()}
    return {flag.model for flag in flagged_models(native_logs, guests, ratios, load)}


def _model(system: System, case: Case) -> ModelOfCell:
    facts = system.host.facts
    specimen = specimen_from_facts(system.host.slug, system.host.lab.name, facts)
    threads = system.vcpus or specimen.threads
    return ModelOfCell(
        specimen.model or f"{specimen.cpu}, {threads} CPUs",
        str(facts.get("provider") or system.host.lab.name),
        load_of(case.component, case.parameters, threads=threads),
    )
