"""Rule about native machines whose speed changed between days or sessions."""

from collections.abc import Iterator, Sequence

from benchmarks.plausibility.day_effects import (
    NativeDayEffect,
    SameMachineDifference,
    SessionShift,
    measurement_day,
    native_day_effects,
    same_machine_differences,
    session_shifts,
)
from benchmarks.plausibility.findings import Finding, cell_finding, rule
from benchmarks.plausibility.study_facts import CellFact, StudyFacts, factor_from_log
from benchmarks.sentences import Sentence, template

FASTER_GUESTS = template(
    "Guests that were measured on another day ({day}; number of systems: {guests}) "
    "are {low:.1%} to {high:.1%} faster than the native machine ({other}) in work "
    "that a guest cannot do faster. The native machine may have changed, not the "
    "guests."
)
SLOWER_GUESTS = template(
    "Every guest (measured: {day}) is slower than the native machine (measured: "
    "{other}), and the fastest guests are slower by nearly the same factor ({low:.1%} "
    "to {high:.1%}) in unrelated benchmarks. The native machine may have changed."
)
SINGLE_GUEST = template(
    "{guests} (measured: {day}) is faster than the native machine (measured: {other}) "
    "by nearly the same factor ({low:.1%} to {high:.1%}) in unrelated benchmarks. The "
    "native machine may have changed, or the guest's clock is slow."
)
FASTER_THAN_OTHER_STUDY = template(
    "{system} (measured: {day}) is {off:.1%} faster than the same machine in {study} "
    "(median of {cases} benchmarks, which differ by similar factors). In this study, "
    "its guests were measured on another day than {system}. A difference between them "
    "may be due to a change of the machine."
)
SLOWER_THAN_OTHER_STUDY = template(
    "{system} (measured: {day}) is {off:.1%} slower than the same machine in {study} "
    "(median of {cases} benchmarks, which differ by similar factors). In this study, "
    "its guests were measured on another day than {system}. A difference between them "
    "may be due to a change of the machine."
)
FASTER_SESSION = template(
    "{system} was {off:.1%} faster in session {name} than in {other} (mean of {cases} "
    "benchmarks, which changed by similar factors). The machine changed between the "
    "sessions, so comparisons with it depend on the day."
)
SLOWER_SESSION = template(
    "{system} was {off:.1%} slower in session {name} than in {other} (mean of {cases} "
    "benchmarks, which changed by similar factors). The machine changed between the "
    "sessions, so comparisons with it depend on the day."
)


@rule(
    "native-of-another-day",
    "Native machine measured on another day",
    "check",
    uses_other_studies=True,
    family="days",
)
def native_of_another_day(study: StudyFacts) -> Iterator[Finding]:
    """Flags a native machine that was measured on another day than its guests (they
    share no session: they are more than six hours apart, or their sessions have
    different names) if one factor of 3% to 25% separates it from all of them. One of
    the following must hold:
    - Faster guests: at least two systems, or a container, are faster than native by
      more than 3% and 3.3 standard errors in the median of their benchmarks of a CPU or
      memory tool. At least three of four guests must be faster, and no result timed by
      an external clock may contradict this. The severity is then implausible, and
      `common-clock-factor`, `faster-than-native` and `baseline-too-slow` do not report
      what this factor explains.
    - Slower guests: in at least two thirds of the kinds of work (a component and a
      tool), from at least two components, the fastest guest is slower by the same
      factor (within a tenth of it, or 2 standard errors). It is closer to native in
      none. Networks are excluded because their link limits them.
    - Faster or slower guests: benchmarks of at least three kinds of work (from two
      components, and from more than half of all kinds with usable results) differ by
      the same factor to within 1% or 2 standard errors, and no guest does better in
      another benchmark. One guest is enough. If it is faster, the cause may also be its
      clock.
    - Another study: the same machine with the same OS is faster or slower there by one
      factor, in at least four benchmarks of at least two components. Three of four
      benchmarks must be within a third of this factor.

    Also flags a native machine with several sessions if one session differs from the
    other (or from all others) by more than 2% and 3.3 standard errors, with at least
    three of four benchmarks changing in the same direction and a spread of at most half
    the factor.

    Why: a hypervisor slows each kind of work by a different amount, so unrelated work
    does not change by one factor. A frequency governor, the firmware, another load or
    the room temperature changes all work alike. If the overhead of the guests is as
    large as the effect of the day, the two cannot be distinguished, and nothing is
    flagged.

    Remedy: measure the native machine again in the session of the guests. Otherwise,
    state the days with every comparison.
    """
    for effect in native_day_effects(study):
        yield _guests_finding(effect, study)
    for difference in same_machine_differences(study):
        yield _other_study_finding(difference)
    for shift in session_shifts(study):
        yield _session_finding(shift)


