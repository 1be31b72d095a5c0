import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.analysis.assessment import energy_ratio
from benchmarks.analysis.energy_ratio import (
    MeterFacts,
    MeterTotal,
    cost_unit,
    gain_log_variance,
    gain_margin,
    joules_per_unit,
    mean_energy_ratio,
    per_work,
)
from benchmarks.analysis.power_trace import work_energy
from benchmarks.reference.data_files import read_rows

SECONDS = list(range(11))


def test_steady_power_is_power_times_time():
    energy = work_energy(SECONDS, [150.0] * 11, (2.0, 8.0))

    assert (energy.duration_s, energy.mean_w, energy.energy_j) == (6.0, 150.0, 900.0)
    assert (energy.samples, energy.interval_s, energy.coverage) == (7, 1.0, 1.0)
    assert energy.edge_error_j == 0.0


def test_a_window_may_begin_and_end_between_two_samples():
    ramp = [10.0 * second for second in SECONDS]

    energy = work_energy(SECONDS, ramp, (2.5, 7.25))

    assert energy.energy_j == pytest.approx(5 * (7.25**2 - 2.5**2))
    assert energy.edge_error_j == pytest.approx(5.0 + 5.0)


def test_power_outside_the_window_does_not_count():
    power = [100.0] * 3 + [200.0] * 5 + [100.0] * 3

    assert work_energy(SECONDS, power, (3.0, 7.0)).energy_j == 800.0


def test_adjacent_windows_add_up():
    rng = np.random.default_rng(1)
    times, power = np.cumsum(rng.uniform(0.9, 1.1, 60)), rng.uniform(90, 200, 60)

    parts = [work_energy(times, power, each) for each in ((2, 20.3), (20.3, 50))]

    whole = work_energy(times, power, (2, 50))
    assert sum(part.energy_j for part in parts) == pytest.approx(whole.energy_j)


def test_a_gap_counts_with_the_mean_power_and_is_reported():
    times = [0, 1, 2, 3, 13, 14, 15, 16]

    energy = work_energy(times, [100.0] * 4 + [200.0] * 4, (1.0, 15.0))

    assert (energy.covered_s, energy.mean_w, energy.energy_j) == (4.0, 150.0, 2100.0)
    assert not energy.is_covered


def test_one_lost_sample_is_bridged():
    energy = work_energy([0, 1, 3, 4], [100.0, 100.0, 120.0, 120.0], (0.0, 4.0))

    assert (energy.covered_s, energy.energy_j) == (4.0, 440.0)


def test_a_meter_that_started_late_covers_less():
    energy = work_energy(SECONDS, [150.0] * 11, (-1.0, 9.0))

    assert energy.coverage == pytest.approx(0.9)
    assert energy.energy_j == 1500.0
    assert energy.is_covered


def test_idle_power_is_reported_separately():
    assert work_energy(SECONDS, [150.0] * 11, (0.0, 10.0)).above_idle_j(110.0) == 400.0


@pytest.mark.parametrize(
    ("times", "watts", "window", "reason"),
    [
        ([0.0], [1.0], (0, 1), "at least two samples"),
        ([0.0, 1.0], [1.0], (0, 1), "at least two samples"),
        ([0.0, 0.0], [1.0, 1.0], (0, 1), "must increase"),
        ([0.0, math.nan], [1.0, 1.0], (0, 1), "must increase"),
        ([0.0, 1.0], [1.0, -1.0], (0, 1), "watts"),
        ([0.0, 1.0], [1.0, math.inf], (0, 1), "watts"),
        ([0.0, 1.0], [1.0, 1.0], (1, 1), "later end"),
        ([0.0, 1.0], [1.0, 1.0], (2, 3), "nothing in the time window"),
    ],
)
def test_invalid_samples_raise(times, watts, window, reason):
    with pytest.raises(ValueError, match=reason):
        work_energy(times, watts, window)


def test_energy_is_divided_by_the_work():
    cost = per_work(500.0, 10.0, operations=1000)

    assert (cost.joules_per_operation, cost.operations_per_joule) == (0.5, 2.0)
    assert cost.energy_delay_js == 5000.0


def test_work_that_cannot_be_counted_has_no_energy_per_operation():
    assert per_work(500.0, 10.0).joules_per_operation is None
    with pytest.raises(ValueError, match="operations"):
        per_work(500.0, 10.0, operations=0)


def test_the_variance_is_that_of_two_uniform_gain_errors():
    errors = np.random.default_rng(1).uniform(-0.015, 0.015, (2, 100_000))

    simulated = np.var(np.log((1 + errors[0]) / (1 + errors[1])))

    assert gain_log_variance(0.015, 0.015) == pytest.approx(simulated, rel=0.02)


