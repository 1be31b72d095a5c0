"""The results of a testbed's runs on the server."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agents.client import Client
from testbed import TestbedError
from testbed.logged_programs import ClockCheck, ConsoleReport
from testbed.schedule import (
    NATIVE,
    NSPAWN,
    WRONG_CLOCK,
    ScheduledBoot,
    TestSystem,
    expected_runs,
    system_note,
)

READ_TIMEOUT_S: Final = 180
# The smallest relative error that the wrong clock must have, and the largest one that
# the time server may have (docs/testbed.md).
WRONG_CLOCK_LIMIT: Final = 0.1
TIME_SERVER_LIMIT: Final = 0.02
VERDICTS: Final = ("slower", "faster", "equivalent")
TABLE_HEADER: Final = (
    "system",
    "layers detected",
    "results",
    "clock on the page",
    "its clock",
    "time server",
    "seconds",
)
_LOCAL_SYSTEMS: Final = {
    system.name for boot in (NATIVE, NSPAWN) for system in boot.systems
}
_WRONG_CLOCK_SYSTEM: Final = WRONG_CLOCK.systems[0].name


@dataclass
class SystemResults:
    expected: int = 0
    parsed: int = 0
    layers: set[tuple[str, ...]] = field(default_factory=set)
    system_ids: set[int] = field(default_factory=set)
    trusts: Counter[str] = field(default_factory=Counter)


def wait_until_parsed(client: Client, study: str) -> None:
    """Wait until the server has processed and checked all uploads.

    Raise TestbedError if it makes no progress for `READ_TIMEOUT_S`.
    """
    least, deadline_s = None, 0.0
    while pending := _pending(client, study):
        if least is None or pending < least:
            least, deadline_s = pending, time.monotonic() + READ_TIMEOUT_S
        if time.monotonic() > deadline_s:
            raise TestbedError(
                f"The server made no progress within {READ_TIMEOUT_S} s."
            )
        time.sleep(0.5)


def _pending(client: Client, study: str) -> int:
    health = client.get("health/")
    waiting = int(health["outbox"]["waiting"])
    due = sum(
        int(job["waiting"]) for job in health["waiting_jobs"] if job["kind"] == "check"
    )
    cells = client.get_all("cells/", study=study)
    return waiting + due + sum(not cell["clock_trust"] for cell in cells)


def system_results(
    client: Client, study: str, boots: Iterable[ScheduledBoot]
) -> dict[str, SystemResults]:
    boots = list(boots)
    results = {
        system.name: SystemResults() for boot in boots for system in boot.systems
    }
    for boot in boots:
        for system in boot.systems:
            results[system.name].expected += (
                boot.repetitions
                if boot.setup.is_plan
                else expected_runs(system, boot.repetitions)
            )
    names = {system_note(TestSystem(name=name)): name for name in results}
    for run in client.get_all("runs/", study=study):
        # Runs of a plan have no note of the testbed, so their slot identifies them.
        name = names.get(run["note"], f"slot-{run['slot']}")
        if name in results and run["status"] == "parsed":
            results[name].parsed += 1
            results[name].layers.add(tuple(run["facts"]["platform"]["layers"]))
            results[name].system_ids.add(run["system_id"])
    cells = list(client.get_all("cells/", study=study))
    for name, result in results.items():
        result.trusts.update(
            cell["clock_trust"]
            for cell in cells
            if cell["system_id"] in result.system_ids and _is_of(cell, name)
        )
    return results


def _is_of(cell: dict[str, Any], name: str) -> bool:
    slot = name.partition("slot-")[2]
    is_single = cell["scenario"] == "single"
    return is_single if not slot else not is_single and cell["slot"] == slot


@dataclass(frozen=True)
class ComparisonSummary:
    single: int
    native: int
    """The number of native cells; ``single`` of them have one figure (not two)."""
    verdicts: Mapping[str, tuple[int, int]]
    """The number of ratios with a verdict and of all ratios, by component."""

    def lines(self) -> list[str]:
        share = self.single / self.native if self.native else 0.0
        parts = [f"{name} {n} of {total}" for name, (n, total) in self.verdicts.items()]
        return [
            f"native: {self.single} of {self.native} cells have a single figure "
            f"({share:.0%})",
            f"verdicts: {', '.join(parts) or 'none'}",
        ]


def comparison_summary(client: Client, study: str) -> ComparisonSummary:
    rows = list(client.get_all("comparisons/", study=study))
    native = [row for row in rows if row["state"] == "native"]
    paired = [row for row in rows if row["state"] == "paired"]
    by_component: dict[str, list[bool]] = {}
    for row in paired:
        is_system = row["tool"] == "virtlab-system" and row["component"] == "CPU"
        component = "system" if is_system else row["component"]
        has_verdict = row["verdict"] in VERDICTS
        by_component.setdefault(component, []).append(has_verdict)
    return ComparisonSummary(
        sum(row["value"] is not None for row in native),
        len(native),
        {
            name: (sum(verdicts), len(verdicts))
            for name, verdicts in sorted(by_component.items())
        },
    )


def result_problems(
    systems: Iterable[TestSystem],
    results: Mapping[str, SystemResults],
    reports: Mapping[str, Sequence[ConsoleReport]],
    host_layers: tuple[str, ...],
) -> list[str]:
    problems = []
    for system in systems:
        result = results[system.name]
        if result.parsed != result.expected:
            problems.append(
                f"{system.name}: {result.parsed} of {result.expected} results are "
                "readable on the server."
            )
        # These systems share this machine's kernel, so they see its outer layers.
        outer = host_layers if system.name in _LOCAL_SYSTEMS else ()
        if result.layers - {(*outer, *system.detectable_layers)}:
            problems.append(f"{system.name}: the agent detected {_layers(result)}.")
    if _WRONG_CLOCK_SYSTEM in results:
        clock = _worst(reports.get(_WRONG_CLOCK_SYSTEM, ()))
        problems += _wrong_clock_problems(results[_WRONG_CLOCK_SYSTEM], clock)
    return problems


def _wrong_clock_problems(result: SystemResults, clock: ClockCheck | None) -> list[str]:
    if clock is None:
        return ["liar: its clock was not checked."]
    problems = []
    if abs(clock.local_error) - clock.bound < WRONG_CLOCK_LIMIT:
        problems.append(f"liar: its clock was only {clock.local_error:+.1%} off.")
    if abs(clock.external_error) - clock.bound > TIME_SERVER_LIMIT:
        problems.append(f"liar: its time server was {clock.external_error:+.1%} off.")
    if set(result.trusts) != {"suspect"}:
        problems.append(f"liar: its clock is {_trusts(result)}, not suspect.")
    return problems


def result_table(
    systems: Iterable[TestSystem],
    results: Mapping[str, SystemResults],
    reports: Mapping[str, Sequence[ConsoleReport]],
    seconds: Mapping[str, float],
) -> list[str]:
    rows = [TABLE_HEADER]
    for system in systems:
        result, clock = results[system.name], _worst(reports.get(system.name, ()))
        rows.append(
            (
                system.name,
                _layers(result) or "-",
                f"{result.parsed} of {result.expected}",
                _trusts(result) or "-",
                f"{clock.local_error:+.2%}" if clock else "-",
                f"{clock.external_error:+.2%} +-{clock.bound:.2%}" if clock else "-",
                f"{seconds.get(system.name, 0.0):.0f}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    ]


def _layers(result: SystemResults) -> str:
    return ", ".join(" > ".join(layers) or "none" for layers in sorted(result.layers))


def _trusts(result: SystemResults) -> str:
    return ", ".join(
        f"{count} {trust}" for trust, count in sorted(result.trusts.items())
    )


def _worst(reports: Sequence[ConsoleReport]) -> ClockCheck | None:
    checks = [clock for report in reports for clock in report.clocks]
    return max(checks, key=lambda check: abs(check.local_error), default=None)
