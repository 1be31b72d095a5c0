"""The platform in an upload."""

import json

import pytest

from agents.detection import facts as facts_module
from agents.detection.facts import host_document, native_machine_facts

FACTS = {"kernel": "6.12.48", "firmware": "F.17", "microcode": "0xde"}


def test_native_machine_states_kernel_firmware_and_boot():
    assert native_machine_facts(FACTS, "b00t") == {
        "host_kernel": "6.12.48",
        "host_firmware": "F.17",
        "host_microcode": "0xde",
        "host_boot": "b00t",
    }
    assert native_machine_facts({"kernel": "6.1"}, None) == {"host_kernel": "6.1"}


@pytest.mark.parametrize(
    ("layers", "is_confirmed", "facts"),
    [
        ([], False, FACTS),
        (["unknown"], False, {}),
        (["unknown"], True, FACTS),
        (["kvm"], True, {}),
    ],
)
def test_machine_registers_with_facts_if_it_is_native(
    monkeypatch, layers, is_confirmed, facts
):
    made = json.dumps({**FACTS, "platform": {"layers": layers}, "evidence": {}})
    monkeypatch.setattr(facts_module, "gather_platform", lambda: json.loads(made))

    assert host_document("alpha", is_confirmed) == {"slug": "alpha", "facts": facts}
