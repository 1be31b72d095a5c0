"""Properties of fio that a single saved output does not show."""

import json

from benchmarks.parsing import run_extraction


def report(moment_ms, runtime_ms, *jobs, **fields):
    directions = {"read": {"io_bytes": 4096, "bw_bytes": 4096, "runtime": runtime_ms}}
    listed = [{"jobname": name, "error": 0, **directions, **fields} for name in jobs]
    document = {"fio version": "fio-3.33", "timestamp_ms": moment_ms, "jobs": listed}
    return json.dumps(document, indent=1) + "\n"


def test_the_last_report_of_a_continued_run_is_its_result():
    start = 1_795_232_393_424
    reports = [report(start + ran, ran, "a") for ran in (894, 1894, 3001)]

    (run,) = run_extraction.extract_runs("".join(reports))

    assert [
        reading.repetition for reading in run.readings if reading.metric == "throughput"
    ] == [1]


def test_a_second_execution_of_a_job_is_a_second_run():
    first, second = report(1_000_000, 200, "a"), report(1_000_400, 210, "a")

    assert len(run_extraction.extract_runs(first + second)) == 2


def test_jobs_reported_together_are_another_case_than_single_jobs():
    options = {"job options": {"numjobs": "2", "bsrange": "4k-16k"}}
    (grouped,) = run_extraction.extract_runs(report(1, 2000, "a", **options))
    (each_alone,) = run_extraction.extract_runs(report(1, 2000, "a", "a", **options))

    assert dict(grouped.readings[0].parameters)["jobs"] == 2
    assert dict(each_alone.readings[0].parameters)["of jobs"] == 2
    assert grouped.readings[0].parameters["block"] == "4k-16k"


def test_limits_and_mixes_of_a_job_are_parameters():
    options = {"job options": {"rwmixread": "70", "rate_iops": "500"}}
    (run,) = run_extraction.extract_runs(report(1, 2000, "a", **options))

    assert options["job options"].items() <= dict(run.readings[0].parameters).items()


def test_a_mix_of_block_sizes_is_not_a_single_size():
    options = {"job options": {"bssplit": "4k/60:64k/40"}}
    (run,) = run_extraction.extract_runs(report(1, 2000, "a", **options))

    assert run.readings[0].parameters["block"] == "4k/60:64k/40"


def test_ignored_errors_are_a_warning():
    (run,) = run_extraction.extract_runs(report(1, 2000, "a", total_err=3))

    assert [warning.code for warning in run.warnings] == ["errors"]


def test_a_job_with_a_known_load_only_is_rejected():
    text = (
        "a: (groupid=0, jobs=1): err= 0: pid=81: Fri Nov 20 21:40:35 2026\n"
        "  read: IOPS=1, BW=8 nibbles/s (8 nibbles/s)(8192B/2001msec)\n"
        "  cpu          : usr=0.25%, sys=0.00%, ctx=80, majf=0, minf=13\n"
    )

    (run,) = run_extraction.extract_runs(text)

    assert run.status == "rejected"


ROW = "a: (groupid=0, jobs=1): err= 0: pid={0}: Fri Nov 20 21:40:35 2026\n"
RATE = "  read: IOPS={0}, BW=140MiB/s (147MB/s)(125MiB/1896msec)\n"


def test_the_last_output_of_a_process_is_its_result():
    printed = [
        ROW.format(pid) + RATE.format(n) for pid, n in ((81, 1), (82, 2), (81, 3))
    ]

    (run,) = run_extraction.extract_runs("".join(printed))

    rates = [reading for reading in run.readings if reading.metric == "IOPS"]
    assert [rate.value for rate in rates] == [3, 2]


def test_latencies_below_a_direction_without_rate_are_ignored():
    times = "    clat (nsec): min=1137, max=1727.9k, avg=29771.15, stdev=15137.77\n"
    text = ROW + RATE + "  mixed: IOPS=0, BW=0 (0)(0B/1001msec)\n" + times

    (run,) = run_extraction.extract_runs(text.format(81))

    assert {reading.metric for reading in run.readings} == {"throughput", "IOPS"}


REPORT = {
    "fio version": "fio-2.1.4",
    "jobs": [
        {
            "jobname": "j",
            "error": 0,
            "iodepth_level": {"1": 0.2, "16": 3.5, ">=64": 96.3},
            "write": {"io_bytes": 4096, "bw": 512, "iops": 128, "runtime": 5000},
        }
    ],
}


def test_a_depth_that_fio_does_not_list_comes_from_the_distribution_or_is_unknown():
    (run,) = run_extraction.extract_runs(json.dumps(REPORT))
    assert {reading.parameters.get("iodepth") for reading in run.readings} == {">=64"}
    assert {reading.metric for reading in run.readings} == {"throughput", "IOPS"}

    unknown = {**REPORT["jobs"][0], "iodepth_level": {"1": 40.0, "2": 60.0}}
    (run,) = run_extraction.extract_runs(json.dumps(REPORT | {"jobs": [unknown]}))
    assert all("iodepth" not in reading.parameters for reading in run.readings)


RESULT = """test: (groupid=0, jobs=1): err= 0: pid=71: Sat Jan 11 10:31:14 2020
  write: IOPS=512, BW=2048KiB/s (2097kB/s)(120MiB/60002msec)
"""


def test_a_result_without_a_header_has_no_depth_unless_it_is_printed_below():
    (run,) = run_extraction.extract_runs(RESULT)
    assert "iodepth" not in run.readings[0].parameters

    printed = "     latency   : target=0, window=0, percentile=100.00%, depth=32\n"
    (run,) = run_extraction.extract_runs(RESULT + printed)
    assert run.readings[0].parameters["iodepth"] == 32


def test_the_command_above_a_result_without_a_header_names_its_options():
    command = "$ fio --bs=8k --name=test --rw=randwrite --ioengine=libaio --direct=1\n"
    (run,) = run_extraction.extract_runs(command + RESULT)
    assert run.readings[0].parameters == {
        "job": "test",
        "operation": "write",
        "access": "random",
        "block": "8 KiB",
        "engine": "libaio",
        "iodepth": 1,
        "direct": True,
    }

    (run,) = run_extraction.extract_runs(f"$ fio --direct=1 jobs.fio\n{RESULT}")
    assert "iodepth" not in run.readings[0].parameters


def test_all_clients_are_the_total_and_hosts_are_parts():
    jobs = [
        {**REPORT["jobs"][0], "jobname": name, "hostname": host}
        for name, host in (("j", "h1"), ("j", "h2"), ("All clients", "h2"))
    ]
    report = {"fio version": "fio-3.19", "client_stats": jobs}
    (run,) = run_extraction.extract_runs(json.dumps(report))

    cases = [
        (reading.parameters["job"], reading.parameters.get("host"))
        for reading in run.readings
        if reading.metric == "throughput"
    ]
    assert cases == [("j", "h1"), ("j", "h2"), ("All clients", None)]
    assert {reading.repetition for reading in run.readings} == {1}
    assert run.readings[-1].parameters["clients"] == 2


def test_an_error_of_fio_alone_is_recognized():
    (run,) = run_extraction.extract_runs(
        "fio: pid=71, err=84/file:io_u.c:2141, func=x, error=Invalid character\n"
    )
    assert run.tool == "fio"
    assert "err=84" in str(run.problem)
