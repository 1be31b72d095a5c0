"""mpi-io-test: bandwidth of a parallel file system, from the PVFS2 tests.

Mbytes are 10^6 B, divided by the time of the slowest process. The program continues
after errors, which may precede the first line of a run.
"""

from typing import Final

from benchmarks.errors import shorten
from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import DISK, Metric, Tool
from benchmarks.units import format_whole_size

LINES = LineScanner(
    head=r"nr_procs = (?P<processes>\S+?), nr_iter = (?P<iterations>\S+?), "
    r"blk_sz = (?P<block>[^\s,]+)(?:, nr_files = (?P<files>\S+))?"
    r"(?:, nr_blks = (?P<blocks>[^\s,]+))?(?:, dist = (?P<distance>\S+))?",
    total=r"# total_size = (?P<total>\S+)",
    times=r"# (?P<timed>Write|Read): +min_t(?:ime)? = (?P<min>\S+), max_t(?:ime)? = "
    r"(?P<max>\S+), mean_t(?:ime)? = (?P<mean>[^\s,]+)",
    rate=r"(?P<operation>Write|Read) bandwidth = (?P<rate>\S+) Mbytes/sec",
    failed=r"(?P<check>Correctness test failed)",
    error=r"node \d+, (?P<error>[^\n]*)",
    mismatch=r"(?P<mismatch>[^\n]{0,80}?\b(?:MPI_ERR_\w+|MPI_A(?:bort|BORT)))\b",
)
MAX_ERRORS: Final = 5


@parser("mpi-io-test printed no bandwidth.")
def parse(output: str) -> list[Draft]:
    runs: list[Draft] = []
    errors: dict[str, None] = {}
    for line in LINES(output):
        if line.kind == "head":
            append_limited(runs, _new_run(line))
            _warn_errors(errors, runs[-1])
            errors = {}
        elif line.kind in {"error", "mismatch"}:
            # Each process prints its errors for every block.
            if len(errors) < MAX_ERRORS:
                errors[line[line.kind]] = None
        elif not runs:
            raise line.parse_error('the "nr_procs = ..." line above it is missing.')
        elif line.kind == "failed":
            runs[-1].add_failure(
                "failed",
                "The correctness test failed: the data read back are different.",
            )
        elif line.kind == "total":
            # In some versions the total overflows 32 bits, which makes rates wrong.
            moved = runs[-1].facts["bytes"]
            if "files" not in runs[-1].parameters and line["total"] != str(moved):
                runs[-1].add_warning(
                    "wrong_total",
                    "The tool computed its bandwidths from {printed} bytes, but "
                    "{moved} bytes were transferred, so the bandwidths are wrong.",
                    printed=line["total"],
                    moved=moved,
                )
        elif line.kind == "times":
            timed = line["timed"].casefold()
            runs[-1].facts.update(
                {
                    f"{timed} time {which} s": line.number(which)
                    for which in ("min", "max", "mean")
                }
            )
        else:
            direction = line["operation"].casefold()
            runs[-1].add("bandwidth", line.number("rate"), "MB/s", operation=direction)
    runs = runs or [Draft()]
    _warn_errors(errors, runs[-1])
    return runs


def _new_run(line: MatchedLine) -> Draft:
    processes, block = line.integer("processes"), line.integer("block")
    run = Draft()
    run.parameters["processes"] = processes
    run.parameters["iterations"] = line.integer("iterations")
    run.parameters["block"] = format_whole_size(block)
    for name in ("files", "blocks", "distance"):
        if line[name]:
            run.parameters[name] = line.integer(name)
    blocks = line.integer("blocks" if line["blocks"] else "iterations")
    run.facts["bytes"] = processes * block * blocks
    return run


def _warn_errors(errors: dict[str, None], run: Draft) -> None:
    for error in errors:
        printed = shorten(error.strip(), 100)
        run.add_warning("errors", 'mpi-io-test printed "{error}".', error=printed)


TOOL = Tool(
    slug="mpi-io-test",
    title="mpi-io-test (PVFS2)",
    homepage="https://github.com/waltligon/orangefs",
    metrics=(Metric("bandwidth", "MB/s", "higher", "disk", work_class=DISK),),
    aliases=("mpi_io_test", "PVFS2 mpi-io-test", "OrangeFS mpi-io-test"),
    labels=("{client} → {server}",),
    version=3,
    parse=parse,
    signatures=(
        r"nr_procs = \S+, nr_iter = \S+, blk_sz = ",
        r"# Using mpi-io calls\.",
        r"(?:Write|Read) bandwidth = \S+ Mbytes/sec",
    ),
    programs=("mpi-io-test",),
    is_localized=False,
)
