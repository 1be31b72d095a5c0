"""What the page of one question shows: machines, their pool, and who is left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from benchmarks import tools
from benchmarks.analysis.pooling import Heterogeneity
from benchmarks.evidence.reading import Found, Question
from benchmarks.evidence.records import Record, grouped, machines_record
from benchmarks.evidence.synthesis import (
    FLAGGED,
    Pool,
    Synthesis,
    Weighed,
    spread_of,
    syntheses,
    synthesis,
    weighed,
)
from dashboard.charts.forest import MOST_MACHINES, Kind, forest_chart, forest_marks
from dashboard.kit import figures
from dashboard.kit.addresses import Chip, address
from dashboard.kit.document import Drawing
from dashboard.kit.filling import Filling
from dashboard.wording import NONE, evidence

MOST_LINKS: Final = 8
Link = tuple[str, str]
"""Text and address."""


def forest_page(
    question: Question,
    found: Sequence[Found],
    query: Mapping[str, str],
    person: User | None = None,
) -> dict[str, Any]:
    filling = Filling(person)
    with_flagged = query.get("flagged") == "with"
    by = query.get("by", "")
    by = by if by in evidence.SUBGROUPS else "benchmark"
    parts = [each.part for each in found]
    whole = synthesis(parts, with_flagged=with_flagged)
    other = whole
    if any(part.obstacle == FLAGGED for part in parts):
        other = synthesis(parts, with_flagged=not with_flagged)
    heaviest = _heaviest(whole.pool.weights)
    spread = spread_of(whole.units, heaviest)
    heaviest += [len(whole.units) + place for place in _heaviest(whole.single.weights)]
    everybody = weighed(whole, spread)
    machines = [everybody[place] for place in heaviest]
    record = machines_record(question, found, whole, spread, machines)
    chosen = {"hypervisor": question.hypervisor, "work": question.work, **query}
    return {
        "question": question,
        "work": evidence.work_name(question.work),
        "answer": evidence.answer(whole),
        "strength": str(evidence.STRENGTHS[whole.strength]),
        "why": str(evidence.WHY[whole.strength]),
        "drawing": _drawing(record),
        "units": tuple(_lines(whole, machines, found)),
        "further": whole.pool.k + whole.single.k - len(machines),
        "figures": tuple(_figures(whole.pool, spread)),
        "flagged": (
            Chip(
                _("Without flagged results"),
                address(chosen, flagged=""),
                not with_flagged,
            ),
            Chip(
                _("With flagged results"), address(chosen, flagged="with"), with_flagged
            ),
        ),
        "other_answer": evidence.answer(other) if other.units != whole.units else "",
        "by": tuple(
            Chip(str(evidence.SUBGROUPS[name]), address(chosen, by=name), name == by)
            for name in evidence.SUBGROUPS
        ),
        "by_name": str(evidence.SUBGROUPS[by]),
        "subgroups": tuple(_subgroups(found, by, with_flagged=with_flagged)),
        "left_out": tuple(_left_out(whole, found)),
        "tools": _tools(question.work),
        "is_pooled": any(
            pool.mean is not None and pool.k > 1 for pool in (whole.pool, whole.single)
        ),
        "plan": filling.plan_of(*question),
        "upload": filling.upload(hypervisor=question.hypervisor),
    }


def _lines(
    whole: Synthesis, machines: Iterable[Weighed], found: Sequence[Found]
) -> Iterable[dict[str, Any]]:
    by_unit: dict[Hashable, list[Found]] = defaultdict(list)
    for one in found:
        if one.part.obstacle not in whole.screened:
            by_unit[one.part.unit].append(one)
    for each in machines:
        unit = each.unit
        members = [one for one in by_unit[unit.key] if unit.rests_on(one.part)]
        yield {
            "name": members[0].host.title or members[0].host.slug,
            "lab": unit.lab,
            "studies": tuple(dict.fromkeys(map(_study_link, members))),
            "benchmarks": ", ".join(
                dict.fromkeys(
                    evidence.metric_name(*member.part.benchmark) for member in members
                )
            ),
            "ratio": evidence.ratio_text(unit.log_ratio, unit.interval),
            "interval": evidence.ends_text(unit.interval) or NONE,
            "ratios": _range_text(members),
            "weight": figures.percent(each.weight) if each.is_pooled else NONE,
            "without": NONE
            if each.without is None
            else evidence.ratio_text(each.without),
            "cells": _cell_links(members),
            "cell_count": unit.cells,
            "is_hollow": unit.variance is None,
        }


def _heaviest(weights: Sequence[float]) -> list[int]:
    """Return the places of those that weigh most, in their own order."""
    places = sorted(range(len(weights)), key=lambda place: -weights[place])
    return sorted(places[:MOST_MACHINES])


def _range_text(members: Iterable[Found]) -> str:
    ends = [
        end
        for each in members
        for end in (each.lowest, each.highest)
        if end is not None
    ]
    if not ends:
        return NONE
    low, high = min(ends), max(ends)
    return evidence.ratio_text(low) if low == high else evidence.ends_text((low, high))


def _study_link(found: Found) -> Link:
    study = found.study
    place = reverse("dashboard:study", args=[study.lab, study.slug])
    return study.title, place


def _cell_links(members: Iterable[Found]) -> tuple[Link, ...]:
    links = [
        (
            # A bare number is meaningless in a list of links.
            _("Result %(number)s") % {"number": pk},
            reverse("dashboard:cell", args=[each.study.lab, each.study.slug, pk]),
        )
        for each in members
        for pk in each.cell_ids
    ]
    return tuple(links[:MOST_LINKS])


def _figures(pool: Pool, spread: Heterogeneity | None) -> Iterable[tuple[str, str]]:
    if spread is None or pool.mean is None:
        return
    yield (_("Pooled mean (REML)"), evidence.ratio_text(pool.mean, pool.interval))
    yield (
        _("Its 95\N{NO-BREAK SPACE}% interval (HKSJ)"),
        evidence.ends_text(pool.interval),
    )
    yield (_("Expected in another lab"), evidence.ends_text(pool.predicted))
    yield (
        _("Between machines: τ (of ln)"),
        _("%(tau)s (%(low)s to %(high)s)")
        % {
            name: figures.number(value**0.5, ".2g")
            for name, value in (
                ("tau", spread.tau2),
                ("low", spread.tau2_low),
                ("high", spread.tau2_high),
            )
        },
    )
    yield (_("I², the share that is not noise"), figures.percent(spread.i2))
    yield (
        _("Pooled mean (DerSimonian and Laird)"),
        # The interval of its twin, so that both have the same digits.
        evidence.ratio_text(spread.mean_dl, pool.interval),
    )


def _subgroups(
    found: Sequence[Found], by: str, *, with_flagged: bool
) -> Iterable[dict[str, Any]]:
    groups = grouped(found, by)
    parts = ((name, one.part) for name, own in groups.items() for one in own)
    for name, whole in syntheses(parts, with_flagged=with_flagged).items():
        figure, _beside = evidence.headline(whole)
        if not figure:
            continue
        pool = whole.counted
        own = whole.units[0].interval if len(whole.units) == 1 else None
        yield {
            "name": evidence.metric_name(*groups[name][0].part.benchmark)
            if by == "benchmark"
            else name or _("not stated"),
            "ratio": figure,
            "interval": evidence.ends_text(pool.interval or own) or NONE,
            "predicted": evidence.ends_text(pool.predicted) or NONE,
            "machines": evidence.counted_text(whole),
        }


def _left_out(whole: Synthesis, found: Iterable[Found]) -> Iterable[dict[str, Any]]:
    lines: dict[tuple[int, str, str], list[Found]] = defaultdict(list)
    for each in found:
        if each.part.obstacle in whole.screened:
            place = (
                each.study.pk,
                evidence.metric_name(*each.part.benchmark),
                each.part.obstacle,
            )
            lines[place].append(each)
    for (_study, benchmark, obstacle), members in lines.items():
        yield {
            "study": _study_link(members[0]),
            "benchmark": benchmark,
            "why": str(evidence.OBSTACLES[obstacle]),
            "ratios": _range_text(members),
            "cells": _cell_links(members),
            "cell_count": sum(each.part.cells for each in members),
        }


def _tools(work: str) -> tuple[str, ...]:
    return tuple(
        sorted(
            tool.title
            for tool in tools.TOOLS.values()
            if any(work in classes.classes for classes in tool.primary.values())
        )
    )


def _note(kinds: Collection[Kind]) -> str:
    single = _("Hollow: single runs, of which no interval is known.")
    words = [single] if "single" in kinds else []
    if "pooled" not in kinds:
        return " ".join([*words, _("Nothing is pooled: that takes three machines.")])
    mean = _("The diamond is the pooled mean, the bar below it what others will see.")
    return " ".join([*words, _("Size is weight."), mean])


def _drawing(record: Record) -> Drawing | None:
    if not record["units"]:
        return None
    marks = forest_marks(record)
    rows = tuple((mark.name, mark.ratio_text, mark.interval_text) for mark in marks)
    return Drawing(
        slug="forest",
        title=_("Each machine's ratio to its own native"),
        note=_note({mark.kind for mark in marks}),
        figure=forest_chart(marks, axis_title=_("relative performance, native = 1")),
        head=("", _("Ratio"), _("95\N{NO-BREAK SPACE}% interval")),
        rows=rows,
    )
