"""Outputs that look like success or like another case; small ones, with
their sources.
"""

import json
import re

import pytest

from benchmarks.parsing import run_extraction
from tests.data.rebuild import DATA
from tests.for_each import for_each


def read(output, tool=None):
    return run_extraction.extract_runs(output, tool=tool)


def codes(run):
    return {warning.code for warning in run.warnings}


def told(run):
    return {(reading.metric, reading.value, reading.unit) for reading in run.readings}


def test_an_overflowed_total_of_mpi_io_test_is_a_warning():
    (run,) = read(
        "nr_procs = 64, nr_iter = 10, blk_sz = 16777216\n"
        "# total_size = 2147483648\n"
        "Write bandwidth = 21.474836 Mbytes/sec\n"
    )
    assert codes(run) == {"wrong_total"}


def test_strided_blocks_of_mpi_io_test_are_separate_cases():
    (run,) = read(
        "nr_procs = 2, nr_iter = 1, blk_sz = 4096, nr_blks = 8, dist = 65536\n"
        "# total_size = 65536\n"
        "Write bandwidth = 21.474836 Mbytes/sec\n"
    )
    assert not codes(run)
    assert run.readings[0].parameters["blocks"] == 8
    assert run.readings[0].parameters["distance"] == 65536


def test_a_negative_loss_of_iperf3_is_ignored_and_its_rate_read():
    (run,) = read(
        "Connecting to host 10.0.0.1, port 5201\n"
        "Reverse mode, remote host 10.0.0.1 is sending\n"
        "[  5] local 10.0.0.2 port 49732 connected to 10.0.0.1 port 5201\n"
        "- - - - - - - - - - - - - - - - - - - - - - - - -\n"
        "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total\n"
        "[  5]   0.00-10.00  sec  2.43 MBytes  2.04 Mbits/sec  5.100 ms  "
        "-3/1727 (-0.17%)  receiver\n"
    )
    assert told(run) == {("throughput", 2.04, "Mbit/s"), ("jitter", 5.1, "ms")}
    assert codes(run) == {"not_measured"}


def test_an_iperf_server_without_data_does_not_affect_other_runs():
    connected = (
        "[  3] local 10.0.0.2 port 5001 connected with 10.0.0.1 port 4121{0}\n"
        "[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total\n"
    )
    nothing, good = read(
        "Server listening on UDP port 5001\n"
        + connected.format(1)
        + "[  3]  0.0- 0.0 sec  0.00 Bytes  0.00 bits/sec  0.000 ms  0/  0 (-nan%)\n"
        + connected.format(2)
        + "[  3]  0.0-10.0 sec  1.25 MBytes  1.05 Mbits/sec  0.021 ms  0/ 893 (0%)\n"
    )
    assert "not_measured" in codes(nothing)
    assert ("throughput", 1.05, "Mbit/s") in told(good)


@pytest.mark.parametrize(
    "line",
    [
        "[  3] WARNING: did not receive ack of last datagram after 10 tries.",
        "[  1] Read UDP fin failed: Connection reset by peer",
        "recvfrom failed: Connection reset by peer",
        "listener bind failed: Address already in use",
        "tcp connect to 10.100.100.221 port 5001 failed (Connection refused)",
    ],
)
def test_problems_reported_by_iperf_are_warnings(line):
    text = (
        "Client connecting to 10.1.3.33, UDP port 5001\n"
        "[  3] local 10.1.3.1 port 41058 connected with 10.1.3.33 port 5001\n"
        f"{line}\n"
        "[  3]  0.0-10.0 sec  1.25 MBytes  1.05 Mbits/sec\n"
    )
    (run,) = read(text)
    assert codes(run) == {"trouble"}
    assert told(run) == {("sent throughput", 1.05, "Mbit/s")}


def test_terse_rows_of_old_tiotest_have_no_latencies():
    (run,) = read(
        "write:40.00000,2.00000,0.01000,0.50000\n"
        "rwrite:16.00000,4.00000,0.00000,0.20000\n"
        "read:40.00000,1.00000,0.02000,0.30000\n"
        "rread:0.00000,0.00000,0.00000,0.00000\n"
    )
    assert {value for name, value, _ in told(run) if name == "rate"} == {20, 4, 40}


