"""Logs of several commands, named tools, locales: the one way in."""

import pytest

from benchmarks.errors import ParseError, UnknownNameError
from benchmarks.parsing import reading
from tests.data.rebuild import DATA


def saved(name):
    return (DATA / f"{name}.txt").read_text()


def told(output, **options):
    """Tool, status and number of readings of each run."""
    return [
        (run.tool, run.status, len(run.readings))
        for run in reading.read(output, **options)
    ]


NETPERF = saved("netperf/tcp-stream-cC")
SYSBENCH = saved("sysbench/cpu-1thread")
HDPARM = saved("hdparm/tT-in-tcg-guest")


@pytest.mark.parametrize(
    "prompt",
    [
        "root@vm:~# ",
        "[alice@node7 ~]$ ",
        "(venv) bob@host:/tmp/a b$ ",
        "$ ",
        "# ",
        "+ ",
        "bash-5.1$ ",
        "C:\\bench>",
        "PS C:\\bench> ",
    ],
)
def test_it_cuts_a_shell_log_into_the_outputs_of_its_tools(prompt):
    log = (
        f"{prompt}netperf -H node7 -c -C\n{NETPERF}{prompt}date\nFri Nov 20 2026\n"
        f"{prompt}sysbench cpu run\n{SYSBENCH}{prompt}hdparm -tT /dev/sda\n{HDPARM}"
    )

    assert told(log) == [
        ("netperf", "parsed", 5),
        ("sysbench", "parsed", 7),
        ("hdparm", "parsed", 2),
    ]
    assert reading.read(log)[1].command == "sysbench cpu run"


def test_it_cuts_a_log_without_prompts_where_another_tool_begins():
    assert told(NETPERF + SYSBENCH + HDPARM + NETPERF) == [
        ("netperf", "parsed", 5),
        ("sysbench", "parsed", 7),
        ("hdparm", "parsed", 2),
        ("netperf", "parsed", 5),
    ]


def test_it_says_where_each_run_stood_and_what_was_called():
    log = f"root@vm:~# sysbench cpu run\n{SYSBENCH}root@vm:~# hdparm -t x\n{HDPARM}"

    first, second = reading.read(log)

    assert (first.command, first.first_line) == ("sysbench cpu run", 1)
    assert second.first_line == first.last_line + 1
    assert second.last_line == log.count("\n")


def test_the_command_tells_what_the_output_does_not():
    (run,) = reading.read(
        f"$ sysbench mutex --threads=4 run\n{saved('sysbench/threads')}"
    )
    assert run.readings[0].parameters["test"] == "mutex"


def test_a_command_without_a_result_is_a_rejected_run():
    log = f"$ hdparm -t /dev/vda\n/dev/vda: Operation not permitted\n$ fio x\n{NETPERF}"

    rejected, parsed = reading.read(log)

    assert (rejected.tool, rejected.status) == ("hdparm", "rejected")
    assert rejected.problem.line == 2
    assert (parsed.tool, parsed.status) == ("netperf", "parsed")


def test_asking_for_a_version_is_no_run():
    with pytest.raises(ParseError, match="no tool is known"):
        reading.read("root@vm:~# fio --version\nfio-3.33\n")


def test_an_error_counts_the_lines_of_the_whole_text():
    log = HDPARM + NETPERF.replace("33419.20", "nan")

    rejected = reading.read(log)[1]

    line = 1 + log[: log.index("nan")].count("\n")
    assert rejected.problem.line == line
    assert str(rejected.problem).startswith(f'Line {line} "131072  16384')
    assert "nan is not a number" in str(rejected.problem)


THREADS = saved("sysbench/threads")


def test_a_command_that_is_known_from_elsewhere_moves_no_line():
    broken = THREADS.replace("total time: ", "total time: x")
    (run,) = reading.read(THREADS, command="sysbench mutex run")
    (rejected,) = reading.read(broken, command="sysbench mutex run")
    (plain,) = reading.read(broken)

    assert run.readings[0].parameters["test"] == "mutex"
    assert (run.first_line, run.warnings) == (1, ())
    assert str(rejected.problem) == str(plain.problem)


def test_a_command_in_the_text_stands_before_one_from_elsewhere():
    log = f"$ sysbench threads run\n{THREADS}"
    (run,) = reading.read(log, command="sysbench mutex run")

    assert run.readings[0].parameters["test"] == "threads"


def test_a_named_tool_takes_its_own_part_only():
    assert told(NETPERF + HDPARM, tool="HDPARM") == [("hdparm", "parsed", 2)]


def test_a_named_tool_refuses_another_ones_output():
    with pytest.raises(ParseError, match="this is output of netperf, not of hdparm"):
        reading.read(NETPERF, tool="hdparm")


def test_it_refuses_an_unknown_tool():
    with pytest.raises(UnknownNameError, match="Did you mean netperf"):
        reading.read(NETPERF, tool="netperv")


def test_a_decimal_comma_without_a_locale_is_refused_with_its_line():
    (run,) = reading.read(HDPARM.replace("252.92", "252,92"))

    assert run.status == "rejected"
    assert str(run.problem).startswith('Line 4 "Timing buffered disk reads: 760 MB in')
    assert 'names its locale ("locale": "de_DE")' in str(run.problem)


def test_a_decimal_comma_is_read_if_its_locale_is_named():
    commas = HDPARM.replace(".", ",")

    (run,) = reading.read(commas, locale="de_DE.UTF-8")

    assert [reading.value for reading in run.readings] == [3612.82, 252.92]
    assert told(commas, locale="en_US") == [("hdparm", "rejected", 0)]


def test_points_are_read_in_a_locale_that_writes_commas():
    assert told(HDPARM, locale="de_DE") == [("hdparm", "parsed", 2)]


def test_tools_that_ignore_the_locale_are_read_as_they_are():
    for name in ("fio/de-fio-text", "fio/de-fio", "iperf3/de-iperf3"):
        assert told(saved(name), locale="de_DE") == told(saved(name))


def test_units_convert_into_those_of_the_metric():
    (run,) = reading.read(NETPERF)
    assert (run.readings[0].value, run.readings[0].unit) == (33419.2, "Mbit/s")


def test_too_many_readings_of_one_run_are_refused():
    row = "INTEGER & READING         1 Kb block: 14310.33 Mb/s\n"
    (run,) = reading.read(
        "".join(row.replace(" 1 Kb", f" {size} Kb") for size in range(10_001))
    )
    assert "more than 10,000 readings" in str(run.problem)


def test_too_many_runs_are_refused():
    (run,) = reading.read(SYSBENCH * 1_002)
    assert "more than 1,000 results" in str(run.problem)


def test_a_comma_of_a_list_is_no_decimal_comma_of_an_unknown_tool():
    openssl = "version: 3.0.14\noptions: bn(64,64)\nAES-256-CBC 652104.31k 1320411.2k\n"

    with pytest.raises(ParseError) as refused:
        reading.read(openssl)
    assert "decimal comma" not in str(refused.value)
