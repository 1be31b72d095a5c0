from collections.abc import Callable, Mapping, Sequence
from math import exp, log
from types import MappingProxyType

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.machine_models import MIN_VERDICT
from benchmarks.analysis.meta_analysis import (
    MIN_POOLED,
    MIN_STRONG_LABS,
    EvidenceStrength,
)
from benchmarks.comparison.work_class_summaries import PlatformRange, WorkClassSummary
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.evidence.replication import Outcome
from benchmarks.evidence.synthesis import (
    DOUBTFUL,
    FEW_MODELS,
    Configuration,
    MachineEffect,
    PooledEffect,
    Synthesis,
)
from benchmarks.models import Effect
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit import formatting
from dashboard.wording import DASH, Text, range_text

Exclusion = Effect.Exclusion
Doubt = Effect.Doubt

EVIDENCE_STRENGTHS: Mapping[EvidenceStrength, Text] = {
    EvidenceStrength.STRONG: gettext_lazy("strong"),
    EvidenceStrength.MODERATE: gettext_lazy("moderate"),
    EvidenceStrength.WEAK: gettext_lazy("weak"),
    EvidenceStrength.CONTRADICTORY: gettext_lazy("contradictory"),
    EvidenceStrength.NONE: gettext_lazy("none"),
}
_STRENGTH_REASONS: Mapping[EvidenceStrength, Text] = {
    EvidenceStrength.STRONG: gettext_lazy(
        "There are results from at least five labs, and the whole prediction interval "
        "for another lab is slower, faster or equivalent."
    ),
    EvidenceStrength.MODERATE: gettext_lazy(
        "There are results from at least three labs, and the whole confidence "
        "interval of their mean is slower, faster or equivalent."
    ),
    EvidenceStrength.CONTRADICTORY: gettext_lazy(
        "Labs reach opposite verdicts, and most of the difference between them is not "
        "noise."
    ),
    EvidenceStrength.NONE: gettext_lazy("No conclusion is possible."),
}
EXCLUSION_TEXTS: Mapping[str, Text] = {
    Exclusion.NO_NATIVE: gettext_lazy("no native run to compare with"),
    Exclusion.AGAINST_REFERENCE: gettext_lazy(
        "compared with a reference system, not native"
    ),
    Exclusion.OTHER_HOST: gettext_lazy("native runs from another host"),
    Exclusion.OTHER_PARAMETERS: gettext_lazy("native runs with other parameters"),
    Exclusion.UNIT_MISMATCH: gettext_lazy("native runs in another unit"),
    Exclusion.ZERO: gettext_lazy("a value of 0 or less"),
    Exclusion.EMULATION: gettext_lazy("emulated CPU"),
    DOUBTFUL: gettext_lazy("doubtful"),
    Exclusion.COPY: gettext_lazy("copy of runs that are counted already"),
    Exclusion.IMPOSSIBLE: gettext_lazy("flagged as impossible"),
    Exclusion.CLOCK_SUSPECT: gettext_lazy("untrusted clock"),
    Exclusion.UNTIMED: gettext_lazy("start times not stated"),
    Exclusion.NO_INTERVAL: gettext_lazy("too noisy for a confidence interval"),
    # In reviews by rule set 2.
    "flagged": gettext_lazy("open or confirmed flag"),
    "ambiguous_baseline": gettext_lazy("several native results disagree"),
    "noisy_baseline": gettext_lazy("too noisy for a confidence interval"),
    "no_steady_state": gettext_lazy("runs without a steady state, so no single value"),
    Exclusion.SINGLE_RUN: gettext_lazy("only one or two runs per side"),
    Exclusion.PLACEMENT: gettext_lazy(
        "some CPUs of other machines of the model, chosen by the scheduler"
    ),
    FEW_MODELS: gettext_lazy("a provider with fewer than three machine models"),
    Exclusion.NO_SPREAD: gettext_lazy("identical values of unknown resolution"),
}

