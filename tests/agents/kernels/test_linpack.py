"""LINPACK, compiled here: right and wrong solutions, clocks and the budget."""

import re
import resource
import socket
import subprocess
import threading

import numpy as np
import pytest

from agents.kernels import compilation
from benchmarks.errors import ParseError
from benchmarks.parsing import run_extraction

ROW = re.compile(
    r"^row (?P<precision>\w+) +(?P<n>\d+) +(?P<turn>\S+) +(?P<local>\S+) +"
    r"(?P<external>\S+) +(?P<bound>\S+) +(?P<rate>\S+) +\S+ +(?P<residual>\S+)$",
    re.MULTILINE,
)
MULTIPLIER, INCREMENT, SEED = 6364136223846793005, 1442695040888963407, 20100729


def rows(output):
    return [found.groupdict() for found in ROW.finditer(output)]


def matrix(n):
    """Return the kernel's matrix, from a second implementation of its generator."""
    state, values = SEED, []
    for _ in range(n * n):
        state = (state * MULTIPLIER + INCREMENT) % 2**64
        values.append((state >> 40) / 2**24 - 0.5)
    return np.array(values).reshape((n, n), order="F")


def normalized(a, x):
    b = a.sum(axis=1)
    worst = np.abs(a @ x - b).max()
    norms = np.abs(a).sum(axis=1).max() * np.abs(x).max()
    return worst / (len(b) * norms * np.finfo(float).eps)


@pytest.mark.parametrize("width", [0, 1, 7, 32, 100])
def test_every_size_is_solved_with_any_width(kernel, width):
    output = kernel("linpack", "--sizes", "1,2,3,50,101", "--width", width)

    found = rows(output)
    assert {float(row["residual"]) < 1 for row in found} == {True}
    assert output.count(" passed\n") == 2 * 5
    assert output.endswith("\nend\n")


def test_both_precisions_alternate(kernel):
    found = rows(kernel("linpack", "--sizes", "50,100", "--repetitions", 2))

    order = [(row["precision"], row["n"], row["turn"]) for row in found]
    assert order == [
        (precision, n, turn)
        for n in ("50", "100")
        for precision in ("double", "single")
        for turn in (["warm-up"] if n == "50" else []) + ["1", "2"]
    ]


def test_small_systems_warm_up_without_output(kernel):
    """Measure processor time, which other load does not affect."""

    def cpu_s(*words):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        output = kernel("linpack", "--sizes", 50, "--repetitions", 1, *words)
        spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        return spent, [row["turn"] for row in rows(output)]

    cold_s, shown = cpu_s("--warm-up-s", 0)
    warm_s, shown_too = cpu_s("--warm-up-s", 1.5)

    assert shown == shown_too == ["warm-up", "1"] * 2
    assert warm_s > cold_s + 0.3


def test_exhausted_budget_ends_the_warm_up(kernel):
    output = kernel("linpack", "--sizes", 50, "--budget-s", 0, "--warm-up-s", 3600)

    assert "the budget would be exceeded" in output


def test_residual_equals_that_of_a_library(kernel):
    """Another solver's residual has the same size; that of a wrong x does not."""
    a = matrix(50)
    x = np.linalg.solve(a, a.sum(axis=1))
    spoilt = x * np.where(np.arange(50) == 25, 1.001, 1)

    (row, *_) = rows(kernel("linpack", "--sizes", 50, "--repetitions", 1))

    assert normalized(a, x) / 10 < float(row["residual"]) < 10 * normalized(a, x) + 0.1
    assert normalized(a, spoilt) > 1e6