def test_operations_of_iozone_in_throughput_mode_are_not_bytes():
    (run,) = read(
        "\tIozone: Performance Test of File I/O\n"
        "\tOPS Mode. Output is in operations per second.\n"
        "\tChildren see throughput for  4 random readers \t=   40123.00 ops/sec\n"
        "\tParent sees throughput for  4 random readers \t=   39000.00 ops/sec\n"
        "\tMin throughput per process \t\t\t=   10000.00 ops/sec \n"
        "iozone test complete.\n"
    )
    assert told(run) == {("operation rate", 40123.0, "1/s")}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("The test completed too quickly to give a good result", "too_short"),
        ("Timer resolution is poor. Some small transfers may have ", "too_short"),
        ("iozone: interrupted", "failed"),
    ],
)
def test_problems_reported_by_iozone_are_warnings(line, code):
    complete = (DATA / "iozone" / "auto-a.txt").read_text()
    (run,) = read(f"{complete}\n{line}\n")
    assert code in codes(run)


def test_a_brand_after_a_netperf_row_is_ignored():
    text = (DATA / "netperf" / "tcp-stream.txt").read_text()
    (plain,) = read(text)
    (branded,) = read(text.rstrip("\n ") + "   outbound\n")
    assert branded.readings == plain.readings


def test_netperf_without_headers_distinguishes_udp_with_cpu():
    (run,) = read(
        "212992   65507   10.00      215144      0    11275.2     50.00    2.345\n"
        "212992           10.00      215000           11267.6     51.00    2.400\n"
    )
    assert ("throughput", 11267.6, "Mbit/s") in told(run)
    assert ("service demand remote", 2.4, "us/KB") in told(run)


@pytest.mark.parametrize("variant", ["WC0", "WR00C2R2", "WR11C2R4"])
def test_variants_of_hpl_are_recognized_by_their_first_letters(variant):
    row = f"{variant}  92160  1024  2  1  198.51  6.193e+04 ( 3.097e+04)\n"
    (run,) = read(f"T/V    N    NB   P   Q   Time   Gflops\n{row}")
    assert ("performance", 61930.0, "Gflop/s") in told(run)
    assert run.readings[0].parameters["variant"] == variant


def test_skipped_tests_of_hpl_are_a_warning():
    text = (DATA / "hpl" / "hpl-2.0.txt").read_text()
    (run,) = read(f"{text}   2 tests skipped because of illegal input values.\n")
    assert codes(run) == {"skipped"}


def test_the_hpl_within_a_second_hpcc_output_is_not_a_run():
    text = (DATA / "hpcc" / "hpccoutf.txt").read_text()
    assert [run.tool for run in read(text * 3)] == ["hpcc"] * 3


def test_linpack_in_java_does_not_print_n():
    (run,) = read(
        "Mflops/s: 1234.567  Time: 0.55 secs  Norm Res: 5.68  Precision: 2.22E-16\n"
    )
    assert told(run) == {("performance", 1234.567, "Mflop/s"), ("time", 0.55, "s")}
    assert "n" not in run.readings[0].parameters


@pytest.mark.parametrize(
    "line",
    [
        "Error in seek/read, offset = 4096, bytes = 0, seeks = 3: : Input/output error",
        "No space left on device: ./_tiotest_pid4711.thr0",
        "Unable to start 8 threads (started 3)",
    ],
)
def test_errors_of_tiotest_are_a_warning(line):
    text = next((DATA / "tiotest").glob("*.txt")).read_text()
    assert codes(read(f"{text}{line}\n")[-1]) >= {"failed"}


def test_the_third_column_of_wrk2_is_not_a_maximum():
    text = (DATA / "wrk" / "latency.txt").read_text()
    column = "  Thread Stats   Avg      Stdev     {} "
    assert column.format("Max") in text
    (plain,) = read(text)
    (run,) = read(text.replace(column.format("Max"), column.format("99%")))
    missing = {name for name, *_ in told(plain) - told(run)}
    assert missing == {"latency max"}