DOUBT_TEXTS: Mapping[str, Text] = {
    Doubt.BASELINES_DISAGREE: gettext_lazy("native results that disagree"),
    Doubt.FLAGGED: gettext_lazy("flagged as implausible"),
    Doubt.STALE: gettext_lazy("outdated baseline"),
    Doubt.OTHER_SESSION: gettext_lazy("baseline of another session"),
    Doubt.NO_STEADY_STATE: gettext_lazy("runs without a steady state"),
    Doubt.ORDER: gettext_lazy("all runs of one side came first"),
    Doubt.NOISY: gettext_lazy("noisy baseline"),
}

SHORT_EXCLUSIONS: Mapping[str, Text] = {
    Exclusion.NO_NATIVE: gettext_lazy("no baseline"),
    Exclusion.AGAINST_REFERENCE: gettext_lazy("other reference"),
    Exclusion.OTHER_HOST: gettext_lazy("other host"),
    Exclusion.OTHER_PARAMETERS: gettext_lazy("other parameters"),
    Exclusion.UNIT_MISMATCH: gettext_lazy("other units"),
    Exclusion.ZERO: gettext_lazy("zero values"),
    Exclusion.EMULATION: gettext_lazy("emulated only"),
    DOUBTFUL: gettext_lazy("doubtful only"),
    Exclusion.COPY: gettext_lazy("copies only"),
    Exclusion.IMPOSSIBLE: gettext_lazy("impossible values"),
    Exclusion.CLOCK_SUSPECT: gettext_lazy("untrusted clock"),
    Exclusion.UNTIMED: gettext_lazy("no times"),
    Exclusion.NO_INTERVAL: gettext_lazy("too noisy"),
    Exclusion.SINGLE_RUN: gettext_lazy("single runs"),
    Exclusion.NO_SPREAD: gettext_lazy("identical values"),
    Exclusion.PLACEMENT: gettext_lazy("some CPUs"),
    FEW_MODELS: gettext_lazy("few models"),
    # In reviews by rule set 2.
    "flagged": gettext_lazy("flagged"),
    "ambiguous_baseline": gettext_lazy("several baselines"),
    "noisy_baseline": gettext_lazy("too noisy"),
    "no_steady_state": gettext_lazy("not steady"),
}
"""Why a question has results, but no pooled one, in two words."""

WORK_PHRASES: Mapping[str, Text] = {
    "cpu-floating-point": gettext_lazy("numerical computation"),
    "cpu-integer": gettext_lazy("integer computation"),
    "memory-read": gettext_lazy("programs that read much memory"),
    "memory-write": gettext_lazy("programs that write much memory"),
    "memory-copy": gettext_lazy("programs that copy much memory"),
    "memory-latency": gettext_lazy("programs with random memory accesses"),
    "disk-sequential-read": gettext_lazy("reading large files"),
    "disk-sequential-write": gettext_lazy("writing large files"),
    "disk-random-read": gettext_lazy("random disk reads"),
    "disk-random-write": gettext_lazy("random disk writes"),
    "disk-fsync": gettext_lazy("durable disk writes (fsync)"),
    "disk-tail-latency": gettext_lazy("disk accesses with a latency limit"),
    "network-throughput-out": gettext_lazy("sending data over the network"),
    "network-throughput-in": gettext_lazy("receiving data over the network"),
    "network-round-trip": gettext_lazy("network round trips"),
    "network-requests": gettext_lazy("many small network requests"),
    "network-tail-latency": gettext_lazy("network services with a latency limit"),
    "system-process-creation": gettext_lazy("starting many processes"),
    "system-system-call": gettext_lazy("many system calls"),
    "system-context-switch": gettext_lazy("many context switches"),
    "application-web": gettext_lazy("a web server"),
    "application-database": gettext_lazy("a database"),
    "application-build": gettext_lazy("software builds"),
    "application-tail-latency": gettext_lazy("a service with a latency limit"),
    "energy-per-work": gettext_lazy("work limited by energy"),
}
"""Work in the words of visitors, by slug of the work class, for "I run ..."."""

