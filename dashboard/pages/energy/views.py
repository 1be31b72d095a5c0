"""What the energy page of a study shows."""

from collections.abc import Mapping
from itertools import starmap
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.models import Study
from benchmarks.own_tools.lookup import known_tool
from benchmarks.power.energy_tables import EnergyTable, study_energy
from benchmarks.power.logged_energy import (
    LoggedSystem,
    LoggedTable,
    MeteredWork,
    logged_energy,
    metered_run,
    run_energies,
    work_power,
)
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.bars import bar_chart
from dashboard.charts.energy import energy_drawing, performance_drawing, power_drawing
from dashboard.kit import figures
from dashboard.kit.addresses import STUDY, id_in, unmet
from dashboard.kit.document import Drawing, Row, columns
from dashboard.kit.kept import kept_study_page, study_view
from dashboard.kit.routes import UOC, Tab, page
from dashboard.wording import NONE, in_unit, short_names, shown_ratio
from dashboard.wording.energy import energy_answer, log_sentence, share_text
from dashboard.wording.verdicts import joules_interval


def logged_page(study: Study, query: Mapping[str, str]) -> dict[str, Any]:
    """Return what the logs say, and the power around the chosen or first work."""
    works = run_energies(study)
    names = short_names(work.lead.system for work in works)
    tables = logged_energy(study, works) if works else ()
    run, _dash, meter = query.get("work", "").partition("-")
    wanted = (id_in(run), id_in(meter))
    named = (work for work in works if (work.lead.pk, work.meter.pk) == wanted)
    measured = (work for work in works if work.energy.energy_j is not None)
    chosen = next(named, None) or next(measured, None) or next(iter(works), None)
    drawn = work_power(chosen) if chosen else None
    rows = tuple(_row(work, names, work is chosen) for work in works)
    return {
        "workloads": list(starmap(_metered_workload, enumerate(tables))),
        "rows": rows,
        "power": power_drawing(drawn) if drawn else None,
        "chosen": next((row for row in rows if row["is_chosen"]), None),
        "together": sum(work.energy.is_shared for work in works),
    }


def _row(
    work: MeteredWork, names: Mapping[int, str], is_chosen: bool
) -> dict[str, Any]:
    energy, per_work = work.energy, work.energy.per_work
    titles = dict.fromkeys(known_tool(run.tool).title for run in work.runs)
    runs = ", ".join(str(run.pk) for run in work.runs)
    systems = dict.fromkeys(
        names.get(run.system_id) or wording.system_name(run.system) for run in work.runs
    )
    return {
        "key": f"{work.lead.pk}-{work.meter.pk}",
        "run_id": work.lead.pk,
        "name": ", ".join([*titles, _("run")]) + f" {runs}",
        "system": "; ".join(systems) or NONE,
        "meter": work.meter.name,
        "energy": in_unit(energy.energy_j, "J"),
        "power": in_unit(energy.mean_w, "W"),
        "per_operation": in_unit(
            per_work.joules_per_operation if per_work else None, "J"
        ),
        "measured": f"{100 * energy.coverage:.3g} %",
        "remark": wording.said(work.sentence),
        "is_chosen": is_chosen,
        "is_cpu_only": work.meter.is_cpu_only,
    }


def _metered_workload(place: int, table: LoggedTable) -> dict[str, Any]:
    names = short_names(system.system for system in table.systems)
    # The first is the one that all others are compared with.
    base, *others = table.systems
    others.sort(key=lambda system: -(system.ratio.ratio if system.ratio else 0.0))
    sentences = (_answer(system, base, names) for system in others)
    charts = (_work_drawing(table, names), performance_drawing(table, names))
    notes = []
    if table.is_cpu_only:
        notes.append(
            _(
                "CPU only: the processors' own counters (RAPL), which see no supply, "
                "disk or fan. Never compare them with power from the wall."
            )
        )
    if unmeasured := sum(system.unmeasured for system in table.systems):
        note = ngettext(
            "Of %(n)s run too little was measured; it is left out.",
            "Of %(n)s runs too little was measured; they are left out.",
            unmeasured,
        )
        notes.append(note % {"n": unmeasured})
    return {
        "name": table.workload,
        "slug": f"logged-{place}",
        "is_cpu_only": table.is_cpu_only,
        "answer": " ".join(filter(None, sentences)),
        "note": " ".join(notes),
        "drawings": tuple(filter(None, charts)),
    }


