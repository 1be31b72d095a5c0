"""Start times that tools print."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmarks.parsing import run_extraction
from benchmarks.parsing.start_times import in_time_zone, printed_start

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
def test_start_times_are_read_from_real_outputs(name, start):
    locale = "de_DE" if "/de-" in name else None
    run, *_ = run_extraction.extract_runs((DATA / name).read_bytes(), None, locale)
    assert run.printed_start == datetime.fromisoformat(start)


def test_a_tool_without_a_printed_time_has_no_start():
    run, *_ = run_extraction.extract_runs(
        (DATA / "sysbench/cpu-1thread.txt").read_bytes()
    )
    assert run.printed_start is None


def test_a_clock_time_requires_a_known_time_zone():
    at = datetime(2026, 7, 1, 12)  # noqa: DTZ001
    assert in_time_zone(at, "Europe/Berlin") == datetime(2026, 7, 1, 10, tzinfo=UTC)
    assert in_time_zone(at, "") is None
    assert in_time_zone(at, "Nowhere/At all") is None
    assert in_time_zone(at, "../../etc/passwd") is None
    moment = datetime(2026, 7, 1, tzinfo=UTC)
    assert in_time_zone(moment, "") == moment


def test_an_impossible_year_is_not_a_start():
    assert printed_start("iozone", "\tRun began: Thu Jan  1 00:00:00 1970\n") is None
    assert printed_start("iozone", "\tRun began: Mon Feb 31 00:00:00 2022\n") is None
