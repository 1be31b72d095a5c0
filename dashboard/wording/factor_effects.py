from collections.abc import Iterable, Iterator
from math import exp, log
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import (
    gettext_lazy,
    ngettext,
    ngettext_lazy,
    pgettext_lazy,
)

from benchmarks.analysis.factor_effects.effects import (
    FactorAnalysis,
    FactorEffect,
    InteractionMeans,
)
from benchmarks.analysis.factor_effects.factors_and_responses import (
    LEVEL_SEPARATOR,
    Factor,
    Term,
)
from benchmarks.comparison.comparison_table import Fact
from benchmarks.comparison.study_factor_effects import (
    CaseSubject,
    ExclusionCode,
    ResponseAnalysis,
)
from dashboard import wording
from dashboard.kit import formatting
from dashboard.wording import Text

NBSP = "\N{NO-BREAK SPACE}"
MULTIPLICATION_SIGN = "\N{MULTIPLICATION SIGN}"
MAX_STATEMENTS = 3

EFFECT_STRENGTHS: dict[str, Text] = {
    "clear": pgettext_lazy("effect beyond chance", "clear"),
    "possible": gettext_lazy("possible"),
    "none": gettext_lazy("consistent with chance"),
    "not_assessed": gettext_lazy("not assessed"),
}
LEFT_OUT_TEXTS: dict[ExclusionCode, Any] = {
    "no_ratio": ngettext_lazy(
        "%(n)s result without relative performance is excluded.",
        "%(n)s results without relative performance are excluded.",
        "n",
    ),
    "no_speed": ngettext_lazy(
        "%(n)s result is excluded because it does not measure a speed.",
        "%(n)s results are excluded because they do not measure a speed.",
        "n",
    ),
    "not_positive": ngettext_lazy(
        "%(n)s result is excluded because its value is 0 or missing.",
        "%(n)s results are excluded because their values are 0 or missing.",
        "n",
    ),
    "implausible": ngettext_lazy(
        "%(n)s result is excluded: it differs from native speed by more than a "
        "factor of 100, which suggests a unit error or a misprint.",
        "%(n)s results are excluded: they differ from native speed by more than a "
        "factor of 100, which suggests a unit error or a misprint.",
        "n",
    ),
}


def multiplier_text(factor: float) -> str:
    """Return a factor with enough digits to distinguish it from 1, such as 0.995."""
    distance = abs(log(factor))
    decimals = (
        0 if factor >= 20 else 1 if factor > 1.995 else 2 if distance > 0.02 else 3
    )
    return f"{MULTIPLICATION_SIGN}{NBSP}{formatting.number(factor, f',.{decimals}f')}"


def factor_name(factor: Factor) -> str:
    return " + ".join(wording.property_name(name) for name in factor.names)


def term_name(term: Term) -> str:
    return f" {MULTIPLICATION_SIGN} ".join(map(factor_name, term))


def level_name(factor: Factor, level: str) -> str:
    if not level:
        return _("not reported")
    parts = _level_parts(factor, level)
    return ", ".join(wording.property_value(*part) for part in parts)


def named_level(factor: Factor, level: str) -> str:
    """Return a level that needs no heading: ``32-bit``."""
    return ", ".join(
        wording.short_fact_text(Fact(*part)) for part in _level_parts(factor, level)
    )


def level_change(effect: FactorEffect) -> str:
    pairs = list(zip(effect.term, effect.levels, strict=True))
    if len(pairs) == 1:
        ((factor, (level, reference)),) = pairs
        return f"{level_name(factor, reference)} → {level_name(factor, level)}"
    names = [named_level(factor, level) for factor, (level, _reference) in pairs]
    text = (
        _("%(first)s with %(second)s: more than expected from their separate effects")
        if effect.log_effect > 0
        else _(
            "%(first)s with %(second)s: less than expected from their separate effects"
        )
    )
    return text % {"first": names[0], "second": names[1]}


def subject_name(subject: CaseSubject) -> str:
    facts = [wording.fact_text(fact) for fact in subject.facts]
    return ", ".join([f"{subject.tool}: {subject.case}", *facts])


