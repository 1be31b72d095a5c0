"""Answers: a sentence, and a row with an interval for each subject."""

from collections.abc import Iterable, Sequence
from math import exp
from typing import Any, Final

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from benchmarks.analysis.meta_analysis import EvidenceStrength
from benchmarks.evidence.synthesis import Synthesis
from dashboard.kit import formatting
from dashboard.wording import evidence

# Per cent of bare-metal speed.
AXIS_END: Final = 125
TICKS: Final = (0, 25, 50, 75, 100, 125)


def position(percent: float) -> str:
    # CSS needs a decimal point in every language.
    return f"{100 * min(max(percent, 0), AXIS_END) / AXIS_END:.2f}%"


def answer_rows(
    subjects: Iterable[tuple[str, str, Synthesis]],
) -> dict[str, Any]:
    """Return the context of `kit/_answer.html` but for its sentence.

    Subjects have a name, a URL and their evidence.
    """
    return {
        "rows": [_row(*subject) for subject in subjects],
        "ticks": [(position(tick), formatting.number(tick), tick) for tick in TICKS],
        "native": position(100),
    }


def _row(name: str, url: str, synthesis: Synthesis) -> dict[str, Any]:
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
        "x": position(low),
        "width": f"{float(position(high)[:-1]) - float(position(low)[:-1]):.2f}%",
        "points": [position(100 * exp(point)) for point in points],
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
    sentences.append(strength_sentence([synthesis for *_, synthesis in known]))
    return " ".join(sentences)


def strength_sentence(syntheses: Sequence[Synthesis]) -> str:
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
