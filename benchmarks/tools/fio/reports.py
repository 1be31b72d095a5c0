"""The JSON of fio (``--output-format=json`` and ``json+``), version 2 and 3."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from benchmarks.errors import ParseError
from benchmarks.parsing.drafts import Draft, Parameter, ParsedRun, finished
from benchmarks.parsing.scanning import Pairs, documents, number, section
from benchmarks.sentences import Sentence
from benchmarks.tools.fio.options import case_of, mark_errors, mark_short

_REPORT: Final = r"\{\s*\"fio version\""
_UNNEEDED: Final = {"bins", "FIO_BINS", "iodepth_level", "iodepth_submit"}
WAYS: Final = ("read", "write", "trim", "mixed")
_RANKS: Final = {
    "50.000000": "p50",
    "90.000000": "p90",
    "95.000000": "p95",
    "99.000000": "p99",
    "99.900000": "p99.9",
}


def parse(output: str) -> tuple[ParsedRun, ...]:
    """One run for each report; none if there is no JSON."""
    drafts = [_run(report) for report in _last_of_each_start(output)]
    if not drafts:
        return ()
    return finished(drafts, Sentence("fio reports nothing that was read or written."))


def _kept(pairs: Pairs) -> dict[str, Any]:
    return {key: value for key, value in pairs if key not in _UNNEEDED}


def _last_of_each_start(output: str) -> Iterator[dict[str, Any]]:
    """``--status-interval`` prints the same run again and again while it grows."""
    held: dict[str, Any] | None = None
    for report in documents(output, _REPORT, _kept):
        if held is not None and not _goes_on(held, report):
            yield held
        held = report
    if held is not None:
        yield held


def _goes_on(sooner: Mapping[str, Any], later: Mapping[str, Any]) -> bool:
    """Whether both reports are of one run: the same jobs, started at the same time.

    Another run cannot have started before the first had run for its time.
    """
    names = [[job.get("jobname") for job in _jobs(each)] for each in (sooner, later)]
    if not names[0] or names[0] != names[1]:
        return False
    clocks = [
        (number(each.get("timestamp_ms", 0), "timestamp_ms"), _runtime(each))
        for each in (sooner, later)
    ]
    (moment, ran), (moment_later, ran_later) = clocks
    apart = abs((moment_later - ran_later) - (moment - ran))
    return moment > 0 and ran_later > ran and apart < min(500.0, ran / 2)


def _runtime(report: Mapping[str, Any]) -> float:
    """How long its jobs have run in ms; those behind a stonewall one after another."""
    runtimes: dict[object, float] = {}
    for job in _jobs(report):
        ways = (section(job, way).get("runtime", 0) for way in WAYS)
        longest = max(number(each, "runtime") for each in ways)
        group = job.get("groupid")
        runtimes[group] = max(longest, runtimes.get(group, 0))
    return sum(runtimes.values())


def _jobs(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    jobs = report.get("jobs", report.get("client_stats", []))
    if not isinstance(jobs, list):
        raise ParseError(Sentence("The jobs of this fio report are no list."))
    return [job for job in jobs if isinstance(job, dict)]


def _run(report: Mapping[str, Any]) -> Draft:
    version = str(report.get("fio version", "")).removeprefix("fio-")
    run = Draft(tool_version=version[:40])
    common = section(report, "global options")
    entries = Counter(str(job.get("jobname")) for job in _jobs(report))
    for job in _jobs(report):
        name = str(job.get("jobname", ""))[:200]
        if name == "All clients":
            continue
        if error := job.get("error"):
            run.mark(
                "failed",
                Sentence("{name} ended with error {error}.", name=name, error=error),
            )
            continue
        mark_errors(run, name, number(job.get("total_err", 0), "total_err"))
        options = {**common, **section(job, "job options")}
        texts = {key: str(each) for key, each in options.items()}
        if entries[str(job.get("jobname"))] > 1 and "numjobs" in texts:
            # Without group_reporting, each of these jobs has an entry of its own.
            texts["of jobs"] = texts.pop("numjobs")
        _read_job(run, job, name, texts)
    return run


def _read_job(
    run: Draft, job: Mapping[str, Any], name: str, options: Mapping[str, str]
) -> None:
    has_read = False
    for operation in WAYS:
        way = section(job, operation)
        if not way or not number(way.get("io_bytes", 0), "io_bytes"):
            continue
        case = {"job": name, **case_of(options, operation)}
        has_read = True
        if "bw_bytes" in way:
            run.add("throughput", number(way["bw_bytes"], "bw_bytes"), "B/s", **case)
        elif "bw" in way:
            run.add("throughput", number(way["bw"], "bw"), "KiB/s", **case)
        if "iops" in way:
            run.add("IOPS", number(way["iops"], "iops"), "1/s", **case)
        _read_latencies(run, way, case)
        mark_short(run, name, number(way.get("runtime", 0), "runtime") / 1000)
    if has_read:
        run.add("CPU user", number(job.get("usr_cpu", 0), "usr_cpu"), "%", job=name)
        run.add("CPU system", number(job.get("sys_cpu", 0), "sys_cpu"), "%", job=name)


def _read_latencies(
    run: Draft, way: Mapping[str, Any], case: dict[str, Parameter]
) -> None:
    unit = "ns" if "lat_ns" in way else "us"
    ending = "_ns" if unit == "ns" else ""
    whole, completion = section(way, f"lat{ending}"), section(way, f"clat{ending}")
    for which in ("min", "mean", "max"):
        if value := number(whole.get(which, 0), which):
            run.add(f"latency {which}", value, unit, **case)
    if value := number(completion.get("mean", 0), "mean"):
        run.add("completion latency mean", value, unit, **case)
    percentiles = section(completion, "percentile")
    for rank, name in _RANKS.items():
        if value := number(percentiles.get(rank, 0), rank):
            run.add(f"completion latency {name}", value, unit, **case)
