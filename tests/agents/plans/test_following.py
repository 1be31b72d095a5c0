"""The follower: what it does with each answer, and after a former life."""

import uuid
from pathlib import Path

import pytest

from agents.measuring.through import Through
from agents.plans import Follower, Held, Keeping, Slot
from agents.timing.asking import TimePath
from tests.agents.conftest import telling_time
from tests.agents.stage import PART

PRINTED = Path(__file__).parents[2] / "data"
REAL = PRINTED / "hackbench" / "process.txt"


class Server:
    """A plan with a few parts; says what it is told about their ends."""

    plan = 1

    def __init__(self, client, *parts, ends=("keep",)):
        self.client, self.parts, self.ends = client, list(parts), list(ends)
        self.reports, self.met = [], []
        self.meets = [{"state": "start"}]

    def next_part(self, slot):
        if self.parts:
            return {"state": "run", "part": self.parts.pop(0)}
        return {"state": "over", "sentence": "The plan is done.", "wait_s": 0}

    def meet(self, part, **said):
        self.met.append(said)
        answer = self.meets.pop(0) if len(self.meets) > 1 else self.meets[0]
        return {"sentence": "So.", "wait_s": 0, "starts_at_us": None, **answer}

    def finish(self, part, report):
        self.reports.append((part, report))
        state = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        return {"state": state, "sentence": "So it is.", "wait_s": 0}


@pytest.fixture
def tool(tmp_path, monkeypatch):
    """Put a hackbench on the path that does what a script says."""

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
    slot = Slot(
        study="study",
        system=17,
        facts={"platform": {"layers": ["kvm"]}},
        path=TimePath(server.url),
        clock="guest",
        time_server="",
    )
    return lambda plan: Follower(plan, 5, slot, spool).follow()


def kept(server):
    return list(server.stored.values())


def test_what_is_kept_is_sent_with_its_step_and_its_co_run(follow, client, server):
    plan = Server(client, PART, ends=("held", "keep"))

    assert follow(plan) == 0

    (run,) = kept(server)
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
    assert [report["keys"] for _, report in plan.reports] == [[run["key"]]] * 2


def test_its_runs_may_belong_to_a_sitting_that_has_a_name(
    client, home, spool, server, tool
):
    slot = Slot("study", 17, {}, TimePath(server.url), "guest", "", "session 2")

    Follower(Server(client, PART), 5, slot, spool).follow()

    assert [run["session"] for run in kept(server)] == ["session 2"]


def test_what_is_discarded_is_forgotten(follow, client, server, home):
    follow(Server(client, PART, ends=("held", "discard")))

    assert kept(server) == []
    assert not list(home.glob("plan-*.json"))


def test_a_warm_up_is_run_and_not_sent(follow, client, server):
    plan = Server(client, dict(PART, is_warm_up=True, repetition=0))

    follow(plan)

    assert (kept(server), plan.reports[0][1]["outcome"]) == ([], "done")


def test_a_program_that_fails_is_reported_with_its_last_words(
    follow, client, tool, capsys
):
    tool('echo "no such thing"; exit 4')
    plan = Server(client, PART, ends=("discard",))

    assert follow(plan) == 1
    assert plan.reports[0][1]["outcome"] == "failed"
    assert "no such thing" in plan.reports[0][1]["reason"]
    assert "ended with 4" in capsys.readouterr().err


def test_a_program_that_is_missing_is_hopeless(follow, client):
    plan = Server(client, dict(PART, tool="netperf"), ends=("discard",))

    assert follow(plan) == 1
    assert plan.reports[0][1]["outcome"] == "hopeless"


def test_a_released_slot_goes_on_with_its_next_step(follow, client, server):
    plan = Server(client, PART, dict(PART, attempt=2))
    plan.meets = [{"state": "released"}, {"state": "start"}]

    follow(plan)

    assert [report["attempt"] for _, report in plan.reports] == [2]
    assert len(kept(server)) == 1


def test_a_load_runs_until_it_is_told_to_stop(follow, client, server):
    plan = Server(client, dict(PART, role="load"))
    plan.meets = [{"state": "start"}] * 4 + [{"state": "stop"}]

    assert follow(plan) == 0

    (_, report), *_ = plan.reports
    assert (report["outcome"], kept(server)) == ("done", [])
    assert report["rounds"] >= 2


def test_a_load_that_fails_later_is_reported_with_that_rounds_last_words(
    follow, client, tool, tmp_path
):
    again = tmp_path / "again"
    tool(
        f'[ -e {again} ] && echo "no space left" && exit 4\n'
        f'touch {again}; echo "all is well"'
    )
    plan = Server(client, dict(PART, role="load"), ends=("discard",))

    assert follow(plan) == 1

    ((_, report),) = plan.reports
    assert report["outcome"] == "failed"
    assert "ended with 4" in report["reason"]
    assert "no space left" in report["reason"]
    assert "all is well" not in report["reason"]


def test_what_was_measured_before_a_kill_is_reported_in_the_next_life(
    follow, client, server, home
):
    home.mkdir()
    document = {"key": str(uuid.uuid4()), "note": "from before"}
    report = {"attempt": 1, "outcome": "done", "keys": [document["key"]]}
    Keeping(1, 5).hold(Held(7, report, [document]))
    plan = Server(client)

    follow(plan)

    assert plan.reports == [(7, report)]
    assert [run["note"] for run in kept(server)] == ["from before"]
    assert not list(home.glob("plan-*.json"))


def test_half_a_file_of_a_former_life_is_no_harm(home):
    home.mkdir()
    (home / "plan-1-slot-5.json").write_text('{"part": 7, "rep')

    assert Keeping(1, 5).held() is None


LINPACK = PRINTED / "virtlab-linpack" / "gcc-time-server.txt"


@pytest.fixture
def elsewhere(home, spool, server, tmp_path):
    """A slot in a guest that has but a probe, reached by `env`."""
    probe = tmp_path / "virtlab-probe"
    probe.write_text(f"#!/bin/sh\ncat {LINPACK}\n")
    probe.chmod(0o755)
    with telling_time() as clock:
        slot = Slot(
            study="study",
            system=17,
            facts={},
            path=TimePath(f"tcp://127.0.0.1:{clock.port}"),
            clock="guest",
            time_server="",
            through=Through(["env"], str(probe)),
        )
        yield lambda plan: Follower(plan, 5, slot, spool).follow()


def test_a_step_is_done_in_a_guest_that_has_no_python(elsewhere, client, server):
    options = {"folder": "/mnt/disk", "probe": "/bin/other"}
    part = dict(PART, tool="virtlab-linpack", program="all sizes", options=options)
    plan = Server(client, part)

    assert elsewhere(plan) == 0

    (run,) = kept(server)
    assert run["output"] == LINPACK.read_text()
    assert run["facts"]["execution"]["argv"][0] == "env"
    assert run["facts"]["plan"]["step"] == 3
    # The plan's window is of the clock here, which says nothing of the guest's.
    assert plan.reports[0][1]["bound_us"] > 0
    assert "unknown" in run["facts"]["clock"]
    assert run["facts"]["through"]["command"] == "env"


def test_what_the_probe_has_not_is_hopeless_there(elsewhere, client):
    plan = Server(client, PART, ends=("discard",))

    assert elsewhere(plan) == 1
    assert plan.reports[0][1]["outcome"] == "hopeless"
    assert "hackbench" in plan.reports[0][1]["reason"]
