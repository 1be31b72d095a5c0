"""Start-up times: distributions without a native side, over all studies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.order_statistics import Quantile, distribution_function
from benchmarks.comparison.start_times import (
    QUANTILES,
    StartGroup,
    medians_by_concurrency,
    reference_rows,
    start_groups,
)
from benchmarks.models import System
from dashboard import wording
from dashboard.charts.bars_and_lines import curve_points, sweep_plot
from dashboard.charts.distribution import distribution_plot
from dashboard.exports.record_files import record_file, record_file_links
from dashboard.kit import formatting
from dashboard.kit.chips import Chip, ChipRow
from dashboard.kit.page_cache import PageContent, cached_page
from dashboard.kit.report_elements import ChartWithTable
from dashboard.kit.routes import page
from dashboard.kit.study_sources import sources_of_studies
from dashboard.kit.url_parts import ignored_parameters, parse_id, query_string
from dashboard.kit.viewers import query_params, viewer_of
from dashboard.wording import DASH, verdicts

FIELDS: Final = (
    *("study", "lab", "data_licence", "host", "method", "started_at_once"),
    *("system", "starts", "quantile", "value", "low", "high", "unit", "cell"),
)


@cached_page
def show_start_times(request: HttpRequest) -> PageContent:
    query = query_params(request)
    groups = start_groups(viewer_of(request))
    context = {
        "page": start_times_page(groups, query),
        "files": record_file_links("start-times-file") if groups else (),
    }
    return PageContent("start_times/start_times.html", context)


def start_times_page(
    groups: Sequence[StartGroup], query: Mapping[str, str]
) -> dict[str, Any]:
    default = max(
        groups, key=lambda group: (len(group.samples), -(group.vms or 1)), default=None
    )
    chosen = next((g for g in groups if g.key == query.get("group")), default)
    if chosen is None:
        return {"answer": _("No start-up times have been measured yet.")}
    systems = [sample.system for sample in chosen.samples]
    wanted = parse_id(query.get("reference", ""))
    reference = next(
        (system for system in systems if system.pk == wanted),
        chosen.default_reference(),
    )
    names = wording.short_system_names(systems)
    shown = {
        "group": chosen.key,
        **({"reference": str(reference.pk)} if reference and wanted else {}),
    }
    return {
        "answer": _answer(chosen, names),
        "title": _group_title(chosen),
        "chart": _distribution_chart(chosen, names),
        "rows": _rows(chosen, reference, names),
        "reference": names[reference.pk] if reference else "",
        "concurrency": _concurrency_chart(
            [group for group in groups if group.family == chosen.family]
        ),
        "choices": _choices(groups, chosen, reference, names),
        "has_containers": len({s.virtualization == "container" for s in systems}) > 1,
        "sources": sources_of_studies(group.study for group in groups),
        "ignored_parameters": ignored_parameters(query, shown),
    }


def _answer(group: StartGroup, names: Mapping[int, str]) -> str:
    ranked = sorted(group.samples, key=lambda sample: sample.median)
    first, last = ranked[0], ranked[-1]
    values = {
        "first": names[first.system.pk],
        "host": group.host.slug,
        "count": _at_once(group),
        "median": _time(first.quantiles[0], group),
        "last": names[last.system.pk],
        "slow": _time(last.quantiles[0], group),
        "tail": _time(first.quantiles[2], group),
        "n": len(first.values),
    }
    if len(ranked) == 1:
        text = _("%(first)s starts in %(median)s (median of %(n)s starts, %(count)s).")
        return text % values
    text = _(
        "On %(host)s, %(count)s, %(first)s has the lowest median, %(median)s (p99 "
        "%(tail)s, %(n)s starts), and %(last)s the highest, %(slow)s."
    )
    return text % values


def _distribution_chart(group: StartGroup, names: Mapping[int, str]) -> ChartWithTable:
    values = [value for sample in group.samples for value in sample.values]
    factor, unit = formatting.readable_unit(group.case.unit, values)
    ranked = sorted(group.samples, key=lambda sample: sample.median)
    chart = distribution_plot(
        [
            (
                names[sample.system.pk],
                [
                    (formatting.scaled(value, factor), share)
                    for value, share in distribution_function(sample.values)
                ],
            )
            for sample in ranked
        ],
        titles=(
            _("start-up time (%(unit)s)") % {"unit": unit},
            _("share of starts up to this time"),
        ),
        quantiles=((0.5, _("median")), (0.9, "p90"), (0.99, "p99")),
    )
    return ChartWithTable(
        "starts",
        _("Distribution of start-up times"),
        _("Further left is faster; a steep line varies little."),
        chart,
        (_("System"), _("Starts"), _("Median"), "p90", "p99"),
        tuple(
            (
                names[sample.system.pk],
                str(len(sample.values)),
                *(_time(found, group) for found in sample.quantiles),
            )
            for sample in ranked
        ),
    )


def _rows(
    group: StartGroup, reference: System | None, names: Mapping[int, str]
) -> list[dict[str, Any]]:
    compared = reference_rows(group, reference) if reference else {}
    rows = []
    for sample in sorted(group.samples, key=lambda sample: sample.median):
        row = compared.get(sample.cell_id)
        is_reference = reference is not None and sample.system.pk == reference.pk
        assessment = row.result.assessment if row else None
        reasons = (
            [wording.translate_text(text) for text in row.result.verdict_reasons[:1]]
            if row and assessment and not assessment.is_assessed
            else []
        )
        study = group.study
        rows.append(
            {
                "name": names[sample.system.pk],
                "url": reverse(
                    "dashboard:cell",
                    args=[study.lab.slug, study.slug, sample.cell_id],
                ),
                "n": len(sample.values),
                "quantiles": [
                    (_time(found, group), _interval(found, group))
                    for found in sample.quantiles
                ],
                "ratio": _("reference")
                if is_reference
                else (row and verdicts.ratio_text(row, ""))
                or (row and verdicts.ratio_range_text(row, ""))
                or DASH,
                "interval": ""
                if is_reference or row is None
                else verdicts.displayed_interval(row, ""),
                "verdict": ""
                if is_reference or assessment is None
                else verdicts.verdict_text(assessment),
                "reason": "" if is_reference else " ".join(reasons),
            }
        )
    return rows


def _concurrency_chart(groups: Sequence[StartGroup]) -> ChartWithTable | None:
    lines = medians_by_concurrency(groups)
    if not lines:
        return None
    systems = [line[0][1].system for line in lines.values()]
    names = wording.short_system_names(systems)
    counts = sorted({vms for line in lines.values() for vms, _sample in line})
    medians = [sample.median for line in lines.values() for _vms, sample in line]
    unit = groups[0].case.unit
    factor, readable = formatting.readable_unit(unit, medians)

    def scaled(value: float | None) -> float | None:
        return None if value is None else formatting.scaled(value, factor)

    curves = [
        curve_points(
            names[pk],
            index,
            [
                (
                    float(vms),
                    formatting.scaled(sample.median, factor),
                    scaled(sample.quantiles[0].low),
                    scaled(sample.quantiles[0].high),
                    f"{names[pk]}, {vms}: {_time(sample.quantiles[0], groups[0])}",
                )
                for vms, sample in line
            ],
            is_native=False,
        )
        for index, (pk, line) in enumerate(lines.items())
    ]
    chart = sweep_plot(
        curves,
        [(float(vms), str(vms)) for vms in counts],
        titles=(_("started at once"), _("median (%(unit)s)") % {"unit": readable}),
        is_log=(True, False),
    )
    rows = []
    for pk, line in lines.items():
        texts = {vms: _time(sample.quantiles[0], groups[0]) for vms, sample in line}
        rows.append((names[pk], *(texts.get(vms, DASH) for vms in counts)))
    return ChartWithTable(
        "at-once",
        _("Median over the number started at once"),
        _("Serial starts are 1. Bars are 95% intervals of the median."),
        chart,
        (_("System"), *map(str, counts)),
        tuple(rows),
    )


def _choices(
    groups: Sequence[StartGroup],
    chosen: StartGroup,
    reference: System | None,
    names: Mapping[int, str],
) -> list[ChipRow]:
    firsts = {group.family: group for group in reversed(groups)}
    families = [
        Chip(
            _family_title(firsts[family]),
            query_string({"group": firsts[family].key}).removeprefix("?"),
            family == chosen.family,
        )
        for family in dict.fromkeys(group.family for group in groups)
    ]
    counts = [
        Chip(
            _at_once(group),
            query_string({"group": group.key}).removeprefix("?"),
            group is chosen,
        )
        for group in groups
        if group.family == chosen.family
    ]
    systems = [
        Chip(
            names[sample.system.pk],
            query_string(
                {"group": chosen.key, "reference": str(sample.system.pk)}
            ).removeprefix("?"),
            sample.system == reference,
        )
        for sample in chosen.samples
    ]
    rows = [ChipRow(_("Machine and way of measuring"), families)]
    if len(counts) > 1:
        rows.append(ChipRow(_("Started at once"), counts))
    if len(systems) > 1:
        rows.append(ChipRow(_("Compared with"), systems))
    return rows


def _at_once(group: StartGroup) -> str:
    if group.scenario != "parallel":
        return _("one after another")
    n = group.vms or 0
    if not n:
        return _("several at once")
    return ngettext("%(n)s at once", "%(n)s at once", n) % {"n": n}


def _family_title(group: StartGroup) -> str:
    return ", ".join(filter(None, (group.host.slug, group.method)))


def _group_title(group: StartGroup) -> str:
    return f"{_family_title(group)}, {_at_once(group)}"


def _time(found: Quantile, group: StartGroup) -> str:
    return wording.quantity(found.value, group.case.unit)


def _interval(found: Quantile, group: StartGroup) -> str:
    if found.low is None:
        return ""
    low = wording.quantity(found.low, group.case.unit)
    if found.high is None:
        return _("at least %(low)s") % {"low": low}
    return wording.range_text(low, wording.quantity(found.high, group.case.unit))


def export_start_times(request: HttpRequest, form: str) -> HttpResponse:
    records = _records(start_groups(viewer_of(request)))
    return record_file("start-times", form, FIELDS, "quantiles", records)


def _records(groups: Sequence[StartGroup]) -> Iterator[dict[str, Any]]:
    for group in groups:
        for sample in group.samples:
            for share, found in zip(QUANTILES, sample.quantiles, strict=True):
                yield {
                    "study": group.study.slug,
                    "lab": group.study.lab.slug,
                    "data_licence": group.study.data_licence,
                    "host": group.host.slug,
                    "method": group.method,
                    "started_at_once": group.vms or 1,
                    "system": sample.system.label,
                    "starts": len(sample.values),
                    "quantile": share,
                    "value": found.value,
                    "low": found.low,
                    "high": found.high,
                    "unit": group.case.unit,
                    "cell": sample.cell_id,
                }


urlpatterns = [
    page(
        "start-up/",
        show_start_times,
        "start-times",
        query_count_urls=("/start-up/",),
    ),
    page("start-up.<slug:form>", export_start_times, "start-times-file", kind="file"),
]
