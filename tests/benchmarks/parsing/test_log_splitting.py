"""Extraction of runs from logs of several commands, with named tools and locales."""

import pytest

from benchmarks.errors import ParseError, UnknownNameError
from benchmarks.parsing import run_extraction
from tests.data.rebuild import DATA


def saved(name):
    return (DATA / f"{name}.txt").read_text()


def summary(output, **options):
    """Return tool, status and number of readings of each run."""
    return [
        (run.tool, run.status, len(run.readings))
        for run in run_extraction.extract_runs(output, **options)
    ]


NETPERF = saved("netperf/tcp-stream-cC")
SYSBENCH = saved("sysbench/cpu-1thread")
HACKBENCH = saved("hackbench/de-hackbench")
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
def test_a_shell_log_is_split_into_the_outputs_of_its_tools(prompt):
    log = (
        f"{prompt}netperf -H node7 -c -C\n{NETPERF}{prompt}date\nFri Nov 20 2026\n"
        f"{prompt}sysbench cpu run\n{SYSBENCH}{prompt}hdparm -tT /dev/sda\n{HDPARM}"
    )

    assert summary(log) == [
        ("netperf", "parsed", 5),
        ("sysbench", "parsed", 7),
        ("hdparm", "parsed", 2),
    ]
    assert run_extraction.extract_runs(log)[1].command == "sysbench cpu run"


def test_a_log_without_prompts_is_split_where_another_tool_begins():
    assert summary(NETPERF + SYSBENCH + HDPARM + NETPERF) == [
        ("netperf", "parsed", 5),
        ("sysbench", "parsed", 7),
        ("hdparm", "parsed", 2),
        ("netperf", "parsed", 5),
    ]


def test_each_run_has_its_lines_and_its_command():
    log = f"root@vm:~# sysbench cpu run\n{SYSBENCH}root@vm:~# hdparm -t x\n{HDPARM}"

    first, second = run_extraction.extract_runs(log)

    assert (first.command, first.first_line) == ("sysbench cpu run", 1)
    assert second.first_line == first.last_line + 1
    assert second.last_line == log.count("\n")


def test_the_command_adds_facts_that_the_output_lacks():
    (run,) = run_extraction.extract_runs(
        f"$ sysbench mutex --threads=4 run\n{saved('sysbench/threads')}"
    )
    assert run.readings[0].parameters["test"] == "mutex"


def test_a_command_without_a_result_is_a_rejected_run():
    log = f"$ hdparm -t /dev/vda\n/dev/vda: Operation not permitted\n$ fio x\n{NETPERF}"

    rejected, parsed = run_extraction.extract_runs(log)

    assert (rejected.tool, rejected.status) == ("hdparm", "rejected")
    assert rejected.problem.line == 2
    assert (parsed.tool, parsed.status) == ("netperf", "parsed")


def test_a_request_for_a_version_is_not_a_run():
    with pytest.raises(ParseError, match="not the output of a known tool"):
        run_extraction.extract_runs("root@vm:~# fio --version\nfio-3.33\n")


def test_an_error_has_the_line_number_of_the_whole_text():
    log = HDPARM + NETPERF.replace("33419.20", "nan")

    rejected = run_extraction.extract_runs(log)[1]

    line = 1 + log[: log.index("nan")].count("\n")
    assert rejected.problem.line == line
    assert str(rejected.problem).startswith(f'Line {line} "131072  16384')
    assert "nan is not a number" in str(rejected.problem)


THREADS = saved("sysbench/threads")


def test_a_separate_command_does_not_change_line_numbers():
    broken = THREADS.replace("total time: ", "total time: x")
    (run,) = run_extraction.extract_runs(THREADS, command="sysbench mutex run")
    (rejected,) = run_extraction.extract_runs(broken, command="sysbench mutex run")
    (plain,) = run_extraction.extract_runs(broken)

    assert run.readings[0].parameters["test"] == "mutex"
    assert (run.first_line, run.warnings) == (1, ())
    assert str(rejected.problem) == str(plain.problem)


