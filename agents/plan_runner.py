"""Follow a plan of the server: take a slot, run its steps, report each result.

A slot is the place of one guest. Slots of a co-run start together (docs/method.md,
Plans), half a second after the last stamp. A result counts once the server answers
"keep"; until then it is stored in `plan-<plan>-slot-<slot>.json` for a restarted agent.
Every request may be repeated.
"""

import hashlib
import json
import os
import random
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from agents.client import Client, RefusedError, UnreachableError
from agents.console import Console, utc_text
from agents.errors import ServerRefusedError, ServerUnavailableError, UsageError
from agents.files import read_text_file, remove_if_exists, write_durably
from agents.host_lock import HostLock
from agents.local_state import MeasuringLock, agent_folder
from agents.measuring import command_lines
from agents.measuring.command_lines import Step, ToolOptions
from agents.measuring.remote import RemoteCommand, check_tools
from agents.measuring.timed_run import (
    MeasuredStep,
    execute,
    failure_message,
    measure,
    run_document,
)
from agents.plan_limits import load_limits, refusal
from agents.processes import raise_priority, restore_priority
from agents.spool import Spool
from agents.spool_delivery import send_spool
from agents.timing.clocks import monotonic_us, own_clocks
from agents.timing.time_client import ClockStamp, TimeServerPath, try_stamp
from agents.upload_results import Uploads

STAMP_MAX_AGE_US = 1000000
LAST_STAMP_US = 500000
STAMP_MARGIN = 3
FIRST_SLEEP_US = 250000  # the rate of our clock is still unknown
SPIN_US = 3000
# The server decides whether runs that started late overlap enough to count.
MAX_LATENESS_US = 10000000

ServerReply = Dict[str, Any]
ProgressCallback = Callable[[str], None]


class PlanServer:
    """The requests to the server about one plan, which raise AgentError on failure."""

    def __init__(self, client: Client, plan: int) -> None:
        self.client, self.plan = client, plan

    def join(self, name: str, system: Any, platform: Any = None) -> ServerReply:
        """Take a slot; a repeated request gets the same slot."""
        # Clones of a guest have the same name, but another clock or folder.
        instance = hashlib.sha256(
            (own_clocks().name + agent_folder()).encode()
        ).hexdigest()[:16]
        guest = {"name": name, "system": system, "instance_id": instance}
        if platform:
            guest["platform"] = platform
        return self._ask("plans/%d/slots/" % self.plan, guest)

    def next_part(self, slot: int) -> ServerReply:
        """Return the action run, wait or finished."""
        return self._ask("plans/%d/next/" % self.plan, {"slot": slot})

    def arrive(self, part: ServerReply, **state: Any) -> ServerReply:
        """Return the action wait, start, stop or cancelled."""
        state["attempt"] = part["attempt"]
        return self._ask("plan-parts/%d/arrive/" % part["id"], state)

    def finish(self, part: int, report: ServerReply) -> ServerReply:
        """Return the action keep, discard or pending."""
        return self._ask("plan-parts/%d/finish/" % part, report)

    def _ask(self, path: str, body: Dict[str, Any]) -> ServerReply:
        try:
            return self.client.request("POST", path, body)
        except RefusedError as refused:
            raise ServerRefusedError(refused.detail) from None
        except UnreachableError as error:
            raise ServerUnavailableError("%s. Start again to resume." % error) from None


class AttemptCancelledError(Exception):
    """The attempt ended before the start."""


class StartMissedError(Exception):
    """The start has already passed."""


class Barrier:
    """A start gate (see `measure`) that waits for the other slots of the step."""

    def __init__(
        self,
        server: PlanServer,
        part: Dict[str, Any],
        timeout_s: float,
        report: ProgressCallback,
    ) -> None:
        self.server, self.part = server, part
        self.timeout_s, self.report = timeout_s, report

    def __call__(self, path: TimeServerPath) -> Tuple[Optional[ClockStamp], str]:
        """Wait for the start; raise AttemptCancelledError or StartMissedError."""
        stamp, silence = try_stamp(path)
        while True:
            stamp = refresh_stamp(stamp, path)
            clock: Dict[str, Any] = {}
            if stamp is not None:
                passed_us = monotonic_us() - stamp.local_monotonic_us
                now_us = stamp.server_monotonic_us + passed_us
                clock = {"clock_id": stamp.clock, "now_us": now_us}
            answer = self.server.arrive(self.part, timeout_s=self.timeout_s, **clock)
            if answer["action"] == "start":
                break
            if answer["action"] != "wait":
                raise AttemptCancelledError(answer["message"])
            self.report(answer["message"])
            pause_before_retry(answer["wait_s"])
        if stamp is None:
            return None, silence
        if answer["starts_at_us"] is None:
            # A step with a single slot has no start time.
            return try_stamp(path)
        return wait_for(answer["starts_at_us"], stamp, path), ""


