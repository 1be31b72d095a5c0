"""The effect of a hypervisor on machines of one model, for one result."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from math import log
from statistics import fmean

from benchmarks.analysis.machine_comparability import (
    Level,
    Load,
    Specimen,
    compare_specimens,
    specimen_from_facts,
)
from benchmarks.analysis.machine_models import ModelEffect, Reading, model_effect
from benchmarks.evidence.model_effects import ModelOfCell, models_of_cells
from benchmarks.models import Cell, CellSession, Efficiency, Host, System


@dataclass(frozen=True, slots=True)
class ModelResult:
    """The effect on machines of one model; ``most_runs`` is per machine."""

    effect: ModelEffect
    provider: str
    most_runs: int
    is_flagged: bool


@dataclass(frozen=True, slots=True)
class _Guest:
    """A guest's cell for `models_of_cells`."""

    pk: int
    system_id: int
    case_id: int
    mean: float
    state: str
    baseline_id: int | None
    baseline_mean: float | None


def model_result(cell: Cell) -> ModelResult | None:
    """Return the effect on machines of the model of a cell.

    Return None unless the native runs are of other machines of the model.
    """
    pairs = Efficiency.objects.filter(
        state=Efficiency.State.SAME_MODEL,
        cell__study=cell.study_id,
        cell__case=cell.case_id,
        cell__scenario=cell.scenario,
    ).select_related("cell")
    guests = [_guest(pair) for pair in pairs]
    systems = System.objects.select_related("host__lab").in_bulk(
        {guest.system_id for guest in guests}
    )
    models = models_of_cells(guests, systems, {cell.case_id: cell.case})
    model = models.get(cell.pk)
    if model is None:
        return None
    alike = [
        guest
        for guest in guests
        if (found := models.get(guest.pk))
        and (found.name, found.provider) == (model.name, model.provider)
        and systems[guest.system_id].platform == cell.system.platform
    ]
    hosts = {guest.pk: systems[guest.system_id].host for guest in alike}
    natives = _natives_of_model(cell, hosts.values(), model)
    numbers = {guest.pk: guest.mean for guest in alike}
    numbers |= {native.pk: native.mean or 0.0 for native in natives}
    means = _session_means(numbers.keys())
    sign = 1 if cell.case.better == "higher" else -1

    def reading(pk: int, host: Host) -> Reading:
        specimen = _specimen(host)
        mean = means.get(pk) or numbers[pk]
        return Reading(host.slug, sign * log(mean), specimen.product_family)

    effect = model_effect(
        model.name,
        [reading(native.pk, native.system.host) for native in natives],
        [reading(guest.pk, hosts[guest.pk]) for guest in alike],
    )
    if effect is None:
        return None
    runs = Cell.objects.filter(pk__in=numbers).values_list("n", flat=True)
    return ModelResult(effect, model.provider, max(runs), model.is_flagged)


def _guest(pair: Efficiency) -> _Guest:
    return _Guest(
        pk=pair.pk,
        system_id=pair.cell.system_id,
        case_id=pair.cell.case_id,
        mean=pair.cell.mean or 0.0,
        state=pair.state,
        baseline_id=pair.baseline_id,
        baseline_mean=pair.baseline_mean,
    )


def _specimen(host: Host) -> Specimen:
    return specimen_from_facts(host.slug, host.lab.name, host.facts)


def _natives_of_model(
    cell: Cell, guest_hosts: Iterable[Host], model: ModelOfCell
) -> list[Cell]:
    """Return native cells that can be compared with one of the guests' machines."""
    natives = Cell.objects.filter(
        study=cell.study_id, case=cell.case_id, scenario=cell.scenario, mean__gt=0
    ).select_related("system__host__lab")
    guests = {_specimen(host) for host in guest_hosts}
    return [
        native
        for native in natives
        if native.system.is_native and _is_alike(native.system.host, guests, model.load)
    ]


def _is_alike(host: Host, guests: Collection[Specimen], load: Load) -> bool:
    native = _specimen(host)
    return any(
        compare_specimens(native, guest, load).level == Level.SAME_MODEL
        for guest in guests
    )


def _session_means(cells: Collection[int]) -> dict[int, float]:
    """Return the mean of the session means of each cell."""
    means: dict[int, list[float]] = {}
    rows = CellSession.objects.filter(cell__in=cells).values_list("cell", "mean")
    for pk, mean in rows:
        means.setdefault(pk, []).append(mean)
    return {pk: fmean(values) for pk, values in means.items()}