def test_the_third_column_of_wrk2_is_read_without_a_distribution():
    (run,) = read(
        "Running 10s test @ http://server0:5000\n"
        "  10 threads and 100 connections\n"
        "  Thread Stats   Avg      Stdev     99%   +/- Stdev\n"
        "    Latency     2.29s     1.32s    4.76s    58.85%\n"
        "    Req/Sec       -nan      -nan   0.00      0.00%\n"
        "  54504 requests in 9.99s, 22.50MB read\n"
        "Requests/sec:   5453.90\nTransfer/sec:      2.25MB\n"
    )
    by_metric = {reading.metric: reading for reading in run.readings}
    assert by_metric["latency percentile"].value == 4.76
    assert by_metric["latency percentile"].parameters["percentile"] == 99
    assert "latency max" not in by_metric


def test_a_failed_run_next_to_a_valid_one_is_rejected_with_its_reason():
    good = (DATA / "httperf" / "rate100.txt").read_text()
    lines = good.replace("replies 300", "replies 0").replace(
        "Errors: total 0 ", "Errors: total 300 "
    )
    first, second = read(good + lines, "httperf")
    assert (first.status, second.status) == ("parsed", "rejected")
    assert "300" in str(second.problem)


def test_a_csv_row_is_not_a_decimal_comma():
    (run,) = read("b_eff_io := maximum over all bw_partition\nset label 1 at 0,5\n")
    assert "locale" not in str(run.problem)


IPERF = (
    "Client connecting to 10.0.0.2, TCP port 5001\n"
    "[  3] local 10.0.0.1 port 41058 connected with 10.0.0.2 port 5001\n"
    "[  3]  0.0-10.0 sec  1.10 GBytes  941 Mbits/sec\n"
)


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("iperf", r"941 Mbits"),
        ("iperf3/tcp-text", r"[\d.]+ Gbits/sec +receiver"),
        ("netperf/tcp-stream", r"[\d.]+ *\Z"),
        ("linpack/netlib-200", r"[\d.]+ *\Z"),
        ("wrk/latency", r"(?<=Requests/sec: )[ \d]+"),
        ("ab/text", r"(?<=Requests per second:    )\d+"),
    ],
)
def test_an_unreadable_number_rejects_its_own_run_only(name, result):
    complete = IPERF if name == "iperf" else (DATA / f"{name}.txt").read_text()
    complete = f"{complete.rstrip()}\n"
    position = list(re.finditer(result, complete.rstrip()))[-1].start()
    damaged = f"{complete[:position]} ?{complete[position:]}"

    broken, good = read(damaged + complete)

    assert (broken.status, good.status) == ("rejected", "parsed")
    assert "?" in broken.problem.text
    assert good.readings == read(complete)[0].readings


RAMSPEED = (DATA / "ramspeed" / "intmark-writing.txt").read_text()
LAST_ROW = RAMSPEED.rstrip("\n").rpartition("\n")[2]


@for_each("length", range(1, len(LAST_ROW)))
def test_a_ramspeed_row_truncated_anywhere_is_a_warning(length):
    (complete,) = read(RAMSPEED)
    head = RAMSPEED.rstrip("\n").removesuffix(LAST_ROW)

    (run,) = read(head + LAST_ROW[:length])

    assert run.readings == complete.readings[:-1]
    assert codes(run) == {"cut"}
    assert f'"{LAST_ROW[:length].rstrip()}"' in str(run.warnings[0].message)


def test_a_ramspeed_row_truncated_within_the_text_is_a_warning():
    (run,) = read(RAMSPEED.replace(" MB/s", " M", 1))

    assert codes(run) == {"cut"}
    assert len(run.readings) == len(read(RAMSPEED)[0].readings) - 1
    assert codes(read(RAMSPEED)[0]) == set()


def bidirectional(*sums):
    end = ", ".join(
        f'"sum_{name}": {{"bits_per_second": {rate}, "sender": true}}'
        for name, rate in sums
    )
    streams = json.dumps([{"sender": {"sender": flag}} for flag in (True, False)])
    return (
        '{"start": {"version": "iperf 3.7", "test_start": {"protocol": "TCP"}}, '
        f'"end": {{"streams": {streams}, {end}}}}}'
    )


