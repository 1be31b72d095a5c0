"""How many VMs keep a limit of quality."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from benchmarks.analysis.density import Density, default_limit, density
from benchmarks.comparison.densities import (
    POWER_FACT,
    PRICE_FACT,
    DensityFamily,
    DensityLine,
    density_families,
    family_names,
)
from benchmarks.comparison.direct_comparisons import MEMORY, direct_groups
from dashboard import wording
from dashboard.charts.bars_and_lines import curve_points, sweep_plot
from dashboard.exports.record_files import record_file, record_file_links
from dashboard.kit import formatting
from dashboard.kit.chips import Chip, ChipRow
from dashboard.kit.direct_results import direct_results
from dashboard.kit.page_cache import PageContent, cached_page
from dashboard.kit.report_elements import ChartWithTable
from dashboard.kit.routes import page
from dashboard.kit.study_sources import sources_of_studies
from dashboard.kit.url_parts import query_string
from dashboard.kit.viewers import query_params, viewer_of
from dashboard.wording import DASH

FIELDS: Final = (
    *("study", "lab", "data_licence", "host", "benchmark", "system"),
    *("vms", "value", "low", "high", "unit"),
)
LOG_NUMBERS_FROM: Final = 10
LIMIT_DIGITS: Final = 4


@cached_page
def show_density(request: HttpRequest) -> PageContent:
    viewer = viewer_of(request)
    families = density_families(viewer)
    context = {
        "memory": direct_results(direct_groups(viewer, MEMORY)),
        "page": density_page(families, query_params(request)),
        "files": record_file_links("density-file") if families else (),
    }
    return PageContent("density/density.html", context)


def density_page(
    families: Sequence[DensityFamily], query: Mapping[str, str]
) -> dict[str, Any]:
    chosen = next((f for f in families if f.key == query.get("benchmark")), None)
    family = chosen or (families[0] if families else None)
    if family is None:
        return {"answer": _("No benchmark has run in several numbers of VMs yet.")}
    stated = _parse_limit(query.get("limit", ""))
    first = min(
        (line for line in family.lines),
        key=lambda line: default_limit(
            line.points, is_lower_better=family.is_lower_better
        ),
    )
    default = default_limit(first.points, is_lower_better=family.is_lower_better)
    limit = stated or float(f"{default:.{LIMIT_DIGITS}g}")
    names = wording.short_system_names(line.system for line in family.lines)
    found = {
        line.system.pk: density(
            line.points, limit, is_lower_better=family.is_lower_better
        )
        for line in family.lines
    }
    titles = family_names(families)
    return {
        "answer": " ".join(_answer(names[pk], result) for pk, result in found.items()),
        "family": family,
        "title": f"{titles[family.key]}, {family.host.slug}",
        "limit": formatting.exact(limit),
        "limit_text": _limit_text(family, limit),
        "is_default": stated is None,
        "is_ignored": bool(query.get("limit")) and stated is None,
        "unit": family.case.unit,
        "chart": _chart(family, limit, names),
        "rows": [
            _row(line, names[line.system.pk], found[line.system.pk], family)
            for line in family.lines
        ],
        "choices": ChipRow(
            _("Benchmark"),
            [
                Chip(
                    label,
                    query_string({"benchmark": member.key}).removeprefix("?"),
                    member is family,
                )
                for member, label in zip(
                    families, _family_labels(families, titles), strict=True
                )
            ],
        ),
        "sources": sources_of_studies([family.study]),
    }


def _family_labels(
    families: Sequence[DensityFamily], titles: Mapping[str, str]
) -> list[str]:
    """Return unique labels: those of several studies end with the study's title."""
    labels = [f"{titles[family.key]}, {family.host.slug}" for family in families]
    counts = Counter(labels)
    return [
        f"{label}, {family.study.title}" if counts[label] > 1 else label
        for family, label in zip(families, labels, strict=True)
    ]


def _parse_limit(text: str) -> float | None:
    try:
        limit = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    return limit if 0 < limit < math.inf else None


