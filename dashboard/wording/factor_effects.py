"""What the factor effects page says: parameters, effects and answers in words."""

from collections.abc import Iterable, Iterator, Sequence
from math import exp, log

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.factor_effects.design import JOINT, Factor, Term
from benchmarks.analysis.factor_effects.effects import Effect, FactorEffects, Means
from benchmarks.analysis.factor_effects.model import Alias
from benchmarks.comparing.factor_effects import Analysis, Subject
from benchmarks.comparing.table import Fact
from dashboard import wording
from dashboard.kit import figures

NBSP = "\N{NO-BREAK SPACE}"
TIMES = "\N{MULTIPLICATION SIGN}"
MOST_STATEMENTS = 3

STRENGTHS: dict[str, str | Promise] = {
    "clear": gettext_lazy("clear"),
    "possible": gettext_lazy("possible"),
    "none": gettext_lazy("within chance"),
    "unjudged": gettext_lazy("not judged"),
}


def times(factor: float) -> str:
    """Write a factor with the digits that tell it from 1: 2.6, 0.995."""
    away = abs(log(factor))
    decimals = 0 if factor >= 20 else 1 if factor > 1.995 else 2 if away > 0.02 else 3
    return f"{TIMES}{NBSP}{figures.number(factor, f',.{decimals}f')}"


def factor_name(factor: Factor) -> str:
    """Return what a factor is called: ``Guest tools``, ``vCPUs + Memory``."""
    return " + ".join(wording.property_name(name) for name in factor.names)


def term_name(term: Term) -> str:
    """Return what a term is called; the sign of an interaction stands between names."""
    return f" {TIMES} ".join(map(factor_name, term))


def level_name(factor: Factor, level: str) -> str:
    """Return a level under the heading of its factor: ``installed``, ``32-bit``."""
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


def subject_name(subject: Subject) -> str:
    """Return what a case is called among the others of its component."""
    facts = [wording.fact_text(fact) for fact in subject.facts]
    return ", ".join([f"{subject.tool}: {subject.case}", *facts])


def statements(analysis: Analysis) -> list[str]:
    """Say what moved a response: a line for each parameter, or the line that says no.

    A parameter that others change has no single effect: its strongest case and the
    range of the rest are told.
    """
    found = analysis.found
    if (refusal := _refusal(found)) is not None:
        return [refusal]
    told = sorted(_told(analysis), key=lambda each: -each[0])
    lines = [line for _size, line in told[:MOST_STATEMENTS]]
    if more := len(told) - len(lines):
        text = ngettext("and %(n)s more parameter", "and %(n)s more parameters", more)
        lines.append(text % {"n": more})
    return lines or [_quiet(found), *_perhaps(found)]


def _told(analysis: Analysis) -> Iterator[tuple[float, str]]:
    pictured = {picture.one: picture for picture in analysis.pictures}
    clear = {
        effect.term[0]: effect
        for effect in reversed(analysis.found.effects)
        if effect.strength == "clear" and len(effect.term) == 1
    }
    for factor in analysis.found.factors:
        picture = pictured.get(factor)
        if picture and any(picture.factors):
            yield _conditional(picture)
        elif factor in clear:
            yield _plain(clear[factor])


def _plain(effect: Effect) -> tuple[float, str]:
    (factor,), ((level, _reference),) = effect.term, effect.levels
    return (
        abs(effect.log_effect),
        _("%(setting)s: %(times)s")
        % {"setting": setting(factor, level), "times": times(effect.factor)},
    )


def _conditional(picture: Means) -> tuple[float, str]:
    known = [
        (factor, level)
        for factor, level in zip(picture.factors, picture.other.levels, strict=True)
        if factor
    ]
    known.sort(key=lambda pair: -abs(log(pair[0])))
    (most, where), *rest = known
    told = _("%(setting)s: %(times)s with %(where)s") % {
        "setting": setting(picture.one, picture.one.levels[-1]),
        "times": times(most),
        "where": setting(picture.other, where),
    }
    if rest:
        told = f"{told} ({_elsewhere([factor for factor, _level in rest])})"
    return abs(log(most)), told


def _elsewhere(factors: Sequence[float]) -> str:
    low, high = times(min(factors)), times(max(factors))
    if low == high:
        return _("%(times)s elsewhere") % {"times": low}
    return _("%(low)s to %(high)s elsewhere") % {"low": low, "high": high}


def _refusal(found: FactorEffects) -> str | None:
    if found.kind == "constant":
        return _("Its systems differ in no parameter: there is nothing to compare.")
    if found.kind == "unjudged":
        text = ngettext(
            "One value of %(n)s system: too little to tell an effect from chance.",
            "One value each of %(n)s systems: too few to tell an effect from chance.",
            found.cells,
        )
        return text % {"n": found.cells}
    return None


def _quiet(found: FactorEffects) -> str:
    """Say that nothing moved, and how large an effect would have shown."""
    limits = [each.wide_margin or each.margin or 0.0 for each in found.effects]
    if not limits:
        return _("No effect can be told from these systems.")
    return _("No significant effect (smallest detectable: %(times)s).") % {
        "times": times(exp(max(limits)))
    }