def effect_sentences(analysis: ResponseAnalysis) -> list[str]:
    effects = analysis.effects
    if effects.error_source == "constant":
        return [
            _(
                "The systems do not differ in any parameter, so there is nothing "
                "to compare."
            )
        ]
    if effects.error_source == "not_assessed":
        text = ngettext(
            "One value from %(n)s system is not enough to distinguish an effect "
            "from chance.",
            "One value from each of %(n)s systems is not enough to distinguish an "
            "effect from chance.",
            effects.cell_count,
        )
        return [text % {"n": effects.cell_count}]

    means_by_factor = {means.row_factor: means for means in analysis.interaction_means}
    # Effects are sorted by size: in reverse order, the largest of a factor remains.
    clear = {
        effect.term[0]: effect
        for effect in reversed(effects.effects)
        if effect.strength == "clear" and len(effect.term) == 1
    }
    statements = []
    for factor in effects.factors:
        means = means_by_factor.get(factor)
        if means and any(means.ratios):
            statements.append(_conditional_effect(means))
        elif factor in clear:
            statements.append(
                (abs(clear[factor].log_effect), _effect_text(clear[factor]))
            )
    statements.sort(key=lambda statement: -statement[0])
    lines = [line for _size, line in statements[:MAX_STATEMENTS]]
    if omitted_count := len(statements) - len(lines):
        text = ngettext(
            "and %(n)s more parameter", "and %(n)s more parameters", omitted_count
        )
        lines.append(text % {"n": omitted_count})
    return lines or _no_effect_sentences(effects)


def _no_effect_sentences(effects: FactorAnalysis) -> list[str]:
    limits = [effect.wide_margin or effect.margin or 0.0 for effect in effects.effects]
    if not limits:
        return [_("No effect can be estimated from these systems.")]
    # The widest margin makes the sentence true for every effect.
    smallest = {"times": multiplier_text(exp(max(limits)))}
    lines = [
        _("No effect is significant (smallest detectable effect: %(times)s).")
        % smallest
    ]
    # Effects beyond Lenth's margin of error, or significant only in a single test.
    possible = [
        _effect_text(effect)
        for effect in effects.effects
        if effect.strength == "possible" and len(effect.term) == 1
    ]
    if possible:
        values = {"what": "; ".join(possible[:MAX_STATEMENTS])}
        lines.append(_("Largest effects (not significant): %(what)s.") % values)
    return lines


def _effect_text(effect: FactorEffect) -> str:
    (factor,), ((level, _reference),) = effect.term, effect.levels
    values = {
        "setting": named_level(factor, level),
        "times": multiplier_text(effect.ratio),
    }
    return _("%(setting)s: %(times)s") % values


def _conditional_effect(means: InteractionMeans) -> tuple[float, str]:
    ratios_with_levels = [
        (ratio, level)
        for ratio, level in zip(means.ratios, means.column_factor.levels, strict=True)
        if ratio
    ]
    ratios_with_levels.sort(key=lambda pair: -abs(log(pair[0])))
    (largest, largest_level), *rest = ratios_with_levels
    text = _("%(setting)s: %(times)s with %(where)s") % {
        "setting": named_level(means.row_factor, means.row_factor.levels[-1]),
        "times": multiplier_text(largest),
        "where": named_level(means.column_factor, largest_level),
    }
    if rest:
        ratios = [ratio for ratio, _level in rest]
        low, high = multiplier_text(min(ratios)), multiplier_text(max(ratios))
        elsewhere = (
            _("%(times)s elsewhere") % {"times": low}
            if low == high
            else _("%(low)s to %(high)s elsewhere") % {"low": low, "high": high}
        )
        text = f"{text} ({elsewhere})"
    return abs(log(largest)), text


def _level_parts(factor: Factor, level: str) -> list[tuple[str, str]]:
    values = level.split(LEVEL_SEPARATOR)
    # The level of a single factor may contain the separator.
    if len(values) != len(factor.names):
        return [(factor.names[0], level)]
    return list(zip(factor.names, values, strict=True))


