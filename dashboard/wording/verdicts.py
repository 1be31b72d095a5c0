from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.assessment import CellAssessment
from benchmarks.analysis.energy_ratio import NO_INTERVAL_SENTENCES, EnergyRatio
from benchmarks.analysis.verdict_gates import Gate
from benchmarks.comparison.comparison_row import ComparisonRow
from benchmarks.sentences import Sentence
from dashboard import wording
from dashboard.kit import formatting
from dashboard.wording import Text, state_names

OVERHEAD, MEASURED_VALUE, ENERGY = "overhead", "value", "energy"
VERDICT_NAMES: dict[str, Text] = {
    "slower": gettext_lazy("slower"),
    "faster": gettext_lazy("faster"),
    "equivalent": gettext_lazy("equivalent"),
    "undetermined": gettext_lazy("undetermined"),
    "not_assessed": gettext_lazy("not assessed"),
    "baseline": gettext_lazy("baseline"),
    "less": gettext_lazy("less energy"),
    "more": gettext_lazy("more energy"),
}
INDICATIVE_LABELS: dict[str, Text] = {
    "single run": gettext_lazy("single run"),
    "indicative: slower": gettext_lazy("indicative: slower"),
    "indicative: faster": gettext_lazy("indicative: faster"),
    "indicative: equivalent": gettext_lazy("indicative: equivalent"),
    "indicative: undetermined": gettext_lazy("indicative: undetermined"),
    "indicative: less": gettext_lazy("indicative: less energy"),
    "indicative: more": gettext_lazy("indicative: more energy"),
}
RATIO_MEANINGS: dict[str, Text] = {
    ENERGY: gettext_lazy("times the energy for the same work"),
    OVERHEAD: gettext_lazy("overhead"),
}
VERDICT_SIGNS = {"slower": "▼", "faster": "▲", "equivalent": "=", "undetermined": "?"}
FLAG_SIGN = "⚑"
WEAK_SIGN = "*"
WEAK_MEANING: Text = gettext_lazy(
    "weak evidence: start times are not reported, so one session is assumed"
)
INTERVAL_STYLE_NOTES: dict[str, Text] = {
    "hollow": gettext_lazy(
        "Hollow: the two systems ran in different sessions, too few to estimate how "
        "much sessions differ, so no verdict is given."
    ),
    "faint": gettext_lazy(
        "Faint: two runs per side, or two sessions, so the evidence is weak."
    ),
}
MAX_SCOPES = 4
# Why a displayed number has no verdict.
WITHHELD_REASONS: dict[str, Text] = {
    "flagged": gettext_lazy(
        "not assessed: a flag of the result or its baseline withholds the verdict"
    ),
    "clock_suspect": gettext_lazy(
        "not assessed: its clock, or the clock of its baseline, cannot be trusted"
    ),
    "noisy_baseline": gettext_lazy("not assessed: its baseline is too noisy"),
    "two_runs": gettext_lazy("not assessed: one system has only two runs"),
    "few_runs": gettext_lazy("indicative only: one system has three or four runs"),
}


DESIGN_TEXTS: dict[str, Text] = {
    "single_run": gettext_lazy("At least one system has only one run."),
    "one_shared": gettext_lazy(
        "The result and its baseline were measured in one session. Results may differ "
        "in another session."
    ),
    "interleaved": gettext_lazy(
        "The result and its baseline alternated in one session. Differences within "
        "pairs or blocks of runs are compared, so drifts that both share cancel out. "
        "Results may differ in another session."
    ),
    "two_shared": gettext_lazy(
        "The result and its baseline were measured in the same two sessions. There is "
        "a verdict only if both sessions give the same one."
    ),
    "shared": gettext_lazy(
        "The result and its baseline were measured in the same sessions, so session "
        "effects cancel out in the ratio."
    ),
    "separate_sessions": gettext_lazy(
        "The result and its baseline were each measured in at least three sessions, "
        "but not in the same ones. The session means are compared."
    ),
    "assumed_spread": gettext_lazy(
        "One side was measured in at least three sessions, the other in fewer. The "
        "variation between sessions is estimated from the side with more sessions."
    ),
    "unrepeated": gettext_lazy(
        "The result and its baseline were measured in different sessions, too few to "
        "estimate how much sessions differ."
    ),
    "assumed_one_session": gettext_lazy(
        "Start times are not reported. All runs are treated as one session."
    ),
}


def design_text(assessment: CellAssessment) -> str:
    is_in_reasons = Gate.UNREPEATED.code in assessment.reason_codes
    return "" if is_in_reasons else str(DESIGN_TEXTS.get(assessment.design, ""))


def session_spread_text(assessment: CellAssessment) -> str:
    if assessment.between_sd is None:
        return ""
    return _("The sessions of this result differ by %(sd)s%% (standard deviation).") % {
        "sd": formatting.number(100 * assessment.between_sd, ".2g")
    }


