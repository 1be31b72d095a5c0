"""Effects of the day of a native machine are not attributed to its guests."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.plausibility.rules import RULES, apply_rules
from benchmarks.plausibility.study_facts import StudyFacts
from tests.benchmarks.plausibility.small_studies import cell

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
        session_names=(day,) * member.n,
        first_at=start,
        last_at=start + timedelta(hours=2),
    )


def study(native_day, factors, *, clock="guest", **facts):
    """Return guests of 4 May, each with a factor relative to a native
    machine of a day.
    """
    cells = []
    for work in WORK:
        facts_of_case = {key: work[key] for key in work if key != "value"}
        readings = [work["value"] * noise for noise in NOISE]
        native = on(native_day, cell(*readings, **facts_of_case))
        cells.append(native)
        for system, factor in factors.items():
            means = [factor * reading for reading in readings[::-1]]
            guest_facts = {
                "system": system,
                "baseline": native.id,
                "clock": clock,
                **facts,
            }
            cells.append(on(MAY, cell(*means, **facts_of_case, **guest_facts)))
    return StudyFacts(id="here", cells=tuple(cells))


def day_findings(facts):
    return list(RULES["native-of-another-day"].findings(facts))


def rules_with_findings(facts):
    return {finding.rule for finding in apply_rules(facts)}


def test_guests_that_all_beat_native_of_another_day_are_not_flagged():
    facts = study(APRIL, {"kvm": 1.06, "xen": 1.08})

    [finding] = day_findings(facts)

    natives = {str(cell.id) for cell in facts.cells if cell.is_native}
    assert {subject.id for subject in finding.subjects} == natives
    assert finding.severity == "implausible"
    assert rules_with_findings(facts) == {"native-of-another-day"}


def test_the_days_are_reported():
    [finding] = day_findings(study(APRIL, {"kvm": 0.95, "docker": 0.955}))

    assert MAY in finding.sentence
    assert APRIL in finding.sentence


def test_on_one_day_a_common_factor_is_a_clock():
    facts = study(MAY, {"kvm": 1.06, "xen": 1.08})

    assert day_findings(facts) == []
    assert "common-clock-factor" in rules_with_findings(facts)


def test_a_single_guest_may_have_a_slow_clock_or_native_a_slow_day():
    facts = study(APRIL, {"kvm": 1.06})

    [clock] = RULES["common-clock-factor"].findings(facts)

    assert day_findings(facts) == []
    assert APRIL in clock.sentence


def test_a_container_shares_the_clock_of_its_host():
    assert day_findings(study(APRIL, {"docker": 1.06}, virtualization="container"))


GRAPHICS = {"tool": "matrixmul", "metric": "performance", "component": "application"}


def of_three_kinds(facts, graphics):
    """Return the study with a third kind of work, with a factor for each guest."""
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
def test_one_factor_in_unrelated_work_of_a_guest_is_a_check(factor):
    facts = of_three_kinds(study(APRIL, {"kvm": factor}), factor)

    [finding] = day_findings(facts)

    assert finding.severity == "check"
    assert finding.evidence["factor"] == pytest.approx(factor, abs=0.002)


@pytest.mark.parametrize("graphics", [0.90, 0.999])
def test_a_guest_with_different_overheads_is_not_flagged(graphics):
    assert day_findings(of_three_kinds(study(APRIL, {"kvm": 0.93}), graphics)) == []


def elsewhere(facts, factor):
    """Return the native machine of another study that was faster by a factor."""
    return [
        replace(
            one,
            id=f"there/{one.id}",
            study="there",
            mean=factor * one.mean,
            run_means=tuple(factor * mean for mean in one.run_means),
            guest_os="Debian 12",
            first_at=None,
            last_at=None,
            session_names=(),
        )
        for one in facts.cells
        if one.is_native
    ]


def beside(factor, native_day=APRIL):
    facts = study(native_day, {"kvm": 0.9}, guest_os="Debian 12")
    cells = [replace(member, guest_os="Debian 12") for member in facts.cells]
    other_cells = elsewhere(facts, factor)
    return replace(facts, cells=tuple(cells), other_study_cells=tuple(other_cells))


def test_a_machine_that_differs_from_another_study_is_flagged():
    facts = beside(1.07)

    [finding] = day_findings(facts)

    natives = {str(member.id) for member in facts.cells if member.is_native}
    assert {subject.id for subject in finding.subjects} == natives
    assert finding.evidence["factor"] == pytest.approx(1 / 1.07, abs=0.001)
    assert finding.quoted_studies == ("there",)


def test_a_machine_that_matches_another_study_is_not_flagged():
    assert day_findings(beside(1.004)) == []


def test_native_of_the_guests_day_is_not_compared_with_other_studies():
    assert day_findings(beside(1.07, native_day=MAY)) == []


def test_consistent_single_values_resolve_a_factor_together():
    """A single memory reading cannot resolve 3 %; six that agree can."""
    facts = study(APRIL, {"kvm": 1.12, "xen": 1.115})
    single = [
        replace(one, n=1, run_means=(one.mean,), component="memory", tool="ramspeed")
        for one in facts.cells
    ]

    [finding] = day_findings(replace(facts, cells=tuple(single)))

    assert finding.evidence["factor"] == pytest.approx(1.12, abs=0.01)


def test_external_timing_of_a_fast_guest_identifies_the_clock():
    facts = study(APRIL, {"kvm": 1.08, "xen": 1.08})
    outside = [
        replace(one, clock="external", run_means=(), n=1, mean=0.99 * native.mean)
        for one in facts.cells
        if (native := facts.baseline(one)) and one.case == "n=1"
    ]
    selected = [one for one in facts.cells if one.is_native or one.case != "n=1"]

    assert day_findings(replace(facts, cells=(*selected, *outside))) == []


def test_guests_slower_by_one_factor_in_unrelated_work_are_a_check():
    [finding] = day_findings(study(APRIL, {"kvm": 0.95, "docker": 0.952, "tcg": 0.6}))

    assert finding.severity == "check"
    assert finding.evidence["factor"] == pytest.approx(0.952, abs=0.002)


@pytest.mark.parametrize("guests", [{"kvm": 0.95, "docker": 0.998}, {"kvm": 0.95}])
def test_a_guest_near_native_or_a_single_guest_is_not_flagged(guests):
    assert day_findings(study(APRIL, guests)) == []


def test_work_with_different_overheads_is_not_flagged():
    facts = study(APRIL, {"kvm": 0.96, "xen": 0.955})
    slower = [
        replace(
            one, mean=0.9 * one.mean, run_means=tuple(0.9 * m for m in one.run_means)
        )
        if one.component == "memory" and not one.is_native
        else one
        for one in facts.cells
    ]

    assert day_findings(replace(facts, cells=tuple(slower))) == []


def test_a_native_machine_that_changed_between_days_is_flagged():
    natives = []
    for work in WORK:
        case = {key: work[key] for key in work if key != "value"}
        means = [work["value"] * noise for noise in NOISE]
        means = [*means, *(1.05 * mean for mean in means)]
        both = (APRIL,) * 5 + (MAY,) * 5
        natives.append(replace(cell(*means, **case), session_names=both))

    [finding] = day_findings(StudyFacts(id="here", cells=tuple(natives)))

    assert finding.evidence["off_percent"] == pytest.approx(-4.76, abs=0.2)
    assert {subject.id for subject in finding.subjects} == {one.id for one in natives}


def test_equal_days_and_unknown_days_are_not_flagged():
    same = [
        replace(
            cell(*(10 * NOISE)[:10], case=str(case)), session_names=(APRIL, MAY) * 5
        )
        for case in range(5)
    ]
    unknown = study(APRIL, {"kvm": 0.95, "docker": 0.952})
    dateless = [
        replace(one, session_names=(), first_at=None, last_at=None)
        for one in unknown.cells
    ]

    assert day_findings(StudyFacts(id="here", cells=tuple(same))) == []
    assert day_findings(replace(unknown, cells=tuple(dateless))) == []
