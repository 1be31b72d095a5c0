"""What the energy page of a study shows."""

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.models import Run, Study
from benchmarks.power.logged_energy import MeteredRun, metered_run
from benchmarks.power.meters import EnergyTable, NotAssessed, study_energy
from dashboard.charts.drawings import Drawing
from dashboard.charts.energy import energy_drawing, performance_drawing, power_drawing
from dashboard.kit.addresses import id_in, unmet
from dashboard.pages.energy.logged import LoggedPage, logged_page
from dashboard.wording import short_names
from dashboard.wording.energy import energy_answer, log_sentence

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
    not_assessed: tuple[NotAssessed, ...]
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
    text, waiting_w = query.get("waiting", ""), None
    # Bounded, as int() raises for a text of thousands of digits.
    if text.isascii() and text.isdigit() and len(text) < 8:
        waiting_w = min(int(text), MOST_WATTS)
    energy = study_energy(study, waiting_w)
    # Made from raw output that is worth reading again.
    readable = [
        reading
        for reading in energy.metered
        if reading.run.parser_version is not None and reading.run.tool in READ_AGAIN
    ]
    wanted = id_in(query.get("run", ""))
    named = (reading for reading in readable if reading.run.pk == wanted)
    chosen = next(named, None) or next(iter(readable), None)
    metered = metered_run(chosen) if chosen else None
    logged = logged_page(study, query)
    return EnergyPage(
        workloads=tuple(
            _workload(place, table, waiting_w)
            for place, table in enumerate(energy.tables)
        ),
        waiting_w=waiting_w,
        has_overruns=any(
            system.overrun_s for table in energy.tables for system in table.systems
        ),
        not_assessed=energy.not_assessed,
        logs=tuple(
            MeterLog(reading.run, reading.workload, is_chosen=reading is chosen)
            for reading in readable
        ),
        metered=metered,
        power=power_drawing(metered) if metered else None,
        log_sentence=log_sentence(chosen, metered) if chosen and metered else "",
        logged=logged,
        is_empty=not energy.metered and not logged.rows,
        unmet=unmet(query, {"waiting": waiting_w, "run": chosen and chosen.run.pk}),
    )


def _workload(place: int, table: EnergyTable, waiting_w: int | None) -> Workload:
    names = short_names(system.system for system in table.systems)
    charts = (
        energy_drawing(table, names, waiting_w),
        performance_drawing(table, names),
    )
    drawings = tuple(filter(None, charts))
    return Workload(table.workload, place, energy_answer(table, names), drawings)