def test_a_command_in_the_text_has_priority_over_a_separate_one():
    log = f"$ sysbench threads run\n{THREADS}"
    (run,) = run_extraction.extract_runs(log, command="sysbench mutex run")

    assert run.readings[0].parameters["test"] == "threads"


def test_a_named_tool_reads_its_own_part_only():
    assert summary(NETPERF + HDPARM, tool="HDPARM") == [("hdparm", "parsed", 2)]


def test_a_named_tool_rejects_the_output_of_another_one():
    with pytest.raises(ParseError, match="this is output of netperf, not of hdparm"):
        run_extraction.extract_runs(NETPERF, tool="hdparm")


def test_an_unknown_tool_is_rejected():
    with pytest.raises(UnknownNameError, match="Did you mean netperf"):
        run_extraction.extract_runs(NETPERF, tool="netperv")


def test_a_decimal_comma_without_a_locale_is_rejected_with_its_line():
    (run,) = run_extraction.extract_runs(HDPARM.replace("252.92", "252,92"))

    assert run.status == "rejected"
    assert str(run.problem).startswith('Line 4 "Timing buffered disk reads: 760 MB in')
    assert 'specifies its locale ("locale": "de_DE")' in str(run.problem)


def test_a_decimal_comma_is_read_if_its_locale_is_named():
    commas = HDPARM.replace(".", ",")

    (run,) = run_extraction.extract_runs(commas, locale="de_DE.UTF-8")

    assert [reading.value for reading in run.readings] == [3612.82, 252.92]
    assert summary(commas, locale="en_US") == [("hdparm", "rejected", 0)]


def test_points_are_read_in_a_locale_with_decimal_commas():
    assert summary(HDPARM, locale="de_DE") == [("hdparm", "parsed", 2)]


def test_tools_that_ignore_the_locale_are_read_unchanged():
    for name in ("fio/de-fio-text", "fio/de-fio", "iperf3/de-iperf3"):
        assert summary(saved(name), locale="de_DE") == summary(saved(name))


def test_units_convert_to_those_of_the_metric():
    (run,) = run_extraction.extract_runs(NETPERF)
    assert (run.readings[0].value, run.readings[0].unit) == (33419.2, "Mbit/s")


def test_too_many_readings_of_one_run_are_rejected():
    row = "INTEGER & READING         1 Kb block: 14310.33 Mb/s\n"
    (run,) = run_extraction.extract_runs(
        "".join(row.replace(" 1 Kb", f" {size} Kb") for size in range(10_001))
    )
    assert "more than 10,000 readings" in str(run.problem)


def test_too_many_runs_are_rejected():
    (run,) = run_extraction.extract_runs(SYSBENCH * 1_002)
    assert "more than 1,000 results" in str(run.problem)


@pytest.mark.parametrize("tool", ["sysbench", "hackbench"])
def test_a_thousand_runs_are_the_limit_with_and_without_an_empty_item(tool):
    """The parser of hackbench begins with an item that does not become a run."""
    output = {"sysbench": SYSBENCH, "hackbench": HACKBENCH}[tool]

    assert parsed_count(output * 1_000) == 1_000
    assert parsed_count(output * 1_001) == 0


def parsed_count(text):
    try:
        runs = run_extraction.extract_runs(text)
    except ParseError:
        return 0
    return sum(run.problem is None for run in runs)


def test_a_comma_in_a_list_is_not_a_decimal_comma_of_an_unknown_tool():
    openssl = "version: 3.0.14\noptions: bn(64,64)\nAES-256-CBC 652104.31k 1320411.2k\n"

    with pytest.raises(ParseError) as refused:
        run_extraction.extract_runs(openssl)
    assert "decimal comma" not in str(refused.value)