def test_doubled_sums_of_iperf3_are_both_directions():
    (run,) = read(
        bidirectional(
            ("sent", 90e6), ("received", 80e6), ("sent", 7e6), ("received", 6e6)
        )
    )
    assert [
        (reading.metric, reading.parameters["operation"], reading.value)
        for reading in run.readings
    ] == [
        ("throughput", "forward", 80e6),
        ("sent throughput", "forward", 90e6),
        ("throughput", "reverse", 6e6),
        ("sent throughput", "reverse", 7e6),
    ]


def test_one_sum_of_two_directions_of_iperf3_is_rejected():
    (run,) = read(bidirectional(("sent", 7e6), ("received", 6e6)))
    assert "two directions" in str(run.problem)


def test_a_nan_in_json_is_named():
    (run,) = read('{"start": {"version": "iperf 3.1"}, "end": {"sum": {"x": -nan}}}')
    assert "-nan is not a number" in str(run.problem)


def test_an_unknown_unit_of_iperf3_is_named():
    text = (DATA / "iperf3" / "tcp-text.txt").read_text()
    assert "Gbits/sec" in text
    (run,) = read(text.replace("Gbits/sec", "Gbis/sec"))
    assert '"Gbis/sec" is not a known unit' in str(run.problem)


def test_tbench_is_not_dbench():
    text = (DATA / "tbench" / "4.00.txt").read_text()
    command, _, rest = text.partition("\n")
    assert [run.tool for run in read(f"root@vm:~# {command}\n{rest}")] == ["tbench"]
    (run,) = read(f"The result of tbench:\n{rest}")
    assert (run.tool, run.status) == ("dbench", "rejected")


def test_devices_of_one_text_are_different_cases():
    row = " Timing buffered disk reads: {} MB in  3.01 seconds = {} MB/sec\n"
    one, other = read(
        f"/dev/sda:\n{row.format(300, 99.67)}/dev/sdb:\n{row.format(150, 49.83)}"
    )
    assert one.readings[0].parameters["device"] == "/dev/sda"
    assert other.readings[0].parameters["device"] == "/dev/sdb"


def test_results_of_prompts_of_two_machines_are_not_repetitions():
    text = (DATA / "hackbench" / "process.txt").read_text()
    same = f"root@vm:~# a\n{text}root@vm:~# b\n{text}"
    assert {run.status for run in read(same)} == {"parsed"}
    assert {run.status for run in read(same.replace("vm:~# b", "host:~# b"))} == {
        "rejected"
    }


def test_numbered_repetitions_are_no_labels_of_systems():
    text = (DATA / "hackbench" / "process.txt").read_text()
    runs = read(f"Run 1:\n{text}Run 2:\n{text}")
    assert {run.status for run in runs} == {"parsed"}


def test_a_csv_row_of_bonnie_without_a_machine_is_read_with_the_version_above_it():
    row = (DATA / "bonnie" / "1.03-csv-fast.txt").read_text().strip().split("\n")[-1]
    unnamed = f",{row.partition(',')[2]}"
    title = "Version 1.03e       ------Sequential Output------ --Sequential Input-"
    second = (
        "                    ------Sequential Create------ --------Random Create---"
    )
    (run,) = read(f"{title}\n{second}\n{unnamed}\n")
    assert run.tool_version == "1.03e"
    assert "table_only" not in codes(run)
    assert told(run) == told(read(f"{row}\n")[0])


def test_averages_of_mbw_are_read_if_single_copies_are_missing():
    rows = (DATA / "mbw" / "average-only.txt").read_text()
    (run,) = read(rows)
    assert codes(run) == {"averages_only"}
    assert len(run.readings) == rows.count("AVG")


def test_a_cpu_rate_that_sysbench_does_not_print_is_derived():
    text = (
        "sysbench 1.0.5 (using bundled LuaJIT 2.1.0-beta2)\n\n"
        "Running the test with following options:\nNumber of threads: 2\n\n"
        "Prime numbers limit: 10000\n\nGeneral statistics:\n"
        "    total time:                          4.0000s\n"
        "    total number of events:              5000\n"
    )
    (run,) = read(text)
    assert ("CPU event rate", 1250.0, "1/s") in told(run)
    assert codes(run) == {"derived"}
    (old,) = read(text.replace("1.0.5", "0.4.12"))
    assert "CPU event rate" not in {name for name, *_ in told(old)}


