"""Migration of a machine between two QEMUs on one host, through QMP."""

import json
import os
import shutil
import socket
import tempfile
import time
from typing import Any, Dict, List, NamedTuple

from agents.errors import AgentError
from agents.vm_consoles import VirtualMachine, watch_consoles

_CONNECT_S = 20.0
_POLL_S = 0.05


class Migration(NamedTuple):
    """``gap_s`` is the longest time without a console line around the migration;
    ``usual_gap_s`` the longest one before it.
    """

    downtime_s: float
    total_s: float
    gap_s: float
    usual_gap_s: float
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


def migrate(words: List[str], until: str, limit_s: float, watch_s: float) -> Migration:
    """Start a machine and migrate it when it is ready, or raise AgentError."""
    folder = tempfile.mkdtemp(prefix="virtlab-vm-")
    machines: List[VirtualMachine] = []
    monitors: List[Qmp] = []
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
        watch_consoles(machines, watch_s, until_ready=False)
        begun_s = time.monotonic()
        monitors[0].ask("migrate", uri="unix:%s" % paths[2])
        state = _wait(monitors[0], machines, begun_s + limit_s)
        if state.get("status") != "completed":
            raise AgentError("the migration %s: %s" % (state.get("status"), state))
        watch_consoles([target], watch_s, until_ready=False)
        return _result(state, source, target, begun_s)
    except OSError as error:
        ends = "\n  ".join(machine.last_lines(2) for machine in machines)
        raise AgentError("%s\n  %s" % (error, ends)) from None
    finally:
        for connection in monitors:
            connection.close()
        for machine in machines:
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
    source: VirtualMachine,
    target: VirtualMachine,
    begun_s: float,
) -> Migration:
    before = [source.started_s + at for at in source.line_times_s]
    after = [target.started_s + at for at in target.line_times_s]
    ready_s = source.started_s + source.times_s["ready"]
    usual = [at for at in before if ready_s <= at <= begun_s]
    around = [at for at in [*before, *after] if at >= (usual or [ready_s])[-1]]
    return Migration(
        downtime_s=state.get("downtime", 0) / 1000,
        total_s=state.get("total-time", 0) / 1000,
        gap_s=longest_gap(around),
        usual_gap_s=longest_gap(usual),
        sent_bytes=int(state.get("ram", {}).get("transferred", 0)),
    )


def longest_gap(times_s: List[float]) -> float:
    ordered = sorted(times_s)
    gaps = (ordered[n + 1] - ordered[n] for n in range(len(ordered) - 1))
    return max(gaps, default=0.0)
