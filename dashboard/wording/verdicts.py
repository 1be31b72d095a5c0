"""A judgement in words, and its ratio as performance, overhead or energy."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.energy import SENTENCES, EnergyRatio
from benchmarks.analysis.gates import Gate
from benchmarks.analysis.judgement import Judgement
from benchmarks.comparing.row import ComparisonRow
from benchmarks.sentences import Sentence
from dashboard import wording
from dashboard.kit import figures
from dashboard.wording import Text, states

OVERHEAD, VALUE, ENERGY = "overhead", "value", "energy"
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
RATIOS: dict[str, Text] = {
    ENERGY: gettext_lazy("times the energy for the same work"),
    OVERHEAD: gettext_lazy("overhead"),
}
SIGNS = {"slower": "▼", "faster": "▲", "equivalent": "=", "undetermined": "?"}
FLAGGED = "⚑"
WEAK = "*"
WEAK_MEANING: Text = gettext_lazy(
    "weak evidence: start times are not stated, so one sitting is assumed"
)
STRENGTHS: dict[str, Text] = {
    "hollow": gettext_lazy(
        "Hollow: each side ran in sessions of its own, too few to say how much "
        "sessions differ, so there is no verdict."
    ),
    "faint": gettext_lazy("Faint: two runs a side, or two sessions; they say little."),
}
MOST_SCOPES = 4
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


# What was repeated, and so of what an interval speaks.
DESIGNS: dict[str, Text] = {
    "single_run": gettext_lazy("A side has a single run."),
    "one_shared": gettext_lazy(
        "Both sides ran in one session. Another session may differ."
    ),
    "two_shared": gettext_lazy(
        "Both sides ran in the same two sessions: there is a verdict only if each of "
        "them gives it."
    ),
    "shared": gettext_lazy(
        "Both sides ran in the same sessions: what a session does to both cancels in "
        "its ratio."
    ),
    "repeated": gettext_lazy(
        "Each side ran in three sessions or more, not the same ones: the means of "
        "sessions are compared."
    ),
    "borrowed": gettext_lazy(
        "One side ran in three sessions or more, the other in fewer: how much its "
        "sessions differ is taken from the first."
    ),
    "unrepeated": gettext_lazy(
        "Each side ran in sessions of its own, too few to say how much sessions differ."
    ),
    "assumed_one": gettext_lazy(
        "Start times are not stated: all runs are treated as one sitting."
    ),
}


def design_text(judgement: Judgement) -> str:
    """Return what was repeated, in a sentence, unless it is a reason already."""
    is_said = Gate.UNREPEATED.code in judgement.codes
    return "" if is_said else str(DESIGNS.get(judgement.design, ""))


def spread_text(judgement: Judgement) -> str:
    """Return by how much sessions differ, where more than one says so."""
    if judgement.between_sd is None:
        return ""
    return _(
        "Sessions differ by %(sd)s\N{NO-BREAK SPACE}%% here (standard deviation)."
    ) % {"sd": figures.number(100 * judgement.between_sd, ".2g")}


def verdict_words(judgement: Judgement) -> str:
    """Return what may be said, in a word or two."""
    return str(LABELS.get(judgement.label) or VERDICTS[judgement.verdict])


def verdict_name(verdict: str) -> str:
    return str(VERDICTS[verdict])


def verdict_sign(verdict: str, *, is_weak: bool = False) -> str:
    """Return the verdict's sign; none where there is no verdict."""
    sign = SIGNS.get(verdict, "")
    return f"{sign}{WEAK}" if sign and is_weak else sign


def strength_notes(strengths: Collection[str]) -> str:
    """Return what hollow and faint marks mean, as far as there are any."""
    notes = (note for strength, note in STRENGTHS.items() if strength in strengths)
    return " ".join(map(str, notes))


def scopes_text(scopes: Mapping[str, int]) -> str:
    """Return of what verdicts speak, the commonest first; nothing where none does."""
    ranked = sorted(scopes.items(), key=lambda pair: (-pair[1], pair[0]))
    told = [
        ngettext("%(n)s verdict holds %(scope)s", "%(n)s verdicts hold %(scope)s", n)
        % {"n": n, "scope": wording.said(scope)}
        for scope, n in ranked[:MOST_SCOPES]
    ]
    if not told:
        return ""
    if more := sum(n for _scope, n in ranked[MOST_SCOPES:]):
        told.append(_("%(n)s otherwise") % {"n": more})
    return f"{'; '.join(told)}."


