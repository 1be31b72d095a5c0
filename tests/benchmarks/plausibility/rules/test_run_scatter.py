import pytest

from tests.benchmarks.plausibility.small_studies import cell, findings

TIME = {"metric": "time", "unit": "s", "better": "lower", "component": "CPU"}
DISK = {"tool": "iozone", "metric": "throughput", "component": "disk"}


def test_a_disk_that_lost_its_burst_credit_has_a_mean_that_no_run_reached():
    burst = cell(2900.0, 2910.0, *[91.0] * 8, **DISK)

    [finding] = findings("deviation-above-mean", burst, cell(90.0, 110.0, 95.0, **DISK))

    assert [subject.id for subject in finding.subjects] == [burst.id]
    assert finding.severity == "implausible"
    assert "between 91 and 2910" in finding.sentence


def test_a_published_deviation_may_not_exceed_its_mean():
    stated = cell(16.0, n=10, run_means=(), stated_deviation=17.0, **DISK)

    [finding] = findings("deviation-above-mean", stated)

    assert finding.evidence["deviations"] == [17.0]
    assert not findings(
        "deviation-above-mean",
        cell(16.0, n=10, run_means=(), stated_deviation=15.0, **DISK),
    )


def test_several_published_means_are_not_runs():
    pooled = cell(15.0, 17.0, n=10, stated_deviation=17.0, **DISK)

    [finding] = findings("deviation-above-mean", pooled)

    assert "the published mean of 10 runs" in finding.sentence


@pytest.mark.parametrize(
    "facts",
    [
        {"metric": "packet loss", "unit": "%", "better": "lower", "zero_allowed": True},
        {"metric": "latency max", "unit": "ms", "better": "lower"},
        {"metric": "transactions", "unit": "", "better": "neither"},
    ],
)
def test_losses_maxima_and_counts_may_scatter(facts):
    assert not findings("deviation-above-mean", cell(0.0, 0.0, 0.0, 9.0, **facts))


def rates(*times, work=1000.0):
    return [round(work / time, 6) for time in times]


def test_rates_of_a_clock_of_ten_milliseconds_are_coarse():
    native = cell(*rates(0.31, 0.33, 0.32, 0.31, 0.32))
    guest = cell(*rates(0.33, 0.34, 0.33, 0.36, 0.32), system="vm")

    [finding] = findings("coarse-clock", native, guest)

    assert {subject.id for subject in finding.subjects} == {native.id, guest.id}
    assert finding.evidence["steps"] == pytest.approx([0.031, 0.030], abs=0.001)


def test_times_of_a_coarse_clock_with_many_digits_are_coarse():
    ticks = (13, 14, 15, 13, 16, 14)
    coarse = cell(*(round(count / 64, 6) for count in ticks), **TIME)

    [finding] = findings("coarse-clock", coarse)

    assert finding.evidence["steps"] == pytest.approx([0.069], abs=0.001)


def test_a_display_of_whole_minutes_is_coarse():
    minutes = {**TIME, "unit": "min"}

    assert findings("coarse-clock", cell(4, 5, 4, 5, 4, **minutes))


@pytest.mark.parametrize(
    "times",
    [
        (30.1, 31.2, 30.7, 30.4, 31.0),  # 0.3 %
        (0.3104, 0.3317, 0.3251, 0.3122, 0.3290),
        (62.0, 67.0, 67.0, 77.0, 75.0),  # scatter more than a display of 1 %
    ],
)
def test_fine_steps_and_scattered_times_are_not_coarse(times):
    assert not findings("coarse-clock", cell(*times, **TIME, system="vm"))
