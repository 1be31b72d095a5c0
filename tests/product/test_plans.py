"""Plans executed by real agents while agents and the web server are killed."""

import os
import signal
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

pytestmark = [pytest.mark.product, pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
HACKBENCH = ROOT / "tests" / "data" / "hackbench" / "process.txt"
PATIENCE_S = 150


class Lab:
    """A study on a machine, and the agents in its guests."""

    def __init__(self, product, folder):
        self.product, self.folder = product, folder
        self.writer, self.reader = product.client(), product.client("read-token")
        self.agents = {}
        slug = f"planned-{folder.name}".replace("_", "-")[:90]
        self.writer.create_study({"slug": slug, "title": "Planned"})
        self.writer.register_host({"slug": slug})
        self.slug = slug

    def tool(self, seconds, gate=None):
        """Install a program that takes some seconds, and waits for the gate file."""
        program = self.folder / "bin" / "hackbench"
        program.parent.mkdir(exist_ok=True)
        wait = f"until [ -e {gate} ]; do sleep 0.1; done\n" if gate else ""
        program.write_text(f"#!/bin/sh\nsleep {seconds}\n{wait}cat {HACKBENCH}\n")
        program.chmod(0o755)

    def system(self, hypervisor="KVM"):
        described = {"host": self.slug, "hypervisor": hypervisor}
        return self.writer.register_system(described)["id"]

    def plan(self, systems, **changes):
        words = {
            "study": self.slug,
            "title": "A plan",
            "systems": systems,
            "tools": [{"tool": "hackbench"}],
            "warm_up_rounds": 0,
            "order": "listed",
            "budget_s": 600,
            **changes,
        }
        return self.writer.request("POST", "plans/", words)["id"]

    def agent(self, plan, system, name):
        environment = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "VIRTLAB_AGENT": str(self.folder / name),
            "VIRTLAB_HOST_LOCK": str(self.folder / "host.lock"),
            "VIRTLAB_SERVER": self.product.url,
            "VIRTLAB_TOKEN": self.writer.token,
        }
        words = [sys.executable, "-m", "agents", "plan", str(plan)]
        words += ["--system", str(system), "--as", name, "--confirm-native"]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.agents[name] = subprocess.Popen(
                words, cwd=ROOT, env=environment, stderr=log, stdout=log
            )

    def kill(self, name):
        self.agents[name].send_signal(signal.SIGKILL)
        self.agents[name].wait()

    def shown(self, plan):
        return self.reader.get(f"plans/{plan}/")

    def steps(self, plan):
        return list(self.reader.get_all(f"plans/{plan}/steps/"))

    def wait_for(self, what):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if result := what():
                return result
            time.sleep(0.05)
        logs = "\n".join(path.read_text() for path in self.folder.glob("*.log"))
        raise AssertionError(logs)

    def until_done(self, plan):
        self.wait_for(lambda: self.shown(plan)["status"] == "done")
        codes = [agent.wait(60) for agent in self.agents.values()]
        runs = list(self.reader.get_all("runs/", study=self.slug))
        return codes, runs


@pytest.fixture
def lab(product, tmp_path):
    made = Lab(product, tmp_path)
    yield made
    for agent in made.agents.values():
        agent.kill()
        agent.wait()


def test_coruns_start_together_despite_killed_agent_and_server(lab):
    lab.tool(1)
    system = lab.system()
    together = [{"kind": "parallel", "vms": 3}]
    systems = [{"system": system, "slots": 3}]
    plan = lab.plan(systems, scenarios=together, repetitions=3)
    for name in ("vm-a", "vm-b", "vm-c"):
        lab.agent(plan, system, name)

    lab.wait_for(lambda: lab.shown(plan)["steps"]["running"])
    lab.kill("vm-b")
    lab.agent(plan, system, "vm-b")
    lab.wait_for(lambda: lab.shown(plan)["steps"]["done"] == 1)
    for process in lab.product.processes_matching("gunicorn"):
        with suppress(psutil.NoSuchProcess):
            process.kill()

    codes, runs = lab.until_done(plan)
    steps = lab.steps(plan)
    spreads_ms = [step["start_spread_us"] / 1000 for step in steps]
    print(f"spreads {spreads_ms} ms, median {statistics.median(spreads_ms)}")
    assert codes == [0, 0, 0]
    assert {step["status"] for step in steps} == {"done"}
    assert steps[0]["attempt"] > 1
    assert max(spreads_ms) < 500
    assert sorted(run["slot"] for run in runs) == sorted("123" * 3)
    assert {run["corun"] for run in runs} == {step["corun"] for step in steps}
    keys = [key for step in steps for part in step["parts"] for key in part["run_keys"]]
    assert sorted(keys) == sorted(run["key"] for run in runs)


def test_dead_agent_is_named_and_others_continue(lab):
    lab.tool(0.2)
    system = lab.system()
    scenarios = [{"kind": "parallel", "vms": 2}, {"kind": "single"}]
    limits = {"barrier_timeout_s": 3, "max_attempts": 2}
    systems = [{"system": system, "slots": 2}]
    plan = lab.plan(systems, scenarios=scenarios, repetitions=1, **limits)
    lab.agent(plan, system, "vm-a")
    lab.wait_for(lambda: lab.shown(plan)["slots"][0]["name"])
    lab.agent(plan, system, "vm-b")
    lab.wait_for(lambda: lab.shown(plan)["slots"][1]["name"])
    lab.kill("vm-b")

    codes, runs = lab.until_done(plan)

    corun, alone = lab.steps(plan)
    assert codes == [0, -signal.SIGKILL]
    assert (corun["status"], corun["attempt"]) == ("failed", 2)
    assert corun["reason"].startswith("Slot 2 (vm-b) did not arrive within 3 s")
    assert alone["status"] == "done"
    assert [run["scenario"] for run in runs] == ["single"]


def test_rounds_alternate_until_the_budget_is_used(lab):
    everybody_here = lab.folder / "everybody-here"
    lab.tool(1, gate=everybody_here)
    names = {"native": lab.system("native"), "kvm": lab.system("KVM")}
    systems = [{"system": system} for system in names.values()]
    plan = lab.plan(systems, order="abba", repetitions=100, budget_s=20)
    # A step whose guests are present precedes one that waits for a guest: the plan's
    # order applies only when none is missing.
    for name, system in names.items():
        lab.agent(plan, system, name)
        lab.wait_for(
            lambda name=name: (
                name in {slot["name"] for slot in lab.shown(plan)["slots"]}
            )
        )
    everybody_here.touch()

    lab.until_done(plan)

    steps = lab.steps(plan)
    done = [step for step in steps if step["status"] == "done"]
    order = [step["system_id"] for step in sorted(done, key=_sequence)]
    ids = list(names.values())
    assert 3 <= len(done) < 20
    assert (
        order
        == [
            *ids,
            *ids[::-1],
            *(ids + ids[::-1]) * 5,
        ][: len(order)]
    )
    undone = [step for step in steps if step not in done]
    assert {step["status"] for step in undone} == {"skipped"}
    assert all(step["reason"].startswith("Skipped: ") for step in undone)


def _sequence(step):
    return step["start_order"]