def judged_scopes(judgements: Iterable[Judgement | None]) -> Counter[str]:
    """Return how many verdicts speak of what."""
    return Counter(it.scope for it in judgements if it and it.is_assessed and it.scope)


def is_flagged(judgement: Judgement) -> bool:
    """Return whether a flag lets nothing be said."""
    return Gate.FLAGGED.code in judgement.codes


def reasons(row: ComparisonRow) -> list[str]:
    """Return what decided or stands against a verdict, and of which side it is so."""
    judged = row.shown.judgement
    if judged is None:
        return []
    texts = [wording.said(sentence) for sentence in judged.sentences]
    # What both sides have is not said of the baseline alone.
    others = set(row.shown.baseline_doubts) - set(row.shown.doubts)
    if not others.intersection(judged.codes):
        return texts
    return [
        _("%(reason)s This is true of its baseline.") % {"reason": reason}
        if code in others
        else reason
        for code, reason in zip(judged.codes, texts, strict=True)
    ]


def withheld(judgement: Judgement | None) -> tuple[str, ...]:
    """Return the codes of what keeps a verdict from a number that is shown."""
    codes = judgement.codes if judgement else ()
    return tuple(code for code in WITHHELD if code in codes)


def paper_sign(judgement: Judgement) -> str:
    """Return the sign of a verdict, or that a flag withholds it."""
    if is_flagged(judgement):
        return FLAGGED
    return verdict_sign(judgement.verdict, is_weak=judgement.is_weak)


def sign_words(sign: str) -> str:
    """Return the meaning of a sign beside a number."""
    if sign == FLAGGED:
        return _("Not assessed: a flag doubts a number.")
    verdict = next(name for name, known in SIGNS.items() if known == sign.rstrip(WEAK))
    text = _("Verdict: %(verdict)s.") % {"verdict": VERDICTS[verdict]}
    if sign.endswith(WEAK):
        text += " " + _("Weak evidence.")
    return text


def interval_text(judgement: Judgement) -> str:
    """Return the interval of the ratio, or nothing where there is none."""
    if judgement.low is None or judgement.high is None:
        return ""
    return between((judgement.low, judgement.high))


def between(interval: figures.Interval) -> str:
    """Write the interval of a ratio; one that no digit shows by how narrow it is."""
    low, high = figures.ends(interval)
    if low != high:
        return wording.span_text(low, high)
    return f"± < {figures.last_place(low)}"


def scoped_verdict(judgement: Judgement) -> str:
    """Return what may be said and of what: "slower, across 5 sessions"."""
    if not (judgement.scope and judgement.is_assessed):
        return verdict_words(judgement)
    return _("%(verdict)s, %(scope)s") % {
        "verdict": verdict_words(judgement),
        "scope": wording.said(judgement.scope),
    }


def judgement_sentence(judgement: Judgement | None) -> str:
    """Return interval and verdict for a tooltip, with the first reason against one."""
    if judgement is None or (judgement.low is None and judgement.ratio is not None):
        return ""
    verdict = scoped_verdict(judgement)
    interval = _("Verdict: %(verdict)s.") % {"verdict": verdict}
    if judgement.low is not None:
        words = {"interval": interval_text(judgement), "verdict": verdict}
        interval = (
            _("95\N{NO-BREAK SPACE}%% interval %(interval)s: %(verdict)s.") % words
        )
    is_told = not judgement.is_assessed or judgement.ratio is None
    reason = wording.said(judgement.sentences[0]) if is_told else ""
    return f"{interval} {reason}".rstrip()


def is_overhead(row: ComparisonRow, show: str) -> bool:
    """Return whether a ratio is written as the loss from 1."""
    return show == OVERHEAD and row.shown.kind not in ("scaling", "slowdown")


def ratio_text(row: ComparisonRow, show: str) -> str:
    """Return a cell's ratio, or nothing where there is none."""
    ratio = row.shown.written_ratio
    if ratio is None:
        return ""
    write = figures.overhead if is_overhead(row, show) else figures.ratio
    return write(ratio, row.shown.interval)


def ratio_range_text(row: ComparisonRow, show: str) -> str:
    """Return the ratios of the extremes of a cell without a single figure."""
    low, high = ratio_range_ends(row, show)
    return wording.span_text(low, high) if low else ""


