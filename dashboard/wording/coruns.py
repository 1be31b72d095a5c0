"""Co-runs in words: names, remarks, and the answer for a component."""

from collections.abc import Iterable, Sequence
from statistics import median

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.coruns import SumCheck
from benchmarks.comparing.corun_figures import CoRunFigures
from benchmarks.comparing.coruns import CoRun, Slots
from dashboard import wording
from dashboard.kit import figures

PARALLEL = "parallel"
BESIDE_OTHER_WORK = ("under CPU load", "combined")
SLOTS_NAMED = 6
EVEN = 0.995
"""J = 1 / (1 + CV^2): the VMs vary by 7 % around their mean."""


def vms_text(of: Slots) -> str:
    """Return how many VMs ran, and what else there was: ``3 VMs, under CPU load``."""
    vms = ngettext("%(n)s VM", "%(n)s VMs", of.vms) % {"n": of.vms}
    if of.scenario == PARALLEL:
        return vms
    extra = [wording.scenario_name(of.scenario), of.load]
    return ", ".join([vms, *filter(None, extra)])


def sum_text(check: SumCheck) -> str:
    """Return a printed sum beside the slots' own, with the difference."""
    words = {
        "printed": figures.brief(check.printed),
        "recomputed": figures.brief(check.recomputed),
        "percent": figures.number(
            abs(check.difference) / check.recomputed * 100, ".2g"
        ),
    }
    if check.is_within_rounding:
        return _("The printed sum is that of the slots.")
    if check.difference > 0:
        return (
            _(
                "Printed as %(printed)s, but the slots give %(recomputed)s: "
                "%(percent)s %% more than they make."
            )
            % words
        )
    return (
        _(
            "Printed as %(printed)s, but the slots give %(recomputed)s: "
            "%(percent)s %% less than they make."
        )
        % words
    )


def remarks(corun: CoRun) -> list[str]:
    """Return what must be known of a co-run beside its numbers."""
    of, found = corun.of, corun.figures
    said = []
    if of.missing:
        said.append(_missing_text(of.missing))
    if found.is_sum_printed:
        said.append(_("The sum is the printed one; it cannot be checked."))
    if found.sum_check and not found.sum_check.is_within_rounding:
        said.append(sum_text(found.sum_check))
    if found.interference is not None:
        said.append(_interference_text(corun))
    return [*said, *target_texts(corun), *map(wording.said, found.reasons)]


def _missing_text(missing: Sequence[str]) -> str:
    slots = ", ".join(map(wording.slot_text, missing[:SLOTS_NAMED]))
    if len(missing) <= SLOTS_NAMED:
        return _("Not reported: %(slots)s.") % {"slots": slots}
    further = len(missing) - SLOTS_NAMED
    return _("Not reported: %(slots)s and %(n)s more.") % {"slots": slots, "n": further}


def target_texts(corun: CoRun) -> list[str]:
    """Return measured against target in both forms, each with its name."""
    target = corun.figures.target
    if target is None:
        return []
    words = {
        "ideal": figures.brief(target.ideal_s),
        "ideal_ratio": figures.ratio(target.ideal_ratio),
    }
    said = [_("%(ideal_ratio)s of the target from one VM alone (%(ideal)s s).") % words]
    if target.lmu_s is not None and target.lmu_ratio is not None:
        lmu = {
            "lmu": figures.brief(target.lmu_s),
            "lmu_ratio": figures.ratio(target.lmu_ratio),
        }
        said.append(
            _(
                "%(lmu_ratio)s of the target from as many VMs as cores (%(lmu)s s), "
                "as the LMU studies have it."
            )
            % lmu
        )
    return said


def _interference_text(corun: CoRun) -> str:
    words = {"ratio": figures.ratio(corun.figures.interference or 0.0)}
    if corun.of.scenario in BESIDE_OTHER_WORK:
        return _("Under load %(ratio)s of what one VM alone does.") % words
    return _("%(ratio)s of what as many VMs do without the other load.") % words


