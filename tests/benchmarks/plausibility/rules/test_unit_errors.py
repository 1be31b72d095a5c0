from dataclasses import replace

import pytest

from benchmarks.plausibility.unit_errors import nearest_factor
from tests.benchmarks.plausibility.small_studies import cell, findings, run, sample

CASES = {"read L1": 14500, "write L1": 17100, "read RAM": 3100, "write RAM": 2440}


def table(**wrong):
    """Return three systems, four cases; ``wrong`` replaces values by system."""
    speeds = {"native": 1.0, "xen": 0.97, "esxi": 0.95}
    return [
        cell(
            wrong.get(system, {}).get(case, value * speed),
            id=f"{system}/{case}",
            case=case,
            system=system,
            is_native=system == "native",
        )
        for system, speed in speeds.items()
        for case, value in CASES.items()
    ]


def flagged(*cells, **facts):
    found_errors = findings("unit-slip", *cells, **facts)
    return [
        sorted(subject.id for subject in finding.subjects) for finding in found_errors
    ]


def test_consistent_siblings_are_not_flagged():
    assert flagged(*table()) == []


@pytest.mark.parametrize("factor", [10, 0.1, 1000, 0.001, 1024, 1 / 1024, 8, 1 / 8])
@pytest.mark.parametrize("system", ["native", "esxi"])
def test_one_value_in_another_unit_is_found_by_its_siblings(system, factor):
    wrong = table(**{system: {"read RAM": 3100 * factor}})

    assert flagged(*wrong) == [[f"{system}/read RAM"]]


def test_the_evidence_contains_the_expected_value():
    [finding] = findings("unit-slip", *table(native={"read RAM": 3108035}))

    assert finding.severity == "impossible"
    assert finding.evidence["expected"] == pytest.approx(3186, rel=0.03)
    assert finding.evidence["value"] == 3108035


def test_a_factor_between_no_units_is_not_flagged():
    assert flagged(*table(esxi={"read RAM": 3100 * 30})) == []


@pytest.mark.parametrize("factor", [1 / 12, 1 / 7, 7, 12])
def test_a_real_difference_near_a_factor_is_not_flagged(factor):
    assert flagged(*table(esxi={"read RAM": 3100 * 0.95 * factor})) == []


def test_a_time_with_a_ratio_of_7_67_is_not_flagged():
    times = {"find": 31.0, "sort": 12.4, "cat": 3.1}
    cells = [
        cell(
            value * (7.67 if (system, case) == ("kvm", "sort") else speed),
            system=system,
            case=case,
            unit="s",
            better="lower",
            is_native=system == "native",
        )
        for system, speed in {"native": 1.0, "xen": 1.03, "kvm": 1.06}.items()
        for case, value in times.items()
    ]

    assert flagged(*cells) == []


def test_many_equal_settings_show_that_a_short_total_is_no_unit_error():
    """Of 24 settings, one skipped a part of the work."""
    totals = [438.4, 2882.6, *(5360 + 10 * k for k in range(22))]
    cells = [
        cell(total, system=f"v{k}", case="total", unit="s", better="lower", tool="npb")
        for k, total in enumerate(totals)
    ]

    assert flagged(*cells) == []


def test_a_single_other_setting_of_a_disk_is_no_expectation():
    disk = {"component": "disk", "unit": "MB/s", "case": "write"}
    cells = [
        cell(660.0, system="new disk", **disk),
        cell(94.0, system="old disk", **disk),
        *(cell(value, system="new disk", case="r", metric="read") for value in (500,)),
        *(cell(value, system="old disk", case="r", metric="read") for value in (480,)),
    ]

    assert flagged(*cells) == []


def test_a_system_without_common_benchmarks_is_not_flagged():
    cells = [cell(100.0, case=f"a {k}", system="a") for k in range(3)]
    cells += [cell(1000.0, case=f"b {k}", system="b") for k in range(3)]

    assert flagged(*cells) == []


def test_a_slow_first_run_among_noisy_ones_is_no_unit_error():
    speeds = [203.4, 1102, 1119, 1472, 1466, 1438, 1334, 1455, 806, 1219]

    assert flagged(cell(*speeds, component="disk")) == []


def test_a_system_that_is_slow_in_all_cases_is_not_flagged():
    slow = {case: value * 0.12 for case, value in CASES.items()}

    assert flagged(*table(esxi=slow)) == []


def test_a_whole_guest_in_another_unit_is_one_flag():
    wrong = {case: value * 1000 for case, value in CASES.items()}

    assert flagged(*table(esxi=wrong)) == [[f"esxi/{case}" for case in sorted(CASES)]]


