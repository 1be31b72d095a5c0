"""What the factor effects page says: parameters, effects and answers in words."""

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

from benchmarks.analysis.factor_effects.design import JOINT, Factor, Term
from benchmarks.analysis.factor_effects.effects import Effect, FactorEffects, Means
from benchmarks.comparing.factor_effects import Analysis, CaseSubject, LeftOut
from benchmarks.comparing.table import Fact
from dashboard import wording
from dashboard.kit import figures
from dashboard.wording import Text

NBSP = "\N{NO-BREAK SPACE}"
TIMES = "\N{MULTIPLICATION SIGN}"
MOST_STATEMENTS = 3

STRENGTHS: dict[str, Text] = {
    "clear": pgettext_lazy("effect beyond chance", "clear"),
    "possible": gettext_lazy("possible"),
    "none": gettext_lazy("within chance"),
    "unjudged": gettext_lazy("not judged"),
}
LEFT_OUT: dict[LeftOut, Any] = {
    "no_ratio": ngettext_lazy(
        "%(n)s result has no relative performance and is left out.",
        "%(n)s results have no relative performance and are left out.",
        "n",
    ),
    "no_speed": ngettext_lazy(
        "%(n)s result is left out: what it measures is not a speed.",
        "%(n)s results are left out: what they measure is not a speed.",
        "n",
    ),
    "not_positive": ngettext_lazy(
        "%(n)s result reads 0 or nothing and is left out.",
        "%(n)s results read 0 or nothing and are left out.",
        "n",
    ),
    "implausible": ngettext_lazy(
        "%(n)s result is left out: more than a hundred times off native speed, it "
        "looks like a slip of a unit or a misprint.",
        "%(n)s results are left out: more than a hundred times off native speed, they "
        "look like a slip of a unit or a misprint.",
        "n",
    ),
}


def times(factor: float) -> str:
    """Write a factor with the digits that tell it from 1: 2.6, 0.995."""
    away = abs(log(factor))
    decimals = 0 if factor >= 20 else 1 if factor > 1.995 else 2 if away > 0.02 else 3
    return f"{TIMES}{NBSP}{figures.number(factor, f',.{decimals}f')}"


def factor_name(factor: Factor) -> str:
    return " + ".join(wording.property_name(name) for name in factor.names)


def term_name(term: Term) -> str:
    return f" {TIMES} ".join(map(factor_name, term))


def level_name(factor: Factor, level: str) -> str:
    if not level:
        return _("not stated")
    parts = _parts(factor, level)
    return ", ".join(wording.property_value(*part) for part in parts)


def setting(factor: Factor, level: str) -> str:
    """Return a level that names itself: ``Guest tools installed``, ``32-bit``."""
    return ", ".join(wording.fact_in_brief(Fact(*it)) for it in _parts(factor, level))


def change(effect: Effect) -> str:
    """Return from which level to which; of an interaction, which two come together."""
    pairs = list(zip(effect.term, effect.levels, strict=True))
    if len(pairs) == 1:
        ((factor, (level, reference)),) = pairs
        return f"{level_name(factor, reference)} → {level_name(factor, level)}"
    both = [setting(factor, level) for factor, (level, _reference) in pairs]
    text = (
        _("%(one)s with %(other)s: more than both alone")
        if effect.log_effect > 0
        else _("%(one)s with %(other)s: less than both alone")
    )
    return text % {"one": both[0], "other": both[1]}


def subject_name(subject: CaseSubject) -> str:
    facts = [wording.fact_text(fact) for fact in subject.facts]
    return ", ".join([f"{subject.tool}: {subject.case}", *facts])


def statements(analysis: Analysis) -> list[str]:
    """Return a sentence for each parameter that has an effect, or that none has."""
    effects = analysis.found
    if effects.kind == "constant":
        return [_("Its systems differ in no parameter: there is nothing to compare.")]
    if effects.kind == "unjudged":
        text = ngettext(
            "One value of %(n)s system: too little to tell an effect from chance.",
            "One value each of %(n)s systems: too few to tell an effect from chance.",
            effects.cells,
        )
        return [text % {"n": effects.cells}]

    pictured = {picture.one: picture for picture in analysis.pictures}
    # The strongest come first: backwards, the strongest of each factor is what stays.
    clear = {
        effect.term[0]: effect
        for effect in reversed(effects.effects)
        if effect.strength == "clear" and len(effect.term) == 1
    }
    moved = []
    for factor in effects.factors:
        picture = pictured.get(factor)
        if picture and any(picture.factors):
            moved.append(_conditional(picture))
        elif factor in clear:
            moved.append((abs(clear[factor].log_effect), _plain(clear[factor])))
    moved.sort(key=lambda statement: -statement[0])
    lines = [line for _size, line in moved[:MOST_STATEMENTS]]
    if more := len(moved) - len(lines):
        text = ngettext("and %(n)s more parameter", "and %(n)s more parameters", more)
        lines.append(text % {"n": more})
    return lines or _nothing_moved(effects)


def _nothing_moved(effects: FactorEffects) -> list[str]:
    """Say how large an effect would have shown, and what may be one."""
    limits = [it.wide_margin or it.margin or 0.0 for it in effects.effects]
    if not limits:
        return [_("These systems do not determine any effect.")]
    # The widest margin, so that the sentence is true of every effect.
    smallest = {"times": times(exp(max(limits)))}
    lines = [_("No significant effect (smallest detectable: %(times)s).") % smallest]
    # Beyond Lenth's margin, or significant alone, but not beyond doubt.
    possible = [
        _plain(effect)
        for effect in effects.effects
        if effect.strength == "possible" and len(effect.term) == 1
    ]
    if possible:
        what = {"what": "; ".join(possible[:MOST_STATEMENTS])}
        lines.append(_("Largest, not significant: %(what)s.") % what)
    return lines


