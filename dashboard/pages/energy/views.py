from collections.abc import Mapping
from itertools import starmap
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.custom_tools.lookup import require_tool
from benchmarks.models import Study
from benchmarks.power.logged_energy import (
    LoggedSystem,
    LoggedTable,
    MeteredWork,
    logged_energy,
    metered_run,
    run_energies,
    work_power,
)
from benchmarks.power.printed_energy import EnergyTable, study_energy
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.charts.bars_and_lines import bar_chart
from dashboard.charts.energy import (
    power_log_chart,
    power_performance_chart,
    printed_energy_chart,
)
from dashboard.kit import formatting
from dashboard.kit.page_cache import cached_study_page, study_view
from dashboard.kit.report_elements import ChartWithTable, TextRow, table_columns
from dashboard.kit.routes import KVM_STUDY, Tab, page
from dashboard.kit.url_parts import STUDY_PATH, ignored_parameters, parse_id
from dashboard.wording import DASH, ratio_or_dash, short_system_names, value_with_unit
from dashboard.wording.energy import energy_summary, log_sentence, relative_energy_text
from dashboard.wording.verdicts import energy_interval_text


def power_log_context(study: Study, query: Mapping[str, str]) -> dict[str, Any]:
    works = run_energies(study)
    names = short_system_names(work.lead_run.system for work in works)
    tables = logged_energy(study, works) if works else ()
    run, _dash, meter = query.get("work", "").partition("-")
    key = (parse_id(run), parse_id(meter))
    matching = (work for work in works if (work.lead_run.pk, work.meter.pk) == key)
    measured = (work for work in works if work.energy.energy_j is not None)
    chosen = next(matching, None) or next(measured, None) or next(iter(works), None)
    metered = work_power(chosen) if chosen else None
    rows = tuple(_row(work, names, work is chosen) for work in works)
    return {
        "workloads": list(starmap(_metered_workload, enumerate(tables))),
        "rows": rows,
        "power": power_log_chart(metered) if metered else None,
        "chosen": next((row for row in rows if row["is_chosen"]), None),
        "together": sum(work.energy.is_shared for work in works),
    }


def _row(
    work: MeteredWork, names: Mapping[int, str], is_chosen: bool
) -> dict[str, Any]:
    energy, per_work = work.energy, work.energy.per_work
    titles = dict.fromkeys(require_tool(run.tool).title for run in work.runs)
    runs = ", ".join(str(run.pk) for run in work.runs)
    systems = dict.fromkeys(
        names.get(run.system_id) or wording.system_name(run.system) for run in work.runs
    )
    return {
        "key": f"{work.lead_run.pk}-{work.meter.pk}",
        "run_id": work.lead_run.pk,
        "name": ", ".join([*titles, _("run")]) + f" {runs}",
        "system": "; ".join(systems) or DASH,
        "meter": work.meter.name,
        "energy": value_with_unit(energy.energy_j, "J"),
        "power": value_with_unit(energy.mean_w, "W"),
        "per_operation": value_with_unit(
            per_work.joules_per_operation if per_work else None, "J"
        ),
        "measured": formatting.percent(energy.coverage, ".3g"),
        "remark": wording.translate_text(work.sentence),
        "is_chosen": is_chosen,
        "is_cpu_only": work.meter.is_cpu_only,
    }


def _metered_workload(index: int, table: LoggedTable) -> dict[str, Any]:
    names = short_system_names(system.system for system in table.systems)
    base, *others = table.systems
    others.sort(key=lambda system: -(system.ratio.ratio if system.ratio else 0.0))
    sentences = (_comparison_sentence(system, base, names) for system in others)
    charts = (_work_chart(table, names), power_performance_chart(table, names))
    notes = []
    if table.is_cpu_only:
        notes.append(
            _(
                "CPU only: measured by the processors' own counters (RAPL), which "
                "do not include the power supply, disks or fans. Never compare "
                "these values with power measured at the wall."
            )
        )
    if unmeasured := sum(system.unmeasured_run_count for system in table.systems):
        note = ngettext(
            "%(n)s run is excluded because its power was recorded for too small a "
            "part of it.",
            "%(n)s runs are excluded because their power was recorded for too small "
            "a part of them.",
            unmeasured,
        )
        notes.append(note % {"n": unmeasured})
    return {
        "name": table.workload,
        "slug": f"logged-{index}",
        "is_cpu_only": table.is_cpu_only,
        "summary": " ".join(filter(None, sentences)),
        "note": " ".join(notes),
        "charts": tuple(filter(None, charts)),
    }


def _comparison_sentence(
    system: LoggedSystem, base: LoggedSystem, names: Mapping[int, str]
) -> str:
    energy = system.ratio
    if energy is None or not energy.ratio:
        return ""
    if system.joules_per_operation is not None:
        text = _(
            "“%(system)s” uses %(share)s energy per operation than “%(reference)s”"
        )
    else:
        text = _("“%(system)s” uses %(share)s energy for the work than “%(reference)s”")
    text %= {
        "system": names[system.system.pk],
        "reference": names[base.system.pk],
        "share": relative_energy_text(energy.ratio),
    }
    interval = energy_interval_text(energy)
    if energy.low is None or energy.high is None:
        return f"{text}. {interval}"
    runs = _("%(n)s runs vs. %(base)s") % {"n": system.n, "base": base.n}
    texts = [f"{formatting.ratio(energy.ratio, energy.interval)} {interval}", runs]
    if energy.scope:
        texts.append(wording.translate_text(energy.scope))
    text = f"{text} ({', '.join(texts)})."
    if energy.is_across_sessions:
        return _(
            "%(text)s The two systems ran in different sessions, and the variation "
            "between these sessions is unknown."
        ) % {"text": text}
    tie = (
        _("The difference may be due to chance.")
        if energy.low <= 1 <= energy.high
        else ""
    )
    return f"{text} {tie}".rstrip()


