"""What the product says of replicated raw data of other labs, and why not where not.

    make run                                 # in one terminal
    make golden-cells FOLDER=path/to/tables STUDIES="one two"   # in another

The folder has a table for each study (the columns are those of
`benchmarks/reference/data/README.md`) and may have a `campaigns.json` with titles and
machines. A study is uploaded through the API as its lab would do it: each tool is
declared as one of its own, each start of a tool is a run, what a note calls `started`
is when. Then it is asked which of the cells with several runs on both sides get a word,
and of the others why not. Nothing is chosen by hand; the same folder uploaded twice is
stored once.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from agents.client import Client
from benchmarks import units
from benchmarks.reference.rows import Row
from running.product import wait_until_processed

# Any fixed value will do.
NAMESPACE: Final = UUID("0d2d8f0e-95a5-5b57-9c55-8d7c1a3c7e42")
PATIENCE_S: Final = 600
TIMES: Final = ("s", "min", "ms", "us", "ns")
# Printed among the parameters, but of the system, or of how often it was run.
SYSTEM_OPTIONS: Final = ("topology", "pinning", "vcpus", "scheduling")
NO_PARAMETERS: Final = (*SYSTEM_OPTIONS, "repetition", "iteration")
COMPONENTS: Final = {
    "cpu": "CPU",
    "linpack": "CPU",
    "stress": "CPU",
    "stream": "memory",
    "randomaccess": "memory",
    "file": "disk",
    "fio": "disk",
    "iperf": "network",
}
STARTED: Final = re.compile(r"started ([^;]+)")
# As `date` prints it; the zones that occur.
PRINTED_DATE: Final = re.compile(r"\w{3} (\w{3} +\d+ [\d:]+) ([A-Z]+) (\d{4})")
ZONES: Final = {"UTC": "+0000", "CDT": "-0500", "CST": "-0600"}


@dataclass(frozen=True)
class Told:
    """What the product says of a study's cells that have several runs on both sides."""

    cells: tuple[dict[str, Any], ...]

    @property
    def refused(self) -> list[dict[str, Any]]:
        return [cell for cell in self.cells if cell["verdict"] == "not_assessed"]

    @property
    def with_ratio(self) -> int:
        """How many show a ratio, or the ratios of their extremes."""
        return sum(
            any(
                cell[name] is not None
                for name in ("efficiency", "relative", "ratio_range")
            )
            for cell in self.cells
        )

    def lines(self, title: str) -> Iterator[str]:
        """Yield the summary, then each cell that got no word, with the reasons."""
        n, refused = len(self.cells), self.refused
        words = Counter(cell["verdict"] for cell in self.cells)
        reasons = Counter(code for cell in refused for code in cell["reasons"])
        shown = f"{self.with_ratio} with a ratio or a range"
        yield f"{title}: {n - len(refused)} of {n} assessed, {shown}"
        yield f"  {_counts(words)}"
        yield f"  not assessed because of {_counts(reasons) or 'nothing'}"
        for cell in sorted(refused, key=lambda cell: (cell["reasons"], cell["case"])):
            yield f"  - {cell['system']}, {cell['tool_title']}, {cell['case']}"
            runs = f"n {cell['n']} and {cell['baseline_n']}"
            yield f"      {_ratio(cell)}; {cell['design']}, {runs}"
            yield f"      {', '.join(cell['reasons'])}; {cell['shape'] or 'no shape'}"


def _counts(counted: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counted.most_common())


def _ratio(cell: Mapping[str, Any]) -> str:
    """Return the ratio with its interval, or the range of ratios."""
    ratio = cell["efficiency"] if cell["relative"] is None else cell["relative"]
    low, high = cell["ratio_range"] or (float("nan"), float("nan"))
    figure = "no figure" if ratio is None else f"{ratio:.3f}"
    if cell["low"] is not None:
        figure += f" ({cell['low']:.3f} to {cell['high']:.3f})"
    return f"{figure}, runs {low:.3f} to {high:.3f}"


def started_at(note: str) -> datetime | None:
    """Return when a note says that its run, or the series of it, started.

    Without a zone it is taken for UTC: only differences within a study count.
    """
    found = STARTED.match(note)
    if found is None:
        return None
    text = found[1].strip()
    if printed := PRINTED_DATE.fullmatch(text):
        moment, zone, year = printed.groups()
        return datetime.strptime(
            f"{moment} {year} {ZONES[zone]}", "%b %d %H:%M:%S %Y %z"
        )
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def read(path: Path) -> list[Row]:
    """Return the rows of one table, in its order."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Row(**line) for line in csv.DictReader(file)]


def tool_documents(study: str, rows: list[Row]) -> Iterator[dict[str, Any]]:
    """Yield the declaration of each tool, with all metrics that it occurs with."""
    metrics: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        name, unit = _measured(row)
        metrics.setdefault(row.tool, {})[name] = {
            "name": name,
            "unit": unit,
            "better": "lower" if row.unit in TIMES else "higher",
            "component": _component(row),
            "primary": True,
        }
    for tool, declared in metrics.items():
        yield {
            "slug": _tool_slug(study, tool),
            "title": f"{tool} ({study})",
            "metrics": list(declared.values()),
        }


def _component(row: Row) -> str:
    named = row.tool.casefold()
    return next(
        (what for word, what in COMPONENTS.items() if word in named), "application"
    )


def _tool_slug(study: str, tool: str) -> str:
    """Return a name of its own: two studies print a tool of one name differently."""
    return "-".join(re.findall(r"[a-z0-9]+", f"{study} {tool}".casefold()))


def _measured(row: Row) -> tuple[str, str]:
    """Return the metric's name and unit; an unknown unit is part of the name."""
    if units.find(row.unit):
        return row.metric, row.unit
    return f"{row.metric} in {row.unit}", ""


