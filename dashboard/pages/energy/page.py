"""What the energy page of a study shows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.models import Run, Study
from benchmarks.power.logged_energy import MeteredRun, metered_run
from benchmarks.power.meters import (
    Energy,
    EnergyTable,
    MeterReading,
    Refused,
    study_energy,
)
from dashboard.charts.drawings import Drawing
from dashboard.charts.energy import energy_drawing, performance_drawing, power_drawing
from dashboard.kit.addresses import id_in, unmet
from dashboard.pages.energy.logged_page import LoggedPage, logged_page
from dashboard.wording import short_names
from dashboard.wording.energy import answer, log_sentence

MOST_WATTS = 1_000_000
READ_AGAIN = {"power-csv", "watts-up"}


@dataclass(frozen=True)
class Workload:
    """A workload: the answer in a sentence, and its charts."""

    name: str
    slug: int
    answer: str
    drawings: tuple[Drawing, ...]


@dataclass(frozen=True)
class MeterLog:
    """A meter's run whose log can be looked at."""

    run: Run
    workload: str
    is_chosen: bool


@dataclass(frozen=True)
class EnergyPage:
    """The page; ``power`` is the log of the meter's run that was chosen."""

    workloads: tuple[Workload, ...]
    waiting_w: int | None
    has_overruns: bool
    refused: tuple[Refused, ...]
    logs: tuple[MeterLog, ...]
    metered: MeteredRun | None
    power: Drawing | None
    log_sentence: str
    logged: LoggedPage
    is_empty: bool
    unmet: tuple[str, ...] = ()
    """What the address asks for and is not here."""


def energy_page(study: Study, query: Mapping[str, str]) -> EnergyPage:
    """Return the page for a query: ``waiting`` watts, ``run`` and ``work`` to draw."""
    waiting_w = _watts(query.get("waiting", ""))
    found = study_energy(study, waiting_w)
    reading = _chosen(found, id_in(query.get("run", "")))
    metered = metered_run(reading) if reading else None
    logged = logged_page(study, query)
    return EnergyPage(
        workloads=tuple(
            _workload(at, table, waiting_w) for at, table in enumerate(found.tables)
        ),
        waiting_w=waiting_w,
        has_overruns=any(
            each.overrun_s for table in found.tables for each in table.systems
        ),
        refused=found.refused,
        logs=tuple(_logs(found, reading)),
        metered=metered,
        power=power_drawing(metered) if metered else None,
        log_sentence=log_sentence(reading, metered) if reading and metered else "",
        logged=logged,
        is_empty=not found.metered and not logged.rows,
        unmet=unmet(query, {"waiting": waiting_w, "run": reading and reading.run.pk}),
    )


def _watts(text: str) -> int | None:
    is_whole = text.isascii() and text.isdigit() and len(text) < 8
    return min(int(text), MOST_WATTS) if is_whole else None


def _workload(at: int, table: EnergyTable, waiting_w: int | None) -> Workload:
    names = short_names(each.system for each in table.systems)
    drawn = (
        energy_drawing(table, names, waiting_w),
        performance_drawing(table, names),
    )
    return Workload(
        table.workload, at, answer(table, names), tuple(filter(None, drawn))
    )


def _has_log(reading: MeterReading) -> bool:
    """Whether the reading was made from raw output that is worth reading again."""
    is_raw = reading.run.parser_version is not None
    return is_raw and reading.run.tool in READ_AGAIN


def _chosen(found: Energy, wanted: int) -> MeterReading | None:
    logged = [each for each in found.metered if _has_log(each)]
    asked = (each for each in logged if each.run.pk == wanted)
    return next(asked, None) or next(iter(logged), None)


def _logs(found: Energy, chosen: MeterReading | None) -> Iterator[MeterLog]:
    for each in found.metered:
        if _has_log(each):
            is_chosen = chosen is not None and chosen.run.pk == each.run.pk
            yield MeterLog(each.run, each.workload, is_chosen)
