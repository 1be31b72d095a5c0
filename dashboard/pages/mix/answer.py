from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, isfinite
from statistics import fmean
from typing import Any, Final

from django.http import QueryDict
from django.utils.translation import gettext as _

from benchmarks.analysis.work_mixes import MixEffect, MixPart, mix_effect
from benchmarks.evidence.queries import Question, StudyAverage
from benchmarks.evidence.synthesis import NO_EVIDENCE, Synthesis
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit import formatting
from dashboard.kit.evidence_matrix import question_url
from dashboard.kit.measuring import tools_for
from dashboard.kit.prefilled_links import PrefilledLinks
from dashboard.wording import evidence

MAX_PARTS: Final = 8
EXAMPLE: Final = (
    ("application-database", 60.0),
    ("memory-read", 30.0),
    ("disk-random-write", 10.0),
)


RECORD_FIELDS: Final = (
    *("hypervisor", "part", "share", "middle", "low", "high", "kind", "evidence"),
    "studies",
)
EMPTY_RECORD: Final[Mapping[str, Any]] = dict.fromkeys(RECORD_FIELDS)


class MixError(ValueError):
    """A mistake in the entered mix, as a sentence for the reader."""


@dataclass(frozen=True, slots=True)
class Part:
    """A class of work and its share; the shares of a mix sum to 1."""

    work: str
    share: float


def entered_parts(query: QueryDict) -> list[Part]:
    """Return the parts of a query, or the example for a query without any.

    Raise MixError for unknown work and invalid shares.
    """
    works, shares = query.getlist("work"), query.getlist("share")
    if not any(works):
        pairs = list(EXAMPLE)
    else:
        pairs = [
            (work, _share(work, text))
            for work, text in zip(works, shares, strict=False)
            if work and text.strip()
        ]
    if not 0 < len(pairs) <= MAX_PARTS:
        raise MixError(
            _("Enter 1 to %(most)s kinds of work with their shares.")
            % {"most": MAX_PARTS}
        )
    names = [work for work, _number in pairs]
    if len(set(names)) < len(names):
        raise MixError(_("A kind of work is listed twice. Add its shares up."))
    total = sum(number for _work, number in pairs)
    return [Part(work, number / total) for work, number in pairs]


def _share(work: str, text: str) -> float:
    if work not in WORK_CLASSES:
        raise MixError(
            _('"%(work)s" is not a kind of work. Choose one from the list.')
            % {"work": work}
        )
    try:
        number = float(text.replace(",", ".").removesuffix("%"))
    except ValueError:
        number = -1.0
    if not (isfinite(number) and 0 < number <= 1e6):
        raise MixError(
            _('The share of %(work)s is "%(text)s". Enter a number above 0.')
            % {"work": evidence.work_phrase(work), "text": text}
        )
    return number


def mix_records(
    hypervisor: str,
    parts: Sequence[Part],
    syntheses: Mapping[Question, Synthesis],
    averages: Mapping[Question, Sequence[StudyAverage]],
) -> list[dict[str, Any]]:
    """Return the ratios to bare metal of the parts, and last of the whole mix.

    Values of parts without results, and then of the mix, are None.
    """
    records: list[dict[str, Any]] = []
    mixed: list[MixPart] = []
    every: set[str] = set()
    for part in parts:
        question = Question(hypervisor, part.work)
        synthesis = syntheses.get(question, NO_EVIDENCE)
        ends, points = evidence.shown_range(synthesis)
        record = {
            **EMPTY_RECORD,
            "hypervisor": hypervisor,
            "part": part.work,
            "share": part.share,
        }
        if points:
            names = {member.study.name for member in averages.get(question, ())}
            every |= names
            mixed.append(MixPart(part.share, fmean(points), ends))
            record |= {
                **_ratios(fmean(points), ends),
                "kind": evidence.range_kind(synthesis),
                "evidence": str(synthesis.strength),
                "studies": " ".join(sorted(names)),
            }
        records.append(record)
    whole = {**EMPTY_RECORD, "hypervisor": hypervisor, "share": 1.0}
    if len(mixed) == len(parts):
        effect = mix_effect(mixed)
        whole |= _ratios(effect.log_ratio, effect.interval)
    return [*records, {**whole, "studies": " ".join(sorted(every))}]