def test_a_prefix_of_the_first_line_of_sysbench_does_not_hide_the_version():
    text = (
        "CPU 3 sysbench 1.0.11 (using system LuaJIT 2.1.0-beta3)\n\n"
        "Running the test with following options:\nNumber of threads: 1\n"
        "Prime numbers limit: 10000\n\nCPU speed:\n"
        "    events per second:   971.25\n"
    )
    assert read(text)[0].tool_version == "1.0.11"


def test_a_variant_of_stream_with_other_columns_is_rejected():
    rows = "".join(
        f"{kernel}:      {rate}    271    140    113    110    114\n"
        for kernel, rate in (("Copy", 288), ("Scale", 275), ("Add", 419))
    )
    for head in ("Function    Best Rate MB/s", "Function    Best Rate MB/s  Avg time"):
        (run,) = read(f"{head}\n{rows}")
        assert "variant of STREAM" in str(run.problem)


def test_netperf_with_many_associations_of_sctp_is_read():
    (run,) = read(
        "SCTP 1-TO-MANY STREAM TEST from 0.0.0.0 () port 0 AF_INET to 10.0.0.2 ()\n"
        "bytes  bytes   bytes    secs.    10^6bits/s  % S   % S   us/KB   us/KB\n\n"
        "212992 212992   4096    10.00      2214.50   25.00 24.00 3.702   3.554\n"
    )
    assert ("throughput", 2214.5, "Mbit/s") in told(run)
    assert run.readings[0].parameters["test"] == "SCTP_STREAM_MANY"
    assert run.readings[0].parameters["operation"] == "send"


TURBOSTAT = (
    ("Core", "CPU", "Busy%", "     IRQ", "CorWatt", "PkgWatt"),
    ("-", "-", "61.20", "  104812", "40.00", "71.25"),
    ("0", "0", "60.10", "    1234", "40.00", "71.25"),
    ("0", "1", "62.30", "     567"),
)


@pytest.mark.parametrize("separator", ["\t", " "])
def test_turbostat_is_read_with_padded_columns_and_with_pasted_tabs(separator):
    text = "".join(f"{separator.join(row)}\n" for row in TURBOSTAT)
    (run,) = read(text)
    assert run.tool == "rapl"
    assert ("power mean", 71.25, "W") in told(run)
    assert ("power mean", 40.0, "W") in told(run)


def test_a_udp_rate_that_was_not_printed_is_the_default_or_unknown():
    text = (DATA / "iperf3" / "3.1-udp.txt").read_text()
    bitrates = {reading.parameters["bitrate"] for reading in read(text)[0].readings}
    assert bitrates == {"1.048576 Mbit/s"}
    fast = {
        reading.parameters["bitrate"]
        for reading in read(text.replace("Mbits/sec", "Gbits/sec"))[0].readings
    }
    assert fast == {"unknown"}
    (run,) = read(f"$ iperf3 -u -b 100M -c vm\n{text}")
    assert run.readings[0].parameters["bitrate"] == "100 Mbit/s"


GOBONNIEGO = (
    '{{"version":"1","start_time":"x","gobonniego_directory":"d",'
    '"num_readers_and_writers":{},"disk_space_used_gib":1,"results":{}}}\n'
)


@pytest.mark.parametrize(
    "text",
    [
        GOBONNIEGO.format(2, 5),
        GOBONNIEGO.format(2, "[1]"),
        GOBONNIEGO.format("1e999", "[]"),
        '{"sysstat":{"hosts":5}}\n',
        '{"sysstat":{"hosts":[{"statistics":5}]}}\n',
        '{"metrics":{"http_reqs":{"count":1e999,"rate":1},"http_req_duration":{}}}\n',
    ],
)
def test_json_with_values_of_other_types_is_rejected(text):
    assert {run.status for run in read(text)} == {"rejected"}
