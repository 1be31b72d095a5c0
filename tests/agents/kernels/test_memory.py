"""The memory benchmark, compiled here: what it does is checked, not left out."""

import re

import pytest

from benchmarks.parsing import reading

ROW = re.compile(
    r"^row (?P<operation>\w+) +(?P<type>\w+) +(?P<bytes>\d+) +(?P<turn>\d+) +"
    r"(?P<local>\S+) +(?P<external>\S+) +(?P<bound>\S+) +(?P<rate>\S+) +\S+ +"
    r"(?P<sum>\S+) (?P<check>\w+)$",
    re.MULTILINE,
)
SMALL = ("--blocks-kib", "1,4", "--array-mib", "1", "--seconds", "0.002")
# What stands in 1 MiB of 8-byte numbers afterwards: 1 to 8 and 9 to 16 in turn.
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


def test_what_it_left_in_memory_is_what_it_says_it_did(kernel):
    words = ("--operations", "write,copy,scale,add,triad", "--types", "floating")

    found = rows(kernel("memory", *SMALL, *words, "--repetitions", 1))

    assert {row["operation"] for row in found} == set(words[1].split(","))
    for row in found:
        count = COUNT if row["operation"] != "write" else int(row["bytes"]) // 8
        assert float(row["sum"]) == SUMS[row["operation"]] * count


def test_more_passes_take_more_time(kernel):
    """A loop that a compiler left out would take none."""

    def seconds_and_sum(least_s):
        words = ("--blocks-kib", 32, "--operations", "read", "--types", "floating")
        once = ("--repetitions", 1, "--seconds", least_s)
        (row,) = rows(kernel("memory", *words, *once))
        return float(row["local"]), float(row["sum"])

    # The shortest of a few: others on this machine may hold up one for long.
    short = min(seconds_and_sum(0.005) for _ in range(3))
    long = seconds_and_sum(0.5)

    assert long[0] > 2 * short[0]
    assert long[1] > 2 * short[1]


def test_each_row_takes_its_minimum_at_least(kernel):
    words = ("--blocks-kib", 4, "--operations", "read,write", "--seconds", 0.02)

    found = rows(kernel("memory", *words, "--repetitions", 1))

    assert [float(row["local"]) >= 0.02 for row in found] == [True] * 4


def test_a_row_asks_a_slow_time_server_no_longer_than_it_measures(kernel, slow_server):
    address, questions = slow_server
    words = ("--blocks-kib", 4, "--operations", "read", "--types", "floating")
    more = ("--seconds", 0.01, "--repetitions", 3, "--time-server", address)

    found = rows(kernel("memory", *words, *more))

    assert [row["external"] == "-" for row in found] == [False] * 3
    # Eight to learn the way, two for each row; what falls short is tried again. Whoever
    # asked eight times each would ask 56 times.
    assert 8 + 2 * 3 <= len(questions) < 8 + 8 * 3


def test_rates_are_bytes_over_time_in_units_of_a_million(kernel):
    words = ("--operations", "read", "--types", "floating", "--repetitions", 1)

    found = rows(kernel("memory", *SMALL, *words))

    assert len(found) == 2
    for row in found:
        passes = float(row["sum"]) / (4.5 * int(row["bytes"]) / 8)
        rate = passes * int(row["bytes"]) / float(row["local"]) / 1e6
        assert float(row["rate"]) == pytest.approx(rate, rel=2e-3)


def test_a_time_server_times_every_row(kernel, time_server):
    address = f"127.0.0.1:{time_server.port}"

    found = rows(kernel("memory", *SMALL, "--time-server", address))

    assert {row["external"] == "-" for row in found} == {False}
    assert all(float(row["bound"]) > 0 for row in found)


def test_too_little_memory_is_said_before_anything_is_measured(kernel):
    said = kernel("memory", "--most-bytes", 1000, code=1)

    assert re.search(r"There are no \d+ bytes: say --array-mib", said)


def test_its_output_is_read_and_a_cut_one_is_not(kernel):
    output = kernel("memory", *SMALL, "--repetitions", 2)
    (run,) = reading.read(output)

    assert len(run.readings) == 32
    assert run.facts["array"] == "1 MiB"
    (cut,) = reading.read(output[: output.index("\nend\n") + 2])
    assert cut.problem