MAX_NAMED_PLATFORMS = 3
SUBGROUP_NAMES: Mapping[str, Text] = {
    "benchmark": gettext_lazy("Benchmark"),
    "decade": gettext_lazy("Decade"),
    "virtualization": gettext_lazy("Type of virtualization"),
    "path": gettext_lazy("Storage and network path"),
}


def work_area(work: str) -> str:
    return _(WORK_CLASSES[work].area_title)


def work_kind(work: str) -> str:
    return _(WORK_CLASSES[work].kind_title)


def work_name(work: str) -> str:
    return f"{work_area(work)}: {work_kind(work)}"


def work_phrase(work: str) -> str:
    return str(WORK_PHRASES[work])


def short_exclusion(counts: Mapping[str, int]) -> str:
    """Return the most frequent reason for exclusion; "" if nothing was excluded."""
    if not counts:
        return ""
    reason = max(counts, key=lambda exclusion: counts[exclusion])
    return str(SHORT_EXCLUSIONS[reason])


def strength_reason(synthesis: Synthesis) -> str:
    pool = synthesis.pool
    if pool.machine_count and pool.provider_count == pool.machine_count:
        return _provider_reason(synthesis)
    if synthesis.strength != EvidenceStrength.WEAK:
        return str(_STRENGTH_REASONS[synthesis.strength])
    if synthesis.is_single_runs:
        return _("Only single runs, which have no uncertainty estimate.")
    labs = synthesis.pool.lab_count
    if labs < MIN_POOLED:
        text = ngettext(
            "Results from %(n)s lab only; moderate evidence needs %(needed)s.",
            "Results from %(n)s labs only; moderate evidence needs %(needed)s.",
            labs,
        )
        return text % {"n": labs, "needed": MIN_POOLED}
    return _("The confidence interval of the mean is inconclusive.")


def _provider_reason(synthesis: Synthesis) -> str:
    if synthesis.strength == EvidenceStrength.MODERATE:
        return _(
            "Results from machines of one model, none of which ran both sides. The "
            "interval of at least %(n)s models is conclusive."
        ) % {"n": MIN_VERDICT}
    return _(
        "Results from machines of one model, none of which ran both sides. There are "
        "fewer than %(n)s models, or their interval is inconclusive."
    ) % {"n": MIN_VERDICT}


def shown_range(
    synthesis: Synthesis,
) -> tuple[tuple[float, float], tuple[float, ...]]:
    """Return the interval of log ratios that is the answer, and the points in it.

    The prediction interval if there is one, else the confidence interval of the only
    machine, else the range of the ratios. Without results, there are no points.
    """
    pool = synthesis.main_pool
    if (provider := _only_provider(synthesis)) and provider.predicted:
        return provider.predicted, (provider.log_ratio,)
    ratios = tuple(
        ratio for unit in synthesis.main_machines for ratio in unit.shown_log_ratios
    )
    if pool.mean is not None and pool.predicted is not None:
        return pool.predicted, (pool.mean,)
    if pool.mean is not None and pool.interval is not None:
        return pool.interval, (pool.mean,)
    if pool.mean is not None:
        ratios = (pool.mean,)
    return (min(ratios), max(ratios)) if ratios else (0.0, 0.0), ratios


def is_predicted(synthesis: Synthesis) -> bool:
    """Return whether `shown_range` is a prediction for another machine."""
    unit = _only_provider(synthesis) or synthesis.main_pool
    return unit.predicted is not None


