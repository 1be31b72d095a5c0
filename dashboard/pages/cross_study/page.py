from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from math import exp
from typing import Any, Final

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from benchmarks.analysis.plan_steps import PROGRAMS
from benchmarks.comparison.cross_study import (
    ALL_HOSTS,
    ColumnPair,
    CrossStudyCell,
    CrossStudyRow,
    CrossStudyTable,
    SystemInStudy,
)
from benchmarks.comparison.work_class_summaries import WorkClassSummary
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.evidence.queries import Question
from benchmarks.models import Case, Study
from benchmarks.work_classes import WORK_CLASSES
from dashboard import wording
from dashboard.kit import formatting
from dashboard.kit.answers import position, range_bar
from dashboard.kit.comparison_form import FilterMenu
from dashboard.kit.evidence_matrix import question_url
from dashboard.kit.prefilled_links import TARGET_RUNS, PrefilledLinks, plannable_tools
from dashboard.kit.table_cells import cell_view, row_decimals
from dashboard.wording import evidence
from dashboard.wording.comparability import COMPARABILITY_TEXTS
from dashboard.wording.evidence import platform_range_text, work_summary_text

STRIP_TICKS: Final = (0, 50, 100)
MAX_STRIPS: Final = 6


@dataclass(frozen=True)
class CrossStudyPage:
    table: CrossStudyTable
    person: User | None

    @property
    def strip_ticks(self) -> list[tuple[str, str]]:
        return [(position(tick), formatting.number(tick)) for tick in STRIP_TICKS]

    @property
    def native_position(self) -> str:
        return position(100)

    @property
    def summary(self) -> str:
        return work_summary_text(self.table.summary)

    @property
    def is_emulated(self) -> bool:
        return any(side.system.is_emulated for side in self.table.columns)

    @cached_property
    def query(self) -> Mapping[str, list[str]]:
        filters = self.table.filters
        parts: dict[str, list[str]] = {"host": [filters.host]}
        if filters.work_class:
            parts["work"] = [filters.work_class]
        if filters.case_id:
            parts["benchmark"] = [str(filters.case_id)]
        if filters.hypervisors:
            parts["hypervisor"] = sorted(filters.hypervisors)
        if filters.guest:
            parts["guest"] = [filters.guest]
        if filters.reference:
            parts["reference"] = [str(filters.reference)]
        return parts

    def query_string(self, **changes: str) -> str:
        parts = {**self.query, **{name: [text] for name, text in changes.items()}}
        pairs = [
            (name, text) for name, texts in parts.items() for text in texts if text
        ]
        return f"?{urlencode(pairs)}"

    @property
    def menus(self) -> list[FilterMenu]:
        filters, facets = self.table.filters, self.table.facets
        hosts = {ALL_HOSTS: _("All machines")}
        for facet in facets.hosts:
            systems = ngettext("%(n)s system", "%(n)s systems", facet.systems)
            studies = ngettext("%(n)s study", "%(n)s studies", facet.studies)
            counts = (systems % {"n": facet.systems}, studies % {"n": facet.studies})
            hosts[facet.name] = f"{facet.host.slug} ({', '.join(counts)})"
        all_option = {"": _("All")}
        works = {
            work: evidence.work_name(work)
            for work in WORK_CLASSES
            if work in facets.work_classes
        }
        cases = {
            str(pk): f"{require_tool(tool).title}: {label}"
            for pk, tool, label in facets.cases
        }
        guests = {guest: guest for guest in facets.guests}
        host = FilterMenu.from_texts(
            "host", _("Machine"), hosts, filters.host, is_wide=True
        )
        work, case = pgettext("class of work", "Work class"), str(filters.case_id or "")
        return [
            replace(host, is_changed=False),  # some choice of machine is always active
            FilterMenu.from_texts("work", work, all_option | works, filters.work_class),
            FilterMenu.from_texts(
                "benchmark", _("Benchmark"), all_option | cases, case
            ),
            FilterMenu.from_texts(
                "guest", _("Guest"), all_option | guests, filters.guest
            ),
        ]

    @property
    def hypervisors(self) -> list[dict[str, Any]]:
        chosen = self.table.filters.hypervisors
        hypervisors = self.table.facets.hypervisors
        return [{"name": name, "is_chosen": name in chosen} for name in hypervisors]

    @cached_property
    def platforms(self) -> list[str]:
        counts: Counter[str] = Counter()
        for summary in self.table.summaries.values():
            for platform_range in summary.ranges:
                counts[platform_range.name] += platform_range.systems
        return sorted(counts, key=lambda name: (-counts[name], name))

    @cached_property
    def work_rows(self) -> list[dict[str, Any]]:
        table, platforms = self.table, self.platforms
        work_class = table.summary.work_class if table.summary else ""
        hypervisors = {
            platform_range.name: platform_range.hypervisor
            for summary in table.summaries.values()
            for platform_range in summary.ranges
        }
        return [
            {
                "name": evidence.work_name(work),
                "address": self.query_string(work=work, benchmark=""),
                "is_chosen": work == work_class,
                "cells": tuple(
                    _work_cell(table.summaries[work], name, hypervisors[name])
                    for name in platforms
                ),
                "strips": _strips(table.summaries[work]),
            }
            for work in WORK_CLASSES
            if work in table.summaries
        ]

    @property
    def host_spans(self) -> list[dict[str, Any]]:
        def host_and_guest(side: SystemInStudy) -> tuple[str, str]:
            return side.system.host.slug, side.guest_label

        return [
            {"host": host, "guest": guest, "width": len(list(members))}
            for (host, guest), members in groupby(
                self.table.columns, key=host_and_guest
            )
        ]

    @cached_property
    def column_heads(self) -> list[dict[str, Any]]:
        reference = self.table.filters.reference
        groups = [
            (side.system.host_id, side.guest_label) for side in self.table.columns
        ]
        return [
            {
                "side": side,
                "comparability": _pair_comparability(side, pair),
                "reference_url": self.query_string(
                    reference="" if side.key == reference else str(side.key)
                ),
                "is_chosen": side.key == reference,
                "is_edge": group != previous_group,
            }
            for side, pair, group, previous_group in zip(
                self.table.columns,
                self.table.pairs,
                groups,
                [*groups[:1], *groups],
                strict=False,
            )
        ]

    @property
    def incomparable_pairs(self) -> list[dict[str, Any]]:
        return [
            entry for entry in self.comparability_legend if entry["rating"] == "none"
        ]

    @cached_property
    def comparability_legend(self) -> list[dict[str, Any]]:
        counts = Counter(
            (
                pair.comparability.rating,
                wording.translate_text(pair.comparability.sentence),
            )
            for pair in self.table.pairs
            if pair
        )
        order = ["none", "limited", "full"]
        ranked = sorted(
            counts.items(),
            key=lambda entry: (order.index(entry[0][0]), -entry[1], entry[0][1]),
        )
        return [
            {
                "rating": rating,
                "word": COMPARABILITY_TEXTS[rating][0],
                "sentence": text,
                "count": n,
            }
            for (rating, text), n in ranked
        ]

    @property
    def groups(self) -> Iterator[dict[str, Any]]:
        for (component, tool), rows in groupby(
            self.table.rows,
            key=lambda row: (row.case.component, require_tool(row.case.tool).title),
        ):
            lines = [self._row(row) for row in rows]
            yield {"component": component, "tool": tool, "rows": lines}

    @formatting.cached_number_format()
    def _row(self, row: CrossStudyRow) -> dict[str, Any]:
        better = str(wording.DIRECTION_NAMES.get(row.better, ""))
        unit = formatting.UNIT_NAMES.get(row.unit, row.unit)
        unit = wording.rate_unit(row.case.metric, unit)
        decimals = row_decimals(cell.row for cell in row.cells if cell)
        cells = []
        for cell, head in zip(row.cells, self.column_heads, strict=True):
            side = head["side"]
            entry = {"is_edge": head["is_edge"]}
            if cell:
                direct = cell.direct_ratio
                entry |= {
                    "view": cell_view(cell.row, cell.verdict, decimals=decimals),
                    "url_args": (side.study.lab.slug, side.study.slug, cell.row.id),
                    "direct": "" if direct is None else formatting.ratio(direct),
                }
            else:
                what = f"{side.platform}, {row.case.label}"
                entry |= {
                    "what": what,
                    "add_url": self._missing_result_url(row.case, side, what),
                }
            cells.append(entry)
        more = " · ".join(filter(None, [unit, better]))
        return {"label": row.case.label, "more": more, "cells": cells}

    def _missing_result_url(self, case: Case, side: SystemInStudy, what: str) -> str:
        if side.study.lab_id not in self.prefilled_links.editable_lab_ids:
            return self.prefilled_links.upload_url(
                hypervisor=side.system.hypervisor,
                version=side.system.hypervisor_version,
                tool=case.tool,
            )
        if case.tool in PROGRAMS:
            return self.prefilled_links.plan_url(
                side.study, subject=what, systems=[side.system.pk], tools=[case.tool]
            )
        return self.prefilled_links.upload_url(
            lab=side.study.lab.slug,
            study=side.study.slug,
            system=str(side.system.pk),
            tool=case.tool,
        )

    @property
    def shown_text(self) -> str:
        table = self.table
        systems = ngettext("%(n)s system", "%(n)s systems", table.column_count)
        shared = ngettext(
            "%(n)s benchmark run on several platforms",
            "%(n)s benchmarks run on several platforms",
            table.shared_count,
        )
        counts = {"n": formatting.number(table.column_count, "d")}
        parts = [
            systems % counts,
            shared % {"n": formatting.number(table.shared_count, "d")},
        ]
        if table.column_count > len(table.columns):
            parts.append(
                _(
                    "only the first %(n)s systems are shown (narrow the filters to "
                    "see others)"
                )
                % {"n": len(table.columns)}
            )
        return "; ".join(parts)

    @property
    def previous_page(self) -> str:
        number = self.table.filters.page
        return self.query_string(page=str(number - 1)) if number > 1 else ""

    @property
    def next_page(self) -> str:
        number = self.table.filters.page
        return (
            self.query_string(page=str(number + 1))
            if number < self.table.page_count
            else ""
        )

    @cached_property
    def prefilled_links(self) -> PrefilledLinks:
        return PrefilledLinks(self.person)

    @cached_property
    def plan_url(self) -> str:
        this_url = reverse("dashboard:cross-study") + self.query_string()
        if self.person is None:
            return f"{reverse('dashboard:login')}?{urlencode({'next': this_url})}"
        labs = self.prefilled_links.editable_lab_ids
        own_columns = [side for side in self.table.columns if side.study.lab_id in labs]
        study = (
            own_columns[0].study
            if own_columns
            else self.prefilled_links.newest_editable_study
        )
        work = self.table.filters.work_class
        return self.prefilled_links.plan_url(
            study,
            subject=evidence.work_name(work) if work else _("all work classes"),
            systems=self._systems_with_few_runs(study) if study else (),
            tools=plannable_tools([work] if work else self.table.summaries),
        )

    def _systems_with_few_runs(self, study: Study) -> set[int]:
        return {
            side.system.pk
            for index, side in enumerate(self.table.columns)
            if side.system.lab_id == study.lab_id
            and any(_has_too_few_runs(row.cells[index]) for row in self.table.rows)
        }