def test_wrong_solution_fails(at_home, tmp_path):
    program = spoilt_program(tmp_path)

    output = subprocess.run(
        [program, "--sizes", "50", "--repetitions", "1"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    (run,) = run_extraction.extract_runs(output)
    assert output.count(" failed\n") == 2
    assert {warning.code for warning in run.warnings} == {"residual_check"}
    # The printed residual, and our own.
    x = np.where(np.arange(50) == 25, 1.001, 1)
    ours = normalized(matrix(50), x)
    assert float(rows(output)[0]["residual"]) == pytest.approx(ours, rel=1e-3)


def spoilt_program(folder):
    """Compile LINPACK so that it corrupts one element of each solution."""
    for name, content in compilation.kernel_sources("linpack").items():
        (folder / name).write_bytes(content)
    argv = compilation.compiler_argv(
        compilation.find_compiler(),
        [*compilation.FLAGS, "-DVIRTLAB_BREAK_SOLUTION"],
        str(folder / "linpack.c"),
        str(folder / "spoilt"),
    )
    subprocess.run(argv, check=True, capture_output=True)
    return str(folder / "spoilt")


def test_time_server_times_every_repetition(kernel, time_server):
    output = kernel(
        "linpack", "--sizes", 200, "--time-server", f"127.0.0.1:{time_server.port}"
    )

    server = f"time server: 127.0.0.1:{time_server.port}, shortest round trip "
    assert server in output
    # The bound trusts the shortest round trip. On a busy machine that trip may also
    # have been delayed in one direction. Printed times are whole microseconds.
    shortest_s = float(output.partition(server)[2].split()[0])
    for row in rows(output):
        difference_s = float(row["external"]) - float(row["local"])
        assert float(row["bound"]) > 0
        assert abs(difference_s) <= float(row["bound"]) + shortest_s + 3e-6
    assert "lost" not in output


def test_lost_time_server_is_reported(kernel):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=tell_ten_times, args=(listener,), daemon=True).start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"

        output = kernel("linpack", "--sizes", 20, "--time-server", address)

    (run,) = run_extraction.extract_runs(output)
    assert rows(output)[-1]["external"] == "-"
    assert "time server lost" in output
    assert "time_server" in {warning.code for warning in run.warnings}


def tell_ten_times(listener):
    client, _ = listener.accept()
    with client:
        assert client.recv(64) == b"start\n"
        client.sendall(b"start")
        for number in range(10):
            client.recv(64)
            client.sendall(b"%d\n" % (number * 1000))


def test_missing_time_server_is_allowed(kernel):
    output = kernel("linpack", "--sizes", 20, "--time-server", "127.0.0.1:1")

    assert "time server: 127.0.0.1:1 does not answer" in output
    assert output.endswith("\nend\n")


def test_budget_limits_repetitions(kernel):
    output = kernel(
        *("linpack", "--sizes", "200,4000", "--budget-s", 0.2, "--repetitions", 1000)
    )

    assert "skipped double 200 after " in output
    assert "skipped double 4000 after 0: the budget would be exceeded" in output
    spent_s = sum(float(row["local"]) for row in rows(output))
    assert spent_s < 1


def test_sizes_beyond_memory_are_skipped(kernel):
    output = kernel("linpack", "--sizes", "20,1000", "--most-bytes", 1_000_000)

    assert "skipped single 1000 after 0: it needs more memory than is free" in output
    assert "residual single 20: " in output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sizes", "0"], "--sizes 0: not from 1"),
        (["--sizes", "ten"], "--sizes ten"),
        (["--repetitions"], "--repetitions needs a value"),
        (["--fast", "1"], "--fast is no option"),
    ],
)
def test_invalid_option_is_refused(kernel, words, message):
    assert message in kernel("linpack", *words, code=2)


def test_output_is_parsed_unless_truncated(kernel):
    output = kernel("linpack", "--sizes", "50,100", "--repetitions", 3)
    (run,) = run_extraction.extract_runs(output)

    assert [
        reading.repetition for reading in run.readings if reading.metric == "time"
    ] == ([1, 2, 3] * 4)
    assert run.facts["flags"].endswith("-O2 -std=c99")
    for end in range(0, len(output) - len("end\n"), 97):
        assert nothing_of(output[:end])


def nothing_of(text):
    try:
        return all(run.problem for run in run_extraction.extract_runs(text))
    except ParseError:
        return True
