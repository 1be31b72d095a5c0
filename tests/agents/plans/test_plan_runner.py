"""PlanRunner: reactions to each answer, and recovery after a kill."""

import uuid
from pathlib import Path

import pytest

from agents.measuring.remote import RemoteCommand
from agents.plan_runner import PendingReport, PlanRunner, PlanSlotContext, ReportFile
from agents.timing.time_client import TimeServerPath
from tests.agents.conftest import telling_time
from tests.agents.packed_agent import PART

PRINTED = Path(__file__).parents[2] / "data"
REAL = PRINTED / "hackbench" / "process.txt"


class Server:
    """A plan with a few parts, which records the reports."""

    plan = 1

    def __init__(self, client, *parts, ends=("keep",)):
        self.client, self.parts, self.ends = client, list(parts), list(ends)
        self.reports, self.arrivals = [], []
        self.answers = [{"action": "start"}]

    def next_part(self, slot):
        if self.parts:
            return {"action": "run", "part": self.parts.pop(0)}
        return {"action": "finished", "message": "The plan is done.", "wait_s": 0}

    def arrive(self, part, **fields):
        self.arrivals.append(fields)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return {"message": "So.", "wait_s": 0, "starts_at_us": None, **answer}

    def finish(self, part, report):
        self.reports.append((part, report))
        state = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        return {"action": state, "message": "So it is.", "wait_s": 0}


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Install a hackbench that runs a script."""

    def install(script=f"cat {REAL}"):
        program = tmp_path / "bin" / "hackbench"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")

    install()
    return install


@pytest.fixture
def follow(home, spool, server, tool):
    slot = PlanSlotContext(
        study="study",
        system=17,
        facts={"platform": {"layers": ["kvm"]}},
        path=TimeServerPath(server.url),
        clock="guest",
        time_server="",
    )
    return lambda plan: PlanRunner(plan, 5, slot, spool).run()


def stored_runs(server):
    return list(server.stored.values())


def test_kept_run_is_sent_with_step_and_corun(follow, client, server):
    plan = Server(client, PART, ends=("pending", "keep"))

    assert follow(plan) == 0

    (run,) = stored_runs(server)
    assert (run["corun"], run["session"], run["slot"]) == (
        "plan 1, step 1",
        "plan 1",
        "2",
    )
    assert run["facts"]["plan"]["step"] == 3
    assert run["facts"]["order"] == {
        "repetition": 2,
        "repetitions": 5,
        "sequence": 4,
        "step": "process",
    }
    assert run["facts"]["execution"]["argv"] == ["hackbench", "-g", "2", "-l", "1000"]
    assert [report["run_keys"] for _, report in plan.reports] == [[run["key"]]] * 2


def test_session_can_be_named(client, home, spool, server, tool):
    slot = PlanSlotContext(
        "study", 17, {}, TimeServerPath(server.url), "guest", "", "session 2"
    )

    PlanRunner(Server(client, PART), 5, slot, spool).run()

    assert [run["session"] for run in stored_runs(server)] == ["session 2"]


def test_discarded_run_is_forgotten(follow, client, server, home):
    follow(Server(client, PART, ends=("pending", "discard")))

    assert stored_runs(server) == []
    assert not list(home.glob("plan-*.json"))


def test_warm_up_is_not_sent(follow, client, server):
    plan = Server(client, dict(PART, is_warm_up=True, repetition=0))

    follow(plan)

    assert (stored_runs(server), plan.reports[0][1]["outcome"]) == ([], "done")


def test_failing_program_is_reported_with_its_output(
    follow, client, server, tool, capsys
):
    tool('echo "no such thing"; exit 4')
    plan = Server(client, PART, ends=("discard",))

    assert follow(plan) == 1
    assert plan.reports[0][1]["outcome"] == "failed"
    assert "no such thing" in plan.reports[0][1]["reason"]
    assert "ended with 4" in capsys.readouterr().err
    assert [run["failed"] for run in stored_runs(server)] == ["ended with 4"]


def test_missing_program_is_unsupported(follow, client):
    plan = Server(client, dict(PART, tool="netperf"), ends=("discard",))

    assert follow(plan) == 1
    assert plan.reports[0][1]["outcome"] == "unsupported"


def test_cancelled_slot_continues_with_the_next_step(follow, client, server):
    plan = Server(client, PART, dict(PART, attempt=2))
    plan.answers = [{"action": "cancelled"}, {"action": "start"}]

    follow(plan)

    assert [report["attempt"] for _, report in plan.reports] == [2]
    assert len(stored_runs(server)) == 1


def test_load_runs_until_stopped(follow, client, server):
    plan = Server(client, dict(PART, role="load"))
    plan.answers = [{"action": "start"}] * 4 + [{"action": "stop"}]

    assert follow(plan) == 0

    (_, report), *_ = plan.reports
    assert (report["outcome"], stored_runs(server)) == ("done", [])
    assert report["rounds"] >= 2


def test_later_failure_of_a_load_is_reported_with_its_output(
    follow, client, tool, tmp_path
):
    marker = tmp_path / "again"
    tool(
        f'[ -e {marker} ] && echo "no space left" && exit 4\n'
        f'touch {marker}; echo "all is well"'
    )
    plan = Server(client, dict(PART, role="load"), ends=("discard",))

    assert follow(plan) == 1

    ((_, report),) = plan.reports
    assert report["outcome"] == "failed"
    assert "ended with 4" in report["reason"]
    assert "no space left" in report["reason"]
    assert "all is well" not in report["reason"]


def test_pending_report_survives_a_kill(follow, client, server, home):
    home.mkdir()
    document = {"key": str(uuid.uuid4()), "note": "from before"}
    report = {"attempt": 1, "outcome": "done", "run_keys": [document["key"]]}
    ReportFile(1, 5).save(PendingReport(7, report, [document]))
    plan = Server(client)

    follow(plan)

    assert plan.reports == [(7, report)]
    assert [run["note"] for run in stored_runs(server)] == ["from before"]
    assert not list(home.glob("plan-*.json"))


def test_truncated_report_file_is_ignored(home):
    home.mkdir()
    (home / "plan-1-slot-5.json").write_text('{"part": 7, "rep')

    assert ReportFile(1, 5).load() is None


LINPACK = PRINTED / "virtlab-linpack" / "gcc-time-server.txt"


@pytest.fixture
def elsewhere(home, spool, server, tmp_path):
    """A slot in a guest that has only a probe, reached by `env`."""
    probe = tmp_path / "virtlab-probe"
    probe.write_text(f"#!/bin/sh\ncat {LINPACK}\n")
    probe.chmod(0o755)
    with telling_time() as clock:
        slot = PlanSlotContext(
            study="study",
            system=17,
            facts={},
            path=TimeServerPath(f"tcp://127.0.0.1:{clock.port}"),
            clock="guest",
            time_server="",
            through=RemoteCommand(["env"], str(probe)),
        )
        yield lambda plan: PlanRunner(plan, 5, slot, spool).run()


def test_step_that_this_machine_does_not_allow_is_not_run(follow, client):
    part = dict(PART, options={"threads": 10**6})
    plan = Server(client, part, ends=("discard",))

    assert follow(plan) == 1
    assert plan.reports[0][1]["outcome"] == "unsupported"
    assert "threads" in plan.reports[0][1]["reason"]


def test_step_can_run_in_a_guest_without_python(elsewhere, client, server, home):
    home.mkdir(exist_ok=True)
    (home / "allow.conf").write_text("[plans]\nfolders = /mnt/disk\n")
    options = {"folder": "/mnt/disk", "probe": "/bin/other"}
    part = dict(PART, tool="virtlab-linpack", program="all sizes", options=options)
    plan = Server(client, part)

    assert elsewhere(plan) == 0

    (run,) = stored_runs(server)
    assert run["output"] == LINPACK.read_text()
    assert run["facts"]["execution"]["argv"][0] == "env"
    assert run["facts"]["plan"]["step"] == 3
    # The window uses the clock of this machine, which does not describe the guest's.
    assert plan.reports[0][1]["clock_error_us"] > 0
    assert "unknown" in run["facts"]["clock"]
    assert run["facts"]["through"]["command"] == "env"


def test_tool_outside_the_probe_is_unsupported(elsewhere, client):
    plan = Server(client, PART, ends=("discard",))

    assert elsewhere(plan) == 1
    assert plan.reports[0][1]["outcome"] == "unsupported"
    assert "hackbench" in plan.reports[0][1]["reason"]
