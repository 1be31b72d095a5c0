"""What the energy page shows of the logs of the machines' meters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from benchmarks import tools
from benchmarks.models import Study
from benchmarks.power.integration import MeteredWork, run_energies
from benchmarks.power.logged_energy import LoggedTable, logged_energy, work_power
from dashboard import wording
from dashboard.charts.drawings import NONE, Drawing, number
from dashboard.charts.energy import performance_drawing, power_drawing
from dashboard.kit.addresses import id_in
from dashboard.pages.energy.logged_drawings import work_drawing
from dashboard.pages.energy.logged_words import answer, notes, remarks
from dashboard.wording import short_names


@dataclass(frozen=True)
class LoggedWorkload:
    """A workload with its charts; ``note`` is what must be known of its meters."""

    name: str
    slug: str
    is_cpu_only: bool
    answer: str
    note: str
    drawings: tuple[Drawing, ...]


@dataclass(frozen=True)
class WorkRow:
    """The energy of one run, or of several that ran together, as a line of a table."""

    key: str
    run_id: int
    name: str
    system: str
    meter: str
    energy: str
    power: str
    per_operation: str
    measured: str
    remark: str
    is_chosen: bool
    is_cpu_only: bool


@dataclass(frozen=True)
class LoggedPage:
    """The part of the page; ``power`` is drawn around the work that was chosen."""

    workloads: tuple[LoggedWorkload, ...]
    rows: tuple[WorkRow, ...]
    power: Drawing | None
    chosen: WorkRow | None
    together: int
    """How many pieces of work are of runs that overlapped."""


def logged_page(study: Study, query: Mapping[str, str]) -> LoggedPage:
    """Return what the logs say, and the power around the ``work`` of the URL."""
    works = run_energies(study)
    names = short_names(work.lead.system for work in works)
    tables = logged_energy(study, works) if works else ()
    chosen = _chosen(works, query.get("work", ""))
    drawn = work_power(chosen) if chosen else None
    rows = tuple(_row(work, names, work is chosen) for work in works)
    return LoggedPage(
        workloads=tuple(_workload(at, each) for at, each in enumerate(tables)),
        rows=rows,
        power=power_drawing(drawn) if drawn else None,
        chosen=next((row for row in rows if row.is_chosen), None),
        together=sum(work.energy.is_shared for work in works),
    )


def _key(work: MeteredWork) -> str:
    return f"{work.lead.pk}-{work.meter.pk}"


def _chosen(works: Sequence[MeteredWork], wanted: str) -> MeteredWork | None:
    """Return the work that the URL names, else the first that was measured."""
    run, _, meter = wanted.partition("-")
    place = (id_in(run), id_in(meter))
    asked = (work for work in works if (work.lead.pk, work.meter.pk) == place)
    good = (work for work in works if work.energy.energy_j is not None)
    return next(asked, None) or next(good, None) or next(iter(works), None)


def _workload(at: int, table: LoggedTable) -> LoggedWorkload:
    names = short_names(each.system for each in table.systems)
    drawn = (work_drawing(table, names), performance_drawing(table, names))
    return LoggedWorkload(
        name=table.workload,
        slug=f"logged-{at}",
        is_cpu_only=table.is_cpu_only,
        answer=answer(table, names),
        note=" ".join(notes(table)),
        drawings=tuple(filter(None, drawn)),
    )


def _row(work: MeteredWork, names: Mapping[int, str], is_chosen: bool) -> WorkRow:
    energy, done = work.energy, work.energy.per_work
    return WorkRow(
        key=_key(work),
        run_id=work.lead.pk,
        name=_name(work),
        system=_systems(work, names),
        meter=work.meter.name,
        energy=number(energy.energy_j, "J"),
        power=number(energy.mean_w, "W"),
        per_operation=number(done.joules_per_operation if done else None, "J"),
        measured=f"{100 * energy.coverage:.3g} %",
        remark=remarks(work),
        is_chosen=is_chosen,
        is_cpu_only=work.meter.is_cpu_only,
    )


def _name(work: MeteredWork) -> str:
    titles = dict.fromkeys(tools.get(run.tool).title for run in work.runs)
    runs = ", ".join(str(run.pk) for run in work.runs)
    return ", ".join([*titles, _("run")]) + f" {runs}"


def _systems(work: MeteredWork, names: Mapping[int, str]) -> str:
    said = (
        names.get(run.system_id) or wording.system_name(run.system) for run in work.runs
    )
    return "; ".join(dict.fromkeys(said)) or NONE
