"""The sentences around an analysis: how chance was measured, what is not shown."""

from collections.abc import Iterable
from math import exp

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.factor_effects.effects import FactorEffects
from benchmarks.analysis.factor_effects.factors import Term
from benchmarks.analysis.factor_effects.model import Alias
from benchmarks.comparing.factor_effects import Analysis
from dashboard.kit import figures
from dashboard.pages.factor_effects.words import term_name, times


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
        _pooled(found.pooled_interactions),
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
    if not alias.partners:
        return term_name(alias.term)
    return _("%(term)s (from %(partners)s)") % {
        "term": term_name(alias.term),
        "partners": _listed(alias.partners),
    }


def _pooled(terms: Iterable[Term]) -> str:
    if not (listed := _listed(terms)):
        return ""
    return _("Taken for chance, because too little else measures it: %(terms)s.") % {
        "terms": listed
    }


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