def verdict_text(assessment: CellAssessment) -> str:
    if is_pending(assessment):
        return _("pending")
    return str(
        INDICATIVE_LABELS.get(assessment.label) or VERDICT_NAMES[assessment.verdict]
    )


def verdict_name(verdict: str) -> str:
    return str(VERDICT_NAMES[verdict])


def verdict_sign(verdict: str, *, is_weak: bool = False) -> str:
    sign = VERDICT_SIGNS.get(verdict, "")
    return f"{sign}{WEAK_SIGN}" if sign and is_weak else sign


def interval_style_notes(strengths: Collection[str]) -> str:
    notes = (
        note for strength, note in INTERVAL_STYLE_NOTES.items() if strength in strengths
    )
    return " ".join(map(str, notes))


def verdict_scopes_text(scopes: Mapping[str, int]) -> str:
    ranked = sorted(scopes.items(), key=lambda pair: (-pair[1], pair[0]))
    texts = [
        ngettext("%(n)s verdict holds %(scope)s", "%(n)s verdicts hold %(scope)s", n)
        % {"n": n, "scope": wording.translate_text(scope)}
        for scope, n in ranked[:MAX_SCOPES]
    ]
    if not texts:
        return ""
    if more := sum(n for _scope, n in ranked[MAX_SCOPES:]):
        texts.append(_("%(n)s others") % {"n": more})
    return f"{'; '.join(texts)}."


def count_verdict_scopes(assessments: Iterable[CellAssessment | None]) -> Counter[str]:
    return Counter(
        assessment.scope
        for assessment in assessments
        if assessment and assessment.is_assessed and assessment.scope
    )


def is_pending(assessment: CellAssessment) -> bool:
    return Gate.BEING_CHECKED.code in assessment.reason_codes


def is_withheld_by_flag(assessment: CellAssessment) -> bool:
    return Gate.FLAGGED.code in assessment.reason_codes


def verdict_reasons(row: ComparisonRow) -> list[str]:
    assessment = row.result.assessment
    if assessment is None:
        return []
    return [wording.translate_text(sentence) for sentence in assessment.sentences]


def withheld_codes(assessment: CellAssessment | None) -> tuple[str, ...]:
    codes = assessment.reason_codes if assessment else ()
    return tuple(code for code in WITHHELD_REASONS if code in codes)


def print_sign(assessment: CellAssessment) -> str:
    if is_withheld_by_flag(assessment):
        return FLAG_SIGN
    return verdict_sign(assessment.verdict, is_weak=assessment.is_weak)


def sign_meaning(sign: str) -> str:
    if sign == FLAG_SIGN:
        return _("Not assessed: flagged.")
    verdict = next(
        name
        for name, symbol in VERDICT_SIGNS.items()
        if symbol == sign.rstrip(WEAK_SIGN)
    )
    text = _("Verdict: %(verdict)s.") % {"verdict": VERDICT_NAMES[verdict]}
    if sign.endswith(WEAK_SIGN):
        text += " " + _("Weak evidence.")
    return text


def interval_text(assessment: CellAssessment) -> str:
    if assessment.low is None or assessment.high is None:
        return ""
    return ratio_interval_text((assessment.low, assessment.high))


def ratio_interval_text(interval: formatting.Interval) -> str:
    """Return a ratio's interval; ``± < 0.01`` if both ends round to the same text."""
    low, high = formatting.ratio_ends(interval)
    if low != high:
        return wording.range_text(low, high)
    return f"± < {formatting.last_digit_value(low)}"


def verdict_with_scope(assessment: CellAssessment) -> str:
    """Return a verdict with its scope: "slower, across 5 sessions"."""
    if not (assessment.scope and assessment.is_assessed):
        return verdict_text(assessment)
    return _("%(verdict)s, %(scope)s") % {
        "verdict": verdict_text(assessment),
        "scope": wording.translate_text(assessment.scope),
    }


def assessment_sentence(assessment: CellAssessment | None) -> str:
    if assessment is None or (assessment.low is None and assessment.ratio is not None):
        return ""
    verdict = verdict_with_scope(assessment)
    interval = _("Verdict: %(verdict)s.") % {"verdict": verdict}
    if assessment.low is not None:
        values = {"interval": interval_text(assessment), "verdict": verdict}
        interval = _("95%% confidence interval %(interval)s: %(verdict)s.") % values
    needs_reason = not assessment.is_assessed or assessment.ratio is None
    reason = wording.translate_text(assessment.sentences[0]) if needs_reason else ""
    return f"{interval} {reason}".rstrip()


