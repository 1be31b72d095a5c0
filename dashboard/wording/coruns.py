from collections.abc import Sequence
from statistics import median

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.analysis.corun_statistics import SumCheck
from benchmarks.comparison.coruns import CoRunResult, CoRunSlots
from dashboard import wording
from dashboard.kit import formatting

PARALLEL_SCENARIO = "parallel"
MIXED_LOAD_SCENARIOS = ("under CPU load", "combined")
MAX_SLOTS_NAMED = 6
EVEN_SHARING = 0.995
"""Jain's index above which VMs share evenly: J = 1 / (1 + CV^2), CV = 7 %."""


def vms_text(slots: CoRunSlots) -> str:
    vms = ngettext("%(n)s VM", "%(n)s VMs", slots.vms) % {"n": slots.vms}
    if slots.scenario == PARALLEL_SCENARIO:
        return vms
    extra = [wording.scenario_name(slots.scenario), slots.load]
    return ", ".join([vms, *filter(None, extra)])


def sum_check_text(check: SumCheck) -> str:
    if check.is_within_rounding:
        return _("The printed sum matches the sum of the VMs.")
    more = _(
        "The printed sum is %(printed)s, but the VMs add up to %(recomputed)s: the "
        "printed sum is %(percent)s%% too high."
    )
    less = _(
        "The printed sum is %(printed)s, but the VMs add up to %(recomputed)s: the "
        "printed sum is %(percent)s%% too low."
    )
    difference = abs(check.difference) / check.recomputed
    return (more if check.difference > 0 else less) % {
        "printed": formatting.measurement(
            check.printed, digits=formatting.CHECK_DIGITS
        ),
        "recomputed": formatting.measurement(
            check.recomputed, digits=formatting.CHECK_DIGITS
        ),
        "percent": formatting.number(100 * difference, ".2g"),
    }


def corun_remarks(corun: CoRunResult) -> list[str]:
    slots, numbers = corun.slots, corun.figures
    texts = []
    if slots.missing:
        missing = ", ".join(map(wording.slot_text, slots.missing[:MAX_SLOTS_NAMED]))
        omitted_count = max(len(slots.missing) - MAX_SLOTS_NAMED, 0)
        text = (
            _("No values were reported for %(slots)s and %(n)s more.")
            if omitted_count
            else _("No values were reported for %(slots)s.")
        )
        texts.append(text % {"slots": missing, "n": omitted_count})
    if numbers.is_sum_printed:
        texts.append(
            _("The sum is the printed value. It cannot be checked against the VMs.")
        )
    if numbers.sum_check and not numbers.sum_check.is_within_rounding:
        texts.append(sum_check_text(numbers.sum_check))
    if numbers.interference is not None:
        text = (
            _(
                "Under this load, a VM reaches %(percent)s of the performance of one "
                "VM alone."
            )
            if slots.scenario in MIXED_LOAD_SCENARIOS
            else _(
                "The VMs reach %(percent)s of the performance of the same number of "
                "VMs without the other load."
            )
        )
        percent = formatting.ratio_percent(numbers.interference)
        texts.append(text % {"percent": percent})
    return [*texts, *target_texts(corun), *map(wording.translate_text, numbers.reasons)]


def target_texts(corun: CoRunResult) -> list[str]:
    target = corun.figures.target
    if target is None:
        return []
    ideal = _(
        "The time is %(ratio)s times the target based on one VM alone (%(time)s s)."
    ) % {
        "ratio": formatting.ratio(target.ideal_ratio),
        "time": formatting.measurement(target.ideal_s),
    }
    if target.full_load_s is None or target.full_load_ratio is None:
        return [ideal]
    full_load = _(
        "The time is %(ratio)s times the target based on as many VMs as cores "
        "(%(time)s s), as defined in the LMU studies."
    ) % {
        "ratio": formatting.ratio(target.full_load_ratio),
        "time": formatting.measurement(target.full_load_s),
    }
    return [ideal, full_load]


