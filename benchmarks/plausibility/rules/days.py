"""A native machine that was another one on its day."""

from collections.abc import Iterator, Sequence

from benchmarks.plausibility.days import (
    BesideTwin,
    OtherDay,
    OwnDays,
    day_of,
    natives_beside_twins,
    natives_of_another_day,
    own_days,
)
from benchmarks.plausibility.facts import CellFact, StudyFacts, factor_of
from benchmarks.plausibility.findings import Doubt, about_cells, rule
from benchmarks.sentences import Sentence, template

FASTER = template(
    "{guests} guests of {day} are {low:.1%} to {high:.1%} faster than the native "
    "machine of {other} in what no guest does faster: the native side may have "
    "changed, not the guests."
)
SLOWER = template(
    "Every guest of {day} is slower than the native machine of {other}, and in "
    "unrelated work the nearest stay behind by one factor ({low:.1%} to {high:.1%}): "
    "the native side may have changed."
)
LONE = template(
    "{guests} on {day} is off from the native machine of {other} by one factor "
    "({low:.1%} to {high:.1%} faster) in unrelated work: the native side may have "
    "changed, or the guest's clock runs slow."
)
TWIN = template(
    "{system} on {day} is {off:.1%} faster than the same machine in {study}, in "
    "{cases} benchmarks alike, and its guests were measured on another day: the "
    "native side "
    "may have changed, not the guests."
)
TWIN_SLOWER = template(
    "{system} on {day} is {off:.1%} slower than the same machine in {study}, in "
    "{cases} benchmarks alike, and its guests were measured on another day: the "
    "native side "
    "may have changed, not the guests."
)
OWN = template(
    "{system} was {off:.1%} faster in session {name} than in {other}, in {cases} "
    "benchmarks "
    "alike: the machine changed between them, and what it is compared with depends on "
    "the day."
)
OWN_SLOWER = template(
    "{system} was {off:.1%} slower in session {name} than in {other}, in {cases} "
    "benchmarks "
    "alike: the machine changed between them, and what it is compared with depends on "
    "the day."
)


@rule(
    "native-of-another-day",
    "A native machine of another day",
    "check",
    looks_beside=True,
)
def native_of_another_day(study: StudyFacts) -> Iterator[Doubt]:
    """A native machine shares no session with its guests (more than six hours lie
    between them, or their sessions are named otherwise), and one factor of 3 to 25 %
    stands between it and all of them. Faster guests: at least two systems, or a
    container, beat it by more than 3 % and 3.3 standard errors in the median of their
    CPU and memory cases, and three of four are ahead; nothing that was timed from
    outside contradicts. That is implausible, and `common-clock-factor`,
    `faster-than-native` and `baseline-too-slow` leave to it what the factor explains.
    Slower guests: the nearest guest stays behind by the same factor (within a tenth of
    it, or 2 standard errors) in two of three kinds of work, of two components at
    least, and is nearer in none. Networks are left out: they are as fast as their line.
    Faster or slower: cases of three kinds of work or more (of two components, and of
    more than half of all kinds that tell it) lie at one factor to 1 % or 2 standard
    errors, and none lies beyond; one guest is enough, and of a faster one it may be the
    clock. Or the same machine under the same OS is ahead or behind by one factor in
    another study: in four cases of two components or more, three of four of them within
    a third of it.
    Beside it, a native machine with several sessions of its own, of which one is off
    from the other (from all others) by more than 2 % and 3.3 standard errors, with
    three of four cases on one side and a spread of at most half the factor.

    Why: a hypervisor makes each kind of work dearer by an amount of its own, so that
    unrelated work does not move by one factor; a governor, a firmware, a neighbour or
    the room's temperature moves all of it. Where the guests' own overhead is as large
    as the day's, nobody can tell them apart, and nothing is flagged.

    What to do: measure the native machine again, in the session of the guests; else
    state the day beside every comparison.
    """
    for day in natives_of_another_day(study):
        yield _against_guests(day, study)
    for twin in natives_beside_twins(study):
        yield _against_a_twin(twin)
    for own in own_days(study):
        yield _against_itself(own)


def _against_guests(day: OtherDay, study: StudyFacts) -> Doubt:
    systems = {pair.cell.system for pair in day.pairs}
    logs = sorted(pair.log for pair in day.pairs)
    faster = day.log > 0
    # The nearest of the guests bound what is shown: one may be slow for its own reason.
    shown = [log for log in logs if day.log / 2 <= log <= 2 * day.log] if faster else []
    shown = shown or [log for log in logs if 2 * day.log <= log <= day.log / 2]
    ends = sorted(abs(factor_of(log) - 1) for log in shown or [day.log])
    natives = {pair.native.id: pair.native for pair in day.pairs}.values()
    alone = faster and not day.is_sure
    return about_cells(
        Sentence(
            LONE if alone else FASTER if faster else SLOWER,
            guests=day.pairs[0].cell.where if alone else len(systems),
            day=_days([pair.cell for pair in day.pairs]),
            other=_days([pair.native for pair in day.pairs]),
            low=ends[0],
            high=ends[-1],
        ),
        [cell for cell in natives if cell.study == study.id]
        or [pair.cell for pair in day.pairs],
        "implausible" if faster and day.is_sure else None,
        factor=round(factor_of(day.log), 5),
        guests=sorted({pair.cell.where for pair in day.pairs}),
        efficiencies=[round(factor_of(log), 5) for log in logs[:50]],
    )


def _against_a_twin(twin: BesideTwin) -> Doubt:
    cells = [pair.cell for pair in twin.pairs]
    studies = {pair.native.study: pair.native for pair in twin.pairs}
    elsewhere = twin.pairs[0].native
    return about_cells(
        Sentence(
            TWIN if twin.log > 0 else TWIN_SLOWER,
            system=cells[0].where,
            day=_days(cells),
            off=abs(factor_of(twin.log) - 1),
            study=elsewhere.study_label or str(elsewhere.study),
            cases=len(cells),
        ),
        cells,
        quotes=tuple(studies),
        factor=round(factor_of(twin.log), 5),
        ratios=[round(factor_of(pair.log), 5) for pair in twin.pairs[:50]],
    )


def _days(cells: Sequence[CellFact]) -> str:
    days = sorted(set(filter(None, map(day_of, cells))))
    if len(days) < 2:
        return days[0] if days else Sentence("an unknown day")
    return Sentence("{first} to {last}", first=days[0], last=days[-1])


def _against_itself(own: OwnDays) -> Doubt:
    return about_cells(
        Sentence(
            OWN if own.log > 0 else OWN_SLOWER,
            system=own.cells[0].where,
            off=abs(factor_of(own.log) - 1),
            name=own.session,
            other=own.other or Sentence("the others"),
            cases=len(own.cells),
        ),
        own.cells,
        session=own.session,
        other=own.other,
        off_percent=round(100 * (factor_of(own.log) - 1), 3),
        ratios=[round(factor_of(log), 5) for log in own.logs[:50]],
    )
