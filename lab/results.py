"""What the server makes of a lab's runs, read through its API."""

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from agents.client import Client
from lab.boots import Boot, System, Visit
from lab.commands import note_of, runs_of
from lab.errors import LabError

READ_S: Final = 180


@dataclass
class Found:
    """What is on the server of one system."""

    wanted: int = 0
    parsed: int = 0
    layers: set[tuple[str, ...]] = field(default_factory=set)
    system_ids: set[int] = field(default_factory=set)
    trusts: Counter[str] = field(default_factory=Counter)


def await_read(client: Client, study: str) -> None:
    """Wait until the server has read all that was uploaded, and judged the clocks."""
    end_s = time.monotonic() + READ_S
    while not (
        (not client.get("health/")["outbox"]["waiting"]) and _is_judged(client, study)
    ):
        if time.monotonic() > end_s:
            raise LabError(f"The server did not read everything within {READ_S} s.")
        time.sleep(0.5)


def found_of(client: Client, study: str, visits: Iterable[Visit]) -> dict[str, Found]:
    """Return what the server has of each system of the visits."""
    visits = list(visits)
    found = {each.name: Found() for visit in visits for each in visit.systems}
    for visit in visits:
        for system in visit.systems:
            found[system.name].wanted += _wanted(visit.boot, system, visit.repetitions)
    names = {note_of(System(name=name)): name for name in found}
    for run in client.get_all("runs/", study=study):
        name = names.get(run["note"], f"slot-{run['slot']}")
        if name in found and run["status"] == "parsed":
            _add(found[name], run)
    cells = list(client.get_all("cells/", study=study))
    for name, each in found.items():
        each.trusts.update(
            cell["clock_trust"]
            for cell in cells
            if cell["system_id"] in each.system_ids and _is_of(cell, name)
        )
    return found


def _is_judged(client: Client, study: str) -> bool:
    cells = client.get_all("cells/", study=study)
    return all(cell["clock_trust"] for cell in cells)


def _is_of(cell: dict[str, Any], name: str) -> bool:
    """Tell a slot's cell from the same system's alone."""
    slot = name.partition("slot-")[2]
    is_alone = cell["scenario"] == "single"
    return is_alone if not slot else not is_alone and cell["slot"] == slot


def _wanted(boot: Boot, system: System, repetitions: int) -> int:
    return repetitions if boot.is_plan else runs_of(system, repetitions)


def _add(found: Found, run: dict[str, Any]) -> None:
    found.parsed += 1
    found.layers.add(tuple(run["facts"]["platform"]["layers"]))
    found.system_ids.add(run["system_id"])
