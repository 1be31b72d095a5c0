"""Facts that sysbench does not print, but that its command or another line shows."""

import pytest

from benchmarks.parsing import run_extraction
from tests.data.rebuild import DATA


def read(name, command=""):
    text = (DATA / "sysbench" / f"{name}.txt").read_text()
    (run,) = run_extraction.extract_runs(f"{command}\n{text}" if command else text)
    return run


def test_a_report_at_a_checkpoint_covers_its_interval_without_total_time():
    run = read("cpu-checkpoints")

    assert [warning.code for warning in run.warnings] == ["checkpoints"]
    assert "total time" not in {reading.metric for reading in run.readings}


@pytest.mark.parametrize(
    ("name", "parameter", "setting"),
    [
        ("cpu-target-rate", "target rate", 100),
        ("fileio-direct", "flags", "directio"),
    ],
)
def test_settings_that_change_the_result_are_parameters(name, parameter, setting):
    assert read(name).readings[0].parameters[parameter] == setting


@pytest.mark.parametrize(
    ("command", "parameters"),
    [
        ("mutex run", {"test": "mutex"}),
        ("--threads=2 threads run", {"test": "threads"}),
    ],
)
def test_the_command_distinguishes_threads_from_mutex(command, parameters):
    run = read("threads", f"$ sysbench {command}")

    assert parameters.items() <= dict(run.readings[0].parameters).items()
    assert "unknown_test" not in {warning.code for warning in run.warnings}


def test_the_command_contains_the_script():
    command = "$ sysbench /usr/share/sysbench/oltp_point_select.lua --threads=2 run"
    run = read("oltp-read-write-pgsql", command)

    assert run.readings[0].parameters["script"] == "oltp_point_select"


def test_the_command_contains_random_access_to_memory():
    command = "$ sysbench memory --memory-access-mode=rnd run"

    assert read("memory-read-rnd", command).readings[0].parameters["access"] == "random"


# Published output of 0.4.12 with --oltp-test-mode=simple.
SIMPLE = """\
sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 2

Doing OLTP test.
Running simple OLTP test
Doing read-only test
Threads started!
Done.

OLTP test statistics:
    queries performed:
        read:                            463803
        write:                           0
        other:                           463803
        total:                           927606
    transactions:                        463803 (7730.02 per sec.)
    deadlocks:                           0      (0.00 per sec.)
    read/write requests:                 463803 (7730.02 per sec.)
    other operations:                    463803 (7730.02 per sec.)

Test execution summary:
    total time:                          60.0002s
    total number of events:              463803
    total time taken by event execution: 119.5696
    per-request statistics:
         min:                                  0.14ms
         avg:                                  0.26ms
         max:                                  0.78ms
         approx.  95 percentile:               0.32ms
"""


def test_simple_transactions_are_a_separate_case():
    (run,) = run_extraction.extract_runs(SIMPLE)
    case = dict(run.readings[0].parameters)

    assert (case["mode"], case["workload"]) == ("simple", "read only")
    assert [
        reading.value
        for reading in run.readings
        if reading.metric == "transaction rate"
    ] == [7730.02]
