from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.meta_analysis import Heterogeneity
from benchmarks.evidence.json_records import Record, group_averages, pooled_record
from benchmarks.evidence.queries import (
    Question,
    StudyAverage,
    configuration_labels,
)
from benchmarks.evidence.synthesis import (
    PooledEffect,
    Screening,
    Synthesis,
    WeightedMachine,
    machine_heterogeneity,
    syntheses_by_question,
    synthesis,
    weighted_machines,
)
from dashboard.charts.forest_plot import (
    MAX_MACHINES,
    ForestKind,
    forest_chart,
    forest_rows,
)
from dashboard.kit import formatting
from dashboard.kit.chips import Chip
from dashboard.kit.measuring import tools_for
from dashboard.kit.prefilled_links import PrefilledLinks
from dashboard.kit.report_elements import ChartWithTable
from dashboard.kit.study_sources import study_sources
from dashboard.kit.subject_urls import work_url
from dashboard.kit.url_parts import query_string
from dashboard.wording import DASH, evidence

MAX_LINKS: Final = 8
CellLink = tuple[str, str]


def question_page(
    question: Question,
    averages: Sequence[StudyAverage],
    query: Mapping[str, str],
    person: User | None = None,
) -> dict[str, Any]:
    links = PrefilledLinks(person)
    without_doubtful = query.get("doubtful") == "exclude"
    grouping = query.get("by", "")
    grouping = grouping if grouping in evidence.SUBGROUP_NAMES else "benchmark"
    parts = [study_average.average for study_average in averages]
    every = synthesis(parts)
    pooled = synthesis(parts, without_doubtful=without_doubtful)
    shown_indexes = _heaviest(pooled.pool.weights)
    spread = machine_heterogeneity(pooled.machines, shown_indexes)
    shown_indexes += [
        len(pooled.machines) + index
        for index in _heaviest(pooled.single_run_pool.weights)
    ]
    all_machines = weighted_machines(pooled, spread)
    machines = [all_machines[index] for index in shown_indexes]
    record = pooled_record(question, averages, pooled, spread, machines)
    link_query = {
        "hypervisor": question.hypervisor,
        "work": question.work_class,
        **query,
    }
    return {
        "question": question,
        "work": evidence.work_name(question.work_class),
        "work_phrase": evidence.work_phrase(question.work_class),
        "work_url": work_url(question.work_class),
        "summary": evidence.question_summary(pooled),
        "strength": str(evidence.EVIDENCE_STRENGTHS[pooled.strength]),
        "why": evidence.strength_reason(pooled),
        "chart": _drawing(record),
        "units": tuple(_lines(pooled, machines, averages)),
        "more_count": pooled.pool.machine_count
        + pooled.single_run_pool.machine_count
        - len(machines),
        "figures": tuple(_figures(pooled.pool, spread)),
        "doubtful": (
            Chip(
                _("With doubtful results"),
                query_string(link_query, doubtful=""),
                not without_doubtful,
            ),
            Chip(
                _("Without doubtful results"),
                query_string(link_query, doubtful="exclude"),
                without_doubtful,
            ),
        )
        if every.doubtful_count
        else (),
        "other_answers": tuple(_other_answers(every, without_doubtful)),
        "by": tuple(
            Chip(
                str(evidence.SUBGROUP_NAMES[name]),
                query_string(link_query, by=name),
                name == grouping,
            )
            for name in evidence.SUBGROUP_NAMES
        ),
        "by_name": str(evidence.SUBGROUP_NAMES[grouping]),
        "subgroups": tuple(_subgroups(averages, grouping, pooled.screening)),
        "left_out": tuple(_exclusion_lines(pooled, averages)),
        "sources": study_sources(average.study for average in averages),
        "tools": tools_for(question.work_class),
        "has_providers": bool(pooled.pool.provider_count),
        "is_pooled": pooled.pool.is_pooled or pooled.single_run_pool.is_pooled,
        "plan": links.hypervisor_plan_url(*question),
        "upload": links.upload_url(hypervisor=question.hypervisor),
    }