def range_kind(synthesis: Synthesis) -> str:
    """Return what `shown_range` is, and of how many machines."""
    pool = synthesis.main_pool
    if provider := _only_provider(synthesis):
        models = models_text(provider.model_count, provider.specimen_count, 1)
        return _("prediction from %(machines)s") % {"machines": models}
    if synthesis.is_single_runs:
        machines = machines_text(pool.machine_count)
        return _("%(machines)s, single runs") % {"machines": machines}
    if pool.predicted is not None:
        machines = pool_machines_text(pool)
        return _("prediction from %(machines)s") % {"machines": machines}
    if pool.machine_count == 1 and pool.interval is not None:
        return _("one machine, 95% confidence interval")
    return pool_machines_text(pool)


def _only_provider(synthesis: Synthesis) -> MachineEffect | None:
    """Return the provider of machines of one model if there are no other results."""
    if synthesis.pool.machine_count != 1 or not synthesis.machines:
        return None
    return synthesis.machines[0] if synthesis.machines[0].model_count else None


def physical_machine_count(pool: PooledEffect) -> int:
    """Return the number of machines; those of a provider count one by one."""
    return pool.machine_count - pool.provider_count + pool.specimen_count


def log_ratio_text(log_ratio: float, within: tuple[float, float] | None = None) -> str:
    ends = within and (exp(within[0]), exp(within[1]))
    return formatting.ratio(exp(log_ratio), ends)