def answer(coruns: Sequence[CoRun], withheld: frozenset[int]) -> str:
    """Return one sentence for a component: the most VMs that ran in parallel."""
    parallel = [each for each in coruns if each.of.scenario == PARALLEL]
    if not parallel:
        return _("Nothing ran in parallel; see what a neighbour left, below.")
    trusted = [each for each in parallel if not _is_doubted(each, withheld)]
    if not trusted:
        return _("Not assessed: every input has an open data-quality warning.")
    most = max(each.of.vms for each in trusted)
    chosen = [each for each in trusted if each.of.vms == most]
    vms = ngettext("%(n)s VM", "%(n)s VMs", most) % {"n": most}
    said = _times(chosen, vms) or _rates(chosen, vms)
    left_out = len(parallel) - len(trusted)
    if left_out:
        said += " " + ngettext(
            "%(n)s co-run that rests on a doubted number is left out.",
            "%(n)s co-runs that rest on doubted numbers are left out.",
            left_out,
        ) % {"n": left_out}
    return said


def _is_doubted(corun: CoRun, withheld: frozenset[int]) -> bool:
    """Whether a flag is open at one of its numbers, or one is no single figure."""
    sides = [*corun.of.slots, *filter(None, [corun.of.single, corun.of.native])]
    return bool(corun.of.doubted) or any(side.cell_id in withheld for side in sides)


def _times(coruns: Iterable[CoRun], vms: str) -> str:
    """Return the sentence of times: how much longer, and what the cores would allow."""
    timed = (each for each in coruns if each.of.case.better == "lower")
    slowest = max(timed, key=lambda each: each.figures.slowdown or 0, default=None)
    if slowest is None or not slowest.figures.slowdown:
        return ""
    found = slowest.figures
    words = {"vms": vms, "slowdown": figures.ratio(found.slowdown or 0.0)}
    said = _("%(vms)s at once take %(slowdown)s times as long as one VM alone") % words
    return f"{said}{_allowed(found)}"


def _allowed(found: CoRunFigures) -> str:
    """Return how the sentence goes on: against both forms of the target."""
    target = found.target
    if target is None:
        return _("; what the cores would allow is not known.")
    words = {
        "cores": found.cores,
        "allowed": figures.ratio(max(1.0, (found.virtual or 1) / (found.cores or 1))),
        "ratio": figures.ratio(target.ideal_ratio),
    }
    said = (
        _(" (ideal on %(cores)s cores: %(allowed)s times), %(ratio)s times the ideal.")
        % words
    )
    if target.lmu_ratio is None:
        return said
    lmu = {"ratio": figures.ratio(target.lmu_ratio)}
    more = _("By the target of the LMU studies, as many VMs as cores: %(ratio)s times.")
    return f"{said} {more % lmu}"


def _rates(coruns: Sequence[CoRun], vms: str) -> str:
    own = [each.figures.scaling for each in coruns]
    native = [each.figures.scaling_to_native for each in coruns]
    is_own = any(own)
    ratios = sorted(filter(None, own if is_own else native))
    said = [_spread(ratios, vms, _("one VM") if is_own else _("the native machine"))]
    shares = [each for each in coruns if each.figures.jain is not None]
    if shares:
        said.append(_fairness(shares))
    if not any(said):
        return _("%(vms)s ran together; nothing says what one alone does.") % {
            "vms": vms
        }
    return " ".join(filter(None, said))


def _fairness(coruns: Sequence[CoRun]) -> str:
    worst = min(coruns, key=lambda each: each.figures.jain or 0.0)
    jain = worst.figures.jain or 0.0
    if jain >= EVEN:
        return _("The VMs share evenly.")
    words = {"jain": figures.ratio(jain), "case": worst.of.case.label}
    return _("The least fair sharing has an index of %(jain)s (%(case)s).") % words


def _spread(ratios: Sequence[float], vms: str, base: str) -> str:
    if not ratios:
        return ""
    words = {
        "vms": vms,
        "low": figures.ratio(ratios[0]),
        "high": figures.ratio(ratios[-1]),
        "median": figures.ratio(median(ratios)),
        "base": base,
        "n": len(ratios),
    }
    if len(ratios) == 1:
        return _("%(vms)s together reach %(low)s times %(base)s alone.") % words
    return (
        _(
            "%(vms)s together reach %(low)s to %(high)s times %(base)s alone, "
            "%(median)s in the middle of %(n)s cases."
        )
        % words
    )
