"""The answer on the home page: what hypervisors cost for one class of work."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from math import exp
from typing import Any, Final

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from benchmarks.analysis.meta_analysis import EvidenceStrength
from benchmarks.evidence.queries import Question
from benchmarks.evidence.synthesis import NO_EVIDENCE, Synthesis
from benchmarks.hypervisor_names import MAIN_HYPERVISORS
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit import formatting
from dashboard.kit.evidence_matrix import question_url
from dashboard.wording import evidence

Syntheses = Mapping[Question, Synthesis]
# Per cent of bare-metal speed.
AXIS_END: Final = 125
TICKS: Final = (0, 25, 50, 75, 100, 125)
DEFAULT_WORK: Final = "application-database"


def best_known_work(syntheses: Syntheses) -> str:
    """Return the class of work that was measured with most of the main hypervisors.

    Of several, the one on most machines.
    """

    def rank(work: str) -> tuple[int, int, bool]:
        counts = [
            syntheses.get(Question(name, work), NO_EVIDENCE).main_pool.machine_count
            for name in MAIN_HYPERVISORS
        ]
        return sum(map(bool, counts)), sum(counts), work == DEFAULT_WORK

    return max(WORK_CLASSES, key=rank)


def chosen_hypervisors(names: Iterable[str], offered: Sequence[str]) -> list[str]:
    """Return the requested hypervisors that exist, else the main ones."""
    requested = set(names)
    chosen = [name for name in offered if name in requested]
    return chosen or [name for name in offered if name in MAIN_HYPERVISORS]


def answer_context(
    syntheses: Syntheses, work: str, hypervisors: Sequence[str]
) -> dict[str, Any]:
    """Return the template context of the question and its answer."""
    if work not in WORK_CLASSES:
        work = best_known_work(syntheses)
    offered = _offered(syntheses)
    chosen = chosen_hypervisors(hypervisors, offered)
    pairs = [
        (name, syntheses.get(Question(name, work), NO_EVIDENCE)) for name in chosen
    ]
    return {
        "works": _work_groups(syntheses, work),
        "main": [(name, name in chosen) for name in offered[: len(MAIN_HYPERVISORS)]],
        "others": [(name, name in chosen) for name in offered[len(MAIN_HYPERVISORS) :]],
        "has_other": any(name not in MAIN_HYPERVISORS for name in chosen),
        "rows": [_row(name, work, synthesis) for name, synthesis in pairs],
        "ticks": [(_position(tick), formatting.number(tick), tick) for tick in TICKS],
        "native": _position(100),
        "sentence": answer_sentence(work, pairs),
    }


def _offered(syntheses: Syntheses) -> list[str]:
    measured = {
        question.hypervisor
        for question, synthesis in syntheses.items()
        if synthesis.main_pool.machine_count
    }
    return [*MAIN_HYPERVISORS, *sorted(measured - set(MAIN_HYPERVISORS))]


def _work_groups(syntheses: Syntheses, chosen: str) -> list[dict[str, Any]]:
    measured = {
        question.work_class
        for question, synthesis in syntheses.items()
        if synthesis.main_pool.machine_count
    }
    # Applications first: visitors know them best.
    works = sorted(WORK_CLASSES.values(), key=lambda work: work.area != "application")
    return [
        {
            "area": evidence.work_area(area_works[0].slug),
            "works": [
                {
                    "slug": work.slug,
                    "label": evidence.work_phrase(work.slug),
                    "is_chosen": work.slug == chosen,
                    "is_measured": work.slug in measured,
                }
                for work in area_works
            ],
        }
        for _area, members in groupby(works, key=lambda work: work.area)
        if (area_works := list(members))
    ]


def _position(percent: float) -> str:
    # CSS needs a decimal point in every language.
    return f"{100 * min(max(percent, 0), AXIS_END) / AXIS_END:.2f}%"


def _row(name: str, work: str, synthesis: Synthesis) -> dict[str, Any]:
    url = question_url(Question(name, work))
    row: dict[str, Any] = {"name": name, "url": url, "synthesis": synthesis}
    ends, points = evidence.shown_range(synthesis)
    if not points:
        excluded = evidence.short_exclusion(synthesis.excluded_counts)
        return {**row, "url": f"{url}#add-data", "excluded": excluded}
    low, high = (100 * exp(end) for end in ends)
    return {
        **row,
        "value": evidence.percent_range(low / 100, high / 100),
        "detail": evidence.range_kind(synthesis),
        "labs": evidence.labs_text(synthesis.lab_count),
        "strength": str(evidence.EVIDENCE_STRENGTHS[synthesis.strength]),
        "x": _position(low),
        "width": f"{float(_position(high)[:-1]) - float(_position(low)[:-1]):.2f}%",
        "points": [_position(100 * exp(point)) for point in points],
        "is_beyond": high > AXIS_END,
        "is_hollow": synthesis.is_single_runs,
    }


def answer_sentence(work: str, pairs: Sequence[tuple[str, Synthesis]]) -> str:
    """Return the answer and the evidence behind it, in two or three sentences."""
    known, missing = [], []
    for name, synthesis in pairs:
        ends, points = evidence.shown_range(synthesis)
        if points:
            known.append((sum(points) / len(points), name, ends, synthesis))
        else:
            missing.append(name)
    phrase = evidence.work_phrase(work)
    if not known:
        text = _(
            "No study has compared %(work)s in these virtual machines with bare metal."
        )
        return text % {"work": phrase}
    known.sort(key=lambda item: -item[0])
    _mid, name, ends, _synthesis = known[0]
    texts = [
        _("%(name)s reaches %(range)s of bare-metal speed")
        % {"name": name, "range": evidence.percent_range(*map(exp, ends))}
    ]
    texts += (
        _("%(name)s %(range)s")
        % {"name": name, "range": evidence.percent_range(*map(exp, ends))}
        for _mid, name, ends, _synthesis in known[1:]
    )
    sentences = [f"{capfirst(phrase)}: {', '.join(texts)}."]
    if missing:
        sentences.append(_("Not measured: %(names)s.") % {"names": ", ".join(missing)})
    sentences.append(_strength_sentence([synthesis for *_, synthesis in known]))
    return " ".join(sentences)


def _strength_sentence(syntheses: Sequence[Synthesis]) -> str:
    strengths = {synthesis.strength for synthesis in syntheses}
    counts = sorted(
        {
            evidence.physical_machine_count(synthesis.main_pool)
            for synthesis in syntheses
        }
    )
    machines = evidence.machines_text(counts[-1])
    if len(counts) > 1:
        machines = _("%(low)s to %(machines)s each") % {
            "low": formatting.number(counts[0]),
            "machines": machines,
        }
    elif len(syntheses) > 1:
        machines = _("%(machines)s each") % {"machines": machines}
    if strengths == {EvidenceStrength.WEAK}:
        return _("Weak evidence: %(machines)s.") % {"machines": machines}
    names = dict.fromkeys(
        str(evidence.EVIDENCE_STRENGTHS[strength])
        for strength in sorted(strengths, reverse=True)
    )
    return _("Evidence: %(strengths)s (%(machines)s).") % {
        "strengths": ", ".join(names),
        "machines": machines,
    }
