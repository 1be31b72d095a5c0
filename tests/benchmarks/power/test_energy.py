"""Energy: printed totals and the energy of the work, and logs over windows."""

import pytest

from benchmarks.models import System
from benchmarks.power.logged_energy import metered_run
from benchmarks.power.printed_energy import study_energy
from benchmarks.studies.checking import check_study

LOG = "timestamp,watts\n" + "".join(
    f"2026-11-20T21:00:{second:02}Z,{120 if 10 <= second < 40 else 80}.0\n"
    for second in range(60)
)


@pytest.fixture
def uoc(load_study):
    """The study of UOC with its reference, HDD and swap on HDD."""
    study = load_study("uoc-2012-kvm")
    study.reference_system = System.objects.get(
        options={"storage": "HDD", "swap": "HDD"}
    )
    study.save()
    return study


@pytest.fixture
def metered(submit, run_document, study):
    """A power log of a minute, and the work within it."""

    def take(log=LOG, *, started="2026-11-20T21:00:10Z", transactions=600, **changes):
        shared = {"session": "one evening"}
        work = {
            "tool": "sysbench",
            "facts": {"elapsed_s": 30},
            "samples": [{"metric": "transactions", "value": transactions, "unit": ""}],
        }
        if started:
            work["started_at"] = started
        meter = run_document(tool="power-csv", output=log, **shared, **changes)
        del meter["samples"]
        submit(meter, run_document(**work, **shared))
        (reading,) = study_energy(study).readings
        return reading

    return take


def of(energy, workload):
    (table,) = (table for table in energy.tables if table.workload == workload)
    return table


def test_the_energy_of_the_work_reverses_a_conclusion_of_the_study(uoc):
    table = of(study_energy(uoc), "sysbench oltp")
    (ssd,) = (
        row
        for row in table.systems
        if row.system.options == {"storage": "HDD", "swap": "SSD"}
    )

    assert table.reference.options == {"storage": "HDD", "swap": "HDD"}
    assert ssd.overrun_s == pytest.approx(351.774 - 251.8258)
    assert ssd.printed_ratio == pytest.approx(1.1527, abs=1e-4)
    assert ssd.energy_ratio == pytest.approx(0.8421, abs=1e-4)
    assert ssd.contradicts_total
    assert ssd.operations == 1000
    assert ssd.joules_per_operation == pytest.approx(39.38, abs=0.01)


def test_idle_power_gives_a_figure_between_both(uoc):
    tables = [of(study_energy(uoc, watts), "sysbench oltp") for watts in (0, 110)]

    for nothing, waiting in zip(*(table.systems for table in tables), strict=True):
        assert nothing.without_idle_j == nothing.meter_total_j
        assert waiting.energy_j < waiting.without_idle_j < waiting.meter_total_j


def test_idle_power_above_the_mean_is_ignored(uoc):
    table = of(study_energy(uoc, 500), "sysbench oltp")

    assert {row.without_idle_j for row in table.systems} == {None}


def test_work_of_unknown_length_has_no_energy_but_a_reason(uoc):
    energy = study_energy(uoc)

    for row in of(energy, "b_eff_io").systems:
        assert row.energy_j is None
        assert "the duration of the work is not reported" in row.reason
    first, *others = of(energy, "httperf wsess=4,15,10").systems
    assert (first.energy_j is not None, first.operations) == (True, 240)
    assert {row.energy_ratio for row in others} == {None}


def test_repeated_readings_are_averaged(submit, run_document, study):
    for number, (joules, seconds) in enumerate([(1000, 10), (3000, 20)]):
        shared = {"corun": f"round {number}"}
        samples = [
            {"metric": "energy", "value": joules, "unit": "J"},
            {"metric": "meter time", "value": seconds, "unit": "s"},
        ]
        submit(
            run_document(tool="watts-up", samples=samples, **shared),
            run_document(facts={"elapsed_s": 5 + 5 * number}, **shared),
        )

    (table,) = study_energy(study).tables

    (system,) = table.systems
    assert system.energy_j == pytest.approx((100 * 5 + 150 * 10) / 2)
    assert system.meter_total_j == 2000


def test_a_meter_that_was_uploaded_twice_counts_once(submit, run_document, study):
    def uploads():
        session, start = "one evening", "2026-11-20T21:00:10Z"
        shared = {"session": session, "started_at": start}
        meter = run_document(
            tool="watts-up",
            samples=[
                {"metric": "energy", "value": 4321.5, "unit": "J"},
                {"metric": "meter time", "value": 36.2, "unit": "s"},
            ],
            **shared,
        )
        work = {"metric": "transactions", "value": 600, "unit": ""}
        facts = {"elapsed_s": 30}
        return meter, run_document(
            tool="sysbench", samples=[work], facts=facts, **shared
        )

    submit(*uploads())
    submit(*uploads())
    assert len(study_energy(study).readings) == 2

    check_study(study)

    (reading,) = study_energy(study).readings
    assert (reading.meter_j, reading.work.operations) == (4321.5, 600)


def test_a_log_is_integrated_over_the_window_of_its_work_only(metered):
    logged = metered_run(metered())

    (window,) = logged.windows
    assert (window.start_s, window.end_s) == (10, 40)
    assert window.energy.energy_j == pytest.approx(120 * 30, rel=0.01)
    assert logged.idle_w == pytest.approx(80)
    assert window.above_idle_j == pytest.approx(40 * 30, rel=0.02)
    assert window.per_work.joules_per_operation == pytest.approx(6, rel=0.01)


def test_a_relative_log_needs_its_start(metered):
    relative = "0,80\n1,80\n2,120\n3,120\n"
    assert "relative to its start" in metered_run(metered(relative)).problem


def test_a_relative_log_uses_the_start_of_the_run(metered):
    rows = "".join(f"{second},100\n" for second in range(60))

    logged = metered_run(metered(rows, started_at="2026-11-20T21:00:00Z"))

    assert logged.windows[0].energy.energy_j == pytest.approx(3000)


def test_work_of_unknown_start_is_reported(metered):
    logged = metered_run(metered(started=None))

    assert logged.windows == ()
    assert "start or duration" in logged.problem


def test_work_outside_the_log_is_not_assessed(metered):
    logged = metered_run(metered(started="2026-11-20T23:00:00Z"))

    assert logged.windows[0].energy is None
    assert "measured nothing" in logged.windows[0].reason


def test_work_without_operations_has_no_energy_per_operation(metered):
    (window,) = metered_run(metered(transactions=0)).windows

    assert window.energy.energy_j == pytest.approx(120 * 30, rel=0.05)
    assert window.per_work.joules_per_operation is None


def test_figures_without_a_log_cannot_be_integrated(uoc):
    reading = study_energy(uoc).readings[0]

    assert "Only summary values were uploaded" in metered_run(reading).problem


def test_the_number_of_queries_is_fixed(metered, study, django_assert_num_queries):
    reading = metered()

    with django_assert_num_queries(4):
        study_energy(study)
    with django_assert_num_queries(3):
        metered_run(reading)