def _has_too_few_runs(cell: CrossStudyCell | None) -> bool:
    return cell is None or cell.row.result.n < TARGET_RUNS


def _strips(summary: WorkClassSummary) -> list[dict[str, Any]]:
    """Return the positions of the range and mean of each platform, best first."""
    return [
        {
            "name": platform.name,
            "mean": position(100 * exp(platform.log_mean)),
            "is_hollow": platform.is_single_run,
            **range_bar(100 * platform.low, 100 * platform.high),
        }
        for platform in summary.ranges[:MAX_STRIPS]
    ]


def _work_cell(
    summary: WorkClassSummary, platform: str, hypervisor: str
) -> dict[str, Any]:
    cell = {
        "label": f"{platform}, {evidence.work_name(summary.work_class)}",
        "add_url": question_url(Question(hypervisor, summary.work_class)) + "#add-data",
        "detail": evidence.screened_results_text(
            summary.screened_by_platform.get(platform, 0)
        ),
    }
    for platform_range in summary.ranges:
        if platform_range.name == platform:
            counts = evidence.platform_counts_text(platform_range)
            notes = "; ".join(evidence.range_notes(platform_range))
            return cell | {
                "performance": platform_range_text(platform_range),
                "detail": f"{counts} ({notes})" if notes else counts,
                "shade": formatting.ratio_shade(exp(platform_range.log_mean)),
                "is_hollow": platform_range.is_single_run,
            }
    return cell


def _pair_comparability(
    side: SystemInStudy, pair: ColumnPair | None
) -> dict[str, Any] | None:
    if pair is None:
        return None
    compared = pair.comparability
    keys = {"first": str(side.key), "second": str(pair.reference.key)}
    return {
        "rating": compared.rating,
        "word": COMPARABILITY_TEXTS[compared.rating][0],
        "sentence": wording.translate_text(compared.sentence),
        "address": f"{reverse('dashboard:cross-study-pair')}?{urlencode(keys)}",
    }