def _work_chart(workload: LoggedTable, names: Mapping[int, str]) -> ChartWithTable:
    systems = workload.systems
    is_counted = all(system.joules_per_operation is not None for system in systems)
    if is_counted:
        above_idle: list[float | None] = []
        for system in systems:
            above_j, whole_j = system.above_idle_j, system.energy_j
            # Idle power is measured at another time, so light work may use less.
            above_idle.append(
                (system.joules_per_operation or 0.0) * max(above_j, 0.0) / whole_j
                if above_j is not None and whole_j
                else None
            )
        costs = [system.joules_per_operation for system in systems]
        bars = [(_("Energy per operation"), costs), (_("above idle"), above_idle)]
    else:
        bars = [
            (_("energy of the work"), [system.energy_j for system in systems]),
            (_("above idle"), [system.above_idle_j for system in systems]),
        ]
    return ChartWithTable(
        slug="logged",
        title=_("Energy per operation") if is_counted else _("Energy of the work"),
        note=_(
            "Power is integrated over each run; the energies are averaged over the "
            "runs."
        ),
        chart=bar_chart(
            [names[system.system.pk] for system in systems],
            [series for series in bars if any(series[1])],
            axis_title="J",
            mode="group",
        ),
        **table_columns([_work_row(system, names) for system in systems]),
    )


def _work_row(logged: LoggedSystem, names: Mapping[int, str]) -> TextRow:
    runs = str(logged.n)
    if logged.unmeasured_run_count:
        runs = _("%(n)s of %(all)s") % {"n": logged.n, "all": len(logged.metered_works)}
    return (
        (_("System"), names[logged.system.pk]),
        (_("Runs"), runs),
        (_("Energy per operation"), value_with_unit(logged.joules_per_operation, "J")),
        (_("Ratio"), ratio_or_dash(logged.ratio.ratio if logged.ratio else None)),
        (_("95% CI"), energy_interval_text(logged.ratio)),
        (_("Energy of the work"), value_with_unit(logged.energy_j, "J")),
        (_("Energy above idle"), value_with_unit(logged.above_idle_j, "J")),
        (_("Duration of the work"), value_with_unit(logged.work_s, "s")),
        (_("Mean power"), value_with_unit(logged.mean_w, "W")),
        (_("Idle power"), value_with_unit(logged.idle_w, "W")),
        (
            _("Operations per joule"),
            value_with_unit(logged.operations_per_joule, "1/J"),
        ),
        (_("Energy-delay product"), value_with_unit(logged.energy_delay_js, "Js")),
        (_("Meter"), logged.meter.name),
    )


MAX_IDLE_W = 1_000_000
POWER_LOG_TOOLS = {"power-csv", "watts-up"}


def energy_page(
    _viewer: Viewer, study: Study, query: Mapping[str, str]
) -> dict[str, Any]:
    text, waiting_w = query.get("idle_w", ""), None
    if text.isascii() and text.isdigit() and len(text) < 8:
        waiting_w = min(int(text), MAX_IDLE_W)
    energy = study_energy(study, waiting_w)
    # Only logs that were uploaded as raw output can be parsed again for the chart.
    readable = [
        reading
        for reading in energy.readings
        if reading.run.parser_version is not None
        and reading.run.tool in POWER_LOG_TOOLS
    ]
    run_id = parse_id(query.get("run", ""))
    matching = (reading for reading in readable if reading.run.pk == run_id)
    chosen = next(matching, None) or next(iter(readable), None)
    metered = metered_run(chosen) if chosen else None
    logged = power_log_context(study, query)
    return {
        "workloads": tuple(
            _workload(index, table, waiting_w)
            for index, table in enumerate(energy.tables)
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
        "power": power_log_chart(metered) if metered else None,
        "log_sentence": log_sentence(chosen, metered) if chosen and metered else "",
        "logged": logged,
        "is_empty": not energy.readings and not logged["rows"],
        "ignored_parameters": ignored_parameters(
            query, {"idle_w": waiting_w, "run": chosen and chosen.run.pk}
        ),
    }


def _workload(index: int, table: EnergyTable, waiting_w: int | None) -> dict[str, Any]:
    names = short_system_names(system.system for system in table.systems)
    charts = (
        printed_energy_chart(table, names, waiting_w),
        power_performance_chart(table, names),
    )
    return {
        "name": table.workload,
        "slug": index,
        "summary": energy_summary(table, names),
        "charts": tuple(filter(None, charts)),
    }


urlpatterns = [
    page(
        f"{STUDY_PATH}energy/",
        cached_study_page(study_view("energy/energy.html", energy_page)),
        "energy",
        example_urls=(f"{KVM_STUDY}energy/",),
        id_queries=("run={run}",),
        tab=Tab(gettext_lazy("Energy"), 40, required_attribute="has_energy"),
    ),
]
