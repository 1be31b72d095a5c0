"""Answers: a sentence, and a row with an interval for each subject."""

from collections.abc import Iterable, Sequence
from math import exp
from statistics import fmean
from typing import Any, Final

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from benchmarks.analysis.meta_analysis import EvidenceStrength
from benchmarks.evidence.synthesis import Synthesis
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit import formatting
from dashboard.wording import evidence

# Per cent of bare-metal speed.
AXIS_END: Final = 125
TICKS: Final = (0, 25, 50, 75, 100, 125)


def position(percent: float) -> str:
    # CSS needs a decimal point in every language.
    return f"{_share_of_axis(percent):.2f}%"


def range_bar(low: float, high: float) -> dict[str, Any]:
    return {
        "x": position(low),
        "width": f"{_share_of_axis(high) - _share_of_axis(low):.2f}%",
        "is_beyond": high > AXIS_END,
    }


def _share_of_axis(percent: float) -> float:
    return 100 * min(max(percent, 0), AXIS_END) / AXIS_END


def answer(
    sentence: str, subjects: Iterable[tuple[str, str, Synthesis]]
) -> dict[str, Any]:
    """Return the context of `kit/_answer.html`.

    Subjects have a name, a URL and their evidence.
    """
    return {
        "sentence": sentence,
        "rows": [_row(*subject) for subject in subjects],
        "ticks": [(position(tick), _tick_text(tick)) for tick in TICKS],
        "native": position(100),
    }


def _tick_text(tick: float) -> str:
    text = formatting.number(tick)
    return formatting.with_percent_sign(text) if tick == 100 else text


def _row(name: str, url: str, synthesis: Synthesis) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "url": url, "synthesis": synthesis}
    ends, points = evidence.shown_range(synthesis)
    if not points:
        excluded = evidence.short_exclusion(synthesis.excluded_counts)
        return {**row, "url": f"{url}#add-data", "excluded": excluded}
    low, high = (100 * exp(end) for end in ends)
    return {
        **row,
        "value": _range_text(ends),
        "detail": evidence.range_kind(synthesis),
        "labs": evidence.labs_text(synthesis.lab_count),
        "strength": str(evidence.EVIDENCE_STRENGTHS[synthesis.strength]),
        **range_bar(low, high),
        "points": [position(100 * exp(point)) for point in points],
        "is_hollow": synthesis.is_single_runs,
    }


def _range_text(ends: tuple[float, float]) -> str:
    return evidence.percent_range(*map(exp, ends))


def _fastest_first(
    subjects: Iterable[tuple[str, Synthesis]],
) -> list[tuple[str, str, Synthesis]]:
    """Return the name, range and evidence of each subject that has results."""
    known = []
    for name, synthesis in subjects:
        ends, points = evidence.shown_range(synthesis)
        if points:
            known.append((fmean(points), name, _range_text(ends), synthesis))
    known.sort(key=lambda item: -item[0])
    return [(name, text, synthesis) for _mean, name, text, synthesis in known]


def answer_sentence(
    work: str, pairs: Sequence[tuple[str, Synthesis]], machine: str = ""
) -> str:
    """Return the answer and its evidence.

    ``machine`` is the title of the only machine with evidence.
    """
    phrase = evidence.work_phrase(work)
    if machine:
        names = {"work": phrase, "machine": machine}
        phrase = _("%(work)s on %(machine)s") % names
    known = _fastest_first(pairs)
    if not known:
        text = _(
            "No study has compared %(work)s in these virtual machines with bare metal."
        )
        return text % {"work": phrase}
    first, other = (
        _("%(name)s reaches %(range)s of bare-metal speed"),
        _("%(name)s %(range)s"),
    )
    texts = [
        (other if number else first) % {"name": name, "range": text}
        for number, (name, text, _synthesis) in enumerate(known)
    ]
    sentences = [f"{capfirst(phrase)}: {', '.join(texts)}."]
    measured = {name for name, *_rest in known}
    missing = [name for name, _synthesis in pairs if name not in measured]
    if missing:
        sentences.append(_("Not measured: %(names)s.") % {"names": ", ".join(missing)})
    sentences.append(_strength_sentence([synthesis for *_rest, synthesis in known]))
    return " ".join(sentences)


def range_sentence(
    name: str, subjects: Iterable[tuple[str, Synthesis]], work_count: int
) -> str:
    """Return where virtual machines are fastest and slowest, and the evidence."""
    known = _fastest_first(subjects)
    if not known:
        return _("No study has compared %(name)s with bare metal.") % {"name": name}
    texts = [
        _("%(subject)s (%(range)s)") % {"subject": subject, "range": text}
        for subject, text, _synthesis in known
    ]
    if len(known) == 1:
        text = _("%(name)s relative to bare metal: %(best)s.")
    else:
        text = _(
            "%(name)s relative to bare metal: best for %(best)s, worst for %(worst)s."
        )
    text %= {"name": name, "best": texts[0], "worst": texts[-1]}
    counted = _("Measured in %(n)s of %(possible)s classes of work.")
    counted %= {"n": work_count, "possible": len(WORK_CLASSES)}
    strength = _strength_sentence([synthesis for *_rest, synthesis in known])
    return f"{text} {counted} {strength}"


def _strength_sentence(syntheses: Sequence[Synthesis]) -> str:
    strengths = {synthesis.strength for synthesis in syntheses}
    pools = [synthesis.main_pool for synthesis in syntheses]
    counts = sorted(set(map(evidence.physical_machine_count, pools)))
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
