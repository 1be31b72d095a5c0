"""What the server makes of a lab's runs, and whether that is as it should be."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agents.client import Client
from lab import LabError
from lab.boots import LIAR, NATIVE, NSPAWN, System, Visit, note_of, runs_of
from lab.processes import ClockCheck, ConsoleReport

READ_S: Final = 180
# So wrong the liar has to be at least, and so right the time server (docs/lab.md).
LIE: Final = 0.1
TRUE: Final = 0.02
VERDICTS: Final = ("slower", "faster", "equivalent")
HEAD: Final = (
    "system",
    "layers detected",
    "results",
    "clock on the page",
    "its clock",
    "time server",
    "seconds",
)
_THIS_MACHINES: Final = {
    each.name for boot in (NATIVE, NSPAWN) for each in boot.systems
}
_LIAR: Final = LIAR.systems[0].name


@dataclass
class Found:
    """What is on the server of one system."""

    wanted: int = 0
    parsed: int = 0
    layers: set[tuple[str, ...]] = field(default_factory=set)
    system_ids: set[int] = field(default_factory=set)
    trusts: Counter[str] = field(default_factory=Counter)


def await_read(client: Client, study: str) -> None:
    """Wait until the server has read and checked all uploads, if it progresses."""
    least, end_s = None, 0.0
    while left := _unread(client, study):
        if least is None or left < least:
            least, end_s = left, time.monotonic() + READ_S
        if time.monotonic() > end_s:
            raise LabError(f"The server read nothing more within {READ_S} s.")
        time.sleep(0.5)


def _unread(client: Client, study: str) -> int:
    """Return how many uploads, clocks and checks are still before the server."""
    health = client.get("health/")
    waiting = int(health["outbox"]["waiting"])
    due = sum(int(it["waiting"]) for it in health["due"] if it["kind"] == "check")
    cells = client.get_all("cells/", study=study)
    return waiting + due + sum(not cell["clock_trust"] for cell in cells)


def found_of(client: Client, study: str, visits: Iterable[Visit]) -> dict[str, Found]:
    """Return what the server has of each system of the visits."""
    visits = list(visits)
    found = {each.name: Found() for visit in visits for each in visit.systems}
    for visit in visits:
        for system in visit.systems:
            found[system.name].wanted += (
                visit.repetitions
                if visit.boot.is_plan
                else runs_of(system, visit.repetitions)
            )
    names = {note_of(System(name=name)): name for name in found}
    for run in client.get_all("runs/", study=study):
        # A plan's runs have no note of the lab: their slot tells them.
        name = names.get(run["note"], f"slot-{run['slot']}")
        if name in found and run["status"] == "parsed":
            found[name].parsed += 1
            found[name].layers.add(tuple(run["facts"]["platform"]["layers"]))
            found[name].system_ids.add(run["system_id"])
    cells = list(client.get_all("cells/", study=study))
    for name, each in found.items():
        each.trusts.update(
            cell["clock_trust"]
            for cell in cells
            if cell["system_id"] in each.system_ids and _is_of(cell, name)
        )
    return found


def _is_of(cell: dict[str, Any], name: str) -> bool:
    """Tell a slot's cell from the same system's alone."""
    slot = name.partition("slot-")[2]
    is_alone = cell["scenario"] == "single"
    return is_alone if not slot else not is_alone and cell["slot"] == slot


@dataclass(frozen=True)
class Said:
    """What the server says of a lab's comparison."""

    single: int
    native: int
    """Of so many native cells so many have one figure (no two speeds)."""
    verdicts: Mapping[str, tuple[int, int]]
    """Of each component: how many ratios have a verdict, and how many there are."""

    def lines(self) -> list[str]:
        share = self.single / self.native if self.native else 0.0
        parts = [f"{name} {n} of {all_}" for name, (n, all_) in self.verdicts.items()]
        return [
            f"native: {self.single} of {self.native} cells have a single figure "
            f"({share:.0%})",
            f"verdicts: {', '.join(parts) or 'none'}",
        ]


def said_of(client: Client, study: str) -> Said:
    """Return how many single figures and verdicts there are, once flags are found."""
    rows = list(client.get_all("comparisons/", study=study))
    native = [row for row in rows if row["state"] == "native"]
    paired = [row for row in rows if row["state"] == "paired"]
    of_component: dict[str, list[bool]] = {}
    for row in paired:
        is_system = row["tool"] == "virtlab-system" and row["component"] == "CPU"
        component = "system" if is_system else row["component"]
        has_verdict = row["verdict"] in VERDICTS
        of_component.setdefault(component, []).append(has_verdict)
    return Said(
        sum(row["value"] is not None for row in native),
        len(native),
        {name: (sum(all_), len(all_)) for name, all_ in sorted(of_component.items())},
    )


def problems(
    systems: Iterable[System],
    found: Mapping[str, Found],
    reports: Mapping[str, Sequence[ConsoleReport]],
    beneath: tuple[str, ...],
) -> list[str]:
    """Return, in sentences, what is not as it should be."""
    wrong = []
    for system in systems:
        here = found[system.name]
        if here.parsed != here.wanted:
            wrong.append(
                f"{system.name}: {here.parsed} of {here.wanted} results are readable "
                "on the server."
            )
        # Who shares this machine's kernel sees what the machine itself stands on.
        outer = beneath if system.name in _THIS_MACHINES else ()
        if here.layers - {(*outer, *system.seen)}:
            wrong.append(f"{system.name}: the agent detected {_layers(here)}.")
    if _LIAR in found:
        wrong += _about_the_liar(found[_LIAR], _worst(reports.get(_LIAR, ())))
    return wrong


def _about_the_liar(found: Found, clock: ClockCheck | None) -> list[str]:
    if clock is None:
        return ["liar: nobody knows how its clock went."]
    wrong = []
    if abs(clock.local_error) - clock.bound < LIE:
        wrong.append(f"liar: its clock was only {clock.local_error:+.1%} off.")
    if abs(clock.external_error) - clock.bound > TRUE:
        wrong.append(f"liar: its time server was {clock.external_error:+.1%} off.")
    if set(found.trusts) != {"suspect"}:
        wrong.append(f"liar: the page calls its clock {_trusts(found)}, not suspect.")
    return wrong


def table(
    systems: Iterable[System],
    found: Mapping[str, Found],
    reports: Mapping[str, Sequence[ConsoleReport]],
    seconds: Mapping[str, float],
) -> list[str]:
    """Return the lines of the final table."""
    rows = [HEAD]
    for system in systems:
        here, clock = found[system.name], _worst(reports.get(system.name, ()))
        rows.append(
            (
                system.name,
                _layers(here) or "-",
                f"{here.parsed} of {here.wanted}",
                _trusts(here) or "-",
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


def _layers(found: Found) -> str:
    return ", ".join(" > ".join(each) or "none" for each in sorted(found.layers))


def _trusts(found: Found) -> str:
    return ", ".join(
        f"{count} {trust}" for trust, count in sorted(found.trusts.items())
    )


def _worst(reports: Sequence[ConsoleReport]) -> ClockCheck | None:
    """Return the check in which the system's clock was furthest off."""
    checks = [clock for report in reports for clock in report.clocks]
    return max(checks, key=lambda each: abs(each.local_error), default=None)