def corun_summary(coruns: Sequence[CoRunResult], withheld: frozenset[int]) -> str:
    """Summarize the co-runs of a component.

    ``withheld`` are IDs of cells whose verdict a flag withholds. Co-runs with such
    cells, or with results that have no single value, are excluded.
    """
    parallel = [corun for corun in coruns if corun.slots.scenario == PARALLEL_SCENARIO]
    if not parallel:
        return _("No parallel runs. The effect of neighboring VMs is shown below.")
    trusted = [
        corun
        for corun in parallel
        if not corun.slots.unclear_sources  # some results have no single value
        and withheld.isdisjoint(
            slot.cell_id
            for slot in (*corun.slots.slots, corun.slots.single, corun.slots.native)
            if slot
        )
    ]
    if not trusted:
        return _(
            "Not assessed: every co-run has a result without a single value, or with a "
            "flag that withholds the verdict."
        )
    max_vms = max(corun.slots.vms for corun in trusted)
    chosen = [corun for corun in trusted if corun.slots.vms == max_vms]
    vms = ngettext("%(n)s VM", "%(n)s VMs", max_vms) % {"n": max_vms}
    text = _time_summary(chosen, vms) or _rate_summary(chosen, vms)
    if excluded_count := len(parallel) - len(trusted):
        text += " " + ngettext(
            "%(n)s co-run with a flagged result is excluded.",
            "%(n)s co-runs with flagged results are excluded.",
            excluded_count,
        ) % {"n": excluded_count}
    return text


def _time_summary(coruns: Sequence[CoRunResult], vms: str) -> str:
    timed = (
        corun.figures
        for corun in coruns
        if corun.slots.case.better == "lower" and corun.figures.slowdown
    )
    worst = max(timed, key=lambda figures: figures.slowdown or 0, default=None)
    if worst is None:
        return ""
    values = {"vms": vms, "slowdown": formatting.ratio(worst.slowdown or 0.0)}
    target = worst.target
    if target is None:
        return (
            _(
                "%(vms)s together take %(slowdown)s times as long as one VM alone. "
                "How much of that sharing cores explains is unknown."
            )
            % values
        )
    text = _(
        "%(vms)s together take %(slowdown)s times as long as one VM alone. Sharing "
        "%(cores)s cores explains %(allowed)s times; they take %(ratio)s times that."
    )
    return text % {
        **values,
        "cores": worst.physical_cores,
        # If each VM has a core, no slowdown is expected (docs/method.md).
        "allowed": formatting.ratio(
            max(1.0, (worst.virtual_cores or 1) / (worst.physical_cores or 1))
        ),
        "ratio": formatting.ratio(target.ideal_ratio),
    }


def _rate_summary(coruns: Sequence[CoRunResult], vms: str) -> str:
    vs_single_vm = [corun.figures.scaling for corun in coruns]
    has_single_vm = any(vs_single_vm)
    vs_native = [corun.figures.scaling_to_native for corun in coruns]
    ratios = sorted(filter(None, vs_single_vm if has_single_vm else vs_native))
    sentences = []
    if ratios:
        text = (
            _("With %(vms)s, total throughput is %(low)s of %(base)s.")
            if len(ratios) == 1
            else _(
                "With %(vms)s, total throughput is %(low)s to %(high)s of %(base)s "
                "(median %(median)s, %(n)s benchmarks)."
            )
        )
        values = {
            "vms": vms,
            "low": formatting.ratio_percent(ratios[0]),
            "high": formatting.ratio_percent(ratios[-1]),
            "median": formatting.ratio_percent(median(ratios)),
            "base": _("one VM") if has_single_vm else _("the native machine"),
            "n": len(ratios),
        }
        sentences.append(text % values)
    fairness = [
        (corun.figures.jain, corun.slots.case.label)
        for corun in coruns
        if corun.figures.jain is not None
    ]
    if fairness:
        index, case = min(fairness, key=lambda item: item[0])
        text = _("Lowest fairness: Jain's index %(jain)s (%(case)s).")
        values = {"jain": formatting.ratio(index), "case": case}
        sentences.append(
            _("The VMs share resources evenly.")
            if index >= EVEN_SHARING
            else text % values
        )
    if not sentences:
        text = _(
            "%(vms)s ran in parallel, but a result of one VM alone is missing for "
            "comparison."
        )
        return text % {"vms": vms}
    return " ".join(sentences)