def pause_before_retry(wait_s: float) -> None:
    """Sleep about as long as the server asked; randomness spreads the requests."""
    time.sleep(wait_s * random.uniform(0.7, 1.3))


def wait_for(moment_us: int, stamp: ClockStamp, path: TimeServerPath) -> ClockStamp:
    """Wait for a time of the time server's clock, or raise StartMissedError.

    Until the program starts, this process keeps a higher priority.
    """
    first, rate, sleep_us, last_us = stamp, 1.0, FIRST_SLEEP_US, LAST_STAMP_US
    while remaining_us(moment_us, stamp, rate) > last_us:
        left_us = remaining_us(moment_us, stamp, rate) - last_us
        time.sleep(min(sleep_us, left_us) / 1e6)
        asked_us = monotonic_us()
        stamp, sleep_us = refresh_stamp(stamp, path, 0) or stamp, STAMP_MAX_AGE_US
        # Under load a stamp may take longer than half a second.
        last_us = max(last_us, STAMP_MARGIN * (monotonic_us() - asked_us))
        rate = clock_rate(first, stamp)
    late_us = -remaining_us(moment_us, stamp, rate)
    if late_us > MAX_LATENESS_US:
        raise StartMissedError("missed the start by %.2f s" % (late_us / 1e6))
    raise_priority()
    time.sleep(max(0.0, (remaining_us(moment_us, stamp, rate) - SPIN_US) / 1e6))
    # Sleeps end late: spin for the last milliseconds.
    while remaining_us(moment_us, stamp, rate) > 0:
        pass
    return stamp


def remaining_us(moment_us: int, stamp: ClockStamp, rate: float = 1.0) -> float:
    """Return the microseconds of our clock until a time of the time server's clock."""
    passed_us = monotonic_us() - stamp.local_monotonic_us
    return (moment_us - stamp.server_monotonic_us) / rate - passed_us


def clock_rate(first: ClockStamp, last: ClockStamp) -> float:
    """Return the rate of the time server's clock relative to ours.

    Return 1 if the uncertainty of the stamps explains the difference.
    """
    own_us = last.local_monotonic_us - first.local_monotonic_us
    server_us = last.server_monotonic_us - first.server_monotonic_us
    uncertainty_us = first.round_trip_us + last.round_trip_us
    if own_us <= 0 or abs(server_us - own_us) <= uncertainty_us:
        return 1.0
    return server_us / own_us


def refresh_stamp(
    stamp: Optional[ClockStamp], path: TimeServerPath, age_us: int = STAMP_MAX_AGE_US
) -> Optional[ClockStamp]:
    """Return ``stamp`` if it is younger than ``age_us``, otherwise a new stamp.

    Return ``stamp`` as well if the time server does not answer.
    """
    if stamp is not None and monotonic_us() - stamp.local_monotonic_us < age_us:
        return stamp
    return try_stamp(path)[0] or stamp


class Window(NamedTuple):
    started_us: int
    ended_us: int
    started_wall_us: int
    clock_error_us: int


