"""What the page of a campaign's flags shows: rules, and under each its findings."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db.models import Prefetch
from django.utils.translation import gettext as _

from benchmarks.analysis.plausibility.checking import RULES
from benchmarks.analysis.plausibility.findings import SEVERITIES
from benchmarks.models import Campaign, Cell, DueCheck, Flag, Run
from benchmarks.selectors.flags import visible_flags
from benchmarks.viewer import Viewer
from dashboard import figures
from dashboard.asked import unmet
from dashboard.core_texts import evidence_name

EVERYTHING = "all"
SHOWN = 300
SUBJECTS_SHOWN = 12
NOT_STATED = "not stated"  # as evidence has it
# For programs; the sentence says them in words.
IDS = {"other_system", "other_campaign", "other_cells", "cells", "system", "mark"}


@dataclass(frozen=True)
class Evidence:
    """One thing a finding rests on, as a name and a text."""

    name: str
    text: str


@dataclass(frozen=True)
class ShownFlag:
    """A flag with its evidence in words and the cells and runs it is about."""

    flag: Flag
    evidence: tuple[Evidence, ...]
    cells: tuple[Cell, ...]
    runs: tuple[int, ...]
    further: int


@dataclass(frozen=True)
class RuleGroup:
    """The findings of one rule, and what the rule says of itself."""

    rule: str
    title: str
    documentation: str
    severity: str
    flags: tuple[ShownFlag, ...]


@dataclass(frozen=True)
class FlagPage:
    """Flags by rule, gravest first; ``choices`` are all statuses with their numbers."""

    status: str
    choices: tuple[tuple[str, int], ...]
    groups: tuple[RuleGroup, ...]
    has_more: bool
    unchecked: bool
    unmet: tuple[str, ...] = ()
    """What the address asks for and is not here."""


def flag_page(viewer: Viewer, campaign: Campaign, query: Mapping[str, str]) -> FlagPage:
    """Return the flags that a URL's query asks for: open ones unless told."""
    wanted = query.get("status", Flag.Status.OPEN)
    status = wanted if wanted in Flag.Status.values else EVERYTHING
    everything = visible_flags(viewer, campaign=campaign)
    counts = Counter(everything.order_by().values_list("status", flat=True))
    chosen = everything if status == EVERYTHING else everything.filter(status=status)
    # A run brings its facts and a cell its shape: long texts, nothing of them is shown.
    runs = Prefetch("runs", Run.objects.only("pk"))
    cells = Prefetch("cells", Cell.objects.defer("shape"))
    found = list(chosen.prefetch_related(cells, "cells__case", "cells__system", runs))
    found.sort(key=lambda flag: (SEVERITIES.index(flag.severity), flag.rule, flag.pk))
    return FlagPage(
        status=status,
        choices=(
            *((name, counts[name]) for name in Flag.Status.values),
            (EVERYTHING, counts.total()),
        ),
        groups=tuple(_groups(found[:SHOWN])),
        has_more=len(found) > SHOWN,
        unchecked=DueCheck.objects.filter(campaign=campaign).exists(),
        unmet=unmet(query, {"status": status}),
    )


def _groups(flags: Iterable[Flag]) -> Iterator[RuleGroup]:
    for (severity, name), members in groupby(
        flags, key=lambda flag: (flag.severity, flag.rule)
    ):
        rule = RULES.get(name)
        yield RuleGroup(
            rule=name,
            title=_(rule.title) if rule else name,
            documentation=_(rule.documentation) if rule else "",
            severity=severity,
            flags=tuple(map(_shown, members)),
        )


def _shown(flag: Flag) -> ShownFlag:
    cells, runs = list(flag.cells.all()), [run.pk for run in flag.runs.all()]
    return ShownFlag(
        flag=flag,
        evidence=evidence_words(flag.evidence),
        cells=tuple(cells[:SUBJECTS_SHOWN]),
        runs=tuple(runs[:SUBJECTS_SHOWN]),
        further=max(len(cells) - SUBJECTS_SHOWN, 0)
        + max(len(runs) - SUBJECTS_SHOWN, 0),
    )


def evidence_words(evidence: Mapping[str, Any]) -> tuple[Evidence, ...]:
    """Return what a finding rests on, in words."""
    return tuple(
        Evidence(_(evidence_name(name)), _text(value))
        for name, value in evidence.items()
        if name not in IDS
    )


def _text(value: Any, depth: int = 0) -> str:
    """Write evidence for people: numbers as tables do, lists with commas."""
    if value is None:
        return _("not known")
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, int | float):
        return figures.brief(value)
    if isinstance(value, list):
        # Lists of pairs: the numbers of a pair belong together.
        between = "; " if depth == 0 else " / "
        return between.join(_text(each, depth + 1) for each in value)
    if isinstance(value, dict):
        return ", ".join(
            f"{_(evidence_name(name))} {_text(each)}" for name, each in value.items()
        )
    return _("not stated") if value == NOT_STATED else str(value)
