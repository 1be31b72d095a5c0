"""HammerDB: TPROC-C transactions and TPROC-H queries of relational databases.

NOPM are new orders per minute, which are comparable between databases; TPM are each
database's own transactions per minute. Versions up to 3 print TPM first::

    Vuser 1:TEST RESULT : System achieved 11 NOPM from 25 MySQL TPM
"""

from benchmarks.parsing.parser_toolkit import (
    Draft,
    LineScanner,
    MatchedLine,
    append_limited,
    parser,
)
from benchmarks.parsing.tool import NO_WORK_CLASS, Metric, Tool, always

LINES = LineScanner(
    users=r"(?:Vuser \d+:)?(?P<users>\d+) Active Virtual Users configured[ \t]*+$",
    version=r"(?:Vuser \d+:)?DBVersion:(?P<version>[^\n]*)$",
    warehouses=r"Vuser \d+:[^\n]*, Warehouses = \d+ out of (?P<warehouses>\d+)[ \t]*+$",
    result=r"(?:Vuser \d+:)?TEST RESULT : System achieved (?P<nopm>\d+) NOPM from "
    r"(?P<tpm>\d+) (?P<database>[A-Za-z][\w ]{0,40}) TPM[ \t]*+$",
    old=r"(?:Vuser \d+:)?TEST RESULT : System achieved (?P<old_tpm>\d+) "
    r"(?P<old_database>[A-Za-z][\w ]{0,40}) TPM at (?P<old_nopm>\d+) NOPM[ \t]*+$",
    queries=r"(?:Vuser (?P<user>\d+):)?Geometric mean of query times returning rows "
    r"\(\d+\) is (?P<queries>[\d.]+)[ \t]*+(?=\n)",
    failed=r"(?P<failed>Vuser \d+:FINISHED FAILED)[ \t]*+$",
)
SETTINGS = ("users", "warehouses")


def _read(run: Draft, line: MatchedLine) -> None:
    if line.kind in SETTINGS:
        run.parameters[line.kind] = line.integer(line.kind)
    elif line.kind == "version":
        run.facts["database version"] = line["version"].strip()
    elif line.kind == "failed":
        run.add_failure("failed", 'HammerDB printed "{text}".', text=line["failed"])
    elif line.kind == "queries":
        run.add("query time geometric mean", line.number("queries"), "s")
    else:
        old = "old_" if line.kind == "old" else ""
        database = line[f"{old}database"]
        for metric, group in (("new orders", "nopm"), ("transactions", "tpm")):
            value = line.integer(f"{old}{group}")
            run.add(metric, value, "1/min", database=database)


@parser("HammerDB printed no test result.")
def parse(output: str) -> list[Draft]:
    runs = [Draft()]
    for line in LINES(output):
        is_next = line.kind in (*SETTINGS, "version", "result", "old")
        if is_next and runs[-1]:
            append_limited(runs, Draft())
        runs[-1].read_line(_read, runs[-1], line)
    return runs


TOOL = Tool(
    slug="hammerdb",
    title="HammerDB",
    homepage="https://www.hammerdb.com/",
    metrics=(
        Metric(
            "new orders",
            "1/min",
            "higher",
            "application",
            work_class=always("application: database"),
        ),
        Metric(
            "transactions",
            "1/min",
            "higher",
            "application",
            implied_by=("new orders",),
        ),
        Metric(
            "query time geometric mean",
            "s",
            "lower",
            "application",
            work_class=NO_WORK_CLASS,
        ),
    ),
    labels=("{database}", "{users} users", "{warehouses} warehouses"),
    version=1,
    parse=parse,
    signatures=(
        r"HammerDB CLI v",
        r"Vuser \d+:",
        r"TEST RESULT : System achieved ",
    ),
    programs=("hammerdbcli",),
    is_localized=False,
)