def _other_answers(every: Synthesis, without_doubtful: bool) -> Iterable[str]:
    """Return the answers by other screenings of the results."""
    if every.without_doubtful and without_doubtful:
        text = ngettext(
            "With %(n)s doubtful result: %(answer)s",
            "With %(n)s doubtful results: %(answer)s",
            every.doubtful_count,
        )
        values = {"n": every.doubtful_count, "answer": evidence.question_summary(every)}
        yield text % values
    elif other := every.without_doubtful:
        text = ngettext(
            "Without %(n)s doubtful result: %(answer)s",
            "Without %(n)s doubtful results: %(answer)s",
            every.doubtful_count,
        )
        answer = (
            evidence.question_summary(other)
            if other.main_machines
            else _("nothing remains.")
        )
        yield text % {"n": every.doubtful_count, "answer": answer}
    if other := every.with_screened:
        text = ngettext(
            "With %(n)s impossible result: %(answer)s",
            "With %(n)s impossible results: %(answer)s",
            every.screened_count,
        )
        values = {
            "n": every.screened_count,
            "answer": evidence.question_summary(other),
        }
        yield text % values


def _lines(
    pooled: Synthesis,
    machines: Iterable[WeightedMachine],
    averages: Sequence[StudyAverage],
) -> Iterable[dict[str, Any]]:
    averages_by_machine: dict[Hashable, list[StudyAverage]] = defaultdict(list)
    machines = list(machines)
    labels = configuration_labels(machine.machine for machine in machines)
    for study_average in averages:
        if not study_average.average.exclusion_reason(pooled.screening):
            averages_by_machine[study_average.average.machine].append(study_average)
    for machine in machines:
        effect = machine.machine
        members = [
            study_average
            for study_average in averages_by_machine[effect.key]
            if effect.includes(study_average.average)
        ]
        yield {
            "name": _("Machines of one model: %(details)s")
            % {"details": evidence.provider_detail(effect)}
            if effect.model_count
            else members[0].host.title or members[0].host.slug,
            "lab": effect.lab,
            "studies": tuple(dict.fromkeys(map(_study_link, members))),
            "benchmarks": ", ".join(
                dict.fromkeys(
                    evidence.metric_title(*member.average.benchmark)
                    for member in members
                )
            ),
            "ratio": ""
            if effect.listed_configurations
            else evidence.log_ratio_text(effect.log_ratio, effect.interval),
            "interval": evidence.log_interval_text(effect.interval) or DASH,
            "ratios": _range_text(members),
            "weight": formatting.percent(machine.weight) if machine.is_pooled else DASH,
            "without": DASH
            if machine.mean_without is None
            else evidence.log_ratio_text(machine.mean_without),
            "cells": _cell_links(members),
            "cell_count": effect.cell_count,
            "configurations": evidence.configuration_texts(
                effect.configurations, labels
            ),
            "doubts": ", ".join(
                str(evidence.DOUBT_TEXTS[doubt])
                for doubt in dict.fromkeys(member.doubt for member in members)
                if doubt
            ),
            "is_hollow": effect.variance is None,
        }


def _heaviest(weights: Sequence[float]) -> list[int]:
    indexes = sorted(range(len(weights)), key=lambda index: -weights[index])
    return sorted(indexes[:MAX_MACHINES])


def _range_text(members: Iterable[StudyAverage]) -> str:
    ends = [
        end
        for study_average in members
        for end in (study_average.lowest, study_average.highest)
        if end is not None
    ]
    if not ends:
        return DASH
    low, high = min(ends), max(ends)
    return (
        evidence.log_ratio_text(low)
        if low == high
        else evidence.log_interval_text((low, high))
    )


def _study_link(study_average: StudyAverage) -> CellLink:
    study = study_average.study
    url = reverse("dashboard:study", args=[study.lab, study.slug])
    return study.title, url


def _cell_links(members: Iterable[StudyAverage]) -> tuple[CellLink, ...]:
    links = [
        (
            # In a screen reader's list of links, a number alone would be meaningless.
            _("Result %(number)s") % {"number": pk},
            reverse(
                "dashboard:cell",
                args=[study_average.study.lab, study_average.study.slug, pk],
            ),
        )
        for study_average in members
        for pk in study_average.cell_ids
    ]
    return tuple(links[:MAX_LINKS])


