"""mpi-io-test: bandwidth of a parallel file system, from the PVFS2 tests.

Its two result rows, as its source prints them::

    Write bandwidth = 62.417215 Mbytes/sec
    Read bandwidth = 96.038117 Mbytes/sec

Mbytes are 10^6 B, divided by the time of the slowest process. The program goes on after
errors and exits with 0: they stand on lines of their own, which may come before its
first line.
"""

from typing import Final

from benchmarks.errors import shorten
from benchmarks.parsing.contract import DISK, Metric, Tool
from benchmarks.parsing.scanning import Draft, Found, Scanner, keep, parser
from benchmarks.units import whole_size

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


@parser("mpi-io-test printed no bandwidth.")
def parse(output: str) -> list[Draft]:
    """Return one run for each line that tells of processes and blocks."""
    runs: list[Draft] = []
    errors: dict[str, None] = {}
    for line in LINES(output):
        if line.kind == "head":
            keep(runs, _begun(line))
            _mark(errors, runs[-1])
            errors = {}
        elif line.kind in {"error", "mismatch"}:
            # Each process prints its own, for every block.
            if len(errors) < MOST_ERRORS:
                errors[line[line.kind]] = None
        elif not runs:
            raise line.refused('no line "nr_procs = ..." is above it.')
        elif line.kind == "failed":
            runs[-1].mark(
                "failed", "The correctness test failed: other data were read."
            )
        elif line.kind == "total":
            # Its products are 32 bits wide in some versions, its rates made of them.
            moved = runs[-1].facts["bytes"]
            if "files" not in runs[-1].parameters and line["total"] != str(moved):
                runs[-1].mark(
                    "wrong_total",
                    "It computed with {told} bytes, but {moved} were moved: its "
                    "bandwidths are wrong.",
                    told=line["total"],
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
            way = line["way"].casefold()
            runs[-1].add("bandwidth", line.number("rate"), "MB/s", operation=way)
    runs = runs or [Draft()]
    _mark(errors, runs[-1])
    return runs


def _begun(line: Found) -> Draft:
    processes, block = line.whole("processes"), line.whole("block")
    run = Draft()
    run.parameters["processes"] = processes
    run.parameters["iterations"] = line.whole("iterations")
    run.parameters["block"] = whole_size(block)
    for name in ("files", "blocks", "distance"):
        if line[name]:
            run.parameters[name] = line.whole(name)
    blocks = line.whole("blocks" if line["blocks"] else "iterations")
    run.facts["bytes"] = processes * block * blocks
    return run


def _mark(errors: dict[str, None], run: Draft) -> None:
    for error in errors:
        printed = shorten(error.strip(), 100)
        run.mark("errors", 'mpi-io-test printed "{error}".', error=printed)


TOOL = Tool(
    slug="mpi-io-test",
    title="mpi-io-test (PVFS2)",
    homepage="https://github.com/waltligon/orangefs",
    metrics=(Metric("bandwidth", "MB/s", "higher", "disk", work=DISK),),
    aliases=("mpi_io_test", "PVFS2 mpi-io-test", "OrangeFS mpi-io-test"),
    labels=("{client} → {server}",),
    version=2,
    parse=parse,
    signatures=(
        r"nr_procs = \S+, nr_iter = \S+, blk_sz = ",
        r"# Using mpi-io calls\.",
        r"(?:Write|Read) bandwidth = \S+ Mbytes/sec",
    ),
    programs=("mpi-io-test",),
    localized=False,
)