def ratio_range_ends(row: ComparisonRow, show: str) -> tuple[str, str]:
    """Return the least and the greatest of those ratios; nothing where there is one."""
    if row.shown.ratio_range is None:
        return "", ""
    low, high = row.shown.ratio_range
    if is_overhead(row, show):
        return figures.overhead(high), figures.overhead(low)
    return figures.ratio(low), figures.ratio(high)


def shown_interval(row: ComparisonRow, show: str) -> str:
    """Return the 95 % interval of what `ratio_text` says, or nothing."""
    interval, ends = row.shown.interval, interval_ends(row, show)
    if interval is None or ends is None:
        return ""
    if not is_overhead(row, show):
        return between(interval)
    return wording.span_text(*ends)


def interval_ends(row: ComparisonRow, show: str) -> tuple[str, str] | None:
    """Return both ends of that interval: the more is lost, the less is the ratio."""
    interval = row.shown.interval
    if interval is None:
        return None
    if is_overhead(row, show):
        most, least = (figures.overhead(end, interval) for end in interval)
        return least, most
    return figures.ends(interval)


def drawn_judgement(row: ComparisonRow) -> Judgement | None:
    """Return the judgement of a ratio that is written, or of a range of ratios."""
    ratio = row.shown.written_ratio
    judged = row.shown.judgement
    is_written = ratio is not None or row.shown.ratio_range is not None
    return replace(judged, ratio=ratio) if judged and is_written else None


def ratio_meaning(show: str) -> str:
    """Return what the ratio is called; nothing for the usual one."""
    return str(RATIOS.get(show, ""))


def legend(show: str) -> list[tuple[str, str]]:
    """Return shade and label of each step, slowest first, in the cells' numbers."""
    slower, faster = "≤", "≥"
    if show in (ENERGY, OVERHEAD):
        slower, faster = faster, slower
    # Shades are called slow-5 or fast-1; "even" has no sign.
    signs = {"slow": f"{slower} ", "fast": f"{faster} "}
    steps = []
    for shade, edge in figures.steps():
        if show == OVERHEAD:
            text = figures.whole_overhead(edge)
        else:
            text = figures.number(1 / edge if show == ENERGY else edge, ".3g")
        steps.append((shade, signs.get(shade[:4], "") + text))
    return steps


def energy_texts(row: ComparisonRow) -> tuple[str, str]:
    """Return what a cell says large and small: the ratio of joules, its interval."""
    shown = row.shown
    if shown.energy is None:
        return wording.NONE, ""
    if shown.range:
        low, high = map(figures.brief, shown.range)
        return wording.span_text(low, high), ""
    if shown.joules is None:
        return figures.brief(shown.energy.mean), ""
    cost = wording.quantity(shown.value, "")
    small = joules_interval(shown.joules) if shown.joules.has_interval else cost
    return figures.ratio(shown.joules.ratio, shown.joules.interval), small


def meter_text(row: ComparisonRow) -> str:
    """Return what the meter of an energy saw; nothing of a speed."""
    if row.shown.energy is None:
        return ""
    is_cpu_only = row.shown.energy.meter.is_cpu_only
    return _("CPU only") if is_cpu_only else _("whole machine")


def energy_sentence(row: ComparisonRow) -> str:
    """Return the cell in full."""
    shown, energy = row.shown, row.shown.energy
    if energy is None:
        return states.state_meaning(shown.state)
    words = {
        "own": wording.quantity(shown.value, shown.unit) or " ".join(energy_texts(row)),
        "runs": wording.runs_text(shown.n),
        "meter": meter_text(row),
    }
    if shown.joules is None:
        sentence = _("%(own)s for the work, %(runs)s, %(meter)s.") % words
        return f"{sentence} {wording.said(shown.reason)}".rstrip()
    words["ratio"] = figures.ratio(shown.joules.ratio, shown.joules.interval)
    words["base"] = wording.quantity(shown.baseline_value, shown.unit)
    words["base_runs"] = wording.runs_text(energy.base_n)
    sentence = _(
        "%(ratio)s times the energy of the baseline for the same work: %(own)s "
        "against %(base)s, %(runs)s against %(base_runs)s, %(meter)s."
    )
    return f"{sentence % words} {joules_interval(shown.joules)}"


def joules_interval(ratio: EnergyRatio | None) -> str:
    """Return the interval of a ratio of joules, or why there is none."""
    if ratio is None:
        return wording.NONE
    if ratio.interval is not None:
        return "[{}, {}]".format(*figures.ends(ratio.interval))
    return wording.said(Sentence(SENTENCES[ratio.reason])) if ratio.reason else ""
