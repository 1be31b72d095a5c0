import pytest

from tests.benchmarks.plausibility.small_studies import cell, findings

SHARE = {
    "metric": "CPU utilization (network)",
    "unit": "%",
    "component": "network",
    "better": "lower",
}


def test_zero_cpu_while_data_flows_was_not_measured():
    stuck, live = cell(0.0, system="xen", **SHARE), cell(7.26, **SHARE)

    [finding] = findings("zero-reading", stuck, live)

    assert [subject.id for subject in finding.subjects] == [stuck.id]
    assert finding.evidence["elsewhere"] == [7.26]


def test_zero_is_rounding_if_others_read_almost_nothing():
    assert findings("zero-reading", cell(0.0, **SHARE), cell(0.1, **SHARE)) == []


def test_losses_and_counts_may_be_zero():
    loss = {"metric": "packet loss", "unit": "%", "better": "lower"}
    errors = {"metric": "errors", "unit": "", "better": "neither"}

    assert findings("zero-reading", cell(0.0, **loss), cell(0.0, **errors)) == []


def test_counts_may_be_zero_if_less_is_better():
    errors = {"metric": "errors", "unit": "", "better": "lower"}

    assert findings("zero-reading", cell(0.0, **errors)) == []


@pytest.mark.parametrize("unit", ["s", "ms", "us", "min", "us/KB", "kJ", "mW"])
def test_a_time_energy_or_power_of_zero_is_impossible(unit):
    took = {"metric": "latency mean", "unit": unit, "better": "lower"}

    assert len(findings("zero-reading", cell(0.0, **took), cell(5.0, **took))) == 1


def test_jitter_and_waiting_may_be_zero_if_the_tool_allows_it():
    jitter = {"metric": "jitter", "unit": "ms", "better": "lower"}
    busy = {"metric": "vCPU time", "unit": "s", "better": "lower"}

    assert findings("zero-reading", cell(0.0, zero_allowed=True, **jitter)) == []
    assert len(findings("zero-reading", cell(0.0, zero_allowed=True, **busy))) == 1


def test_a_rate_of_zero_is_impossible():
    assert len(findings("zero-reading", cell(0.0, 0.0), cell(5.0))) == 1


def severities(*cells):
    return [finding.severity for finding in findings("saturated-reading", *cells)]


def test_a_hundred_percent_in_every_run_is_a_stuck_counter_or_the_limit():
    assert severities(cell(100.0, 100.0, **SHARE)) == ["implausible"]
    assert severities(cell(99.97, **SHARE)) == ["check"]
    assert severities(cell(83.0, **SHARE)) == []


def test_a_cpu_test_may_use_the_whole_cpu():
    assert severities(cell(100.0, **{**SHARE, "component": "CPU"})) == []


def test_more_than_all_cpus_is_impossible():
    assert severities(cell(124.9, vcpus=1, **SHARE)) == ["impossible"]
    assert severities(cell(124.9, vcpus=4, **SHARE)) == []
    assert severities(cell(124.9, **SHARE)) == []


def test_the_cases_of_one_system_are_one_flag():
    facts = {**SHARE, "system": "xen"}
    cells = [cell(0.0, case=operation, **facts) for operation in ("read", "write")]
    native = [cell(7.0, case=operation, **SHARE) for operation in ("read", "write")]

    [finding] = findings("zero-reading", *cells, *native)

    assert len(finding.subjects) == 2


def test_a_cpu_test_without_scatter_is_a_check():
    busy = {**SHARE, "component": "CPU"}

    assert severities(cell(100.0, 100.0, **busy)) == ["check"]
    assert severities(cell(100.0, 99.8, **busy)) == []


def test_failed_runs_that_are_zero_count_as_results():
    failed = cell(120.5, 0.0, 118.2, 121.0, 0.0)

    [finding] = findings("zero-reading", failed, cell(119.0, 120.0))

    assert [subject.id for subject in finding.subjects] == [failed.id]
    assert "2 of 5 runs are 0 MB/s" in finding.sentence


@pytest.mark.parametrize("code", [-1.0, 99999.0, 65535.0, 2.0**32 - 1])
def test_failed_runs_that_are_codes_count_as_results(code):
    took = {"metric": "time", "unit": "s", "better": "lower"}

    [finding] = findings("zero-reading", cell(12.5, code, 12.7, **took))

    assert finding.evidence["failed"] == [code]


def test_a_run_near_the_others_is_not_a_code():
    assert not findings("zero-reading", cell(9950.0, 9999.0, 10020.0))


def test_some_runs_may_be_zero_if_the_tool_allows_it():
    assert not findings("zero-reading", cell(0.0, 3.0, zero_allowed=True))