def chance_method(effects: FactorAnalysis) -> str:
    if effects.lenth is not None:
        return _(
            "Each system has one value. Chance is estimated from the size of the "
            "contrasts, assuming that most of the %(m)s contrasts of this design are "
            "due to chance (Lenth 1989). Effects beyond %(me)s are possible, effects "
            "beyond %(sme)s are clear."
        ) % {
            "m": effects.lenth.contrasts,
            "me": multiplier_text(exp(effects.lenth.me)),
            "sme": multiplier_text(exp(effects.lenth.sme)),
        }
    if effects.scatter is None:
        return _(
            "Each system has one value, and there are too few systems. The factors "
            "are shown as measured, but it is unknown how much of them is due to "
            "chance."
        )
    df = formatting.number(effects.scatter.df, ".3g")
    if effects.error_source == "replicated":
        text = _(
            "Chance is estimated from the variation between runs within a session "
            "(%(df)s degrees of freedom). Intervals are 95%% confidence intervals. "
            "An effect is clear if it remains significant when all effects are "
            "tested together (Benjamini and Hochberg, 5%%). Results may differ on "
            "another day."
        )
        if effects.are_sessions_different:
            text = _(
                "Chance is estimated from the variation between runs (%(df)s degrees "
                "of freedom). Intervals are 95%% confidence intervals. Not all "
                "results are from the same sessions, and the variation between days "
                "is unknown here. An effect is therefore clear only if its whole "
                "interval is beyond 25%%, more than any difference between days, "
                "when all effects are tested together."
            )
        return text % {"df": df}
    return _(
        "Each system has one value. Chance is estimated from the residuals of the "
        "fitted effects (%(df)s degrees of freedom). Intervals are 95%% confidence "
        "intervals. An effect is clear if it remains significant when all effects "
        "are tested together (Benjamini and Hochberg, 5%%)."
    ) % {"df": df}


def analysis_notes(analysis: ResponseAnalysis) -> list[str]:
    effects, lines = analysis.effects, []
    shared = [effect.term for effect in effects.effects if effect.baseline_share > 0.5]
    if shared and effects.error_source != "not_assessed":
        text = _(
            "%(terms)s: these levels are compared with different native runs, each "
            "shared by several systems. An error in one native run would look like "
            "such an effect, so its margin is wider."
        )
        lines.append(text % {"terms": _join_terms(shared)})
    if effects.higher_order_terms:
        text = _("There are effects that involve more than two factors: %(terms)s.")
        lines.append(text % {"terms": _join_terms(effects.higher_order_terms)})
    if effects.aliases:
        names = []
        for alias in effects.aliases:
            name = term_name(alias.term)
            if alias.levels:
                levels = [level_name(alias.term[0], level) for level in alias.levels]
                values = {"term": name, "levels": ", ".join(levels)}
                name = _("%(term)s: only %(levels)s") % values
            if alias.partners:
                values = {"term": name, "partners": _join_terms(alias.partners)}
                name = _("%(term)s (from %(partners)s)") % values
            names.append(name)
        text = _(
            "Not shown, because they cannot be distinguished with these "
            "systems: %(pairs)s."
        )
        lines.append(text % {"pairs": "; ".join(names)})
    if effects.pooled_interactions:
        text = _(
            "Treated as due to chance, because there are too few other data to "
            "estimate chance: %(terms)s."
        )
        if effects.error_source == "not_assessed":
            text = _(
                "Excluded in order to estimate chance, although chance could still "
                "not be estimated: %(terms)s."
            )
        lines.append(text % {"terms": _join_terms(effects.pooled_interactions)})
    return [*lines, *left_out_notes(analysis)]


def left_out_notes(analysis: ResponseAnalysis) -> Iterator[str]:
    for reason, text in LEFT_OUT_TEXTS.items():
        if n := analysis.excluded.get(reason, 0):
            yield text % {"n": n}


def _join_terms(terms: Iterable[Term]) -> str:
    return ", ".join(map(term_name, terms))
