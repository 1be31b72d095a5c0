"""Evidence of several studies in words: levels, obstacles, pooled and kept speed."""

from collections.abc import Mapping, Sequence
from math import exp, log

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.pooling import FEWEST_RANKED, EvidenceStrength
from benchmarks.comparing.answers import Answer, Standing
from benchmarks.evidence.replication import Outcome
from benchmarks.evidence.synthesis import Synthesis, Unit
from benchmarks.models import Effect
from benchmarks.own_tools.lookup import known_tool
from benchmarks.work_classes import WORK_CLASSES
from dashboard.kit import figures
from dashboard.wording import NONE, Text, span_text

Obstacle = Effect.Obstacle

STRENGTHS: Mapping[EvidenceStrength, Text] = {
    EvidenceStrength.STRONG: gettext_lazy("strong"),
    EvidenceStrength.MODERATE: gettext_lazy("moderate"),
    EvidenceStrength.WEAK: gettext_lazy("weak"),
    EvidenceStrength.CONTRADICTORY: gettext_lazy("contradictory"),
    EvidenceStrength.NONE: gettext_lazy("none"),
}
WHY: Mapping[EvidenceStrength, Text] = {
    EvidenceStrength.STRONG: gettext_lazy(
        "Five labs or more, and what a new lab will see lies on one side."
    ),
    EvidenceStrength.MODERATE: gettext_lazy(
        "Three labs or more, and the interval of their mean lies on one side."
    ),
    EvidenceStrength.WEAK: gettext_lazy(
        "Too few labs, single runs, or an interval that decides nothing."
    ),
    EvidenceStrength.CONTRADICTORY: gettext_lazy(
        "Labs reach opposite verdicts, and most of the difference between them is not "
        "noise."
    ),
    EvidenceStrength.NONE: gettext_lazy("Nothing can be concluded from this."),
}
OBSTACLES: Mapping[str, Text] = {
    Obstacle.NO_NATIVE: gettext_lazy("no native run to compare with"),
    Obstacle.RELATIVE: gettext_lazy("compared with a reference system, not native"),
    Obstacle.OTHER_HOST: gettext_lazy("native runs of another host"),
    Obstacle.OTHER_PARAMETERS: gettext_lazy("native runs with other parameters"),
    Obstacle.UNIT_MISMATCH: gettext_lazy("native runs in another unit"),
    Obstacle.AMBIGUOUS: gettext_lazy("several native results disagree"),
    Obstacle.ZERO: gettext_lazy("a reading of 0 or less"),
    Obstacle.EMULATION: gettext_lazy("a program emulates the processor"),
    Obstacle.FLAGGED: gettext_lazy("an open or confirmed flag doubts a number"),
    Obstacle.CLOCK_SUSPECT: gettext_lazy("a clock that cannot be trusted"),
    Obstacle.NOISY_BASELINE: gettext_lazy("too noisy for an interval"),
    Obstacle.NO_STEADY_STATE: gettext_lazy("no steady state: no single figure"),
    Obstacle.SINGLE_RUN: gettext_lazy("one or two runs a side"),
    Obstacle.NO_SPREAD: gettext_lazy("identical readings of unknown resolution"),
}

