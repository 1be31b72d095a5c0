"""Prefixes of all lines of a log are removed, and nothing else."""

from random import Random

import pytest

from benchmarks.parsing import run_extraction
from benchmarks.parsing.log_prefixes import LogSource, strip_prefixes
from tests.data.rebuild import DATA
from tests.for_each import for_each

LINES = "first 1.5 s\n\n  indented\nlast\n"


def prefixed(text, prefix):
    """Return the text with a prefix in front of each line; a function gets
    the number.
    """
    marks = prefix if callable(prefix) else lambda number: prefix
    lines = enumerate(text.splitlines(), 1)
    return "".join(f"{marks(number)}{line}\n" for number, line in lines)


def bare(text):
    """Return the texts of the sources after all prefixes are removed."""
    layers = list(strip_prefixes(LogSource(text)))
    return [source.text for source in layers[-1]] if layers else [text]


@for_each(
    "prefix",
    [
        "2026-11-20T21:44:36Z ",
        "2026-11-20T21:44:36.1234567Z ",
        "[2026-11-20 21:44:36,120] ",
        "2026/11/20 21:44:36 ",
        "Nov 20 21:44:36 vm fio[12]: ",
        "Nov  2 21:44:36 ",
        "[Fri Nov 20 21:44:36 2026] ",
        "21:44:36 ",
        "[21:44:36.120] ",
        "[   71.323769] ",
        "[   71.323769] vm fio[12]: ",
        "1763671476 ",
        "1763671476123 ",
        "Fri 2026-11-20 21:44:36 CET vm fio[12]: ",
        "2026-11-20 21:44:36,120 - root - INFO - ",
        "2026-11-20 21:44:36,120 INFO ",
        "INFO:root:",
        "[INFO] ",
        "null_resource.vm (remote-exec): ",
        "    default: ",
        "1763671476.123456 ",
        "[1763671476.123] ",
        "0.000123 ",
        "> ",
        "> > ",
        "# ",
        "bench-1  | ",
        "fio.1.x2y3@node-7    | ",
        "[pod/bench-0/fio] ",
        "[bench-0 fio] ",
        "bench-7d9f-x2 fio ",
        "[pod/bench-0/fio] 2026-11-20T21:44:36.123456789Z ",
        "[1,0]<stdout>:",
        "node7: ",
        "0: ",
        "results/run.txt:",
        "    ",
        "\t",
        "{}:".format,
        "{:6}\t".format,
        "{:6}  ".format,
        "{} ".format,
        "{}: ".format,
        "{:4} │ ".format,
        "{:3} | ".format,
        "results/run.txt:{}:".format,
        "{}:1763671476.123456 ".format,
        "    {:6}\t".format,
    ],
)
def test_a_common_prefix_is_removed(prefix):
    assert bare(prefixed(LINES, prefix)) == [LINES]


@pytest.mark.parametrize(
    "text",
    [
        LINES,
        "21:44:36 once\nand never again\nnor here\n",
        "#d,-,18,972;\n#d,-,18,973;\n",
        "2026-11-20T21:44:36Z,97.2\n2026-11-20T21:44:37Z,97.3\n",
        "events: 5\nlatency: 7 s\nthreads: 2\n",
        "3:first\n2:second\n9:third\n",
        "1  4.5\n2  4.6\nmean  4.55\n",
        "",
        " \t \n",
    ],
)
def test_other_text_is_unchanged(text):
    assert bare(text) == [text]


def test_a_word_after_the_time_that_begins_like_a_zone_remains():
    text = "Zone 1: 4.5\n+1500000 events\n"
    assert bare(prefixed(text, "2026-11-20 21:44:36 ")) == [text]


def test_unnumbered_lines_of_a_pager_stay_blank():
    assert bare("     1\tone\n       \n     2\ttwo\n")[0].split("\n")[2] == "two"


def test_separators_of_grep_are_not_lines():
    assert bare("3:a\n4:b\n--\n17:c\n") == ["a\nb\n\nc\n"]


def test_the_lines_of_each_source_are_joined():
    marked = "[pod/{}/x] {}\n".format
    text = f"{marked('a', 1)}{marked('b', 2)}behind 2\n" + "".join(
        marked(pod, number) for number, pod in enumerate("abbaab", 3)
    )
    first, second = next(strip_prefixes(LogSource(text)))

    assert first.text == "1\n3\n6\n7\n"
    assert second.text == "2\nbehind 2\n4\n5\n8\n"
    assert [first.line_numbers[n] for n in range(4)] == [1, 4, 7, 8]
    assert (first.prefix, second.prefix) == ("[pod/a/x] ", "[pod/b/x] ")