def log_interval_text(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return ""
    return range_text(*(log_ratio_text(end, ends) for end in ends))


def _percent_text(log_ratio: float, within: tuple[float, float] | None = None) -> str:
    ends = within and (exp(within[0]), exp(within[1]))
    return formatting.ratio_percent(exp(log_ratio), ends)


def _percent_interval_text(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return ""
    low, high = (_percent_text(end, ends) for end in ends)
    return f"{low.removesuffix('%').rstrip()}\N{EN DASH}{high}"


def pooled_ratio(
    value: float | None, within: Sequence[float] | None = None, none: str = DASH
) -> str:
    """Return a ratio of a JSON record, with the precision that its interval allows."""
    ends = None if within is None else (within[0], within[1])
    return none if value is None else formatting.ratio(value, ends)


def pooled_interval(ends: Sequence[float] | None, none: str = DASH) -> str:
    return none if ends is None else log_interval_text((log(ends[0]), log(ends[1])))


def percent_range(low: float, high: float) -> str:
    """Return an interval of ratios in whole percents: "93-96%"."""
    ends = dict.fromkeys(
        f"{formatting.number(round(end * 100))}" for end in (low, high)
    )
    return _("%(ends)s%%") % {"ends": "\N{EN DASH}".join(ends)}


def labs_text(labs: int) -> str:
    return ngettext("%(n)s lab", "%(n)s labs", labs) % {"n": labs}


def machines_text(machines: int) -> str:
    return ngettext("%(n)s machine", "%(n)s machines", machines) % {"n": machines}


def providers_text(providers: int) -> str:
    return ngettext("%(n)s provider", "%(n)s providers", providers) % {"n": providers}


def pool_labs_text(pool: PooledEffect) -> str:
    labs = pool.lab_count - pool.provider_count
    parts = [labs_text(labs)] if labs > 0 else []
    if pool.provider_count:
        parts.append(providers_text(pool.provider_count))
    return ", ".join(parts)


def pool_machines_text(pool: PooledEffect) -> str:
    if not pool.provider_count:
        return machines_text(pool.machine_count)
    models = models_text(pool.model_count, pool.specimen_count, pool.provider_count)
    if pool.provider_count == pool.machine_count:
        return models
    return _("%(machines)s that ran both, and %(models)s") % {
        "machines": machines_text(pool.machine_count - pool.provider_count),
        "models": models,
    }


def badge_text(synthesis: Synthesis) -> str:
    pool = synthesis.main_pool
    ends = pool.interval
    units = (
        synthesis.machines
        if synthesis.pool.machine_count
        else synthesis.single_run_machines
    )
    if ends is None and units:
        # With too few machines for a mean, show the range of their ratios.
        ratios = [ratio for unit in units for ratio in unit.shown_log_ratios]
        ends = (min(ratios), max(ratios))
    if ends is None:
        return _("not measured yet")
    values = {
        "range": percent_range(exp(ends[0]), exp(ends[1])),
        "labs": pool_labs_text(pool),
    }
    if synthesis.is_single_runs:
        return _("%(range)s of native, single runs, %(labs)s") % values
    return _("%(range)s of native, %(labs)s") % values


def machine_counts_text(synthesis: Synthesis) -> str:
    machines = pool_machines_text(synthesis.main_pool)
    if synthesis.is_single_runs or not synthesis.single_run_pool.machine_count:
        return machines
    return _("%(machines)s, and %(n)s more with single runs") % {
        "machines": machines,
        "n": synthesis.single_run_pool.machine_count,
    }


def question_summary(synthesis: Synthesis) -> str:
    if synthesis.pool.machine_count:
        return _pooled_summary(synthesis)
    if synthesis.single_run_pool.machine_count:
        pool = synthesis.single_run_pool
        warning = _("Weak evidence: single runs have no uncertainty estimate.")
        values = {"labs": labs_text(pool.lab_count)}
        if pool.mean is not None and pool.is_pooled:
            text = _(
                "%(labs)s, single runs: on average %(mean)s of native speed (95%% "
                "confidence interval %(ends)s)."
            )
            values["mean"] = _percent_text(pool.mean, pool.interval)
            values["ends"] = _percent_interval_text(pool.interval)
        else:
            text = _("%(labs)s, single runs: %(ratio)s of native speed.")
            values["ratio"] = _range_text(
                synthesis.single_run_machines, _percent_text, _percent_interval_text
            )
        return f"{text % values} {warning}"
    if synthesis.excluded_counts:
        return _(
            "There are results, but none of them can be pooled. The reasons are "
            "listed below."
        )
    return _("Not measured.")


def models_text(models: int, machines: int, providers: int) -> str:
    return _("%(models)s, %(machines)s, %(providers)s") % {
        "models": ngettext("%(n)s model", "%(n)s models", models) % {"n": models},
        "machines": machines_text(machines),
        "providers": providers_text(providers),
    }


def provider_detail(provider: MachineEffect) -> str:
    """Describe the machines of a provider: "24 models, 105 machines, one run each"."""
    text = _("%(models)s, %(machines)s, one run each") % {
        "models": ngettext("%(n)s model", "%(n)s models", provider.model_count)
        % {"n": provider.model_count},
        "machines": machines_text(provider.specimen_count),
    }
    if not provider.flagged_models or provider.log_ratio_with_flagged is None:
        return text
    return _("%(text)s; %(ratio)s with %(flagged)s (flagged)") % {
        "text": text,
        "ratio": log_ratio_text(provider.log_ratio_with_flagged, provider.interval),
        "flagged": ", ".join(provider.flagged_models),
    }


def _provider_summary(provider: MachineEffect) -> str:
    return _(
        "%(models)s: on average %(mean)s of native speed (95%% confidence interval "
        "%(ends)s). Prediction for a machine of another model: %(predicted)s. "
        "Measured on other machines of the same model; no machine ran both."
    ) % {
        "models": models_text(provider.model_count, provider.specimen_count, 1),
        "mean": _percent_text(provider.log_ratio, provider.interval),
        "ends": _percent_interval_text(provider.interval),
        "predicted": _percent_interval_text(provider.predicted),
    }


def _pooled_summary(synthesis: Synthesis) -> str:
    pool = synthesis.pool
    if provider := _only_provider(synthesis):
        return _provider_summary(provider)
    if pool.machine_count == 1 and synthesis.machines[0].listed_configurations:
        return _(
            "One machine: %(ratios)s of native speed in different configurations. It "
            "is unknown whether another machine would show the same."
        ) % {
            "ratios": ", ".join(
                _percent_text(ratio) for ratio in synthesis.machines[0].shown_log_ratios
            )
        }
    if pool.machine_count == 1:
        return _(
            "One machine: %(ratio)s of native speed (95%% confidence interval "
            "%(ends)s). It is unknown whether another machine would show the same."
        ) % {
            "ratio": _percent_text(
                synthesis.machines[0].log_ratio, synthesis.machines[0].interval
            ),
            "ends": _percent_interval_text(synthesis.machines[0].interval),
        }
    if pool.mean is None and pool.machine_count == MIN_POOLED - 1:
        first, second = (
            _percent_text(unit.log_ratio, unit.interval) for unit in synthesis.machines
        )
        if pool.provider_count:
            return _(
                "%(machines)s: %(first)s and %(second)s of native speed. Between-lab "
                "variation cannot be estimated from two labs."
            ) % {
                "machines": pool_machines_text(pool),
                "first": first,
                "second": second,
            }
        return _(
            "Two machines: %(first)s and %(second)s of native speed. Between-machine "
            "variation cannot be estimated from two machines."
        ) % {"first": first, "second": second}
    if pool.mean is None:
        return _(
            "%(machines)s of two labs: %(range)s of native speed. Between-lab "
            "variation cannot be estimated from two labs."
        ) % {
            "machines": pool_machines_text(pool),
            "range": _range_text(
                synthesis.machines, _percent_text, _percent_interval_text
            ),
        }
    if pool.is_one_lab:
        text = _(
            "%(machines)s of one lab: on average %(mean)s of native speed (95%% "
            "confidence interval %(ends)s). Prediction for another machine of this "
            "lab: %(predicted)s. Other labs may differ."
        )
    else:
        text = _(
            "%(labs)s: on average %(mean)s of native speed (95%% confidence interval "
            "%(ends)s). Prediction for a machine of another lab: %(predicted)s."
        )
    text %= {
        "machines": pool_machines_text(pool),
        "labs": pool_machines_text(pool)
        if pool.provider_count
        else labs_text(pool.lab_count)
        if pool.lab_count == pool.machine_count
        else _("%(machines)s of %(labs)s")
        % {
            "machines": machines_text(pool.machine_count),
            "labs": labs_text(pool.lab_count),
        },
        "mean": _percent_text(pool.mean, pool.interval),
        "ends": _percent_interval_text(pool.interval),
        "predicted": _percent_interval_text(pool.predicted),
    }
    if not pool.is_one_lab and pool.lab_count < MIN_STRONG_LABS:
        warning = _("Indicative: based on only %(labs)s.") % {
            "labs": pool_labs_text(pool)
        }
        text = f"{text} {warning}"
    return text


def _range_text(
    units: Sequence[MachineEffect],
    value_text: Callable[[float], str],
    interval_text: Callable[[tuple[float, float]], str],
) -> str:
    ratios = [ratio for unit in units for ratio in unit.shown_log_ratios]
    values = sorted({value_text(ratio): ratio for ratio in ratios}.values())
    if len(values) == 1:
        return value_text(values[0])
    return interval_text((values[0], values[-1]))


def matrix_entry(
    synthesis: Synthesis, labels: Mapping[int, str] = MappingProxyType({})
) -> tuple[str, str]:
    """Return the ratio in a cell of the evidence matrix, and the text below it.

    The text is the prediction interval, the reason for none, or what distinguishes
    configurations; ``labels`` are by system.
    """
    pool, units = synthesis.main_pool, synthesis.main_machines
    if not pool.machine_count:
        return "", ""
    if not pool.is_pooled and len(units) == 1 and units[0].listed_configurations:
        parts = units[0].listed_configurations
        ratios = ", ".join(log_ratio_text(part.log_ratio) for part in parts)
        names = [labels.get(part.system, "") for part in parts]
        if not any(names):
            return ratios, _("one machine")
        listed = ", ".join(name or DASH for name in names)
        return ratios, _("one machine: %(configurations)s") % {"configurations": listed}
    if pool.mean is None:
        detail = _("two machines") if len(units) < MIN_POOLED else _("two labs")
        detail = pool_machines_text(pool) if pool.provider_count else detail
        return _range_text(units, log_ratio_text, log_interval_text), detail
    ratio = log_ratio_text(pool.mean, pool.interval)
    if pool.is_pooled:
        predicted = {"range": log_interval_text(pool.predicted)}
        return ratio, _("predicted %(range)s") % predicted
    if units[0].model_count:
        return ratio, _("%(models)s, predicted %(range)s") % {
            "models": models_text(units[0].model_count, units[0].specimen_count, 1),
            "range": log_interval_text(units[0].predicted),
        }
    if parts := units[0].configurations:
        ends = log_interval_text((parts[0].log_ratio, parts[-1].log_ratio))
        values = {"range": ends, "n": len(parts)}
        return ratio, _("one machine, %(range)s in %(n)s configurations") % values
    if pool.interval is None:
        return ratio, _("one machine")
    interval = log_interval_text(pool.interval)
    return ratio, _("one machine, CI %(interval)s") % {"interval": interval}


def matrix_notes(synthesis: Synthesis) -> list[str]:
    notes = []
    if other := synthesis.without_doubtful:
        value = matrix_entry(other)[0]
        notes.append(
            without_doubtful_text(value, synthesis.doubtful_count)
            if value
            else _("all are doubtful")
        )
    pool = synthesis.pool
    providers = [unit for unit in synthesis.machines if unit.model_count]
    if pool.machine_count > 1 and providers:
        notes += [
            _("%(ratio)s for %(models)s, predicted %(range)s")
            % {
                "ratio": log_ratio_text(unit.log_ratio, unit.interval),
                "models": models_text(unit.model_count, unit.specimen_count, 1),
                "range": log_interval_text(unit.predicted),
            }
            for unit in providers
        ]
    elif pool.machine_count > 1 and pool.provider_count:
        models = models_text(pool.model_count, pool.specimen_count, pool.provider_count)
        notes.append(_("with %(models)s") % {"models": models})
    if (other := synthesis.without_models) and (value := matrix_entry(other)[0]):
        notes.append(_("%(value)s on machines that ran both") % {"value": value})
    if (other := synthesis.with_screened) and (value := matrix_entry(other)[0]):
        notes.append(with_screened_text(value, synthesis.screened_count))
    return notes


def configuration_texts(
    parts: Sequence[Configuration], labels: Mapping[int, str]
) -> list[str]:
    """Return a line for each configuration: "0.45 topology hidden"."""
    texts = []
    for part in parts:
        ends = (
            None
            if part.half_width is None
            else (part.log_ratio - part.half_width, part.log_ratio + part.half_width)
        )
        words = [log_ratio_text(part.log_ratio, ends), labels.get(part.system, "")]
        texts.append(" ".join(filter(None, words)))
    return texts


REPLICATION_OUTCOMES: dict[Outcome, Text] = {
    "confirmed": gettext_lazy("confirmed"),
    "contradicted": gettext_lazy("contradicted"),
    "undecided": gettext_lazy("undecided"),
    "single_runs": gettext_lazy("single run, inconclusive"),
}


def outcome_name(outcome: Outcome) -> str:
    return str(REPLICATION_OUTCOMES[outcome])


def metric_title(tool: str, metric: str) -> str:
    return f"{require_tool(tool).title}: {metric}"


def relative_percent(ratio: float) -> str:
    return formatting.number(100 * ratio, ".2g" if 100 * ratio < 1 else ",.0f")


def platform_range_text(platform: PlatformRange) -> str:
    return _percent_ends(platform.low, platform.high)


def _percent_ends(low: float, high: float) -> str:
    ends = dict.fromkeys(map(relative_percent, (low, high)))
    return _("%(ends)s%%") % {"ends": "\N{EN DASH}".join(ends)}


def platform_counts_text(platform: PlatformRange) -> str:
    results = ngettext("%(n)s result", "%(n)s results", platform.results)
    if platform.systems == platform.results:
        results = ngettext(
            "%(n)s configuration", "%(n)s configurations", platform.systems
        )
        return results % {"n": platform.systems}
    return _("%(results)s of %(systems)s") % {
        "results": results % {"n": platform.results},
        "systems": ngettext(
            "%(n)s configuration", "%(n)s configurations", platform.systems
        )
        % {"n": platform.systems},
    }


def range_notes(platform: PlatformRange) -> list[str]:
    notes = []
    if platform.doubtful:
        notes.append(
            _("all are doubtful")
            if platform.sure is None
            else without_doubtful_text(_percent_ends(*platform.sure), platform.doubtful)
        )
    if platform.with_screened:
        notes.append(
            with_screened_text(
                _percent_ends(*platform.with_screened), platform.screened
            )
        )
    return notes


def without_doubtful_text(value: str, doubtful: int) -> str:
    text = ngettext(
        "%(value)s without %(n)s doubtful result",
        "%(value)s without %(n)s doubtful results",
        doubtful,
    )
    return text % {"value": value, "n": doubtful}


def with_screened_text(value: str, screened: int) -> str:
    text = ngettext(
        "%(value)s with %(n)s impossible result",
        "%(value)s with %(n)s impossible results",
        screened,
    )
    return text % {"value": value, "n": screened}


def screened_results_text(screened: int) -> str:
    if not screened:
        return ""
    text = ngettext(
        "%(n)s impossible result excluded",
        "%(n)s impossible results excluded",
        screened,
    )
    return text % {"n": screened}


def work_summary_text(summary: WorkClassSummary | None) -> str:
    if summary is None:
        return _("No result has a native run to compare with.")
    parts = [_ranges_sentence(summary)]
    if summary.kind == "alone":
        parts.append(
            _(
                "It is the only hypervisor with a valid result, so hypervisors "
                "cannot be compared here."
            )
        )
    if summary.without_ratio:
        parts.append(
            _("Measured, but without a valid ratio to native: %(names)s.")
            % {"names": ", ".join(summary.without_ratio)}
        )
    if summary.not_measured:
        missing = {"names": ", ".join(summary.not_measured)}
        parts.append(_("Not measured here: %(names)s.") % missing)
    return " ".join(parts)


def _ranges_sentence(summary: WorkClassSummary) -> str:
    work = f"{work_area(summary.work_class)}, {work_kind(summary.work_class)}"
    if summary.kind == "nothing":
        return _("%(work)s: no result has a valid ratio to native.") % {
            "work": capfirst(work)
        }
    first, *rest = summary.ranges
    sentence = capfirst(
        _("%(work)s: %(name)s reached %(kept)s of bare-metal speed")
        % {"work": work, "name": first.name, "kept": platform_range_text(first)}
    )
    parts = [sentence]
    parts += (
        f"{platform.name} {platform_range_text(platform)}"
        for platform in rest[: MAX_NAMED_PLATFORMS - 1]
    )
    if more := len(summary.ranges[MAX_NAMED_PLATFORMS:]):
        parts.append(ngettext("%(n)s other", "%(n)s others", more) % {"n": more})
    notes = []
    if summary.kind == "compared":
        is_same_host = summary.is_same_host
        notes.append(_("same host") if is_same_host else _("different hosts"))
    if summary.are_single_runs:
        notes.append(_("single runs: weak evidence"))
    elif summary.is_weak:
        notes.append(_("weak evidence"))
    end = f" ({'; '.join(notes)})" if notes else ""
    return f"{', '.join(parts)}{end}."
