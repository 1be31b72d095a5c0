"""The platform in an upload."""

from agents.detection.facts import native_machine_facts
from agents.detection.layers import Detection

FACTS = {"kernel": "6.12.48", "firmware": "F.17", "microcode": "0xde"}


def judgement(*layers, conflicts=()):
    return Detection(layers=layers, reasons=(), conflicts=conflicts)


def test_native_machine_states_kernel_firmware_and_boot():
    assert native_machine_facts(FACTS, judgement(), "b00t") == {
        "host_kernel": "6.12.48",
        "host_firmware": "F.17",
        "host_microcode": "0xde",
        "host_boot": "b00t",
    }
    assert native_machine_facts({"kernel": "6.1"}, judgement(), None) == {
        "host_kernel": "6.1"
    }


def test_guest_states_nothing_about_its_host():
    assert native_machine_facts(FACTS, judgement("kvm"), "b00t") == {}
    assert (
        native_machine_facts(FACTS, judgement(conflicts=("dmi says kvm",)), "b00t")
        == {}
    )