def _perhaps(found: FactorEffects) -> Iterator[str]:
    """Name what is beyond Lenth's margin or significant alone, but not beyond doubt."""
    maybe = [e for e in found.effects if e.strength == "possible" and len(e.term) == 1]
    if maybe:
        told = [_plain(effect)[1] for effect in maybe[:MOST_STATEMENTS]]
        yield _("Largest, not significant: %(what)s.") % {"what": "; ".join(told)}


def _parts(factor: Factor, level: str) -> list[tuple[str, str]]:
    values = level.split(JOINT)
    if len(values) != len(factor.names):
        return [(factor.names[0], level)]
    return list(zip(factor.names, values, strict=True))


def how_chance_was_measured(found: FactorEffects) -> str:
    """Say what the shaded bands stand for."""
    if found.lenth is not None:
        return _(
            "One value a system. Most of the %(m)s contrasts of this design are chance,"
            " and their size measures it (Lenth 1989): beyond %(me)s an effect is"
            " possible, beyond %(sme)s it is clear."
        ) % {
            "m": found.lenth.contrasts,
            "me": times(exp(found.lenth.me)),
            "sme": times(exp(found.lenth.sme)),
        }
    if found.scatter is None:
        return _(
            "One value a system, and too few systems: the factors are what was"
            " measured, and nothing says how much of them is chance."
        )
    df = figures.number(found.scatter.df, ".3g")
    if found.kind == "replicated":
        return _(
            "Repeated runs measure chance (%(df)s degrees of freedom): 95 %% intervals,"
            " and clear is what remains so when all effects are tested together"
            " (Benjamini and Hochberg, 5 %%)."
        ) % {"df": df}
    return _(
        "One value a system. What the fitted effects leave over measures chance"
        " (%(df)s degrees of freedom): 95 %% intervals, and clear is what remains so"
        " when all effects are tested together (Benjamini and Hochberg, 5 %%)."
    ) % {"df": df}


def notes(analysis: Analysis) -> list[str]:
    """Say what the reader must know before believing the table."""
    found = analysis.found
    possible = (
        _native(found),
        _higher(found),
        _aliases(found.aliases),
        _pooled(found),
        *_left_out(analysis),
    )
    return [each for each in possible if each]


def _native(found: FactorEffects) -> str:
    leaning = [e.term for e in found.effects if e.baseline_share > 0.5]
    if not leaning or found.kind == "unjudged":
        return ""
    return _(
        "%(terms)s: these levels are set against different native runs, each shared"
        " by several systems. An error of one native run would look like such an"
        " effect, so its margin is wider."
    ) % {"terms": _listed(leaning)}


def _higher(found: FactorEffects) -> str:
    if not found.higher_terms:
        return ""
    return _("These act together, more than two at a time: %(terms)s.") % {
        "terms": _listed(found.higher_terms)
    }


def _aliases(aliases: Iterable[Alias]) -> str:
    named = [_alias(each) for each in aliases]
    if not named:
        return ""
    return _("Not shown, because these systems cannot tell them apart: %(pairs)s.") % {
        "pairs": "; ".join(named)
    }


def _alias(alias: Alias) -> str:
    term = term_name(alias.term)
    if alias.levels:
        names = [level_name(alias.term[0], level) for level in alias.levels]
        term = _("%(term)s: %(levels)s alone") % {
            "term": term,
            "levels": ", ".join(names),
        }
    if not alias.partners:
        return term
    return _("%(term)s (from %(partners)s)") % {
        "term": term,
        "partners": _listed(alias.partners),
    }


def _pooled(found: FactorEffects) -> str:
    if not (listed := _listed(found.pooled_interactions)):
        return ""
    text = (
        _("Left out to measure chance, which still could not be measured: %(terms)s.")
        if found.kind == "unjudged"
        else _("Taken for chance, because too little else measures it: %(terms)s.")
    )
    return text % {"terms": listed}


def _left_out(analysis: Analysis) -> Iterable[str]:
    counts = analysis.left_out
    if n := counts.get("no_ratio", 0):
        text = ngettext(
            "%(n)s cell has no efficiency and is left out.",
            "%(n)s cells have no efficiency and are left out.",
            n,
        )
        yield text % {"n": n}
    if n := counts.get("not_positive", 0):
        text = ngettext(
            "%(n)s cell reads 0 or nothing and is left out.",
            "%(n)s cells read 0 or nothing and are left out.",
            n,
        )
        yield text % {"n": n}
    if n := counts.get("implausible", 0):
        text = ngettext(
            "%(n)s cell is left out: more than a hundred times off native speed, it"
            " looks like a slip of a unit or a misprint.",
            "%(n)s cells are left out: more than a hundred times off native speed, they"
            " look like a slip of a unit or a misprint.",
            n,
        )
        yield text % {"n": n}


def _listed(terms: Iterable[Term]) -> str:
    return ", ".join(map(term_name, terms))
