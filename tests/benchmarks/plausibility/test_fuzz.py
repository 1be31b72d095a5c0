"""Every rule accepts any numbers that a study may contain, and reports finite ones."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.plausibility.rules import RULES, apply_rules
from benchmarks.plausibility.rules.guest_clocks import common_factor
from benchmarks.plausibility.study_facts import (
    CellFact,
    RunFact,
    SampleFact,
    StudyFacts,
)
from benchmarks.sentences import Sentence

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
EXTREME = (2e-308, 5e-324, 1e-9, 1.0, 1.0 + 2**-52, 100.0, 1e300, 1.7e308, 0.0)
value = st.one_of(
    st.sampled_from(EXTREME),
    st.floats(0, 1.7e308, allow_nan=False),
    st.floats(90, 110),
    st.integers(1, 12).map(float),
)
readings = st.one_of(
    st.lists(value, min_size=1, max_size=12),
    # Ties, two speeds with even n, and equal values.
    st.tuples(value, value, st.integers(1, 6)).map(lambda t: [t[0], t[1]] * t[2]),
    st.tuples(value, st.integers(1, 12)).map(lambda t: [t[0]] * t[1]),
)
KINDS = (
    ("ramspeed", "bandwidth", "memory", "MB/s", "higher"),
    ("linpack", "time", "CPU", "s", "lower"),
    ("iozone", "throughput", "disk", "MB/s", "higher"),
    ("iperf3", "throughput", "network", "Mbit/s", "higher"),
    ("iperf3", "CPU utilization local", "network", "%", "lower"),
    ("watts-up", "energy", "power", "J", "lower"),
    ("sysbench", "transactions", "application", "", "neither"),
)
SAMPLES = (
    ("throughput", "MB/s"),
    ("CPU utilization local", "%"),
    ("service demand local", "us/KB"),
    ("total time", "s"),
    ("meter time", "s"),
    ("energy", "J"),
    ("power mean", "W"),
    ("transactions", ""),
    ("transaction rate", "1/s"),
    ("time", "s"),
    ("performance", "Gflop/s"),
)
TOOLS = ("netperf", "sysbench", "watts-up", "intel-linpack", "httperf", "b_eff_io")
tools = st.lists(st.sampled_from(TOOLS), max_size=4)


@st.composite
def cells(draw):
    made = []
    systems = draw(st.integers(1, 5))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5))
    is_dated = draw(st.booleans())
    for case, (tool, metric, component, unit, better) in enumerate(kinds):
        for system in range(systems):
            means = tuple(draw(readings))
            mean = sum(mean / len(means) for mean in means)
            day = draw(st.integers(0, 3))
            dates = {
                "first_at": NOON + timedelta(days=day),
                "last_at": NOON + timedelta(days=day, hours=1),
                "session_names": tuple(
                    f"day {(day + run) % 3}" for run in range(len(means))
                ),
            }
            together = draw(st.booleans()) and system > 0
            circumstances = {"scenario": "parallel", "vms": 2, "slot": f"{system}"}
            made.append(
                CellFact(
                    id=f"{system}/{case}",
                    study="here",
                    host="alpha",
                    host_cores=draw(st.sampled_from([None, 1, 4])),
                    system=system,
                    system_label=f"system {system}",
                    is_native=system == 0,
                    hypervisor="KVM" if system else "",
                    line_rate_bit_per_s=1e9,
                    disk_bus_byte_per_s=3e8,
                    tool=tool,
                    metric=metric,
                    case=str(case),
                    parameters={"operation": str(case)},
                    component=component,
                    unit=unit,
                    better=better,
                    n=len(means),
                    mean=mean,
                    run_means=means,
                    decimals=draw(st.sampled_from([None, 0, 2])),
                    clock=draw(st.sampled_from(["", "guest", "external"])),
                    baseline=f"0/{case}" if system else None,
                    **(circumstances if together else {}),
                    **(dates if is_dated else {}),
                )
            )
    return tuple(made)


@st.composite
def runs(draw):
    return tuple(
        RunFact(
            id=number,
            study="here",
            system=number % 2,
            tool=tool,
            corun=draw(st.sampled_from(["", "together"])),
            slot=str(number),
            vms=2,
            started_at=NOON + timedelta(seconds=draw(st.integers(0, 1000))),
            duration_s=draw(st.one_of(st.none(), value)),
            requested_s=draw(st.one_of(st.none(), value)),
            samples=tuple(
                SampleFact(metric=metric, value=draw(value), unit=unit)
                for metric, unit in draw(st.lists(st.sampled_from(SAMPLES), max_size=6))
            ),
        )
        for number, tool in enumerate(
            draw(st.lists(st.sampled_from(TOOLS), max_size=4))
        )
    )


def numbers_in(evidence):
    if isinstance(evidence, dict):
        evidence = list(evidence.values())
    if isinstance(evidence, list | tuple):
        return [number for part in evidence for number in numbers_in(part)]
    return [evidence] if isinstance(evidence, float) else []


def numbers_of(sentence):
    if not isinstance(sentence, Sentence):
        return []
    parts = sentence.parameters.values()
    floats = [part for part in parts if isinstance(part, float)]
    return floats + [number for part in parts for number in numbers_of(part)]


def elsewhere(members):
    return tuple(
        replace(member, id=f"there/{member.id}", study="there") for member in members
    )


@settings(max_examples=100, deadline=None)
@given(members=cells(), executions=runs())
def test_every_rule_accepts_any_finite_numbers(members, executions):
    study = StudyFacts(
        id="here", cells=members, runs=executions, other_study_cells=elsewhere(members)
    )

    for finding in apply_rules(study):
        numbers = numbers_in(dict(finding.evidence)) + numbers_of(finding.sentence)
        assert all(map(math.isfinite, numbers)), finding
        assert json.dumps(finding.evidence, allow_nan=False)
        assert finding.fingerprint


@settings(max_examples=60, deadline=None)
@given(members=cells())
def test_noise_is_finite_and_not_negative(members):
    noise = StudyFacts(id="here", cells=members).noise

    for member in members:
        for known in (
            noise.run_deviation(member),
            noise.mean_error(member),
            noise.conservative_mean_error(member),
        ):
            assert known >= 0
            assert math.isfinite(known)


@given(
    logs=st.lists(st.floats(-1500, 1500), max_size=12),
    error=st.floats(0, 1e150),
)
def test_a_common_factor_is_finite_or_none(logs, error):
    common = common_factor(logs, [error] * len(logs))

    assert common is None or math.isfinite(common.factor)


@settings(max_examples=40, deadline=None)
@given(members=cells(), executions=runs())
def test_rules_read_other_studies_and_runs_only_if_declared(members, executions):
    """A check with other studies runs only the rules that use them.

    Baselines remain: if a relative performance changes, the whole study is checked.
    """
    complete = StudyFacts(
        id="here", cells=members, runs=executions, other_study_cells=elsewhere(members)
    )
    with_other_studies = [rule for rule in RULES.values() if rule.uses_other_studies]
    within_study = [rule for rule in RULES.values() if not rule.uses_other_studies]

    runless = replace(complete, runs=())
    lonely = replace(complete, other_study_cells=())

    assert apply_rules(runless, with_other_studies) == apply_rules(
        complete, with_other_studies
    )
    results = [rule.check(lonely) for rule in within_study]
    assert [list(findings) for findings in results] == [
        list(rule.check(complete)) for rule in within_study
    ]
