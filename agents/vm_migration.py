"""Migration of a machine between two QEMUs on one host, through QMP."""

import json
import os
import shutil
import socket
import tempfile
import time
from typing import Any, Dict, List, NamedTuple, Optional

from agents.errors import AgentError
from agents.vm_consoles import EVENTS, VirtualMachine, watch_consoles

_CONNECT_S = 20.0
_POLL_S = 0.05
_PING = ("ping", "-n", "-i", "0.05")


class Gap(NamedTuple):
    """The longest time between events around the migration, and before it."""

    longest_s: float
    usual_s: float


class Migration(NamedTuple):
    """``events`` has the gaps of pings and writes, if there were any."""

    downtime_s: float
    total_s: float
    lines: Gap
    events: Dict[str, Gap]
    sent_bytes: int


class Qmp:
    """A connection to QEMU's monitor."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        ends_s = time.monotonic() + _CONNECT_S
        while True:
            try:
                self._socket.connect(path)
                break
            except OSError:
                if time.monotonic() > ends_s:
                    raise
                time.sleep(_POLL_S)
        self._socket.settimeout(_CONNECT_S)
        self._file = self._socket.makefile("rb")
        self._file.readline()
        self.ask("qmp_capabilities")

    def ask(self, command: str, **arguments: Any) -> Any:
        message = {"execute": command, "arguments": arguments}
        self._socket.sendall(json.dumps(message).encode() + b"\n")
        while True:
            answer = json.loads(self._file.readline().decode() or "{}")
            if "error" in answer:
                raise OSError("QEMU: %s" % answer["error"].get("desc"))
            if "event" not in answer:
                return answer.get("return")

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def migrate(
    words: List[str], until: str, limit_s: float, watch_s: float, address: str = ""
) -> Migration:
    """Start a machine and migrate it when it is ready, or raise AgentError.

    The machine is pinged at ``address``, if given.
    """
    folder = tempfile.mkdtemp(prefix="virtlab-vm-")
    machines: List[VirtualMachine] = []
    monitors: List[Qmp] = []
    pings: List[VirtualMachine] = []
    try:
        paths = [os.path.join(folder, name) for name in ("source", "target", "move")]
        monitor = ["-qmp", "unix:%s,server=on,wait=off"]
        source = VirtualMachine([*words, monitor[0], monitor[1] % paths[0]], until)
        machines.append(source)
        watch_consoles(machines, limit_s, until_ready=True)
        if not source.is_ready:
            last_lines = source.last_lines()
            raise AgentError("the machine was not ready:\n  %s" % last_lines)
        incoming = ["-incoming", "unix:%s" % paths[2]]
        listening = [*words, monitor[0], monitor[1] % paths[1], *incoming]
        target = VirtualMachine(listening, until)
        machines.append(target)
        monitors += [Qmp(paths[0]), Qmp(paths[1])]
        if address:
            pings.append(VirtualMachine([*_PING, address], "bytes from"))
        watch_consoles(machines + pings, watch_s, until_ready=False)
        begun_s = time.monotonic()
        monitors[0].ask("migrate", uri="unix:%s" % paths[2])
        state = _wait(monitors[0], machines + pings, begun_s + limit_s)
        if state.get("status") != "completed":
            raise AgentError("the migration %s: %s" % (state.get("status"), state))
        watch_consoles([target, *pings], watch_s, until_ready=False)
        if address and not pings[0].is_ready:
            raise AgentError("No ping was answered:\n  %s" % pings[0].last_lines())
        return _result(state, machines, pings[0] if pings else None, begun_s)
    except OSError as error:
        ends = "\n  ".join(machine.last_lines(2) for machine in machines)
        raise AgentError("%s\n  %s" % (error, ends)) from None
    finally:
        for connection in monitors:
            connection.close()
        for machine in machines + pings:
            machine.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _wait(
    monitor: Qmp, machines: List[VirtualMachine], ends_s: float
) -> Dict[str, Any]:
    while True:
        watch_consoles(machines, _POLL_S, until_ready=False)
        state: Dict[str, Any] = monitor.ask("query-migrate") or {}
        is_over = state.get("status") in ("completed", "failed", "cancelled")
        if is_over or time.monotonic() > ends_s:
            return state


def _result(
    state: Dict[str, Any],
    machines: List[VirtualMachine],
    pings: Optional[VirtualMachine],
    begun_s: float,
) -> Migration:
    ready_s = machines[0].started_s + machines[0].times_s["ready"]

    def gap(times_s: List[float]) -> Optional[Gap]:
        return gap_around(times_s, ready_s, begun_s)

    events = {}
    for name in EVENTS:
        sources = [pings] if pings and name == "ping" else machines
        found = gap(
            [shown.started_s + at for shown in sources for at in shown.events_s[name]]
        )
        if found:
            events[name] = found
    lines = [shown.started_s + at for shown in machines for at in shown.line_times_s]
    return Migration(
        downtime_s=state.get("downtime", 0) / 1000,
        total_s=state.get("total-time", 0) / 1000,
        lines=gap(lines) or Gap(0.0, 0.0),
        events=events,
        sent_bytes=int(state.get("ram", {}).get("transferred", 0)),
    )


def gap_around(times_s: List[float], ready_s: float, begun_s: float) -> Optional[Gap]:
    """Return the gaps of events; None without events before and after ``begun_s``."""
    usual = [at for at in times_s if ready_s <= at <= begun_s]
    around = [at for at in times_s if at >= max(usual, default=ready_s)]
    if not around:
        return None
    return Gap(longest_gap(around), longest_gap(usual))


def longest_gap(times_s: List[float]) -> float:
    ordered = sorted(times_s)
    gaps = (ordered[n + 1] - ordered[n] for n in range(len(ordered) - 1))
    return max(gaps, default=0.0)