def test_with_two_systems_both_are_named_because_either_may_be_wrong():
    cells = [cell for cell in table() if cell.system != "xen"]
    wrong = [cell for cell in table(esxi={"read RAM": 310.0}) if cell.system != "xen"]

    assert flagged(*cells) == []
    assert flagged(*wrong) == [["esxi/read RAM", "native/read RAM"]]


def test_one_run_in_another_unit_is_found_by_the_other_runs():
    assert flagged(cell(50.2, 51.1, 0.0503, 49.9, id="slip")) == [["slip"]]
    assert flagged(cell(59.1, 109.0, 58.2, 108.3)) == []


def test_the_tolerance_of_a_run_follows_the_scatter_of_its_siblings():
    quiet = [3570, 3576, 3580, 3590, 3575]

    assert flagged(cell(*quiet, 3576 / 8, id="slip")) == [["slip"]]
    assert flagged(cell(*quiet, 532)) == []


def test_a_run_with_noisy_siblings_may_be_farther_from_its_factor():
    assert flagged(cell(90.0, 118.0, 104.0, 80.0, 11.9, id="slip")) == [["slip"]]


@pytest.mark.parametrize("statistic", ["min", "max", "p95", "percentile"])
def test_one_slow_request_in_a_maximum_is_not_a_unit_error(statistic):
    latency = {"metric": f"request latency {statistic}", "unit": "ms"}

    assert flagged(cell(1.2, 1.1, 1.3, 1.2, 12.0, **latency)) == []


def run_readings(rates, times):
    """Return runs of one tool with a rate and a time each, and the cells of both."""
    rate = cell(*rates, id="rate", unit="1/s")
    time = cell(*times, id="time", metric="time", unit="s", better="lower")
    runs = [
        run(samples=(sample("rate", a, cell="rate"), sample("time", b, cell="time")))
        for a, b in zip(rates, times, strict=True)
    ]
    return [rate, time, *runs]


def test_a_cell_with_other_speeds_has_no_unit_error():
    speeds = [585.0, 595.0, 580.0, 598.0, 622.0, 596.0, 3686.0]

    assert flagged(cell(*speeds, 590.0 * 8)) == []
    assert flagged(cell(*speeds, 590.0 * 1000, id="slip")) == [["slip"]]


def test_two_distant_halves_of_the_runs_are_not_flagged():
    assert findings("unit-slip", cell(1.0, 1.0, 100.0, 100.0)) == []


def test_a_run_with_longer_time_and_lower_rate_ran_at_another_speed():
    rates = [400.0, 404.0, 398.0, 40.0, 401.0]

    assert flagged(*run_readings(rates, [2.0, 1.98, 2.01, 20.0, 2.0])) == []
    assert flagged(*run_readings(rates, [2.0, 1.98, 2.01, 1.99, 2.0])) == [["rate"]]


def test_a_run_with_all_readings_off_by_one_factor_has_a_unit_error():
    values = {"4k": [50.0, 51.0, 49.5, 0.05], "64k": [80.0, 81.0, 79.0, 0.08]}
    cells = [cell(*values[name], id=name, case=name) for name in values]
    runs = [
        run(samples=[sample("rate", values[name][i], cell=name) for name in values])
        for i in range(4)
    ]

    assert flagged(*cells, *runs) == [["4k"], ["64k"]]


EMULATED = {"hypervisor": "KVM", "options": {"layers": "qemu-tcg > kvm"}}


def test_an_emulated_processor_is_slower_by_any_factor():
    slow = {case: value / 100 for case, value in CASES.items()}
    cells = table(esxi=slow)
    emulated = [replace(cell, **EMULATED) for cell in cells if cell.system == "esxi"]
    real = [cell for cell in cells if cell.system != "esxi"]

    assert flagged(*cells) == [[f"esxi/{case}" for case in sorted(CASES)]]
    assert flagged(*real, *emulated) == []


def test_emulated_systems_with_the_same_layers_are_compared():
    cells = [replace(cell, **EMULATED) for cell in table(esxi={"read RAM": 3.1})]

    assert flagged(*cells) == [["esxi/read RAM"]]


def test_an_emulated_system_is_compared_with_those_of_other_layers():
    """With four cases: fewer do not show how much the factors of two layers differ."""
    layers = {
        "native": "qemu-tcg",
        "xen": "qemu-tcg > xen-pv",
        "esxi": "qemu-tcg > kvm",
    }
    slow = {case: value / 30 for case, value in CASES.items()}
    cells = [
        replace(cell, hypervisor="any", options={"layers": layers[cell.system]})
        for cell in table(xen=slow, esxi={"read RAM": 3.1})
    ]

    assert flagged(*cells) == [["esxi/read RAM"]]
    assert flagged(*(cell for cell in cells if cell.case != "read L1")) == []


