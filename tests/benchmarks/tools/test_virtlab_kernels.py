"""Outputs of our own kernels: which clock is used, and what is warned about or
rejected.
"""

import pytest

from benchmarks.errors import ParseError
from benchmarks.parsing import run_extraction
from benchmarks.tools import TOOLS
from tests.data.rebuild import DATA

LINPACK = (DATA / "virtlab-linpack" / "gcc-time-server.txt").read_text()
MEMORY = (DATA / "virtlab-memory" / "gcc-time-server.txt").read_text()
SYSTEM = (DATA / "virtlab-system" / "musl-time-server-and-peer.txt").read_text()
ARM = (DATA / "virtlab-system" / "arm64-in-qemu-user.txt").read_text()
BUDGET = (DATA / "virtlab-linpack" / "tcc-budget.txt").read_text()
FAILED = (DATA / "virtlab-linpack" / "failed-residual.txt").read_text()


def read(text):
    (run,) = run_extraction.extract_runs(text)
    return run


def codes(run):
    return {warning.code for warning in run.warnings}


def times(run, n):
    return [
        reading.value
        for reading in run.readings
        if reading.metric == "time" and reading.parameters["n"] == n
    ]


def columns(text, start):
    """Return the cells of rows with this beginning, without warm-ups."""
    lines = [line.split() for line in text.splitlines() if line.startswith(start)]
    return [cells for cells in lines if cells[3] != "warm-up"]


def test_the_time_servers_times_are_readings_and_both_are_stored():
    run = read(LINPACK)

    rows = columns(LINPACK, "row double   1000")
    single = columns(LINPACK, "row single   1000")
    assert times(run, 1000) == [float(row[5]) for row in [*rows, *single]]
    assert run.facts["clock, double, n=1000"] == "time server"
    assert run.facts["local s, double, n=1000"] == " ".join(row[4] for row in rows)
    assert run.facts["bound s, double, n=1000"] == " ".join(row[6] for row in rows)


def test_performance_uses_the_same_clock_as_time():
    of_size = [
        reading.value
        for reading in read(LINPACK).readings
        if reading.metric == "performance" and reading.parameters["n"] == 1000
    ]

    rows = columns(LINPACK, "row double   1000") + columns(LINPACK, "row single   1000")
    assert of_size == [float(row[8]) for row in rows]


def test_a_size_that_the_time_server_missed_uses_the_machines_clock():
    rows = columns(LINPACK, "row double   1000")
    line = next(
        line for line in LINPACK.splitlines() if line.split()[:4] == rows[3][:4]
    )
    cells = line.split()
    lost = " ".join([*cells[:5], "-", "-", cells[7], "-", cells[9]])

    run = read(LINPACK.replace(line, lost))

    assert run.facts["clock, double, n=1000"] == "the machine's own"
    assert times(run, 1000)[:10] == [float(row[4]) for row in rows]
    assert "time_server" in codes(run)


@pytest.mark.parametrize(
    ("steps", "marked"), [("0.015625000", True), ("0.000000038", False)]
)
def test_a_clock_coarser_than_half_the_tolerance_is_a_warning(steps, marked):
    stated = f"clock steps: {steps} s\ntime server: none"

    run = read(FAILED.replace("time server: none", stated))

    assert ("coarse_clock" in codes(run)) is marked
    assert run.facts["clock steps s"] == steps


def test_invalid_clock_steps_are_rejected():
    stated = "clock steps: soon s\ntime server: none"

    run = read(FAILED.replace("time server: none", stated))

    assert "soon" in str(run.problem)


def test_a_bound_above_two_percent_is_not_used():
    run = read(LINPACK.replace("0.233812   0.000020", "0.233812   0.005000"))

    assert run.facts["clock, double, n=1000"] == "the machine's own"
    assert run.facts["clock, single, n=1000"] == "time server"


def test_each_repetition_is_an_iteration_but_not_the_warm_up():
    run = read(LINPACK)

    first = [reading for reading in run.readings if reading.parameters["n"] == 100]
    repetitions = [reading.repetition for reading in first if reading.metric == "time"]
    assert repetitions == [*range(1, 11)] * 2
    assert "warm-up s, double, n=100" in run.facts
    assert "warm-up s, double, n=1000" not in run.facts


def test_sizes_omitted_by_the_budget_are_a_warning():
    marks = [warning.message for warning in read(BUDGET).warnings]

    assert "LINPACK skipped single 1000 after 0: the budget would be exceeded." in marks


def test_a_failed_residual_is_a_warning_and_not_a_number():
    run = read(FAILED)

    assert codes(run) == {"residual_check"}
    assert {reading.metric for reading in run.readings} == {"time", "performance"}
    assert "residual, double, n=100" not in run.facts


