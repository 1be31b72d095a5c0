"""The command line, called as by a user, on a simulated machine."""

import json

import pytest

from agents.__main__ import main
from agents.detection import facts as facts_module
from agents.local_state import Enrolment, save_enrolment
from tests.agents.packed_agent import TOKEN

FACTS = {
    "agent": {"python": "3.6.15"},
    "architecture": "x86_64",
    "distribution": "Debian GNU/Linux 12 (bookworm)",
    "threads": 2,
    "steal": {"stolen ticks": 1, "all ticks": 100},
}


@pytest.fixture
def machine(monkeypatch):
    """Simulate the evidence of this machine, by default a KVM guest."""

    def stand_on(*layers, conflict=False, **facts):
        platform = {"layers": list(layers), "conflict": conflict, "sentence": "So."}
        made = {**FACTS, **facts, "platform": platform, "evidence": {}}
        repeated = json.dumps(made)
        monkeypatch.setattr(
            facts_module, "gather_platform", lambda: json.loads(repeated)
        )

    stand_on("kvm")
    return stand_on


@pytest.fixture
def enrolled(home, server):
    """An agent with server, study and machine."""
    save_enrolment(Enrolment(server.url, TOKEN, study="study", host="alpha"))
    return home


@pytest.fixture
def call(capsys):
    """Run a command; return its exit code, standard output and standard error."""

    def run(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
