"""The JSON of iperf3 (``-J``, and ``--json-stream`` of 3.17 and later)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from benchmarks.parsing.drafts import Draft, ParsedRun, finished
from benchmarks.parsing.scanning import Pairs, documents, number, section
from benchmarks.sentences import Sentence

_REPORT: Final = r"\{\s*\"(?:start\"\s*:\s*\{|event\"\s*:)"


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each report; none if there is no JSON."""
    drafts = [_run(report) for report in _reports(output)]
    if not drafts:
        return ()
    return finished(drafts, Sentence("iperf3 reports no total."))


def _without_intervals(pairs: Pairs) -> dict[str, Any]:
    """Only the rows of intervals say whether they were omitted from the total."""
    found = dict(pairs)
    return {} if "omitted" in found else found


def _reports(output: str) -> Iterator[dict[str, Any]]:
    events: dict[str, Any] = {}
    for document in documents(output, _REPORT, _without_intervals):
        if "event" not in document:
            yield document
            continue
        if document["event"] == "start" and events:
            yield events
            events = {}
        if document["event"] in {"start", "end", "error"}:
            events[document["event"]] = document.get("data")
    if events:
        yield events


def _run(report: Mapping[str, Any]) -> Draft:
    start, end = section(report, "start"), section(report, "end")
    test = section(start, "test_start")
    version = str(start.get("version", "")).removeprefix("iperf ")
    run = Draft(tool_version=version[:40])
    run.parameters["protocol"] = str(test.get("protocol", "TCP"))[:20]
    if (streams := test.get("num_streams")) and streams != 1:
        run.parameters["streams"] = int(number(streams, "num_streams"))
    if peer := section(start, "connecting_to").get("host"):
        run.facts["to"] = str(peer)
    if error := report.get("error"):
        run.mark("failed", Sentence("iperf3 reports: {error}.", error=str(error)[:200]))
    way = "reverse" if test.get("reverse") else "forward"
    _add_sums(run, end, way)
    if "sum_sent_bidir_reverse" in end:
        suffix = "_bidir_reverse"
        other = {key.removesuffix(suffix): end[key] for key in end if suffix in key}
        _add_sums(run, other, "reverse")
    _add_cpu(run, section(end, "cpu_utilization_percent"))
    return run


def _add_sums(run: Draft, end: Mapping[str, Any], way: str) -> None:
    sent, received = section(end, "sum_sent"), section(end, "sum_received")
    whole = section(end, "sum")
    _add_rate(run, "throughput", received, way)
    _add_rate(run, "sent throughput", sent or whole, way)
    if "retransmits" in sent:
        count = number(sent["retransmits"], "retransmits")
        run.add("retransmits", count, "", operation=way)
    # A sender whom the receiver told nothing prints 0 for both.
    is_told = not received or received.get("bits_per_second", 0) != 0
    has_packets = number(whole.get("packets", 0), "packets") > 0
    if "jitter_ms" in whole and has_packets and is_told:
        run.add("jitter", number(whole["jitter_ms"], "jitter_ms"), "ms", operation=way)
        share = number(whole["lost_percent"], "lost_percent")
        run.add("packet loss", share, "%", operation=way)


def _add_rate(run: Draft, metric: str, total: Mapping[str, Any], way: str) -> None:
    """A total of nothing is one that the other end never sent."""
    if rate := number(total.get("bits_per_second", 0), "bits_per_second"):
        run.add(metric, rate, "bit/s", operation=way)


def _add_cpu(run: Draft, shares: Mapping[str, Any]) -> None:
    """A share of exactly 0 is one that the other end never sent."""
    for end, key in (("local", "host_total"), ("remote", "remote_total")):
        if run and (share := number(shares.get(key, 0), key)):
            run.add(f"CPU utilization {end}", share, "%")