def test_a_singular_matrix_has_no_rows_and_is_rejected():
    head = LINPACK[: LINPACK.index("row ")]

    run = read(f"{head}residual double 100: singular failed\nend\n")

    assert run.status == "rejected"
    assert "residual check for n = 100" in str(run.problem)


@pytest.mark.parametrize("text", [LINPACK, MEMORY, SYSTEM, BUDGET])
def test_a_truncated_output_is_rejected(text):
    lines = text.splitlines(keepends=True)

    for end in range(1, len(lines), 3):
        assert read("".join(lines[:end])).status == "rejected"


@pytest.mark.parametrize("text", [LINPACK, MEMORY])
def test_an_output_without_its_header_is_rejected(text):
    tool = "virtlab-memory" if text is MEMORY else "virtlab-linpack"

    (run,) = run_extraction.extract_runs(text[text.index("row ") :], tool=tool)

    assert "beginning of the output is missing" in str(run.problem)


@pytest.mark.parametrize("text", [LINPACK, MEMORY, SYSTEM])
def test_a_newer_format_is_rejected(text):
    assert "Update Virtlab" in str(read(text.replace(" 1.0\n", " 2.0\n", 1)).problem)


def test_a_size_without_its_check_is_rejected():
    lines = LINPACK.splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("residual single 100"))

    assert "residual was not checked" in str(read(text).problem)


def test_memory_is_read_by_block_and_by_array():
    parameters = [reading.parameters for reading in read(MEMORY).readings]

    assert {case["block"] for case in parameters if "block" in case} == {
        *("1 KiB", "32 KiB", "1 MiB", "8 MiB")
    }
    assert {case["operation"] for case in parameters if "array" in case} == {
        *("copy", "scale", "add", "triad")
    }
    assert {case["type"] for case in parameters} == {"integer", "floating point"}


def test_memory_rates_use_the_time_server():
    run = read(MEMORY)

    rows = [line.split() for line in MEMORY.splitlines() if line.startswith("row ")]
    assert [reading.value for reading in run.readings] == [
        float(row[9]) for row in rows
    ]
    assert codes(run) == set()


def test_wrong_numbers_left_in_memory_are_a_warning():
    assert codes(read(MEMORY.replace(" right\n", " WRONG\n", 1))) == {"wrong_result"}


def operations(run):
    return {reading.parameters["operation"] for reading in run.readings}


def test_an_operation_with_a_wrong_answer_has_no_number():
    row = next(line for line in SYSTEM.splitlines() if "row fork " in line)

    run = read(SYSTEM.replace(row, row.replace(" right", " WRONG")))

    assert operations(read(SYSTEM)) - operations(run) == {"fork"}
    assert "wrong_result" in codes(run)


def test_an_operation_that_failed_during_warm_up_is_a_warning():
    failed = "failed pipe: a wrong answer before anything was measured\nend\n"

    assert "wrong_result" in codes(read(SYSTEM.replace("end\n", failed)))


def test_unsupported_operations_are_a_fact_and_no_warning():
    run = read(ARM)

    assert run.facts["skipped, spawn"] == "this program cannot start itself"
    assert "spawn" not in operations(run)
    assert codes(run) == set()


def test_loopback_and_another_machine_are_two_cases():
    def networks(text):
        networks_read = (
            reading.parameters.get("network") for reading in read(text).readings
        )
        return set(filter(None, networks_read))

    assert (networks(SYSTEM), networks(ARM)) == ({"another machine"}, {"loopback"})


def test_results_of_the_page_cache_are_another_case_than_the_disk():
    cached = SYSTEM.replace("page cache: no", "page cache: yes")

    (work,) = {
        TOOLS["virtlab-system"].work_class_of("blocks", reading.parameters)
        for reading in read(SYSTEM).readings
        if reading.parameters["operation"] == "random read"
    }
    (no_work,) = {
        TOOLS["virtlab-system"].work_class_of("blocks", reading.parameters)
        for reading in read(cached).readings
        if reading.parameters["operation"] == "random read"
    }
    assert (work, no_work) == ("disk-random-read", "")


def test_the_output_of_all_three_kernels_is_three_runs():
    runs = run_extraction.extract_runs(LINPACK + MEMORY + SYSTEM)

    assert [run.tool for run in runs] == [
        *("virtlab-linpack", "virtlab-memory", "virtlab-system")
    ]
    assert not any(run.problem for run in runs)


def test_netlibs_linpack_is_another_tool():
    with pytest.raises(ParseError, match="not of LINPACK"):
        run_extraction.extract_runs(LINPACK, tool="linpack")
