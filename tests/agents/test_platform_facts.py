"""What an upload says of its platform."""

from agents.detection.layers import Judgement
from agents.platform_facts import machine_itself

FACTS = {"kernel": "6.12.48", "firmware": "F.17"}


def judgement(*layers, conflicts=()):
    return Judgement(layers=layers, grounds=(), conflicts=conflicts)


def test_the_machine_itself_is_known_where_no_layer_hides_it():
    assert machine_itself(FACTS, judgement()) == {
        "host_kernel": "6.12.48",
        "host_firmware": "F.17",
    }
    assert machine_itself({"kernel": "6.1"}, judgement()) == {"host_kernel": "6.1"}


def test_a_guest_does_not_know_what_its_host_runs():
    assert machine_itself(FACTS, judgement("kvm")) == {}
    assert machine_itself(FACTS, judgement(conflicts=("dmi says kvm",))) == {}
