import pytest

from tests.benchmarks.plausibility.small_studies import findings, run, sample


def metered(meter_s, work_s):
    time = (sample("meter time", meter_s, "s"),)
    return [
        run("watts-up", time, corun="oltp"),
        run("sysbench", (sample("total time", work_s, "s"),), corun="oltp"),
    ]


def test_a_meter_that_ran_too_long_is_reported_in_numbers():
    [finding] = findings("meter-window", *metered(351.774, 251.8258))

    assert finding.severity == "implausible"
    assert finding.evidence["off_percent"] == pytest.approx(39.69, abs=0.01)
    assert len(finding.subjects) == 2


def test_a_meter_that_stopped_before_the_work_is_impossible():
    [finding] = findings("meter-window", *metered(200.0, 251.8))

    assert finding.severity == "impossible"


def test_two_percent_of_handling_are_not_flagged():
    assert findings("meter-window", *metered(269.231, 263.8062)) == []


def test_a_meter_without_work_or_time_cannot_be_compared():
    meter, _ = metered(351.774, 251.8258)

    assert findings("meter-window", meter) == []
    assert findings("meter-window", meter, run("iozone", corun="oltp")) == []


def test_the_longest_slot_is_the_work():
    slots = [
        run("httperf", corun="web", duration_s=duration_s)
        for duration_s in (500.0, 560.0)
    ]
    meter = run("watts-up", (sample("meter time", 565.0, "s"),), corun="web")

    assert findings("meter-window", meter, *slots) == []


def lengths(*runs):
    return [finding.evidence for finding in findings("elapsed-not-requested", *runs)]


def test_a_run_much_longer_than_requested_is_flagged():
    evidence = lengths(run(requested_s=100, facts={"elapsed_s": 137.9}))

    assert evidence == [{"elapsed_s": 137.9, "expected_s": 100}]


def test_a_run_of_the_requested_length_is_not_flagged():
    assert lengths(run(requested_s=100, facts={"elapsed_s": 100.5})) == []
    assert lengths(run(requested_s=100), run(duration_s=7.0)) == []


@pytest.mark.parametrize("key", ["seconds", "runtime", "duration"])
@pytest.mark.parametrize("told", ["60", "60 s", "1 min"])
def test_the_requested_length_may_be_a_parameter(key, told):
    readings = (sample("throughput", 1.0, "MB/s", parameters={key: told}),)

    assert len(lengths(run("fio", readings, duration_s=35.0))) == 1
    assert lengths(run("fio", readings, duration_s=61.0)) == []


def test_other_runs_of_a_table_show_the_requested_length():
    times = [100.02, 100.5, 100.54, 137.9, 100.25, 100.01]
    runs = [run(table="A.1", facts={"elapsed_s": time}) for time in times]

    [finding] = findings("elapsed-not-requested", *runs)

    assert finding.subjects[0].id == runs[3].id


def test_a_tool_without_a_fixed_length_is_not_flagged():
    times = [20.9, 21.4, 44.5, 45.5, 32.0]
    runs = [run("linpack", facts={"elapsed_s": time}) for time in times]

    assert findings("elapsed-not-requested", *runs) == []
