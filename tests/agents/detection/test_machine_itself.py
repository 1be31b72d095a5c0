"""What an upload says of its platform."""

from agents.detection.facts import machine_itself
from agents.detection.layers import Judgement

FACTS = {"kernel": "6.12.48", "firmware": "F.17", "microcode": "0xde"}


def judgement(*layers, conflicts=()):
    return Judgement(layers=layers, grounds=(), conflicts=conflicts)


def test_the_machine_itself_is_known_where_no_layer_hides_it():
    assert machine_itself(FACTS, judgement(), "b00t") == {
        "host_kernel": "6.12.48",
        "host_firmware": "F.17",
        "host_microcode": "0xde",
        "host_boot": "b00t",
    }
    assert machine_itself({"kernel": "6.1"}, judgement(), None) == {
        "host_kernel": "6.1"
    }


def test_a_guest_does_not_know_what_its_host_runs():
    assert machine_itself(FACTS, judgement("kvm"), "b00t") == {}
    assert machine_itself(FACTS, judgement(conflicts=("dmi says kvm",)), "b00t") == {}