def _plain(effect: Effect) -> str:
    (factor,), ((level, _reference),) = effect.term, effect.levels
    words = {"setting": setting(factor, level), "times": times(effect.factor)}
    return _("%(setting)s: %(times)s") % words


def _conditional(picture: Means) -> tuple[float, str]:
    known = [
        (factor, level)
        for factor, level in zip(picture.factors, picture.other.levels, strict=True)
        if factor
    ]
    known.sort(key=lambda pair: -abs(log(pair[0])))
    (most, where), *rest = known
    text = _("%(setting)s: %(times)s with %(where)s") % {
        "setting": setting(picture.one, picture.one.levels[-1]),
        "times": times(most),
        "where": setting(picture.other, where),
    }
    if rest:
        factors = [factor for factor, _level in rest]
        low, high = times(min(factors)), times(max(factors))
        elsewhere = (
            _("%(times)s elsewhere") % {"times": low}
            if low == high
            else _("%(low)s to %(high)s elsewhere") % {"low": low, "high": high}
        )
        text = f"{text} ({elsewhere})"
    return abs(log(most)), text


def _parts(factor: Factor, level: str) -> list[tuple[str, str]]:
    values = level.split(JOINT)
    # The level itself has the sign that joins several: it is one.
    if len(values) != len(factor.names):
        return [(factor.names[0], level)]
    return list(zip(factor.names, values, strict=True))


def how_chance_was_measured(effects: FactorEffects) -> str:
    """Say what the shaded bands stand for."""
    if effects.lenth is not None:
        return _(
            "One value a system. Most of the %(m)s contrasts of this design are chance,"
            " and their size measures it (Lenth 1989): beyond %(me)s an effect is"
            " possible, beyond %(sme)s it is clear."
        ) % {
            "m": effects.lenth.contrasts,
            "me": times(exp(effects.lenth.me)),
            "sme": times(exp(effects.lenth.sme)),
        }
    if effects.scatter is None:
        return _(
            "One value a system, and too few systems: the factors are what was"
            " measured, and nothing says how much of them is chance."
        )
    df = figures.number(effects.scatter.df, ".3g")
    if effects.kind == "replicated":
        text = _(
            "The scatter of runs within a session stands for chance (%(df)s degrees of"
            " freedom): 95\N{NO-BREAK SPACE}%% intervals, and clear is what remains "
            "so when all effects"
            " are tested together (Benjamini and Hochberg, 5\N{NO-BREAK SPACE}%%). "
            "Another day may"
            " differ."
        )
        if effects.are_days_apart:
            text = _(
                "The scatter of runs stands for chance (%(df)s degrees of freedom): 95"
                " %% intervals. Not all was measured in the same sessions, and how"
                " much days differ here is not known: clear is only what lies beyond a"
                " quarter, which no day does, when all effects are tested together."
            )
        return text % {"df": df}
    return _(
        "One value a system. What the fitted effects leave over measures chance"
        " (%(df)s degrees of freedom): 95\N{NO-BREAK SPACE}%% intervals, and clear is "
        "what remains so"
        " when all effects are tested together (Benjamini and Hochberg, "
        "5\N{NO-BREAK SPACE}%%)."
    ) % {"df": df}


def notes(analysis: Analysis) -> list[str]:
    effects, lines = analysis.found, []
    shared = [it.term for it in effects.effects if it.baseline_share > 0.5]
    if shared and effects.kind != "unjudged":
        text = _(
            "%(terms)s: these levels are compared with different native runs, each"
            " shared by several systems. An error of one native run would look like"
            " such an effect, so its margin is wider."
        )
        lines.append(text % {"terms": _listed(shared)})
    if effects.higher_terms:
        text = _("These act together, more than two at a time: %(terms)s.")
        lines.append(text % {"terms": _listed(effects.higher_terms)})
    if effects.aliases:
        names = []
        for alias in effects.aliases:
            name = term_name(alias.term)
            if alias.levels:
                levels = [level_name(alias.term[0], level) for level in alias.levels]
                words = {"term": name, "levels": ", ".join(levels)}
                name = _("%(term)s: %(levels)s alone") % words
            if alias.partners:
                words = {"term": name, "partners": _listed(alias.partners)}
                name = _("%(term)s (from %(partners)s)") % words
            names.append(name)
        text = _("Not shown, because these systems cannot tell them apart: %(pairs)s.")
        lines.append(text % {"pairs": "; ".join(names)})
    if effects.pooled_interactions:
        text = _("Treated as chance, because too little else measures it: %(terms)s.")
        if effects.kind == "unjudged":
            text = _(
                "Left out to measure chance, which still could not be measured: "
                "%(terms)s."
            )
        lines.append(text % {"terms": _listed(effects.pooled_interactions)})
    return [*lines, *left_out(analysis)]


def left_out(analysis: Analysis) -> Iterator[str]:
    for reason, text in LEFT_OUT.items():
        if n := analysis.left_out.get(reason, 0):
            yield text % {"n": n}


def _listed(terms: Iterable[Term]) -> str:
    return ", ".join(map(term_name, terms))
