import numpy as np
import pytest

from tests.benchmarks.plausibility.small_studies import cell, findings


def distinct(values, **facts):
    return len(findings("few-distinct-readings", cell(*values, **facts)))


def test_ten_runs_of_two_values_are_flagged():
    assert distinct([41.72, 44.18, 41.72, 41.72, 44.18] * 2) == 1


def test_ten_different_runs_are_not_flagged():
    rng = np.random.default_rng(5)

    assert distinct([round(value, 2) for value in rng.normal(42, 1, 10)]) == 0


def test_a_coarse_clock_has_few_values():
    assert distinct([0.2, 0.2, 0.3, 0.2, 0.3, 0.2], unit="s", better="lower") == 0


def test_values_printed_in_mib_per_second_keep_their_precision():
    """fio's text prints 116 MiB/s, which is stored as 121.634816 MB/s."""
    mib = 1.048576
    facts = {"tool": "fio", "component": "disk", "unit": "MB/s", "decimals": 6}
    siblings = [
        cell(*[mib * n for n in means], system=f"vm {means[0]}", **facts)
        for means in ((163, 164, 164, 163, 164), (102, 101, 101, 101, 101))
    ]

    assert (
        findings("few-distinct-readings", cell(*[116 * mib] * 5, **facts), *siblings)
        == []
    )
    fine = [cell(*[116.3127 * mib] * 5, **facts)]
    assert len(findings("few-distinct-readings", *fine)) == 1


@pytest.mark.parametrize(
    "means",
    [
        # The display has three digits in another unit, or two decimals.
        (3400, 3366, 3400, 3400, 3400, 3400, 3400, 3400, 3400, 3434),
        (2.06, 2.08, 2.04, 2.08, 2.06, 2.08, 2.04, 2.06, 2.06, 2.04),
        (*[0.23] * 11, *[0.24] * 14, 0.25, 0.25, 0.27, 0.27, 0.29),
        # The interval includes what repeats.
        (41.72, 41.81, 41.72, 41.72, 41.81, 41.72, 41.72, 41.81),
    ],
)
def test_a_coarse_display_is_not_flagged(means):
    fine = [cell(*(2.2905 + k / 997 for k in range(10)), system="vm")]

    assert findings("few-distinct-readings", cell(*means, decimals=4), *fine) == []


def test_two_values_without_a_plausible_display_are_flagged():
    """2.52 and 2.45 are multiples of 0.07, which no display has."""
    two = cell(*[2.52, 2.45] * 5, decimals=2)
    fine = cell(2.4132, 2.4421, 2.4711, 2.43, 2.46, system="vm", decimals=4)
    coarse = cell(2.38, 2.31, 2.38, 2.45, 2.38, system="vm", decimals=2)

    assert len(findings("few-distinct-readings", two, fine)) == 1
    assert findings("few-distinct-readings", two, coarse) == []


def test_one_early_boot_among_two_neighboring_values_is_no_copy():
    """Firecracker printed whole milliseconds (NSDI 2020)."""
    boots = [88.0, *[96.0] * 38, *[97.0] * 11]

    assert distinct(boots, unit="ms", better="lower", decimals=0) == 0


def test_a_count_may_repeat():
    assert distinct([1000.0] * 10, better="neither", unit="") == 0


def test_a_requested_length_may_repeat():
    facts = {"metric": "total time", "case": "memory", "unit": "s", "better": "lower"}
    steps = cell(*[1.0001] * 6, *[1.0071] * 4, **facts)
    siblings = [
        cell(1.0003, 1.0011, system=system, **facts) for system in ("a", "b", "c")
    ]
    work = [cell(31.2, 30.8, system=system, **facts) for system in ("a", "b", "c")]

    assert findings("few-distinct-readings", steps, *siblings) == []
    assert len(findings("few-distinct-readings", steps, *work)) == 1


@pytest.mark.parametrize(
    "ticking",
    [
        # 1/64 s of Windows, a hundredth of a second, and 100 Mflop in such ticks.
        ([0.234375, 0.25, 0.25, 0.234375, 0.25, 0.25], "s", "lower"),
        ([12.31, 12.32, 12.32, 12.31, 12.31, 12.32], "s", "lower"),
        ([400.0, 426.666667, 426.666667, 400.0, 426.666667, 400.0], "MB/s", "higher"),
    ],
)
def test_whole_ticks_of_a_coarse_clock_are_not_flagged(ticking):
    means, unit, better = ticking
    facts = {"unit": unit, "better": better, "component": "CPU", "decimals": 6}

    assert findings("few-distinct-readings", cell(*means, **facts)) == []


@pytest.mark.parametrize(
    "means",
    [
        [52.1, 51.9, 5300.0, 5280.0, 52.1, 51.9],
        [2e-308] * 12,
        [2e-308, 1.0, 1.0, 1.0, 1.0, 2e-308],
        [0.0, 101.0, 0.0, 101.0, 101.0, 101.0],
        [-1.0, 1e300, -1.0, 1e300, 1e300, 1e300],
        [1e-200, 1e200, 1e200, 1e-200, 1e200, 1e200],
    ],
)
@pytest.mark.parametrize("better", ["lower", "higher"])
@pytest.mark.parametrize("unit", ["s", "MB/s"])
def test_readings_of_no_clock_raise_no_error(means, better, unit):
    assert distinct(means, better=better, unit=unit) in {0, 1}


def disk(*others):
    """Return the findings about a disk with two speeds, with other systems on it."""
    facts = {"tool": "fio", "component": "disk", "unit": "MiB/s"}
    siblings = [
        cell(*means, system=f"vm-{n}", **facts) for n, means in enumerate(others)
    ]
    two_speeds = cell(509, 473, 473, 473, 473, id="two speeds", **facts)
    return findings("few-distinct-readings", two_speeds, *siblings)


def test_two_speeds_of_a_disk_that_repeat_everywhere_are_not_flagged():
    steady = [
        (514, 513, 514, 512, 514),
        (511, 510, 510, 510, 509),
        (487, 484, 484, 485, 482),
    ]

    assert disk(*steady) == []


def test_two_values_are_flagged_if_other_systems_scatter():
    assert disk((514, 402, 611, 466, 550), (470, 590, 431, 520, 640)) != []
    wild = [(514, 402, 611, 466, 550), (470, 590, 431, 520, 640)]
    assert disk(*wild, (455, 571, 389, 602, 533)) != []


def test_values_of_the_smallest_step_are_accepted():
    tiny = cell(*[2e-308, 5e-324] * 3, system="vm")

    assert len(findings("few-distinct-readings", tiny, cell(4.0))) <= 1