def _ratios(log_ratio: float, ends: tuple[float, float]) -> dict[str, float | None]:
    return {"middle": exp(log_ratio), "low": exp(ends[0]), "high": exp(ends[1])}


def mix_context(
    hypervisor: str,
    parts: Sequence[Part],
    syntheses: Mapping[Question, Synthesis],
    links: PrefilledLinks,
) -> dict[str, Any]:
    rows = [_row(hypervisor, part, syntheses, links) for part in parts]
    missing = [row for row in rows if not row["points"]]
    effect = None
    if not missing:
        effect = mix_effect(
            [
                MixPart(part.share, fmean(row["points"]), row["ends"])
                for part, row in zip(parts, rows, strict=True)
            ]
        )
    return {
        "rows": rows,
        "missing": missing,
        "sentence": _sentence(hypervisor, rows, missing, effect),
        "notes": _notes(rows, effect),
        "effect": effect,
    }


def _row(
    hypervisor: str,
    part: Part,
    syntheses: Mapping[Question, Synthesis],
    links: PrefilledLinks,
) -> dict[str, Any]:
    question = Question(hypervisor, part.work)
    synthesis = syntheses.get(question, NO_EVIDENCE)
    ends, points = evidence.shown_range(synthesis)
    return {
        "name": evidence.work_phrase(part.work),
        "share": formatting.percent(part.share),
        "url": question_url(question),
        "ends": ends,
        "points": points,
        "range": evidence.percent_range(*map(exp, ends)) if points else "",
        "kind": evidence.range_kind(synthesis) if points else "",
        "strength": str(evidence.EVIDENCE_STRENGTHS[synthesis.strength]),
        "synthesis": synthesis,
        "why": evidence.short_exclusion(synthesis.excluded_counts) or _("not measured"),
        "tools": ", ".join(tools_for(part.work)),
        "plan": links.hypervisor_plan_url(hypervisor, part.work),
    }


def _sentence(
    hypervisor: str,
    rows: Sequence[Mapping[str, Any]],
    missing: Sequence[Mapping[str, Any]],
    effect: MixEffect | None,
) -> str:
    mix = ", ".join(f"{row['share']} {row['name']}" for row in rows)
    if effect is None:
        names = ", ".join(row["name"] for row in missing)
        return _(
            "%(hypervisor)s, %(mix)s: no answer, because there are no usable results "
            "for %(missing)s."
        ) % {"hypervisor": hypervisor, "mix": mix, "missing": names}
    if all(evidence.is_predicted(row["synthesis"]) for row in rows):
        text = _(
            "%(hypervisor)s, %(mix)s: expect %(range)s of bare-metal speed (middle "
            "%(middle)s)."
        )
    else:
        text = _(
            "%(hypervisor)s, %(mix)s: %(range)s of bare-metal speed on the measured "
            "machines (middle %(middle)s). Another machine may be outside this range."
        )
    return text % {
        "hypervisor": hypervisor,
        "mix": mix,
        "range": evidence.percent_range(*map(exp, effect.interval)),
        "middle": evidence.percent_range(exp(effect.log_ratio), exp(effect.log_ratio)),
    }


def _notes(rows: Sequence[Mapping[str, Any]], effect: MixEffect | None) -> list[str]:
    if effect is None:
        return []
    notes = []
    independent = evidence.percent_range(*map(exp, effect.independent))
    if independent != evidence.percent_range(*map(exp, effect.interval)):
        notes.append(
            _(
                "The range holds even if all parts are slow on the same machine. If "
                "they varied independently, it would be %(range)s."
            )
            % {"range": independent}
        )
    unpredicted = [
        row["name"] for row in rows if not evidence.is_predicted(row["synthesis"])
    ]
    if unpredicted:
        notes.append(
            _(
                "There is no prediction for another machine for %(works)s, because "
                "too few machines were measured."
            )
            % {"works": ", ".join(unpredicted)}
        )
    single = [row["name"] for row in rows if row["synthesis"].is_single_runs]
    if single:
        notes.append(
            _("Only single runs, without an uncertainty estimate: %(works)s.")
            % {"works": ", ".join(single)}
        )
    return notes