def test_two_meters_of_one_load_differ_by_less_than_the_margin_in_95_of_100():
    errors = np.random.default_rng(2).uniform(0.985, 1.015, (2, 20_000))

    lost = [max(a / b, b / a) < 1 + gain_margin() for a, b in errors.T]

    assert np.mean(lost) == pytest.approx(0.95, abs=0.006)


@pytest.mark.parametrize(
    ("base", "reason"),
    [(1.0232, "within_meters"), (1.0234, ""), (1 / 1.0232, "within_meters")],
)
def test_two_meters_refuse_differences_under_2_33_percent(base, reason):
    def reason_of(meters):
        return mean_energy_ratio((1.0, 1.0), (base, base), meters).reason

    assert reason_of((ONE, TWO)) == reason
    assert reason_of((ONE, ONE)) == ""


ONE = MeterFacts("meter 1", 0.015)
TWO = MeterFacts("meter 2", 0.015)
OWN = (55.1, 55.9, 54.8, 55.4, 55.6)
BASE = (50.2, 49.7, 50.4, 50.1, 49.9)


def test_it_is_the_ratio_of_the_means_with_the_interval_of_the_logs():
    answer = energy_ratio(OWN, BASE, (ONE, ONE))

    own, base = np.array(OWN), np.array(BASE)
    parts = [x.var(ddof=1) / x.size / x.mean() ** 2 for x in (own, base)]
    df = sum(parts) ** 2 / sum(part**2 / 4 for part in parts)
    half = stats.t.ppf(0.975, df) * np.sqrt(sum(parts))
    ratio = own.mean() / base.mean()
    assert answer.ratio == pytest.approx(ratio)
    assert answer.low == pytest.approx(ratio * np.exp(-half))
    assert answer.high == pytest.approx(ratio * np.exp(half))


def test_swapping_the_sides_gives_the_reciprocal_energy_ratio():
    ratio = energy_ratio(OWN, BASE, (ONE, ONE))
    other = energy_ratio(BASE, OWN, (ONE, ONE))

    assert other.low == pytest.approx(1 / ratio.high)


def test_two_meters_widen_the_interval():
    one = energy_ratio(OWN, BASE, (ONE, ONE))
    two = energy_ratio(OWN, BASE, (ONE, TWO))

    assert two.low < one.low < one.high < two.high


def test_a_difference_within_meter_error_has_no_interval():
    near = tuple(1.02 * each for each in BASE)

    assert energy_ratio(near, BASE, (ONE, ONE)).has_interval
    unassessed = energy_ratio(near, BASE, (ONE, TWO))
    assert (unassessed.has_interval, unassessed.reason) == (
        False,
        "within_meters",
    )


def test_two_meters_of_unknown_accuracy_give_no_interval():
    unknown = MeterFacts("meter 3", None)

    ratio = energy_ratio(OWN, BASE, (ONE, unknown))

    assert (ratio.low, ratio.reason) == (None, "unknown_accuracy")
    assert energy_ratio(OWN, BASE, (unknown, unknown)).has_interval


def test_a_cpu_counter_is_never_compared_with_a_wall_meter():
    assert energy_ratio(OWN, BASE, (ONE, MeterFacts("rapl", 0.0, True))) is None


@pytest.mark.parametrize(("own", "base"), [((5.0,), BASE), (OWN, (5.0,))])
def test_a_single_run_has_a_ratio_and_no_interval(own, base):
    ratio = energy_ratio(own, base, (ONE, ONE))

    assert (ratio.low, ratio.reason) == (None, "single_run")


@pytest.mark.parametrize(("own", "base"), [((), BASE), (OWN, ()), ((0.0, 1.0), BASE)])
def test_no_energy_has_no_ratio(own, base):
    assert energy_ratio(own, base, (ONE, ONE)) is None


def test_runs_that_are_all_equal_have_no_interval():
    ratio = energy_ratio((5.0, 5.0), (4.0, 4.0), (ONE, ONE))

    assert (ratio.low, ratio.ratio, ratio.reason) == (None, 1.25, "no_spread")


