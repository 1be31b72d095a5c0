"""What is the day's is not blamed on the guests."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.plausibility.facts import StudyFacts
from benchmarks.plausibility.rules import RULES, check
from tests.benchmarks.plausibility.cast import cell

APRIL, MAY = "2026-04-30", "2026-05-04"
CASES = {"read": 2000.0, "write": 1700.0, "copy": 2350.0}
LINPACK = {"tool": "linpack", "metric": "performance", "component": "CPU"}
WORK = (
    *({**LINPACK, "case": f"n={n}", "value": 90.0 + n} for n in (1, 2, 3)),
    *({"case": case, "value": CASES[case]} for case in CASES),
)
NOISE = (0.998, 1.001, 1.0, 0.999, 1.002)


def on(day, member):
    start = datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC)
    return replace(
        member,
        sittings=(day,) * member.n,
        first_at=start,
        last_at=start + timedelta(hours=2),
    )


def study(native_day, factors, *, clock="guest", **facts):
    """Guests of 4 May, each with its factor against a native machine of a day."""
    cells = []
    for work in WORK:
        facts_of_case = {key: work[key] for key in work if key != "value"}
        readings = [work["value"] * noise for noise in NOISE]
        native = on(native_day, cell(*readings, **facts_of_case))
        cells.append(native)
        for system, factor in factors.items():
            means = [factor * reading for reading in readings[::-1]]
            own = {"system": system, "baseline": native.id, "clock": clock, **facts}
            cells.append(on(MAY, cell(*means, **facts_of_case, **own)))
    return StudyFacts(id="here", cells=tuple(cells))


def doubts(facts):
    return list(RULES["native-of-another-day"].findings(facts))


def rules_that_doubt(facts):
    return {finding.rule for finding in check(facts)}


def test_guests_that_all_beat_a_native_machine_of_another_day_are_not_blamed():
    facts = study(APRIL, {"kvm": 1.06, "xen": 1.08})

    [doubt] = doubts(facts)

    natives = {str(one.id) for one in facts.cells if one.is_native}
    assert {subject.id for subject in doubt.subjects} == natives
    assert doubt.severity == "implausible"
    assert rules_that_doubt(facts) == {"native-of-another-day"}


def test_the_days_are_named():
    [doubt] = doubts(study(APRIL, {"kvm": 0.95, "docker": 0.955}))

    assert MAY in doubt.sentence
    assert APRIL in doubt.sentence


def test_on_one_day_a_common_factor_is_a_clock():
    facts = study(MAY, {"kvm": 1.06, "xen": 1.08})

    assert doubts(facts) == []
    assert "common-clock-factor" in rules_that_doubt(facts)


def test_one_guest_alone_may_have_a_slow_clock_or_the_machine_a_slow_day():
    facts = study(APRIL, {"kvm": 1.06})

    [clock] = RULES["common-clock-factor"].findings(facts)

    assert doubts(facts) == []
    assert APRIL in clock.sentence


def test_a_container_has_no_clock_of_its_own():
    assert doubts(study(APRIL, {"docker": 1.06}, virtualization="container"))


GRAPHICS = {"tool": "matrixmul", "metric": "performance", "component": "application"}


def of_three_kinds(facts, graphics):
    """The study with a third kind of work, in which each guest has a factor."""
    guests = sorted({one.system for one in facts.cells if not one.is_native})
    native = on(APRIL, cell(*(3000 * noise for noise in NOISE), **GRAPHICS, case="g"))
    more = [
        on(
            MAY,
            cell(
                *(3000 * graphics * noise for noise in NOISE[::-1]),
                **{**GRAPHICS, "case": "g", "system": guest, "baseline": native.id},
            ),
        )
        for guest in guests
    ]
    return replace(facts, cells=(*facts.cells, native, *more))


@pytest.mark.parametrize("factor", [0.93, 1.1])
def test_unrelated_work_of_one_guest_at_one_factor_is_a_question(factor):
    facts = of_three_kinds(study(APRIL, {"kvm": factor}), factor)

    [doubt] = doubts(facts)

    assert doubt.severity == "check"
    assert doubt.evidence["factor"] == pytest.approx(factor, abs=0.002)


@pytest.mark.parametrize("graphics", [0.90, 0.999])
def test_one_guest_with_an_overhead_in_each_kind_of_work_is_none(graphics):
    assert doubts(of_three_kinds(study(APRIL, {"kvm": 0.93}), graphics)) == []


def elsewhere(facts, factor):
    """The native machine of another study that was faster by a factor."""
    return [
        replace(
            one,
            id=f"there/{one.id}",
            study="there",
            mean=factor * one.mean,
            means=tuple(factor * mean for mean in one.means),
            guest_os="Debian 12",
            first_at=None,
            last_at=None,
            sittings=(),
        )
        for one in facts.cells
        if one.is_native
    ]


def beside(factor, native_day=APRIL):
    facts = study(native_day, {"kvm": 0.9}, guest_os="Debian 12")
    cells = [replace(one, guest_os="Debian 12") for one in facts.cells]
    others = elsewhere(facts, factor)
    return replace(facts, cells=tuple(cells), others=tuple(others))


def test_a_machine_that_differs_from_itself_in_another_study_was_another_one():
    facts = beside(1.07)

    [doubt] = doubts(facts)

    natives = {str(one.id) for one in facts.cells if one.is_native}
    assert {subject.id for subject in doubt.subjects} == natives
    assert doubt.evidence["factor"] == pytest.approx(1 / 1.07, abs=0.001)
    assert doubt.quotes == ("there",)


def test_a_machine_that_is_itself_in_another_study_is_silent():
    assert doubts(beside(1.004)) == []


def test_a_machine_of_its_guests_day_is_not_set_against_another_study():
    assert doubts(beside(1.07, native_day=MAY)) == []


def test_cases_of_single_values_tell_a_factor_together():
    """Of one reading of a memory nobody knows 3 %; of six that agree one does."""
    facts = study(APRIL, {"kvm": 1.12, "xen": 1.115})
    single = [
        replace(one, n=1, means=(one.mean,), component="memory", tool="ramspeed")
        for one in facts.cells
    ]

    [doubt] = doubts(replace(facts, cells=tuple(single)))

    assert doubt.evidence["factor"] == pytest.approx(1.12, abs=0.01)


def test_what_was_timed_from_outside_beside_a_fast_guest_tells_the_clock():
    facts = study(APRIL, {"kvm": 1.08, "xen": 1.08})
    outside = [
        replace(one, clock="external", means=(), n=1, mean=0.99 * native.mean)
        for one in facts.cells
        if (native := facts.baseline(one)) and one.case == "n=1"
    ]
    kept = [one for one in facts.cells if one.is_native or one.case != "n=1"]

    assert doubts(replace(facts, cells=(*kept, *outside))) == []


def test_guests_that_stay_behind_by_one_factor_in_unrelated_work_are_a_question():
    [doubt] = doubts(study(APRIL, {"kvm": 0.95, "docker": 0.952, "tcg": 0.6}))

    assert doubt.severity == "check"
    assert doubt.evidence["factor"] == pytest.approx(0.952, abs=0.002)


@pytest.mark.parametrize("guests", [{"kvm": 0.95, "docker": 0.998}, {"kvm": 0.95}])
def test_a_guest_that_reaches_native_or_a_lone_one_is_no_question(guests):
    assert doubts(study(APRIL, guests)) == []


def test_work_of_an_overhead_of_its_own_is_no_question():
    facts = study(APRIL, {"kvm": 0.96, "xen": 0.955})
    slower = [
        replace(one, mean=0.9 * one.mean, means=tuple(0.9 * m for m in one.means))
        if one.component == "memory" and not one.is_native
        else one
        for one in facts.cells
    ]

    assert doubts(replace(facts, cells=tuple(slower))) == []


def test_a_native_machine_that_changed_between_its_own_days_is_told():
    natives = []
    for work in WORK:
        case = {key: work[key] for key in work if key != "value"}
        means = [work["value"] * noise for noise in NOISE]
        means = [*means, *(1.05 * mean for mean in means)]
        both = (APRIL,) * 5 + (MAY,) * 5
        natives.append(replace(cell(*means, **case), sittings=both))

    [doubt] = doubts(StudyFacts(id="here", cells=tuple(natives)))

    assert doubt.evidence["off_percent"] == pytest.approx(-4.76, abs=0.2)
    assert {subject.id for subject in doubt.subjects} == {one.id for one in natives}


def test_days_that_agree_and_runs_of_unknown_days_are_silent():
    same = [
        replace(cell(*(10 * NOISE)[:10], case=str(case)), sittings=(APRIL, MAY) * 5)
        for case in range(5)
    ]
    unknown = study(APRIL, {"kvm": 0.95, "docker": 0.952})
    dateless = [
        replace(one, sittings=(), first_at=None, last_at=None) for one in unknown.cells
    ]

    assert doubts(StudyFacts(id="here", cells=tuple(same))) == []
    assert doubts(replace(unknown, cells=tuple(dateless))) == []