def run_documents(study: str, rows: list[Row]) -> Iterator[dict[str, Any]]:
    """Yield a run for each start of a tool, in the table's order."""
    starts: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        options = [row.parameters.get(name, "") for name in SYSTEM_OPTIONS]
        system = (row.hypervisor, row.hypervisor_version, row.guest_os, *options)
        turn = (row.vm, row.tool, row.note, row.parameters.get("repetition", ""))
        starts.setdefault((row.table, row.machine, *system, *turn), []).append(row)
    for start, members in starts.items():
        row = members[0]
        moment = started_at(row.note)
        yield {
            "key": str(uuid5(NAMESPACE, "\n".join((study, *start)))),
            "study": study,
            "system": system_document(row),
            "tool": _tool_slug(study, row.tool),
            "clock": row.clock,
            "document": row.document,
            "table": row.table,
            "note": row.note,
            **({"started_at": moment.isoformat()} if moment else {}),
            "samples": [_sample(member) for member in members],
        }


def system_document(row: Row) -> dict[str, Any]:
    """Return the system under test; what is not stated is left out."""
    stated = {
        "host": row.machine,
        "hypervisor": row.hypervisor,
        "hypervisor_version": row.hypervisor_version,
        "virtualization": row.virtualization,
        "guest_os": row.guest_os,
        "guest_bits": int(row.guest_bits) if row.guest_bits else None,
        "options": {
            name: row.parameters[name]
            for name in SYSTEM_OPTIONS
            if name in row.parameters
        },
    }
    return {name: value for name, value in stated.items() if value not in (None, "")}


def _sample(row: Row) -> dict[str, Any]:
    metric, unit = _measured(row)
    own = {
        name: value
        for name, value in row.parameters.items()
        if name not in NO_PARAMETERS
    }
    named = {"operation": row.operation, "access": row.access}
    return {
        "metric": metric,
        "parameters": own | {name: value for name, value in named.items() if value},
        "value": float(row.value),
        "unit": unit,
        "repetition": int(row.parameters.get("iteration", 1)),
    }


def upload(
    client: Client, study: str, rows: list[Row], facts: Mapping[str, Any]
) -> None:
    """Upload a study as its lab would, and wait until it is checked."""
    told = facts.get("campaigns", {}).get(study, {})
    client.create_study(
        {
            "slug": study,
            "title": told.get("title", study),
            "author": told.get("author", ""),
            "note": told.get("note", ""),
            "visibility": "public",
        }
    )
    for machine in dict.fromkeys(row.machine for row in rows):
        stated = facts.get("machines", {}).get(machine, {})
        client.register_host({"slug": machine, "title": machine, "facts": stated})
    for tool in tool_documents(study, rows):
        client.request("POST", "own-tools/", tool)
    for _ in client.upload(run_documents(study, rows)):
        pass
    wait_until_processed(client)
    deadline = time.monotonic() + PATIENCE_S
    while client.get(f"studies/{study}/")["counts"]["unchecked"]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{study} was not checked within {PATIENCE_S} s")
        time.sleep(0.2)


def told_of(client: Client, study: str) -> Told:
    """Return what is said of the cells of a study that can be judged by their runs.

    A seat of several VMs is compared with the same system alone: that is no efficiency.
    """
    rows = client.get_all("comparisons/", study=study)
    paired = [row for row in rows if min(row["n"], row["baseline_n"] or 0) > 1]
    is_other = ("baseline", None)
    return Told(
        tuple(
            row
            for row in paired
            if row["verdict"] not in is_other
            and not {"slowdown", "scaling", "no_speed"} & set(row["reasons"])
        )
    )


def main(arguments: list[str] | None = None) -> int:
    """Upload what repeats runs, and print what is said of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("studies", nargs="*", help="names of tables, without .csv")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--token-file", type=Path, required=True)
    parser.add_argument(
        "--stored", nargs="*", default=[], help="studies that are there already"
    )
    options = parser.parse_args(arguments)
    client = Client(options.url, options.token_file.read_text().strip(), PATIENCE_S)
    described = options.folder / "campaigns.json"
    facts = json.loads(described.read_text()) if described.exists() else {}
    for study in options.studies:
        upload(client, study, read(options.folder / f"{study}.csv"), facts)
        print(*told_of(client, study).lines(study), sep="\n")
    for study in options.stored:
        print(*told_of(client, study).lines(study), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
