"""When tools print that they began."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.parsing import reading
from benchmarks.parsing.starts import placed, printed_start

DATA = Path(__file__).parents[2] / "data"


@pytest.mark.parametrize(
    ("name", "start"),
    [
        # Its last line is of 21:43:04; it ran 252 ms.
        ("fio/de-fio-text.txt", "2026-11-20T21:43:03.748000"),
        ("fio/randread-4k-json.txt", "2026-11-20T21:40:26+00:00"),
        ("bonnie/de-bonnie-csv.txt", "2026-11-20T21:25:06+00:00"),
        ("hpcc/hpccoutf.txt", "2026-11-20T21:53:45+00:00"),
        ("hpl/hpl-2.3.txt", "2021-01-12T10:21:11"),
        ("iometer/1.1.0-disk.txt", "2017-12-12T07:41:42"),
        ("iozone/auto-a.txt", "2026-11-20T22:03:35"),
        ("iperf3/verbose.txt", "2026-11-21T03:40:25+00:00"),
        ("iperf3/tcp-json.txt", "2026-11-20T21:40:41+00:00"),
    ],
)
def test_it_is_read_from_real_outputs(name, start):
    locale = "de_DE" if "/de-" in name else None
    run, *_ = reading.read((DATA / name).read_bytes(), None, locale)
    assert run.printed_start == datetime.fromisoformat(start)


def test_a_tool_that_prints_no_time_has_none():
    run, *_ = reading.read((DATA / "sysbench/cpu-1thread.txt").read_bytes())
    assert run.printed_start is None


def test_the_time_of_a_clock_is_a_moment_in_a_known_zone_only():
    at = datetime(2026, 7, 1, 12)  # noqa: DTZ001
    assert placed(at, "Europe/Berlin") == datetime(2026, 7, 1, 10, tzinfo=UTC)
    assert placed(at, "") is None
    assert placed(at, "Nowhere/At all") is None
    assert placed(at, "../../etc/passwd") is None
    moment = datetime(2026, 7, 1, tzinfo=UTC)
    assert placed(moment, "") == moment


def test_a_year_that_no_clock_had_is_no_start():
    assert printed_start("iozone", "\tRun began: Thu Jan  1 00:00:00 1970\n") is None
    assert printed_start("iozone", "\tRun began: Mon Feb 31 00:00:00 2022\n") is None