def _limit_text(family: DensityFamily, limit: float) -> str:
    text = _("at least %(limit)s (%(figure)s)")
    if family.is_lower_better:
        text = _("at most %(limit)s (%(figure)s)")
    values = {"limit": wording.quantity(limit, family.case.unit)}
    return text % {**values, "figure": _figure(family)}


def _figure(family: DensityFamily) -> str:
    return _("worst VM") if family.has_slots else _("mean of the VMs")


def _answer(name: str, found: Density) -> str:
    values = {"system": name, "holds": found.holds, "breaks": found.breaks}
    if found.holds is None:
        return _("%(system)s: the limit breaks with %(breaks)s already.") % values
    if found.breaks is None:
        return _("%(system)s: %(holds)s VMs hold, more were not measured.") % values
    return _("%(system)s: %(holds)s VMs hold, %(breaks)s break.") % values


def _row(
    line: DensityLine, name: str, found: Density, family: DensityFamily
) -> dict[str, str]:
    def number(count: int | None) -> str:
        return DASH if count is None else str(count)

    def per(fact: str) -> str:
        amount = family.stated_amount(fact)
        if amount is None or found.holds is None:
            return DASH
        return formatting.measurement(found.holds / amount)

    has_intervals = any(point.low is not None for point in line.points)
    return {
        "name": name,
        "holds": number(found.holds),
        "breaks": number(found.breaks),
        "sure": wording.range_text(
            number(found.surely_holds), number(found.surely_breaks)
        )
        if has_intervals
        else DASH,
        "per_watt": per(POWER_FACT),
        "per_price": per(PRICE_FACT),
    }


def _chart(
    family: DensityFamily, limit: float, names: Mapping[int, str]
) -> ChartWithTable:
    unit = family.case.unit
    numbers = family.numbers
    curves = [
        curve_points(
            names[line.system.pk],
            index,
            [
                (
                    float(point.vms),
                    point.value,
                    point.low,
                    point.high,
                    f"{names[line.system.pk]}, {point.vms}: "
                    f"{wording.quantity(point.value, unit)}",
                )
                for point in line.points
            ],
            is_native=False,
        )
        for index, line in enumerate(family.lines)
    ]
    chart = sweep_plot(
        curves,
        [(float(number), str(number)) for number in numbers],
        titles=(_("number of VMs"), unit),
        is_log=(numbers[-1] >= LOG_NUMBERS_FROM * numbers[0], False),
        line_at=limit,
    )
    rows = []
    for line in family.lines:
        texts = {p.vms: wording.quantity(p.value, unit) for p in line.points}
        rows.append(
            (names[line.system.pk], *(texts.get(number, DASH) for number in numbers))
        )
    direction = str(wording.DIRECTION_NAMES[family.case.better])
    return ChartWithTable(
        "density",
        _("Quality (%(figure)s) over the number of VMs") % {"figure": _figure(family)},
        _("The dashed line is the limit; %(direction)s.") % {"direction": direction},
        chart,
        (_("System"), *map(str, numbers)),
        tuple(rows),
    )


def export_density(request: HttpRequest, form: str) -> HttpResponse:
    families = density_families(viewer_of(request))
    titles = family_names(families)
    records = [
        {
            "study": family.study.slug,
            "lab": family.study.lab.slug,
            "data_licence": family.study.data_licence,
            "host": family.host.slug,
            "benchmark": titles[family.key],
            "system": line.system.label,
            "vms": point.vms,
            "value": point.value,
            "low": point.low,
            "high": point.high,
            "unit": family.case.unit,
        }
        for family in families
        for line in family.lines
        for point in line.points
    ]
    return record_file("density", form, FIELDS, "points", records)


urlpatterns = [
    page(
        "density/",
        show_density,
        "density",
        example_urls=("", "?limit=5"),
        query_count_urls=("/density/",),
    ),
    page("density.<slug:form>", export_density, "density-file", kind="file"),
]