@pytest.mark.parametrize(
    ("metric", "unit", "better", "cost"),
    [
        ("throughput", "MB/s", "higher", "J/MB"),
        ("throughput", "Mbit/s", "higher", "J/Mbit"),
        ("performance", "Mflop/s", "higher", "J/Mflop"),
        ("event rate", "1/s", "higher", "J/event"),
        ("CPU event rate", "1/min", "higher", "J/event"),
        ("IOPS", "1/s", "higher", "J/operation"),
        ("rate", "1/s", "higher", "J/operation"),
        ("total time", "s", "lower", "J"),
        ("latency", "ms", "lower", ""),
        ("energy", "J", "lower", ""),
        ("events", "", "neither", ""),
        ("share", "%", "higher", ""),
    ],
)
def test_only_a_rate_or_the_time_of_the_whole_work_has_a_cost(
    metric, unit, better, cost
):
    assert cost_unit(metric, unit, better) == cost


@pytest.mark.parametrize(
    ("value", "unit", "better", "joules"),
    [
        (50.0, "MB/s", "higher", 2.0),
        (50.0, "1/s", "higher", 2.0),
        (60.0, "1/min", "higher", 100.0),
        (30.0, "s", "lower", 3000.0),
        (500.0, "ms", "lower", 50.0),
    ],
)
def test_100_watts_cost(value, unit, better, joules):
    assert joules_per_unit(value, unit, better, 100.0) == pytest.approx(joules)


def test_twice_as_fast_at_the_same_power_costs_half():
    assert (
        joules_per_unit(2, "1/s", "higher", 80)
        == joules_per_unit(1, "1/s", "higher", 80) / 2
    )


@pytest.mark.parametrize(("value", "watts"), [(0, 100), (5, 0), (-1, 100)])
def test_no_work_has_no_cost(value, watts):
    assert joules_per_unit(value, "1/s", "higher", watts) is None


def totals(workload):
    """Return the study's cases of one workload with the slots' longest time."""
    totals_by_label = {}
    for row in read_rows("uoc-2012-kvm"):
        storage = f"{row.parameters['storage']} + swap on {row.parameters['swap']}"
        case, value = totals_by_label.setdefault(storage, {}), float(row.value)
        if row.clock == "meter" and row.parameters["workload"].startswith(workload):
            case["total_j" if row.metric == "energy" else "metered_s"] = value
        elif row.tool == workload and row.metric in ("test duration", "total time"):
            case["work_s"] = max(value, case.get("work_s", 0))
        elif row.tool == workload and row.metric == "transactions":
            case["operations"] = value
    return {label: MeterTotal(**case) for label, case in totals_by_label.items()}


def test_a_meter_left_on_reverses_what_swap_on_ssd_costs():
    works = totals("sysbench")

    reference, swap_on_ssd = (works[f"HDD + swap on {disk}"] for disk in ("HDD", "SSD"))

    printed = swap_on_ssd.total_j / reference.total_j
    assert printed == pytest.approx(1.1527, abs=1e-4)
    energy = swap_on_ssd.energy_j / reference.energy_j
    assert energy == pytest.approx(0.8421, abs=1e-4)


def test_each_sysbench_case_has_its_own_window():
    works = totals("sysbench").values()

    assert [round(work.energy_j) for work in works] == [46767, 39384, 42554, 42512]
    assert [round(work.total_j) for work in works] == [47729, 55015, 45106, 45036]
    assert [round(work.per_work.joules_per_operation, 1) for work in works] == (
        [46.8, 39.4, 42.6, 42.5]
    )


def test_only_one_httperf_case_reports_its_duration():
    works = totals("httperf").values()

    assert [work.energy_j and round(work.energy_j) for work in works] == (
        [92804, None, None, None]
    )


def test_no_b_eff_io_case_reports_its_duration():
    assert [work.energy_j for work in totals("b_eff_io").values()] == [None] * 4


def test_idle_energy_is_subtracted():
    total = MeterTotal(total_j=16_100.0, metered_s=110.0, work_s=100.0)

    assert total.without_idle_j(110.0) == 15_000.0
    assert total.energy_j < total.without_idle_j(110.0) < total.total_j


def test_idle_power_above_the_mean_is_rejected():
    total = MeterTotal(total_j=16_100.0, metered_s=110.0, work_s=100.0)

    assert total.without_idle_j(150.0) is None


def test_a_meter_that_stopped_early_is_extrapolated():
    total = MeterTotal(total_j=9000.0, metered_s=90.0, work_s=100.0)

    assert (total.energy_j, total.without_idle_j(50.0)) == (10_000.0, None)


@pytest.mark.parametrize("wrong", [{"total_j": 0.0}, {"work_s": -1.0}])
def test_impossible_measurements_raise(wrong):
    with pytest.raises(ValueError, match="above 0"):
        MeterTotal(**{"total_j": 1.0, "metered_s": 1.0} | wrong)