# --- in the way in: every tool's output is read behind every prefix by
# --- tests/benchmarks/tools/test_outputs.py; here is what surrounds them.


def saved(name):
    return (DATA / f"{name}.txt").read_text()


SYSBENCH = saved("sysbench/cpu-1thread")
FIO = saved("fio/randread-4k-text")
HDPARM = saved("hdparm/tT-in-tcg-guest")
MUTEX = saved("sysbench/threads")


def values(output, **options):
    return [
        [reading.value for reading in run.readings]
        for run in run_extraction.extract_runs(output, **options)
    ]


def test_a_run_stores_the_prefix_of_its_lines():
    (run,) = run_extraction.extract_runs(prefixed(SYSBENCH, "1763671476.123456 "))
    (plain,) = run_extraction.extract_runs(SYSBENCH)

    assert run.facts == {**plain.facts, "line prefix": "1763671476.123456"}
    assert (run.warnings, run.readings) == (plain.warnings, plain.readings)
    assert "line prefix" not in plain.facts


def test_a_command_with_a_prefix_in_its_output_only_is_read():
    log = (
        f"root@vm:~# hdparm -tT /dev/vda\n{HDPARM}"
        f"root@vm:~# sysbench mutex run | ts %.s\n"
        f"{prefixed(MUTEX, '1763671476.123456 ')}root@vm:~# date\nFri Nov 20 2026\n"
    )
    disk, mutex = run_extraction.extract_runs(log)

    assert disk.readings == run_extraction.extract_runs(HDPARM)[0].readings
    assert mutex.readings[0].parameters["test"] == "mutex"
    assert mutex.command == "sysbench mutex run | ts %.s"
    assert (disk.facts.get("line prefix"), mutex.first_line) == (
        None,
        2 + HDPARM.count("\n"),
    )


def test_a_session_logged_with_times_is_split_at_its_prompts():
    log = f"root@vm:~# sysbench cpu run\n{SYSBENCH}root@vm:~# hdparm -tT x\n{HDPARM}"
    assert values(prefixed(log, "1763671476.123456 ")) == values(log)


def test_two_concurrent_pods_are_two_runs():
    chance = Random(7)
    texts = {"bench-0": SYSBENCH, "bench-1": SYSBENCH.replace("4", "5")}
    left = {name: text.splitlines() for name, text in texts.items()}
    log = ""
    while any(left.values()):
        name = chance.choice([name for name, lines in left.items() if lines])
        log += f"[pod/{name}/sysbench] {left[name].pop(0)}\n"

    results = values(log)

    assert sorted(results) == sorted(values(text)[0] for text in texts.values())


def test_errors_without_a_prefix_affect_no_results():
    lines = prefixed(FIO, "1763671476.123456 ").splitlines(keepends=True)
    log = "".join([*lines[:6], "fio: a warning on stderr\n", *lines[6:]])
    assert values(log) == values(FIO)


def test_an_error_quotes_the_line_as_in_the_file():
    broken = HDPARM.replace("252.92", "nan")
    log = prefixed(f"$ uname\nLinux\n$ hdparm -tT /dev/vda\n{broken}", "{}:".format)

    (run,) = run_extraction.extract_runs(log)

    line = 1 + log[: log.index("nan")].count("\n")
    assert run.problem.line == line
    assert run.problem.text == log.splitlines()[line - 1]


def test_a_named_tool_is_read_after_a_prefix_without_its_first_lines():
    headless = "\n".join(saved("netperf/tcp-stream-P0").splitlines()[-1:]) + "\n"
    assert values(prefixed(headless, "{}:".format), tool="netperf") == values(
        headless, tool="netperf"
    )


def test_rows_of_numbers_are_not_a_prefix():
    rows = "".join(f"{n} {n}.500000 97.{n}\n" for n in range(1, 9))
    (run,) = run_extraction.extract_runs(
        f"time,watts\n{rows.replace(' ', ',', 1)}", tool="power-csv"
    )
    assert "line prefix" not in run.facts
