"""A judgement in words: the verdict, its interval, what stands against it."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.gates import Gate
from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.row import ComparisonRow
from dashboard import wording
from dashboard.kit import figures
from dashboard.wording import Text

VERDICTS: dict[str, Text] = {
    "slower": gettext_lazy("slower"),
    "faster": gettext_lazy("faster"),
    "equivalent": gettext_lazy("equivalent"),
    "undetermined": gettext_lazy("undetermined"),
    "not_assessed": gettext_lazy("not assessed"),
    "baseline": gettext_lazy("baseline"),
    # Of energies for the same work, which have no sign of their own in the table.
    "less": gettext_lazy("less energy"),
    "more": gettext_lazy("more energy"),
}
LABELS: dict[str, Text] = {
    "single run": gettext_lazy("single run"),
    "indicative: slower": gettext_lazy("indicative: slower"),
    "indicative: faster": gettext_lazy("indicative: faster"),
    "indicative: equivalent": gettext_lazy("indicative: equivalent"),
    "indicative: undetermined": gettext_lazy("indicative: undetermined"),
    "indicative: less": gettext_lazy("indicative: less energy"),
    "indicative: more": gettext_lazy("indicative: more energy"),
}
# A sign beside the number: seen by everybody, whatever their colours.
SIGNS = {"slower": "▼", "faster": "▲", "equivalent": "=", "undetermined": "?"}
FLAGGED = "⚑"
# Why a number that is shown gets no verdict, for a note below a table.
WITHHELD: dict[str, Text] = {
    "flagged": gettext_lazy("not assessed: an open flag doubts it or its baseline"),
    "clock_suspect": gettext_lazy(
        "not assessed: the clock that timed it, or its baseline, cannot be trusted"
    ),
    "noisy_baseline": gettext_lazy("not assessed: its baseline is too noisy"),
    "two_runs": gettext_lazy("not assessed: one side has two runs only"),
    "few_runs": gettext_lazy("only indicative: one side has three or four runs"),
}


def verdict_words(judgement: Judgement) -> str:
    """Return what may be said, in a word or two."""
    return str(LABELS.get(judgement.label) or VERDICTS[judgement.verdict])


def verdict_name(verdict: str) -> str:
    """Return a verdict in a word or two."""
    return str(VERDICTS[verdict])


def verdict_sign(verdict: str) -> str:
    """Return the verdict's sign; none where there is no verdict."""
    return SIGNS.get(verdict, "")


def is_flagged(judgement: Judgement) -> bool:
    """Return whether a flag lets nothing be said."""
    return Gate.FLAGGED.code in judgement.codes


def reasons(row: ComparisonRow) -> list[str]:
    """Return what decided or stands against a verdict, and of which side it is so."""
    judged = row.shown.judgement
    if judged is None:
        return []
    said = [wording.said(sentence) for sentence in judged.sentences]
    others = set(row.shown.baseline_doubts) - set(row.shown.doubts)
    if not others.intersection(judged.codes):
        return said
    return [
        _("%(reason)s That is so of its baseline.") % {"reason": reason}
        if code in others
        else reason
        for code, reason in zip(judged.codes, said, strict=True)
    ]


def withheld(judgement: Judgement | None) -> tuple[str, ...]:
    """Return the codes of what keeps a verdict from a number that is shown."""
    codes = judgement.codes if judgement else ()
    return tuple(code for code in WITHHELD if code in codes)


def paper_sign(judgement: Judgement) -> str:
    """Return the sign of a verdict, or that a flag withholds it."""
    return FLAGGED if is_flagged(judgement) else verdict_sign(judgement.verdict)


def signs_in_words() -> dict[str, str]:
    """Return what each sign beside a number says."""
    said = {
        sign: _("Verdict: %(verdict)s.") % {"verdict": VERDICTS[verdict]}
        for verdict, sign in SIGNS.items()
    }
    return {**said, FLAGGED: _("Not assessed: a flag doubts a number.")}


def interval_text(judgement: Judgement) -> str:
    """Return the interval of the ratio, or nothing where there is none."""
    if judgement.low is None or judgement.high is None:
        return ""
    return _("%(low)s to %(high)s") % {
        "low": figures.ratio(judgement.low),
        "high": figures.ratio(judgement.high),
    }


def judgement_sentence(judgement: Judgement | None) -> str:
    """Return interval and verdict for a tooltip, with the first reason against one."""
    if judgement is None or judgement.low is None:
        return ""
    interval = _("95 %% interval %(interval)s: %(verdict)s.") % {
        "interval": interval_text(judgement),
        "verdict": verdict_words(judgement),
    }
    is_withheld = not judgement.is_assessed
    reason = wording.said(judgement.sentences[0]) if is_withheld else ""
    return f"{interval} {reason}".rstrip()
