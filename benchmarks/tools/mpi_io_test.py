"""mpi-io-test: bandwidth of a parallel file system, from the PVFS2 tests.

Its two result rows, as its source prints them::

    Write bandwidth = 62.417215 Mbytes/sec
    Read bandwidth = 96.038117 Mbytes/sec

Mbytes are 10^6 B, divided by the time of the slowest process. The program goes on after
errors and exits with 0: they stand on lines of their own, which may come before its
first line.
"""

import math
from typing import Final

from benchmarks.errors import shorten
from benchmarks.parsing.contract import Metric, Tool
from benchmarks.parsing.drafts import Draft, ParsedRun, Parser, finished, keep
from benchmarks.parsing.scanning import Found, Scanner
from benchmarks.sentences import Sentence

LINES = Scanner(
    head=r"nr_procs = (?P<processes>\S+?), nr_iter = (?P<iterations>\S+?), "
    r"blk_sz = (?P<block>[^\s,]+)(?:, nr_files = (?P<files>\S+))?"
    r"(?:, nr_blks = (?P<blocks>[^\s,]+))?(?:, dist = (?P<distance>\S+))?",
    total=r"# total_size = (?P<total>\S+)",
    times=r"# (?P<timed>Write|Read): +min_t(?:ime)? = (?P<min>\S+), max_t(?:ime)? = "
    r"(?P<max>\S+), mean_t(?:ime)? = (?P<mean>[^\s,]+)",
    rate=r"(?P<way>Write|Read) bandwidth = (?P<rate>\S+) Mbytes/sec",
    failed=r"(?P<check>Correctness test failed)",
    error=r"node \d+, (?P<error>[^\n]*)",
    mismatch=r"(?P<mismatch>[^\n]{0,80}?\b(?:MPI_ERR_\w+|MPI_A(?:bort|BORT)))\b",
)
MOST_ERRORS: Final = 5
PREFIXES: Final = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each line that tells of processes and blocks."""
    runs: list[Draft] = []
    errors: dict[str, None] = {}
    for line in LINES(output):
        if line.kind == "head":
            keep(runs, _run(line))
            _mark(errors, runs[-1])
            errors = {}
        elif line.kind in {"error", "mismatch"}:
            if len(errors) < MOST_ERRORS:
                errors[line[line.kind]] = None
        elif not runs:
            raise line.refused(Sentence('no line "nr_procs = ..." stands above it.'))
        else:
            _read(line, runs[-1])
    if not runs:
        runs.append(Draft())
    _mark(errors, runs[-1])
    return finished(runs, Sentence("mpi-io-test printed no bandwidth."))


def _mark(errors: dict[str, None], run: Draft) -> None:
    for error in errors:
        run.mark(
            "errors",
            Sentence(
                'mpi-io-test printed "{error}".', error=shorten(error.strip(), 100)
            ),
        )


def _run(line: Found) -> Draft:
    run = Draft()
    run.parameters["processes"] = line.whole("processes")
    run.parameters["iterations"] = line.whole("iterations")
    run.parameters["block"] = _size(line.whole("block"))
    for name in ("files", "blocks", "distance"):
        if line[name]:
            run.parameters[name] = line.whole(name)
    counts = [line.whole(name) for name in ("processes", "block")]
    many = line.whole("blocks" if line["blocks"] else "iterations")
    run.facts["bytes"] = math.prod(counts) * many
    return run


def _size(size: int) -> str:
    for factor, unit in PREFIXES:
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def _read(line: Found, run: Draft) -> None:
    if line.kind == "failed":
        run.mark(
            "failed", Sentence("The correctness test failed: other data were read.")
        )
    elif line.kind == "total":
        # Its products are 32 bits wide in some versions, and its rates made of them.
        told, moved = line["total"], run.facts["bytes"]
        if "files" not in run.parameters and told != str(moved):
            run.mark(
                "wrong_total",
                Sentence(
                    "It computed with {told} bytes, but {moved} were moved: its "
                    "bandwidths are wrong.",
                    told=told,
                    moved=moved,
                ),
            )
    elif line.kind == "times":
        for which in ("min", "max", "mean"):
            fact = f"{line['timed'].casefold()} time {which} s"
            run.facts[fact] = line.number(which)
    else:
        way = line["way"].casefold()
        run.add("bandwidth", line.number("rate"), "MB/s", operation=way)


TOOL = Tool(
    slug="mpi-io-test",
    title="mpi-io-test (PVFS2)",
    homepage="https://github.com/waltligon/orangefs",
    metrics=(Metric(name="bandwidth", unit="MB/s", better="higher", component="disk"),),
    aliases=("mpi_io_test", "PVFS2 mpi-io-test", "OrangeFS mpi-io-test"),
    labels=("{client} → {server}",),
    parser=Parser(
        version=2,
        parse=parse,
        signatures=(
            r"nr_procs = \S+, nr_iter = \S+, blk_sz = ",
            r"# Using mpi-io calls\.",
            r"(?:Write|Read) bandwidth = \S+ Mbytes/sec",
        ),
        programs=("mpi-io-test",),
        localized=False,
    ),
)