def test_a_case_in_which_two_emulated_systems_agree_has_no_unit_error():
    """Xen's guests copy integers 10 times as slowly as they do the rest (our lab)."""
    rest = dict.fromkeys(("add", "copy", "read", "scale", "write", "triad"), 1.0)
    slow = {"xen-pv": rest | {"copy": 0.1}, "xen-pvh": rest | {"copy": 0.09}}
    cells = [
        cell(
            1000 * speed * own,
            id=f"{layer}/{case}",
            case=case,
            system=layer,
            is_native=False,
            hypervisor="any",
            options={"layers": f"qemu-tcg > {layer}"},
        )
        for layer, speed in (
            ("kvm", 1.0),
            ("hvf", 1.1),
            ("xen-pv", 1.3),
            ("xen-pvh", 0.9),
        )
        for case, own in slow.get(layer, rest).items()
    ]
    alone = [
        replace(each, mean=1000.0, run_means=(1000.0,))
        if each.id == "xen-pv/copy"
        else each
        for each in cells
    ]

    assert flagged(*cells) == []
    assert flagged(*alone) == [["xen-pvh/copy"]]


def test_a_point_far_from_its_curve_is_found_without_another_system():
    values = {4: 8.1, 8: 14.2, 16: 220.0, 32: 30.4, 64: 37.0, 128: 41.0}
    curve = [
        cell(value, case=str(size), id=str(size), parameters={"block": f"{size} KiB"})
        for size, value in values.items()
    ]

    assert flagged(*curve) == [["16"]]


def test_a_curve_may_have_a_step():
    values = {4: 17000, 8: 17100, 16: 16900, 32: 2100, 64: 2050, 128: 2040}
    curve = [
        cell(value, case=str(size), parameters={"block": f"{size}k"})
        for size, value in values.items()
    ]

    assert flagged(*curve) == []


def test_an_emulated_network_card_may_be_ten_times_slower():
    network = {"component": "network", "case": "write"}
    cells = [cell(52.0, **network), cell(49.0, system="a", **network)]

    assert flagged(*cells, cell(5.2, system="b", **network)) == []


def test_cpu_utilization_may_differ_tenfold():
    utilization = {"metric": "CPU utilization", "unit": "%", "component": "network"}
    cells = [
        cell(7.0, system=system, is_native=False, **utilization) for system in "abcd"
    ]

    assert flagged(*cells, cell(70.0, system="e", **utilization)) == []


def test_slots_that_match_their_sum_are_not_flagged():
    facts = {"system": "esxi", "scenario": "parallel", "vms": 2, "case": "random read"}
    slots = [cell(2.05, slot="1", **facts), cell(20.9, slot="2", **facts)]
    singles = [
        cell(2.1, case="random read", system=system) for system in ("a", "b", "c")
    ]

    assert flagged(*singles, *slots, cell(22.95, slot="sum", **facts)) == []
    assert flagged(*singles, *slots) == [[slots[1].id]]


@pytest.mark.parametrize(
    ("unit", "off", "factor"),
    [
        ("MB/s", 2.10, "8, as between bits and bytes"),
        ("MB/s", -6.93, "1024"),
        ("s", 4.1, "60, as between seconds and minutes"),
        ("MB/s", 3.4, ""),
    ],
)
def test_a_unit_error_has_the_name_of_its_factor(unit, off, factor):
    assert nearest_factor(cell(1.0, unit=unit), off, 0.3) == factor


def linpack(*times, **facts):
    """Return one case of LINPACK per system, native first."""
    usual = {"tool": "linpack", "metric": "time", "unit": "s", "better": "lower"}
    usual |= {"component": "CPU", "case": "n=2000", **facts}
    return [
        cell(time, system=f"system {index}", is_native=index == 0, **usual)
        for index, time in enumerate(times)
    ]


def test_minutes_among_seconds_are_found_without_another_shared_case():
    # The other row of the table has other circumstances.
    together = [
        replace(
            member, id=f"{member.id}/2", case="n=4000", scenario="parallel", vms=vms
        )
        for vms, member in enumerate(linpack(214, 429), 2)
    ]

    [finding] = findings("unit-slip", *linpack(20.9, 21.4, 60 * 20.4, 21.0), *together)

    assert finding.evidence["factor"] == "60, as between seconds and minutes"
    assert finding.evidence["value"] == 1224