def program_window(
    clock: Dict[str, Any], started_us: int, local_us: int
) -> Optional[Window]:
    """Convert start and duration of a program to the time server's clock.

    Return None unless ``clock`` has the stamps before and after the program.
    """
    if "start" not in clock or "end" not in clock:
        return None
    first, last = clock["start"], clock["end"]
    own_us = last["local_monotonic_us"] - first["local_monotonic_us"]
    rate = clock["external_us"] / own_us if own_us > 0 else 1.0
    offset_us = (started_us - first["local_monotonic_us"]) * rate
    duration_us = local_us * rate
    return Window(
        round(first["server_monotonic_us"] + offset_us),
        round(first["server_monotonic_us"] + offset_us + duration_us),
        round(first["server_wall_us"] + offset_us),
        int(max(first["round_trip_us"], last["round_trip_us"]) // 2)
        + max(stamp["resolution_us"] for stamp in (first, last))
        + max(stamp["server_resolution_us"] for stamp in (first, last)),
    )


Part = Dict[str, Any]
_RUN = ("scenario", "vms", "slot", "load", "corun", "session")
MAX_BYTES = 64 * 1024 * 1024  # a report holds whole outputs


class PlanSlotContext(NamedTuple):
    study: str
    system: Any
    facts: Dict[str, Any]
    path: TimeServerPath
    clock: str
    time_server: str
    session: str = ""
    through: Optional[RemoteCommand] = None


class PendingReport(NamedTuple):
    """A report that the server has not decided about, and the uploads of its run."""

    part: int
    report: Dict[str, Any]
    documents: List[Dict[str, Any]]


class ReportFile:
    def __init__(self, plan: int, slot: int) -> None:
        self.path = os.path.join(agent_folder(), "plan-%d-slot-%d.json" % (plan, slot))

    def save(self, pending: PendingReport) -> None:
        os.makedirs(agent_folder(), mode=0o700, exist_ok=True)
        write_durably(self.path, json.dumps(pending._asdict()).encode())

    def load(self) -> Optional[PendingReport]:
        """Return the report that an earlier process left, if it is readable."""
        text = read_text_file(self.path, MAX_BYTES)
        try:
            return PendingReport(**json.loads(text)) if text else None
        except (ValueError, TypeError):  # TypeError: fields of another version
            return None

    def delete(self) -> None:
        remove_if_exists(self.path)


class PlanRunner:
    def __init__(
        self, server: PlanServer, slot_id: int, slot: PlanSlotContext, spool: Spool
    ) -> None:
        self.server, self.slot_id, self.slot = server, slot_id, slot
        self.spool, self.console = spool, Console()
        self.report_file = ReportFile(server.plan, slot_id)
        self.failed, self.uploads = 0, Uploads()
        self._last_message = ""

    def run(self) -> int:
        """Run all parts of this slot; return how many failed."""
        pending = self.report_file.load()
        if pending:
            self._finish(pending)
        while True:
            answer = self.server.next_part(self.slot_id)
            if answer["action"] == "finished":
                self.console.message(answer["message"])
                return self.failed
            if answer["action"] == "run":
                self._run(answer["part"])
            else:
                self._report(answer["message"])
                pause_before_retry(answer["wait_s"])

    def _run(self, part: Part) -> None:
        repetition = (
            "warm-up" if part["is_warm_up"] else "repetition %(repetition)d" % part
        )
        message = "step %d, %s: " % (part["position"] + 1, repetition)
        message += "%(tool)s %(program)s (%(scenario)s" % part
        message += ", slot %(slot)s of %(vms)d)" % part if part["vms"] > 1 else ")"
        self._report(message)
        try:
            pending = run_part(part, self.slot, self.server, self._report)
        except AttemptCancelledError as error:
            self.console.message("Nothing was started: %s" % error)
            return
        self.report_file.save(pending)
        self._finish(pending)

    def _finish(self, pending: PendingReport) -> None:
        """Send a report until the server decides; keep or discard the run."""
        outcome = pending.report["outcome"]
        if outcome != "done":
            self.failed += outcome in ("failed", "unsupported")
            self.console.message(pending.report["reason"])
        while True:
            answer = self.server.finish(pending.part, pending.report)
            if answer["action"] != "pending":
                break
            self._report(answer["message"])
            pause_before_retry(answer["wait_s"])
        if answer["action"] != "keep":
            self.console.message("Discarded: %s" % answer["message"])
        # The server stores failed runs as well, but does not count them.
        is_sent = answer["action"] == "keep" or outcome == "failed"
        for document in pending.documents if is_sent else ():
            self.spool.save(document)
            name = "part %d, attempt %d" % (pending.part, pending.report["attempt"])
            self.uploads.add(name, document)
        self.report_file.delete()
        if not is_sent:
            return
        delivery = send_spool(self.spool, self.server.client, lambda _: None)
        if delivery.problem:
            self.console.message(
                "%d waiting: %s" % (delivery.waiting_count, delivery.problem)
            )

    def _report(self, message: str) -> None:
        if message != self._last_message:
            self.console.progress(message)
        self._last_message = message


def run_part(
    part: Part, slot: PlanSlotContext, server: Any, report: ProgressCallback
) -> PendingReport:
    """Run a slot's part of a step; return the report about it.

    Raise AttemptCancelledError if the server cancels the start.
    """
    try:
        step = part_step(part, slot)
    except UsageError as error:
        return _pending_report(part, "unsupported", reason=str(error))
    barrier = Barrier(server, part, step.limit_s, report)
    target = " ".join(slot.through.words) if slot.through else None
    # Slots of a co-run may be containers of one host.
    host_lock = HostLock(report, is_shared=part["vms"] > 1, target=target)
    try:
        with host_lock, MeasuringLock():
            if part["role"] == "load":
                return _load(part, step, slot, barrier)
            measured = measure(step, slot.path, start_gate=barrier)
    except StartMissedError as error:
        return _pending_report(part, "late", reason=str(error))
    finally:
        restore_priority()
    for warning in measured.warnings:
        report("%s %s: %s" % (step.tool, step.name, warning))
    window = _window(measured)
    if slot.through:
        measured = slot.through.mark_local_facts(measured)
    documents = []
    # The server refuses an empty output.
    if not part["is_warm_up"] and measured.execution.output.strip():
        documents.append(_document(part, step, slot, measured, window))
    if measured.execution.problem:
        # The server accepts 2,000 characters.
        reason = failure_message(step, measured)[:2000]
        return _pending_report(part, "failed", documents=documents, reason=reason)
    run_keys = [document["key"] for document in documents]
    return _pending_report(part, "done", window, documents, run_keys=run_keys)


def part_step(part: Part, slot: PlanSlotContext) -> Step:
    steps = [step for step in part_steps(part, slot) if step.name == part["program"]]
    if not steps:
        raise UsageError(
            "This agent cannot run the program %s of %s. Update the agent."
            % (part["program"], part["tool"])
        )
    return steps[0]


def part_steps(part: Part, slot: PlanSlotContext) -> List[Step]:
    """Return the steps of a part's tool; raise UsageError if it cannot run."""
    options, through = part["options"], slot.through
    if through:
        check_tools([part["tool"]])
    forbidden = refusal(part["tool"], options, load_limits())
    if forbidden:
        raise UsageError(forbidden)
    values: Dict[str, Any] = {"folder": "." if through else os.getcwd()}
    values.update(
        {name: options[name] for name in ToolOptions._fields if name in options}
    )
    if not (through or os.path.isdir(values["folder"])):
        raise UsageError("The plan's folder %s does not exist here." % values["folder"])
    # Set here: the plan must not choose which program is started.
    tool_options = ToolOptions(**values)._replace(
        time_server=slot.time_server, probe=through.probe if through else ""
    )
    steps = command_lines.tool_steps(part["tool"], tool_options)
    return through.steps(steps) if through else steps


def _document(
    part: Part,
    step: Step,
    slot: PlanSlotContext,
    measured: MeasuredStep,
    window: Optional[Window],
) -> Dict[str, Any]:
    given = {name: part[name] for name in _RUN}
    given["clock"] = slot.clock
    given["session"] = slot.session or given["session"]
    facts = dict(
        slot.facts,
        plan={name: part[name] for name in ("step", "attempt", "position", "role")},
    )
    if window:
        facts["elapsed_s"] = (window.ended_us - window.started_us) / 1e6
    order = {name: part[name] for name in ("repetition", "repetitions")}
    order["sequence"] = part["start_order"]
    context = (slot.study, slot.system, facts, given, order)
    document = run_document(step, measured, *context)
    if window:
        # Dated by the time server, because the guest's clock may be hours off.
        seconds, rest = divmod(window.started_wall_us, 1000000)
        document["started_at"] = "%s.%06dZ" % (utc_text(seconds)[:-1], rest)
    return document


def _load(
    part: Part, step: Step, slot: PlanSlotContext, barrier: Barrier
) -> PendingReport:
    """Repeat a load program until the server stops it."""

    def should_stop() -> bool:
        return bool(barrier.server.arrive(part)["action"] != "start")

    first = measure(step, slot.path, start_gate=barrier, should_stop=should_stop)
    window, rounds, execution = _window(first), 1, first.execution
    # This is checked first, because a program killed on request has not failed.
    while not should_stop():
        if execution.problem:
            failed = first._replace(execution=execution)
            reason = failure_message(step, failed)[:2000]
            return _pending_report(part, "failed", reason=reason)
        execution = execute(step.argv, step.limit_s, should_stop=should_stop)
        rounds += 1
    last, _ = try_stamp(slot.path)
    if window and last:
        # The window above ends with the first round.
        window = window._replace(ended_us=last.server_monotonic_us)
    return _pending_report(part, "done", window, rounds=rounds)


def _window(measured: MeasuredStep) -> Optional[Window]:
    execution = measured.execution
    return program_window(
        measured.facts["clock"], execution.began_us, execution.local_us
    )


def _pending_report(
    part: Part,
    outcome: str,
    window: Optional[Window] = None,
    documents: Optional[List[Dict[str, Any]]] = None,
    **more: Any,
) -> PendingReport:
    report = dict(more, attempt=part["attempt"], outcome=outcome)
    if window:
        report.update(
            started_us=window.started_us,
            ended_us=window.ended_us,
            clock_error_us=window.clock_error_us,
        )
    return PendingReport(part["id"], report, documents or [])