SUBGROUPS: Mapping[str, Text] = {
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


def ratio_text(log_ratio: float, within: tuple[float, float] | None = None) -> str:
    """Write a ln ratio as a ratio, with the digits that its interval (ln) justifies."""
    ends = within and (exp(within[0]), exp(within[1]))
    return figures.ratio(exp(log_ratio), ends)


def ends_text(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return ""
    return span_text(*(ratio_text(end, ends) for end in ends))


def pooled_ratio(
    value: float | None, within: Sequence[float] | None = None, none: str = NONE
) -> str:
    """Write a ratio of a record with the digits that its interval justifies."""
    ends = None if within is None else (within[0], within[1])
    return none if value is None else figures.ratio(value, ends)


def pooled_interval(ends: Sequence[float] | None, none: str = NONE) -> str:
    """Write the interval of a ratio of a record."""
    return none if ends is None else ends_text((log(ends[0]), log(ends[1])))


def percent_text(low: float, high: float) -> str:
    """Return an interval of ratios in whole percents: "93 to 96 %"."""
    ends = dict.fromkeys(f"{figures.number(round(end * 100))}" for end in (low, high))
    return _("%(ends)s\N{NO-BREAK SPACE}%%") % {"ends": "\N{EN DASH}".join(ends)}


def labs_text(labs: int) -> str:
    return ngettext("%(n)s lab", "%(n)s labs", labs) % {"n": labs}


def machines_text(machines: int) -> str:
    return ngettext("%(n)s machine", "%(n)s machines", machines) % {"n": machines}


def badge_text(found: Synthesis) -> str:
    """Say it in a line: from where to where, and of how many labs."""
    pool = found.counted
    ends = pool.interval
    units = found.units if found.pool.k else found.hollow
    if ends is None and units:
        # Too few for a mean: from the lowest to the highest.
        ratios = [unit.log_ratio for unit in units]
        ends = (min(ratios), max(ratios))
    if ends is None:
        return _("not measured yet")
    said = {
        "range": percent_text(exp(ends[0]), exp(ends[1])),
        "labs": labs_text(pool.labs),
    }
    if found.is_hollow:
        return _("%(range)s of native, single runs, %(labs)s") % said
    return _("%(range)s of native, %(labs)s") % said


def counted_text(found: Synthesis) -> str:
    """Say of how many machines the answer is, and how many others stand beside."""
    machines = machines_text(found.counted.k)
    if found.is_hollow or not found.single.k:
        return machines
    return _("%(machines)s, %(n)s more of single runs") % {
        "machines": machines,
        "n": found.single.k,
    }


def answer(found: Synthesis) -> str:
    if found.pool.k:
        return _of_replicated(found)
    if found.single.k:
        pool = found.single
        weak = _("Weak evidence: single runs have no uncertainty estimate.")
        words = {"labs": labs_text(pool.labs)}
        if pool.mean is not None and pool.k > 1:
            text = _("%(labs)s, single runs: %(mean)s of native on average (%(ends)s).")
            words["mean"] = ratio_text(pool.mean, pool.interval)
            words["ends"] = ends_text(pool.interval)
        else:
            text = _("%(labs)s, single runs: %(ratio)s of native.")
            words["ratio"] = _between(found.hollow)
        return f"{text % words} {weak}"
    if found.screened:
        return _("Measured, but nothing that can be pooled: see why below.")
    return _("This was not measured here.")


def _of_replicated(found: Synthesis) -> str:
    pool = found.pool
    if pool.k == 1:
        return _(
            "One machine: %(ratio)s of native (%(ends)s). Whether another machine "
            "would show the same is not known."
        ) % {
            "ratio": ratio_text(found.units[0].log_ratio, found.units[0].interval),
            "ends": ends_text(found.units[0].interval),
        }
    if pool.mean is None:
        one, other = (ratio_text(unit.log_ratio, unit.interval) for unit in found.units)
        return _(
            "Two machines: %(one)s and %(other)s of native. Two are too few to say how "
            "much machines differ."
        ) % {"one": one, "other": other}
    words = _(
        "%(labs)s: %(mean)s of native on average (%(ends)s); in another lab expect "
        "%(predicted)s."
    ) % {
        "labs": labs_text(pool.labs),
        "mean": ratio_text(pool.mean, pool.interval),
        "ends": ends_text(pool.interval),
        "predicted": ends_text(pool.predicted),
    }
    if pool.k < FEWEST_RANKED:
        few = _("Only %(machines)s: indicative.") % {"machines": machines_text(pool.k)}
        words = f"{words} {few}"
    return words


def _between(units: Sequence[Unit]) -> str:
    ratios = sorted(
        {ratio_text(unit.log_ratio): unit.log_ratio for unit in units}.values()
    )
    if len(ratios) == 1:
        return ratio_text(ratios[0])
    return ends_text((ratios[0], ratios[-1]))


def headline(found: Synthesis) -> tuple[str, str]:
    pool, units = found.counted, found.units if found.pool.k else found.hollow
    if pool.mean is None:
        return (_between(units), "") if units else ("", "")
    # What another lab will see; of one machine its own interval.
    ends = pool.predicted or (units[0].interval if len(units) == 1 else None)
    return ratio_text(pool.mean, pool.interval), ends_text(ends)


OUTCOMES: dict[Outcome, Text] = {
    "confirmed": gettext_lazy("confirmed"),
    "contradicted": gettext_lazy("contradicted"),
    "undecided": gettext_lazy("undecided"),
    "single_runs": gettext_lazy("single runs: decide nothing"),
}


def outcome_name(outcome: Outcome) -> str:
    return str(OUTCOMES[outcome])


def metric_name(tool: str, metric: str) -> str:
    return f"{known_tool(tool).title}: {metric}"


def percent(ratio: float) -> str:
    """Write a ratio in percent without its sign; less than 1 with two digits."""
    return figures.number(100 * ratio, ".2g" if 100 * ratio < 1 else ",.0f")


def kept_text(standing: Standing) -> str:
    """Return what was kept of native speed: ``67-89 %``, one figure where it is one."""
    low, high = percent(standing.low), percent(standing.high)
    text = low if low == high else f"{low}\N{EN DASH}{high}"
    return f"{text}\N{NO-BREAK SPACE}%"


def answer_text(answer: Answer | None) -> str:
    """Return what platforms kept of native speed, and what is missing or not known."""
    if answer is None:
        return _(
            "Nothing here was measured beside a native run: nothing can be compared."
        )
    parts = [_statement(answer)]
    if answer.kind == "alone":
        parts.append(
            _("It is the only one: which hypervisor is better here is not known.")
        )
    if answer.flagged:
        flagged = ngettext(
            "A flag doubts %(n)s of these results.",
            "Flags doubt %(n)s of these results.",
            answer.flagged,
        )
        parts.append(flagged % {"n": answer.flagged})
    if left_out := sum(answer.left_out.values()):
        impossible = ngettext(
            "%(n)s result is left out: a flag calls it impossible.",
            "%(n)s results are left out: flags call them impossible.",
            left_out,
        )
        parts.append(impossible % {"n": left_out})
    if answer.unusable:
        parts.append(
            _("Measured, but without a ratio to native that counts: %(names)s.")
            % {"names": ", ".join(answer.unusable)}
        )
    if answer.missing:
        missing = {"names": ", ".join(answer.missing)}
        parts.append(_("Not measured here: %(names)s.") % missing)
    return " ".join(parts)


def _statement(answer: Answer) -> str:
    work = f"{work_area(answer.work)}, {work_kind(answer.work)}"
    if answer.kind == "nothing":
        return _(
            "%(work)s: no result here has a ratio to native that counts, so nothing "
            "can be said."
        ) % {"work": _begun(work)}
    first, *others = answer.standings
    sentence = _begun(
        _("%(work)s: %(name)s kept %(kept)s of native speed in %(systems)s")
        % {
            "work": work,
            "name": first.name,
            "kept": kept_text(first),
            "systems": ngettext(
                "%(n)s configuration", "%(n)s configurations", first.systems
            )
            % {"n": first.systems},
        }
    )
    told = [sentence]
    told += (
        _("%(name)s %(kept)s in %(systems)s")
        % {
            "name": other.name,
            "kept": kept_text(other),
            "systems": figures.number(other.systems, "d"),
        }
        for other in others
    )
    if answer.kind == "compared":
        is_same = answer.is_same_host
        told.append(_("same host") if is_same else _("each on its own hosts"))
    end = ""
    if answer.are_single_runs:
        end = _("; single runs: weak evidence")
    elif answer.is_weak:
        end = _("; weak evidence")
    return f"{', '.join(told)}{end}."


def _begun(text: str) -> str:
    return text[:1].upper() + text[1:]