def processes(*rates, unit="MB/s", first=2):
    """Return one test with more and more processes, on one system."""
    return [
        cell(
            rate,
            **{"system": "kvm", "unit": unit, "component": "disk"},
            **{"case": f"{operation} {count}", "tool": "b_eff_io"},
            parameters={"operation": operation, "processes": str(count)},
        )
        for index, rate in enumerate(rates)
        for operation, count in [(("read", "write")[index % 2], first + index // 2)]
    ]


def test_a_case_far_above_all_others_of_its_test_is_found_on_one_system():
    [finding] = findings("unit-slip", *processes(7.1, 4.4, 7.7, 4361.0, 8.2, 5.8))

    assert finding.evidence["value"] == 4361


def test_values_between_two_factors_are_not_flagged_and_near_ones_uncertain():
    """The median of the others is 7.1, so 10 times as much is 71."""
    [certain] = findings("unit-slip", *processes(7.1, 4.4, 7.7, 80.0, 8.2, 5.8))
    [doubtful] = findings("unit-slip", *processes(7.1, 4.4, 7.7, 106.0, 8.2, 5.8))

    assert certain.severity == "impossible"
    assert "which is near 10." in certain.sentence
    assert doubtful.severity == "implausible"
    assert "The nearest factor between two units is 10" in doubtful.sentence
    assert findings("unit-slip", *processes(7.1, 4.4, 7.7, 125.0, 8.2, 5.8)) == []


def test_a_case_with_another_setting_may_be_as_far_away():
    sizes = [
        cell(rate, system="kvm", case=size, parameters={"size": size})
        for size, rate in zip("abcdef", (7.1, 4.4, 7.7, 4361.0, 8.2, 5.8), strict=True)
    ]

    assert findings("unit-slip", *sizes) == []


def test_operations_have_no_bits():
    eight = {"unit": "1/s", "component": "CPU", "better": "higher"}

    assert findings("unit-slip", *linpack(314, 314 * 7.2, 320, 310, **eight)) == []


def test_a_system_as_slow_as_emulation_has_no_unit_errors():
    slow = {"linpack": 64.0, "ramspeed": 1 / 64}
    members = []
    for index, (tool, better, unit) in enumerate(
        [("linpack", "lower", "s"), ("ramspeed", "higher", "MB/s")]
    ):
        for row in range(3):
            facts = {"tool": tool, "better": better, "unit": unit, "case": f"{row}"}
            facts["component"] = ("CPU", "memory")[index]
            native = cell(100.0 * (row + 1), **facts)
            members.append(native)
            for system, factor in (("kvm", 1.0), ("tcg", slow[tool])):
                mean = native.mean * factor
                guest = {"baseline": native.id}
                members.append(cell(mean, system=system, **facts, **guest))

    assert findings("unit-slip", *members) == []
    [finding] = findings("emulation-speed", *members)
    assert len(finding.subjects) == 6


def by_two_clocks(guest_rate):
    """Return output of stress-ng: operations by wall clock and by CPU time, 4 cases."""
    usual = {"cpu": 5368, "vm": 54693, "matrix": 9120}
    rates = {"native": usual | {"cache": 4990}, "kvm": usual | {"cache": guest_rate}}
    by_cpu = {"native": usual | {"cache": 314}, "kvm": usual | {"cache": 3250}}
    return [
        cell(
            value,
            id=f"{system}/{metric}/{stressor}",
            metric=metric,
            case=f"{metric} {stressor}",
            parameters={"stressor": stressor},
            unit="1/s",
            system=system,
            is_native=system == "native",
        )
        for metric, systems in (("rate", rates), ("rate by CPU time", by_cpu))
        for system, values in systems.items()
        for stressor, value in values.items()
    ]


def test_a_test_that_ran_faster_by_every_clock_is_not_flagged():
    assert flagged(*by_two_clocks(21161)) == []


def test_a_rate_that_is_off_by_one_clock_only_is_a_unit_error():
    assert flagged(*by_two_clocks(5010)) == [
        ["kvm/rate by CPU time/cache", "native/rate by CPU time/cache"]
    ]


def test_two_metrics_off_by_one_factor_are_two_unit_errors():
    both = by_two_clocks(4990 * 3250 / 314)

    assert len(flagged(*both)) == 2


def by_rate_and_count(count):
    """Return output of sysbench for two tests on two guests.

    One guest counts instructions as time and is 100 times as slow; its counts are these
    fractions of the other's.
    """
    metrics = {
        "events": ("", "neither", count),
        "rate": ("1/s", "higher", 0.01),
        "latency": ("ms", "lower", 100.0),
    }
    return [
        cell(
            usual * (slow if system == "icount" else 1.0),
            id=f"{system}/{metric}/{test}",
            metric=metric,
            case=f"{metric} {test}",
            parameters={"test": test},
            system=system,
            unit=unit,
            better=better,
            component="CPU",
            **EMULATED,
        )
        for metric, (unit, better, slow) in metrics.items()
        for system in ("tcg", "icount")
        for test, usual in {"cpu": 617.0, "memory": 1291.0}.items()
    ]


def test_counts_that_fell_with_their_rates_mean_a_slower_system():
    assert flagged(*by_rate_and_count(0.01)) == []


def test_counts_are_a_unit_error_if_their_rates_did_not_change():
    rates = by_rate_and_count(0.01)
    moved = [
        replace(each, mean=each.mean * 100, run_means=(each.mean * 100,))
        if each.id.startswith("icount/rate")
        else replace(each, mean=each.mean / 100, run_means=(each.mean / 100,))
        if each.id.startswith("icount/latency")
        else each
        for each in rates
    ]

    assert flagged(*moved) == [
        [f"{system}/events/{test}" for test in ("cpu", "memory")]
        for system in ("tcg", "icount")
    ]


DECIMALS = {"one": 31.62, "two": 8.14, "three": 121.75, "four": 4.4}


def apart(**wrong):
    """Return four cases of two systems that compare differently in each case, printed
    with two decimals.
    """
    facts = {"metric": "rate", "unit": "1/s", "component": "application"}
    factors = dict(zip(DECIMALS, (1.0, 7.1, 0.9, 3.2), strict=True))
    return [
        cell(value, id=f"{system}/{case}", case=case, system=system, **facts)
        for case, first in DECIMALS.items()
        for system, value in {
            "kvm": wrong.get(case, first),
            "xen": round(first * factors[case], 2),
        }.items()
    ]


def test_one_decimal_more_than_printed_shows_a_lost_factor_of_ten():
    assert flagged(*apart(one=3.162)) == [["kvm/one"]]


def test_as_many_decimals_as_printed_show_nothing():
    assert flagged(*apart(one=3.16)) == []
    assert flagged(*apart()) == []


def test_a_tool_that_prints_digits_has_more_decimals_below_ten():
    """31.62 and 3.162 both have four digits, and no reading has fewer."""
    read = {case: [first, 2.3 * first] for case, first in DECIMALS.items()}
    read = {case: [float(f"{v:.4g}") for v in values] for case, values in read.items()}
    facts = {"metric": "rate", "unit": "1/s", "component": "application"}
    few = [
        cell(value * 1.0001 + 0.011, case=case, system=system, **facts)
        for case, values in {"one": [31.62, 3.162], "three": [121.7, 98.34]}.items()
        for system, value in zip(("kvm", "xen"), values, strict=True)
    ]
    few = [replace(c, mean=(m := float(f"{c.mean:.4g}")), run_means=(m,)) for c in few]

    assert flagged(*few) == []


def test_a_guest_is_compared_with_its_own_native_machine():
    """Machines of 32 and 64 bits: compared with both, a tenth looks like a sixth."""
    members = []
    for bits, speed in (("32", 1.0), ("64", 1.7)):
        native = cell(20.89 * speed, system=f"native {bits}", is_native=True, case="n")
        guests = [
            cell(20.89 * speed * factor, system=f"{name} {bits}", case="n")
            for name, factor in (("kvm", 0.98), ("xen", 0.97), ("esxi", 0.95))
        ]
        members += [native, *(replace(g, baseline=native.id) for g in guests)]
    assert flagged(*members) == []
    wrong = members[1]
    members[1] = replace(wrong, mean=wrong.mean * 10, run_means=(wrong.mean * 10,))

    assert flagged(*members) == [[wrong.id]]


def test_a_unit_error_near_a_reciprocal_names_both():
    """28 MB/s read as 0.036: a thousandth is 0.028, the reciprocal 0.036."""
    speeds = {"native": 1.0, "xen": 0.97, "esxi": 0.95, "kvm": 0.96}
    cases = {"one": 28, "two": 170, "three": 310, "four": 244}
    members = [
        cell(round(value * speed, 1), case=case, system=name, is_native=False)
        for name, speed in speeds.items()
        for case, value in cases.items()
    ]
    wrong = members[4]
    members[4] = replace(wrong, mean=0.028, run_means=(0.028,))

    [finding] = findings("unit-slip", *members)

    assert finding.evidence["factor"] == "1000"
    assert "reciprocal" in finding.sentence