def _figures(
    pool: PooledEffect, spread: Heterogeneity | None
) -> Iterable[tuple[str, str]]:
    if spread is None or pool.mean is None:
        return
    yield (_("Pooled mean (REML)"), evidence.log_ratio_text(pool.mean, pool.interval))
    yield (
        _("95% confidence interval of the pooled mean"),
        evidence.log_interval_text(pool.interval),
    )
    yield (
        _("Prediction for another machine of this lab")
        if pool.is_one_lab
        else _("Prediction for a machine of another lab"),
        evidence.log_interval_text(pool.predicted),
    )
    yield (
        _("Between machines of this lab: τ (log scale)")
        if pool.is_one_lab
        else _("Between machines of different labs: τ (log scale)"),
        _("%(tau)s (%(low)s to %(high)s)")
        % {
            name: formatting.number(value**0.5, ".2g")
            for name, value in (
                ("tau", spread.tau2),
                ("low", spread.tau2_low),
                ("high", spread.tau2_high),
            )
        },
    )
    if pool.tau2_lab is not None and pool.tau2_machine is not None:
        yield (
            _("Parts of τ: between labs, between machines of a lab"),
            ", ".join(
                formatting.number(part**0.5, ".2g")
                for part in (pool.tau2_lab, pool.tau2_machine)
            ),
        )
    yield (
        _("I² (share of the variation that is not noise)"),
        formatting.percent(spread.i2),
    )
    yield (
        _("Pooled mean (DerSimonian and Laird)"),
        # The interval of the REML mean sets the digits, so that both can be compared.
        evidence.log_ratio_text(spread.mean_dl, pool.interval),
    )
    yield (
        _("Standard error of the mean (log scale), robust by lab"),
        formatting.number(spread.robust_error, ".2g"),
    )


def _subgroups(
    averages: Sequence[StudyAverage], by: str, screening: Screening
) -> Iterable[dict[str, Any]]:
    groups = group_averages(averages, by)
    parts = (
        (name, study_average.average)
        for name, own in groups.items()
        for study_average in own
    )
    for name, pooled in syntheses_by_question(parts, screening=screening).items():
        ratio, _detail = evidence.matrix_entry(pooled)
        if not ratio:
            continue
        pool = pooled.main_pool
        own = pooled.machines[0].interval if len(pooled.machines) == 1 else None
        yield {
            "name": evidence.metric_title(*groups[name][0].average.benchmark)
            if by == "benchmark"
            else name or _("not reported"),
            "ratio": ratio,
            "interval": evidence.log_interval_text(pool.interval or own) or DASH,
            "predicted": evidence.log_interval_text(pool.predicted) or DASH,
            "machines": evidence.machine_counts_text(pooled),
        }


def _exclusion_lines(
    pooled: Synthesis, averages: Iterable[StudyAverage]
) -> Iterable[dict[str, Any]]:
    lines: dict[tuple[int, str, str], list[StudyAverage]] = defaultdict(list)
    for study_average in averages:
        if reason := study_average.average.exclusion_reason(pooled.screening):
            key = (
                study_average.study.pk,
                evidence.metric_title(*study_average.average.benchmark),
                reason,
            )
            lines[key].append(study_average)
    for (_study, benchmark, exclusion), members in lines.items():
        yield {
            "study": _study_link(members[0]),
            "benchmark": benchmark,
            "why": str(evidence.EXCLUSION_TEXTS[exclusion]),
            "ratios": _range_text(members),
            "cells": _cell_links(members),
            "cell_count": sum(
                study_average.average.cell_count for study_average in members
            ),
        }


def _note(kinds: Collection[ForestKind]) -> str:
    single = _("Hollow markers are single runs, which have no confidence interval.")
    notes = [single] if "single" in kinds else []
    if "pooled" not in kinds:
        requirement = _(
            "A pooled mean requires at least three labs, or three machines of one lab."
        )
        return " ".join([*notes, requirement])
    mean = _(
        "The diamond is the pooled mean. The bar below it is the prediction interval "
        "for another machine."
    )
    return " ".join([*notes, _("Marker size shows the weight."), mean])


def _drawing(record: Record) -> ChartWithTable | None:
    if not record["units"]:
        return None
    marks = forest_rows(record)
    rows = tuple((row.name, row.ratio_text, row.interval_text) for row in marks)
    return ChartWithTable(
        slug="forest",
        title=_("Ratio of each machine or provider to native runs")
        if any(unit.get("models") for unit in record["units"])
        else _("Ratio of each machine to its own native runs"),
        note=_note({row.kind for row in marks}),
        chart=forest_chart(marks, axis_title=_("relative performance, native = 1")),
        header=("", _("Ratio"), _("95% CI")),
        rows=rows,
    )