def _guests_finding(effect: NativeDayEffect, study: StudyFacts) -> Finding:
    systems = {pair.cell.system for pair in effect.pairs}
    logs = sorted(pair.log_efficiency for pair in effect.pairs)
    faster = effect.log_factor > 0
    # Other guests may be slow for other reasons.
    shown = (
        [log for log in logs if effect.log_factor / 2 <= log <= 2 * effect.log_factor]
        if faster
        else []
    )
    shown = shown or [
        log for log in logs if 2 * effect.log_factor <= log <= effect.log_factor / 2
    ]
    ends = sorted(abs(factor_from_log(log) - 1) for log in shown or [effect.log_factor])
    natives = {pair.native.id: pair.native for pair in effect.pairs}.values()
    is_single = faster and not effect.is_native_side
    return cell_finding(
        Sentence(
            SINGLE_GUEST if is_single else FASTER_GUESTS if faster else SLOWER_GUESTS,
            guests=effect.pairs[0].cell.system_phrase if is_single else len(systems),
            day=_days([pair.cell for pair in effect.pairs]),
            other=_days([pair.native for pair in effect.pairs]),
            low=ends[0],
            high=ends[-1],
        ),
        [cell for cell in natives if cell.study == study.id]
        or [pair.cell for pair in effect.pairs],
        "implausible" if faster and effect.is_native_side else None,
        factor=round(factor_from_log(effect.log_factor), 5),
        guests=sorted({pair.cell.system_phrase for pair in effect.pairs}),
        efficiencies=[round(factor_from_log(log), 5) for log in logs[:50]],
    )


def _other_study_finding(difference: SameMachineDifference) -> Finding:
    cells = [pair.cell for pair in difference.pairs]
    studies = {pair.native.study: pair.native for pair in difference.pairs}
    other_native = difference.pairs[0].native
    return cell_finding(
        Sentence(
            FASTER_THAN_OTHER_STUDY
            if difference.log_factor > 0
            else SLOWER_THAN_OTHER_STUDY,
            system=cells[0].system_phrase,
            day=_days(cells),
            off=abs(factor_from_log(difference.log_factor) - 1),
            study=other_native.study_label or str(other_native.study),
            cases=len(cells),
        ),
        cells,
        quoted_studies=tuple(studies),
        factor=round(factor_from_log(difference.log_factor), 5),
        ratios=[
            round(factor_from_log(pair.log_efficiency), 5)
            for pair in difference.pairs[:50]
        ],
    )


def _days(cells: Sequence[CellFact]) -> str:
    days = sorted(set(filter(None, map(measurement_day, cells))))
    if len(days) < 2:
        return days[0] if days else Sentence("unknown day")
    return Sentence("{first} to {last}", first=days[0], last=days[-1])


def _session_finding(shift: SessionShift) -> Finding:
    return cell_finding(
        Sentence(
            FASTER_SESSION if shift.log_factor > 0 else SLOWER_SESSION,
            system=shift.cells[0].system_phrase,
            off=abs(factor_from_log(shift.log_factor) - 1),
            name=shift.session,
            other=Sentence("session {name}", name=shift.other)
            if shift.other
            else Sentence("the other sessions"),
            cases=len(shift.cells),
        ),
        shift.cells,
        session=shift.session,
        other=shift.other,
        off_percent=round(100 * (factor_from_log(shift.log_factor) - 1), 3),
        ratios=[round(factor_from_log(log), 5) for log in shift.logs[:50]],
    )
