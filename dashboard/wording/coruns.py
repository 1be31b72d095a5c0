"""Co-runs in words: names, remarks, and the answer for a component."""

from collections.abc import Sequence
from statistics import median

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.coruns import SumCheck
from benchmarks.comparing.coruns import ComparedCoRun, CoRunSlots
from dashboard import wording
from dashboard.kit import figures

PARALLEL = "parallel"
BESIDE_OTHER_WORK = ("under CPU load", "combined")
SLOTS_NAMED = 6
EVEN = 0.995
"""J = 1 / (1 + CV^2): the VMs vary by 7 % around their mean."""


def vms_text(of: CoRunSlots) -> str:
    vms = ngettext("%(n)s VM", "%(n)s VMs", of.vms) % {"n": of.vms}
    if of.scenario == PARALLEL:
        return vms
    extra = [wording.scenario_name(of.scenario), of.load]
    return ", ".join([vms, *filter(None, extra)])


def sum_text(check: SumCheck) -> str:
    if check.is_within_rounding:
        return _("The printed sum is that of the slots.")
    more = _(
        "Printed as %(printed)s, but the slots give %(recomputed)s: "
        "%(percent)s %% more than they make."
    )
    less = _(
        "Printed as %(printed)s, but the slots give %(recomputed)s: "
        "%(percent)s %% less than they make."
    )
    share = abs(check.difference) / check.recomputed
    return (more if check.difference > 0 else less) % {
        "printed": figures.brief(check.printed, digits=figures.CHECK_DIGITS),
        "recomputed": figures.brief(check.recomputed, digits=figures.CHECK_DIGITS),
        "percent": figures.number(100 * share, ".2g"),
    }


def remarks(corun: ComparedCoRun) -> list[str]:
    of, numbers = corun.of, corun.figures
    texts = []
    if of.missing:
        slots = ", ".join(map(wording.slot_text, of.missing[:SLOTS_NAMED]))
        further = max(len(of.missing) - SLOTS_NAMED, 0)
        text = (
            _("Not reported: %(slots)s and %(n)s more.")
            if further
            else _("Not reported: %(slots)s.")
        )
        texts.append(text % {"slots": slots, "n": further})
    if numbers.is_sum_printed:
        texts.append(_("The sum is the printed one; it cannot be checked."))
    if numbers.sum_check and not numbers.sum_check.is_within_rounding:
        texts.append(sum_text(numbers.sum_check))
    if numbers.interference is not None:
        text = (
            _("Under load %(ratio)s of what one VM alone does.")
            if of.scenario in BESIDE_OTHER_WORK
            else _("%(ratio)s of what as many VMs do without the other load.")
        )
        texts.append(text % {"ratio": figures.ratio(numbers.interference)})
    return [*texts, *target_texts(corun), *map(wording.said, numbers.reasons)]


def target_texts(corun: ComparedCoRun) -> list[str]:
    target = corun.figures.target
    if target is None:
        return []
    ideal = _("%(ratio)s of the target from one VM alone (%(time)s s).") % {
        "ratio": figures.ratio(target.ideal_ratio),
        "time": figures.brief(target.ideal_s),
    }
    if target.lmu_s is None or target.lmu_ratio is None:
        return [ideal]
    lmu = _(
        "%(ratio)s of the target from as many VMs as cores (%(time)s s), as the LMU "
        "studies define it."
    ) % {
        "ratio": figures.ratio(target.lmu_ratio),
        "time": figures.brief(target.lmu_s),
    }
    return [ideal, lmu]


def corun_answer(coruns: Sequence[ComparedCoRun], withheld: frozenset[int]) -> str:
    """Return one sentence for a component; ``withheld`` cells have open flags."""
    parallel = [corun for corun in coruns if corun.of.scenario == PARALLEL]
    if not parallel:
        return _("Nothing ran in parallel; see what a neighbour left, below.")
    trusted = [
        corun
        for corun in parallel
        if not corun.of.doubted  # one of them is no single figure
        and withheld.isdisjoint(
            side.cell_id
            for side in (*corun.of.slots, corun.of.single, corun.of.native)
            if side
        )
    ]
    if not trusted:
        return _("Not assessed: every input has an open data-quality warning.")
    most = max(corun.of.vms for corun in trusted)
    chosen = [corun for corun in trusted if corun.of.vms == most]
    vms = ngettext("%(n)s VM", "%(n)s VMs", most) % {"n": most}
    text = _times(chosen, vms) or _rates(chosen, vms)
    if left_out := len(parallel) - len(trusted):
        text += " " + ngettext(
            "%(n)s co-run that uses a flagged number is left out.",
            "%(n)s co-runs that use flagged numbers are left out.",
            left_out,
        ) % {"n": left_out}
    return text


def _times(coruns: Sequence[ComparedCoRun], vms: str) -> str:
    timed = (
        corun.figures
        for corun in coruns
        if corun.of.case.better == "lower" and corun.figures.slowdown
    )
    # The case that suffers most stands for its component.
    worst = max(timed, key=lambda it: it.slowdown or 0, default=None)
    if worst is None:
        return ""
    text = _("%(vms)s at once take %(slowdown)s times as long as one VM alone") % {
        "vms": vms,
        "slowdown": figures.ratio(worst.slowdown or 0.0),
    }
    target = worst.target
    if target is None:
        return text + _("; what the cores would allow is not known.")
    ideal = _(
        " (ideal on %(cores)s cores: %(allowed)s times), %(ratio)s times the ideal."
    )
    text += ideal % {
        "cores": worst.cores,
        # As long as each has a core of its own, VMs need not wait (docs/method.md).
        "allowed": figures.ratio(max(1.0, (worst.virtual or 1) / (worst.cores or 1))),
        "ratio": figures.ratio(target.ideal_ratio),
    }
    if target.lmu_ratio is None:
        return text
    lmu = _("By the target of the LMU studies, as many VMs as cores: %(ratio)s times.")
    lmu %= {"ratio": figures.ratio(target.lmu_ratio)}
    return f"{text} {lmu}"


def _rates(coruns: Sequence[ComparedCoRun], vms: str) -> str:
    own = [corun.figures.scaling for corun in coruns]
    is_own = any(own)
    native = [corun.figures.scaling_to_native for corun in coruns]
    ratios = sorted(filter(None, own if is_own else native))
    sentences = []
    if ratios:
        text = (
            _("%(vms)s together reach %(low)s times %(base)s alone.")
            if len(ratios) == 1
            else _(
                "%(vms)s together reach %(low)s to %(high)s times %(base)s alone, "
                "%(median)s in the middle of %(n)s benchmarks."
            )
        )
        words = {
            "vms": vms,
            "low": figures.ratio(ratios[0]),
            "high": figures.ratio(ratios[-1]),
            "median": figures.ratio(median(ratios)),
            "base": _("one VM") if is_own else _("the native machine"),
            "n": len(ratios),
        }
        sentences.append(text % words)
    shared = [
        (corun.figures.jain, corun.of.case.label)
        for corun in coruns
        if corun.figures.jain is not None
    ]
    if shared:
        jain, case = min(shared, key=lambda share: share[0])
        text = _("The least fair sharing has an index of %(jain)s (%(case)s).")
        words = {"jain": figures.ratio(jain), "case": case}
        sentences.append(_("The VMs share evenly.") if jain >= EVEN else text % words)
    if not sentences:
        text = _("%(vms)s ran together; nothing says what one alone does.")
        return text % {"vms": vms}
    return " ".join(sentences)