def is_overhead(row: ComparisonRow, show: str) -> bool:
    return show == OVERHEAD and row.result.ratio_kind not in ("scaling", "slowdown")


def ratio_text(row: ComparisonRow, show: str) -> str:
    ratio = row.result.displayed_ratio
    if ratio is None:
        return ""
    write = formatting.overhead if is_overhead(row, show) else formatting.ratio
    return write(ratio, row.result.interval)


def ratio_range_text(row: ComparisonRow, show: str) -> str:
    low, high = ratio_range_ends(row, show)
    return wording.range_text(low, high) if low else ""


def ratio_range_ends(row: ComparisonRow, show: str) -> tuple[str, str]:
    if row.result.ratio_range is None:
        return "", ""
    low, high = row.result.ratio_range
    if is_overhead(row, show):
        return formatting.overhead(high), formatting.overhead(low)
    return formatting.ratio(low), formatting.ratio(high)


def displayed_interval(row: ComparisonRow, show: str) -> str:
    interval, ends = row.result.interval, interval_ends(row, show)
    if interval is None or ends is None:
        return ""
    if not is_overhead(row, show):
        return ratio_interval_text(interval)
    return wording.range_text(*ends)


def interval_ends(row: ComparisonRow, show: str) -> tuple[str, str] | None:
    interval = row.result.interval
    if interval is None:
        return None
    if is_overhead(row, show):
        highest, lowest = (formatting.overhead(end, interval) for end in interval)
        return lowest, highest
    return formatting.ratio_ends(interval)


def charted_assessment(row: ComparisonRow) -> CellAssessment | None:
    ratio = row.result.displayed_ratio
    assessment = row.result.assessment
    is_displayed = ratio is not None or row.result.ratio_range is not None
    return replace(assessment, ratio=ratio) if assessment and is_displayed else None


def ratio_meaning(show: str) -> str:
    return str(RATIO_MEANINGS.get(show, ""))


def shade_legend(show: str) -> list[tuple[str, str]]:
    slower, faster = "≤", "≥"
    if show in (ENERGY, OVERHEAD):
        slower, faster = faster, slower
    signs = {"slow": f"{slower} ", "fast": f"{faster} "}
    steps = []
    for shade, edge in formatting.shade_steps():
        if show == OVERHEAD:
            text = formatting.rounded_overhead(edge)
        else:
            text = formatting.number(1 / edge if show == ENERGY else edge, ".3g")
        steps.append((shade, signs.get(shade[:4], "") + text))
    return steps


def energy_cell_texts(row: ComparisonRow) -> tuple[str, str]:
    result = row.result
    if result.energy is None:
        return wording.DASH, ""
    if result.range:
        low, high = map(formatting.measurement, result.range)
        return wording.range_text(low, high), ""
    if result.energy_ratio is None:
        return formatting.measurement(result.energy.mean), ""
    cost = wording.quantity(result.value, "")
    small = (
        energy_interval_text(result.energy_ratio)
        if result.energy_ratio.has_interval
        else cost
    )
    return formatting.ratio(
        result.energy_ratio.ratio, result.energy_ratio.interval
    ), small


def meter_text(row: ComparisonRow) -> str:
    if row.result.energy is None:
        return ""
    is_cpu_only = row.result.energy.meter.is_cpu_only
    return _("CPU only") if is_cpu_only else _("whole machine")


def energy_sentence(row: ComparisonRow) -> str:
    result, energy = row.result, row.result.energy
    if energy is None:
        return state_names.state_meaning(result.state)
    values = {
        "own": wording.quantity(result.value, result.unit)
        or " ".join(energy_cell_texts(row)),
        "runs": wording.runs_text(result.n),
        "meter": meter_text(row),
    }
    if result.energy_ratio is None:
        sentence = _("%(own)s for the work (%(runs)s, %(meter)s).") % values
        return f"{sentence} {wording.translate_text(result.reason)}".rstrip()
    values["ratio"] = formatting.ratio(
        result.energy_ratio.ratio, result.energy_ratio.interval
    )
    values["base"] = wording.quantity(result.baseline_value, result.unit)
    values["base_runs"] = wording.runs_text(energy.baseline_n)
    sentence = _(
        "%(ratio)s times the energy of the baseline for the same work: %(own)s "
        "compared with %(base)s (%(runs)s compared with %(base_runs)s, %(meter)s)."
    )
    return f"{sentence % values} {energy_interval_text(result.energy_ratio)}"


def energy_interval_text(ratio: EnergyRatio | None) -> str:
    if ratio is None:
        return wording.DASH
    if ratio.interval is not None:
        return "[{}, {}]".format(*formatting.ratio_ends(ratio.interval))
    return (
        wording.translate_text(Sentence(NO_INTERVAL_SENTENCES[ratio.reason]))
        if ratio.reason
        else ""
    )