def _answer(system: LoggedSystem, base: LoggedSystem, names: Mapping[int, str]) -> str:
    energy = system.ratio
    if energy is None or not energy.ratio:
        return ""
    if system.joules_per_operation is not None:
        text = _(
            "“%(system)s” takes %(share)s energy per operation than “%(reference)s”"
        )
    else:
        text = _(
            "“%(system)s” takes %(share)s energy for the work than “%(reference)s”"
        )
    text %= {
        "system": names[system.system.pk],
        "reference": names[base.system.pk],
        "share": share_text(energy.ratio),
    }
    interval = joules_interval(energy)
    if energy.low is None or energy.high is None:
        return f"{text}. {interval}"
    runs = _("%(n)s runs against %(base)s") % {"n": system.n, "base": base.n}
    told = [f"{figures.ratio(energy.ratio, energy.interval)} {interval}", runs]
    if energy.scope:
        told.append(wording.said(energy.scope))
    text = f"{text} ({', '.join(told)})."
    if energy.is_across_days:
        return _(
            "%(text)s Each side ran in sessions of its own: how much these differ "
            "is not known."
        ) % {"text": text}
    tie = _("That may be chance.") if energy.low <= 1 <= energy.high else ""
    return f"{text} {tie}".rstrip()


def _work_drawing(workload: LoggedTable, names: Mapping[int, str]) -> Drawing:
    systems = workload.systems
    is_counted = all(system.joules_per_operation is not None for system in systems)
    if is_counted:
        above: list[float | None] = []
        for system in systems:
            above_j, whole_j = system.above_idle_j, system.energy_j
            # Idle power is a mean of other minutes: light work may take less.
            above.append(
                (system.joules_per_operation or 0.0) * max(above_j, 0.0) / whole_j
                if above_j is not None and whole_j
                else None
            )
        costs = [system.joules_per_operation for system in systems]
        bars = [(_("J per operation"), costs), (_("of it above idle"), above)]
    else:
        bars = [
            (_("energy of the work"), [system.energy_j for system in systems]),
            (_("of it above idle"), [system.above_idle_j for system in systems]),
        ]
    return Drawing(
        slug="logged",
        title=_("J per operation") if is_counted else _("Energy of the work"),
        note=_("Integrated over the window of each run; then the mean of the runs."),
        figure=bar_chart(
            [names[system.system.pk] for system in systems],
            [series for series in bars if any(series[1])],
            axis_title="J",
            mode="group",
        ),
        **columns([_work_row(system, names) for system in systems]),
    )


def _work_row(it: LoggedSystem, names: Mapping[int, str]) -> Row:
    runs = str(it.n)
    if it.unmeasured:
        runs = _("%(n)s of %(all)s") % {"n": it.n, "all": len(it.works)}
    return (
        (_("System"), names[it.system.pk]),
        (_("Runs"), runs),
        (_("J per operation"), in_unit(it.joules_per_operation, "J")),
        (_("Ratio"), shown_ratio(it.ratio.ratio if it.ratio else None)),
        (_("95\N{NO-BREAK SPACE}% interval"), joules_interval(it.ratio)),
        (_("Energy of the work"), in_unit(it.energy_j, "J")),
        (_("Above idle"), in_unit(it.above_idle_j, "J")),
        (_("Work took"), in_unit(it.work_s, "s")),
        (_("Mean power"), in_unit(it.mean_w, "W")),
        (_("Idle power"), in_unit(it.idle_w, "W")),
        (_("Operations per J"), in_unit(it.operations_per_joule, "1/J")),
        (_("Energy-delay product"), in_unit(it.energy_delay_js, "Js")),
        (_("Meter"), it.meter.name),
    )


MOST_WATTS = 1_000_000
READ_AGAIN = {"power-csv", "watts-up"}


def energy_page(
    _viewer: Viewer, study: Study, query: Mapping[str, str]
) -> dict[str, Any]:
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
    return {
        "workloads": tuple(
            _workload(place, table, waiting_w)
            for place, table in enumerate(energy.tables)
        ),
        "waiting_w": waiting_w,
        "has_overruns": any(
            system.overrun_s for table in energy.tables for system in table.systems
        ),
        "not_assessed": energy.not_assessed,
        "logs": tuple(
            {
                "run": reading.run,
                "workload": reading.workload,
                "is_chosen": reading is chosen,
            }
            for reading in readable
        ),
        "metered": metered,
        "power": power_drawing(metered) if metered else None,
        "log_sentence": log_sentence(chosen, metered) if chosen and metered else "",
        "logged": logged,
        "is_empty": not energy.metered and not logged["rows"],
        "unmet": unmet(query, {"waiting": waiting_w, "run": chosen and chosen.run.pk}),
    }


def _workload(place: int, table: EnergyTable, waiting_w: int | None) -> dict[str, Any]:
    names = short_names(system.system for system in table.systems)
    charts = (
        energy_drawing(table, names, waiting_w),
        performance_drawing(table, names),
    )
    return {
        "name": table.workload,
        "slug": place,
        "answer": energy_answer(table, names),
        "drawings": tuple(filter(None, charts)),
    }


urlpatterns = [
    page(
        f"{STUDY}energy/",
        kept_study_page(study_view("energy/energy.html", energy_page)),
        "energy",
        walked=(f"{UOC}energy/",),
        ids=("run={run}",),
        tab=Tab(gettext_lazy("Energy"), 40, needs="has_energy"),
    ),
]
