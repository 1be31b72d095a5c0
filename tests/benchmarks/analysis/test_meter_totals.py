import pytest

from benchmarks.analysis.meter_totals import MeterTotal, energy_table
from benchmarks.reference.rows import read_rows


def totals(workload):
    """The study's cases of one workload; the slots' longest time is the work's."""
    found = {}
    for row in read_rows("uoc-2012-kvm"):
        storage = f"{row.parameters['storage']} + swap on {row.parameters['swap']}"
        case, value = found.setdefault(storage, {}), float(row.value)
        if row.clock == "meter" and row.parameters["workload"].startswith(workload):
            case["meter_j" if row.metric == "energy" else "meter_s"] = value
        elif row.tool == workload and row.metric in ("test duration", "total time"):
            case["work_s"] = max(value, case.get("work_s", 0))
        elif row.tool == workload and row.metric == "transactions":
            case["operations"] = value
    return [MeterTotal(label=label, **case) for label, case in found.items()]


def test_a_meter_left_on_reverses_what_swap_on_ssd_costs():
    reference, swap_on_ssd, *_ = energy_table(totals("sysbench"))

    assert reference.total.label == "HDD + swap on HDD"
    assert swap_on_ssd.total.label == "HDD + swap on SSD"
    assert swap_on_ssd.printed_ratio == pytest.approx(1.1527, abs=1e-4)
    assert swap_on_ssd.energy_ratio == pytest.approx(0.8421, abs=1e-4)
    assert swap_on_ssd.is_reversed
    assert swap_on_ssd.sentence == (
        "The meter ran 99.9 s (40 %) longer than the work: "
        "39384 J at its mean power, not 55015 J."
    )


def test_each_sysbench_case_is_put_on_its_own_window():
    rows = energy_table(totals("sysbench"))

    assert [round(row.energy_j) for row in rows] == [46767, 39384, 42554, 42512]
    assert [round(row.total.meter_j) for row in rows] == [47729, 55015, 45106, 45036]
    assert [row.is_reversed for row in rows] == [False, True, False, False]
    assert [round(row.per_work.joules_per_operation, 1) for row in rows] == (
        [46.8, 39.4, 42.6, 42.5]
    )


def test_only_one_httperf_case_says_how_long_its_work_took():
    rows = energy_table(totals("httperf"))

    assert [row.energy_j and round(row.energy_j) for row in rows] == (
        [92804, None, None, None]
    )
    assert rows[0].total.overrun_s == pytest.approx(96.767)
    assert rows[1].sentence == (
        "The meter ran 570.282 s, but how long the work took is not stated: "
        "its energy is not known."
    )


def test_no_b_eff_io_case_says_how_long_its_work_took():
    rows = energy_table(totals("b_eff_io"))

    assert len(rows) == 4
    assert {row.energy_j for row in rows} == {None}


def test_the_wait_is_taken_off_at_its_own_power():
    total = MeterTotal(label="a", meter_j=16_100.0, meter_s=110.0, work_s=100.0)

    (row,) = energy_table([total], waiting_w=110.0)

    assert row.less_wait_j == 15_000.0
    assert row.energy_j < row.less_wait_j < total.meter_j


def test_a_meter_that_stopped_early_is_told_and_extrapolated():
    total = MeterTotal(label="a", meter_j=9000.0, meter_s=90.0, work_s=100.0)

    (row,) = energy_table([total], waiting_w=50.0)

    assert (row.energy_j, row.less_wait_j) == (10_000.0, None)
    assert row.sentence.startswith("The meter ran 10 s (10 %) shorter than the work")


def test_the_reference_is_named():
    first = MeterTotal(label="a", meter_j=100.0, meter_s=10.0, work_s=10.0)
    second = MeterTotal(label="b", meter_j=50.0, meter_s=10.0, work_s=10.0)

    rows = energy_table([first, second], reference="b")

    assert [row.energy_ratio for row in rows] == [2.0, 1.0]
    with pytest.raises(ValueError, match='called "c"'):
        energy_table([first, second], reference="c")
    assert energy_table([]) == ()


@pytest.mark.parametrize("wrong", [{"meter_j": 0.0}, {"work_s": -1.0}])
def test_it_refuses_what_cannot_have_been_measured(wrong):
    with pytest.raises(ValueError, match="above 0"):
        MeterTotal(**{"label": "a", "meter_j": 1.0, "meter_s": 1.0} | wrong)
