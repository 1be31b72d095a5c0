"""The command line, called as a person would, on a machine that is made up."""

import json

import pytest

from agents.__main__ import main
from agents.detection import facts as facts_module
from agents.home import Enrolment, save_enrolment
from tests.agents.stage import TOKEN

FACTS = {
    "agent": {"python": "3.6.15"},
    "architecture": "x86_64",
    "distribution": "Debian GNU/Linux 12 (bookworm)",
    "threads": 2,
    "steal": {"stolen ticks": 1, "all ticks": 100},
}


@pytest.fixture
def machine(monkeypatch):
    """Make up what this machine stands on; a KVM guest unless told."""

    def stand_on(*layers, conflict=False, **facts):
        platform = {"layers": list(layers), "conflict": conflict, "sentence": "So."}
        made = {**FACTS, **facts, "platform": platform, "evidence": {}}
        again = json.dumps(made)
        monkeypatch.setattr(facts_module, "gather_platform", lambda: json.loads(again))

    stand_on("kvm")
    return stand_on


@pytest.fixture
def enrolled(home, server):
    """An agent that knows the server, a study and its machine."""
    save_enrolment(Enrolment(server.url, TOKEN, study="study", host="alpha"))
    return home


@pytest.fixture
def call(capsys):
    """Run a command; return its exit code, its output and what it said."""

    def run(*words):
        code = main([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run
