"""What netperf's omni tests print: CSV (-o), KEY=value (-k) and columns (-O)."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.parsing.drafts import Draft
from benchmarks.parsing.scanning import Found
from benchmarks.sentences import Sentence
from benchmarks.tools.netperf.classic import ENDS, UNITS

# What -o and -O write above a column, where it does not spell the key of -k.
_KEYS: Final = {
    "local_service_demand": "local_sd",
    "remote_service_demand": "remote_sd",
    "service_demand_units": "sd_units",
    "elapsed_time_sec": "elapsed_time",
    "request_size_bytes": "request_size",
    "response_size_bytes": "response_size",
    "minimum_latency_microseconds": "min_latency",
    "mean_latency_microseconds": "mean_latency",
    "maximum_latency_microseconds": "max_latency",
    "50th_percentile_latency_microseconds": "p50_latency",
    "90th_percentile_latency_microseconds": "p90_latency",
    "99th_percentile_latency_microseconds": "p99_latency",
}
_SIZES: Final = {
    "local_send_size": "message",
    "request_size": "request",
    "response_size": "response",
}
_LATENCIES: Final = ("min", "mean", "max", "p50", "p90", "p99")


@dataclass(frozen=True, slots=True)
class Values:
    """One result, by the keys of ``-k`` in small letters."""

    line: Found
    texts: Mapping[str, str]

    def number(self, key: str) -> float | None:
        """None for what is absent or could not be measured (a negative number)."""
        text = self.texts.get(key, "")
        if text in {"", "(null)"}:
            return None
        number = self.line.number_of(text)
        return number if number >= 0 else None


def from_csv(line: Found) -> Values:
    """A line of names and the line of values below it."""
    names, values = csv.reader([line["names"], line["values"]])
    if len(names) != len(values):
        raise line.refused(
            Sentence(
                "{names} names stand above {values} values.",
                names=len(names),
                values=len(values),
            )
        )
    if line.is_open("values") and values[-1][-1:].isdigit():
        raise line.refused(Sentence("the text ends within the values below it."))
    pairs = zip(names, values, strict=True)
    return Values(line, {_key(name): value for name, value in pairs})


def from_columns(line: Found) -> Values:
    """Values below names that are several lines high."""
    if line.is_open("cells"):
        raise line.refused(Sentence("the text ends within the values below it."))
    heads = line["heads"].split("\n")[1:]
    cells = list(re.finditer(r"\S+", line["cells"]))
    ends = [*(cell.start() for cell in cells[1:]), None]
    texts = {}
    for cell, end in zip(cells, ends, strict=True):
        parts = (head[cell.start() : end].strip() for head in heads)
        texts[_key(" ".join(parts))] = cell[0]
    return Values(line, texts)


def _key(name: str) -> str:
    key = re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
    return _KEYS.get(key, key)


def read(run: Draft, values: Values) -> None:
    """The readings of one result."""
    for key, name in _SIZES.items():
        if (size := values.number(key)) and size > 0:
            run.parameters[name] = int(size)
    if elapsed := values.number("elapsed_time"):
        run.facts["elapsed_s"] = elapsed
    _read_rate(run, values)
    _read_cpu(run, values)
    for which in _LATENCIES:
        if (latency := values.number(f"{which}_latency")) is not None:
            run.add(f"latency {which}", latency, "us")


def _read_rate(run: Draft, values: Values) -> None:
    if (rate := values.number("throughput")) is None:
        return
    unit = values.texts.get("throughput_units", "").strip()
    if unit == "Trans/s":
        run.add("transaction rate", rate, "1/s")
    elif found := UNITS.get(unit.partition("/")[0].strip()):
        run.add("throughput", rate, found)
    else:
        raise values.line.refused(
            Sentence(
                "nothing says the unit of its throughput: let netperf print "
                "THROUGHPUT_UNITS too."
            )
        )


def _read_cpu(run: Draft, values: Values) -> None:
    per_transaction = "tran" in values.texts.get("sd_units", "").casefold()
    name = "CPU time per transaction" if per_transaction else "service demand"
    unit = "us" if per_transaction else "us/KB"
    for end in ENDS:
        if (share := values.number(f"{end}_cpu_util")) is not None:
            run.add(f"CPU utilization {end}", share, "%")
        if (cost := values.number(f"{end}_sd")) is not None:
            run.add(f"{name} {end}", cost, unit)
