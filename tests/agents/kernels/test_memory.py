"""The memory kernel, compiled here: its operations are checked."""

import re

import pytest

from benchmarks.parsing import run_extraction

ROW = re.compile(
    r"^row (?P<operation>\w+) +(?P<type>\w+) +(?P<bytes>\d+) +(?P<turn>\d+) +"
    r"(?P<local>\S+) +(?P<external>\S+) +(?P<bound>\S+) +(?P<rate>\S+) +\S+ +"
    r"(?P<sum>\S+) (?P<check>\w+)$",
    re.MULTILINE,
)
SMALL = ("--blocks-kib", "1,4", "--array-mib", "1", "--seconds", "0.002")
# Contents of 1 MiB of 8-byte numbers: 1 to 8 and 9 to 16 in turn.
COUNT = 131072
SUMS = {"copy": 4.5, "scale": 13.5, "add": 17, "triad": 42, "write": 5}


def rows(output):
    return [found.groupdict() for found in ROW.finditer(output)]


def test_all_operations_are_measured_for_both_types(kernel):
    found = rows(kernel("memory", *SMALL, "--repetitions", 2))

    cases = {(row["operation"], row["type"], row["bytes"]) for row in found}
    assert len(cases) == 2 * (2 * 2 + 4)
    assert len(found) == 2 * len(cases)
    assert {row["check"] for row in found} == {"right"}


def test_checksums_prove_the_operations(kernel):
    words = ("--operations", "write,copy,scale,add,triad", "--types", "floating")

    found = rows(kernel("memory", *SMALL, *words, "--repetitions", 1))

    assert {row["operation"] for row in found} == set(words[1].split(","))
    for row in found:
        count = COUNT if row["operation"] != "write" else int(row["bytes"]) // 8
        assert float(row["sum"]) == SUMS[row["operation"]] * count


def test_more_passes_take_more_time(kernel):
    """A loop that the compiler removed would take no time."""

    def seconds_and_sum(least_s):
        words = ("--blocks-kib", 32, "--operations", "read", "--types", "floating")
        once = ("--repetitions", 1, "--seconds", least_s)
        (row,) = rows(kernel("memory", *words, *once))
        return float(row["local"]), float(row["sum"])

    # Take the shortest of a few, because other load may delay one.
    short = min(seconds_and_sum(0.005) for _ in range(3))
    long = seconds_and_sum(0.5)

    assert long[0] > 2 * short[0]
    assert long[1] > 2 * short[1]


def test_each_row_takes_the_minimum_time(kernel):
    words = ("--blocks-kib", 4, "--operations", "read,write", "--seconds", 0.02)

    found = rows(kernel("memory", *words, "--repetitions", 1))

    assert [float(row["local"]) >= 0.02 for row in found] == [True] * 4


def test_slow_time_server_does_not_dominate_a_row(kernel, slow_server):
    address, questions = slow_server
    words = ("--blocks-kib", 4, "--operations", "read", "--types", "floating")
    options = ("--seconds", 0.01, "--repetitions", 3, "--time-server", address)

    found = rows(kernel("memory", *words, *options))

    assert [row["external"] == "-" for row in found] == [False] * 3
    # Eight for the path and two per row; short batches are repeated. Eight per row
    # would be 56.
    assert 8 + 2 * 3 <= len(questions) < 8 + 8 * 3


def test_rates_are_bytes_per_time_in_millions(kernel):
    words = ("--operations", "read", "--types", "floating", "--repetitions", 1)

    found = rows(kernel("memory", *SMALL, *words))

    assert len(found) == 2
    for row in found:
        passes = float(row["sum"]) / (4.5 * int(row["bytes"]) / 8)
        rate = passes * int(row["bytes"]) / float(row["local"]) / 1e6
        assert float(row["rate"]) == pytest.approx(rate, rel=2e-3)


def test_time_server_times_every_row(kernel, time_server):
    address = f"127.0.0.1:{time_server.port}"

    found = rows(kernel("memory", *SMALL, "--time-server", address))

    assert {row["external"] == "-" for row in found} == {False}
    assert all(float(row["bound"]) > 0 for row in found)


def test_insufficient_memory_is_reported_before_measuring(kernel):
    output = kernel("memory", "--most-bytes", 1000, code=1)

    assert re.search(
        r"There is not enough memory for \d+ bytes: lower --array-mib", output
    )


def test_output_is_parsed_unless_truncated(kernel):
    output = kernel("memory", *SMALL, "--repetitions", 2)
    (run,) = run_extraction.extract_runs(output)

    assert len(run.readings) == 32
    assert run.facts["array"] == "1 MiB"
    (cut,) = run_extraction.extract_runs(output[: output.index("\nend\n") + 2])
    assert cut.problem
