"""Evidence from file trees, simulated registers, and this machine."""

import json
import platform
import struct
from pathlib import Path

import pytest

from agents.detection import indicators as evidence_module
from agents.detection.indicators import (
    Registers,
    cpuid_indicators,
    file_indicators,
    gather_indicators,
)
from agents.detection.layers import detect_layers


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def answers(**leaves):
    """Return a CPUID function whose signature is in the registers b, c, d."""

    def ask(leaf):
        text = leaves.get(f"leaf_{leaf:x}", "")
        words = struct.unpack("<3I", text.encode().ljust(12, b"\0"))
        return Registers(leaf + 1 if text else 0, *words)

    return ask


def test_xen_guest_is_read(tmp_path):
    write(tmp_path, sys__hypervisor__type="xen\n", sys__hypervisor__guest_type="PVH\n")
    write(tmp_path, proc__sys__kernel__osrelease="6.1.0\n")
    (tmp_path / "proc/xen").mkdir()

    evidence = file_indicators(str(tmp_path))

    assert evidence["sys_hypervisor"]["type"] == "xen"
    assert (evidence["proc_xen"], evidence["xen_cap"]) == ([], None)
    assert evidence["kernel"] == "6.1.0"
    assert detect_layers(evidence).layers == ("xen-pvh",)


def test_missing_files_are_none(tmp_path):
    evidence = file_indicators(str(tmp_path))

    assert evidence["clocksource"] is None
    assert evidence["hypervisor_flag"] is None
    assert set(evidence["dmi"].values()) == {None}
    assert detect_layers(evidence).layers == ("unknown",)


def test_first_cpu_is_read(tmp_path):
    first = "model name\t: AMD EPYC\nflags\t\t: fpu svm hypervisor\n"
    write(tmp_path, proc__cpuinfo=f"{first}\nmodel name\t: other\n")

    evidence = file_indicators(str(tmp_path))

    assert (evidence["model"], evidence["svm_vmx"]) == ("AMD EPYC", ["svm"])
    assert evidence["hypervisor_flag"] is True


def test_only_container_variables_of_process_1_are_kept(tmp_path):
    assert file_indicators(str(tmp_path))["pid1_env_container"] == []

    write(tmp_path, proc__1__environ="A=/\0container=lxc\0SECRET=x\0container_uuid=6e")

    words = file_indicators(str(tmp_path))["pid1_env_container"]
    assert words == ["container=lxc", "container_uuid=6e"]


def test_more_leaves_are_read_for_hyper_v():
    ask = answers(leaf_40000000="Microsoft Hv", leaf_40000003="\x01")

    evidence = cpuid_indicators(ask)

    assert evidence["leaves"]["0x40000000"][1] == "Microsoft Hv"
    assert evidence["hyperv_privileges"] == 1
    assert detect_layers(evidence).layers == ("hyper-v-root",)


def test_vendor_uses_another_register_order():
    words = struct.unpack("<3I", b"GenuineIntel")
    ordered = Registers(0, words[0], words[2], words[1])

    assert ordered.text("bdc") == "GenuineIntel"


def test_missing_cpuid_gives_no_leaves(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")

    assert evidence_module.open_cpuid() is None
    assert cpuid_indicators()["leaves"] == {}


def test_device_replaces_missing_ctypes(tmp_path):
    device = tmp_path / "cpuid"
    device.write_bytes(struct.pack("<4I", 13, 1, 2, 3) * 2)

    ask = evidence_module._by_device(str(device))

    assert ask is not None
    assert ask(0) == Registers(13, 1, 2, 3)
    assert evidence_module._by_device(str(tmp_path / "missing")) is None


@pytest.mark.parametrize("is_windows", [False, True])
def test_machine_code_executes_cpuid_and_returns(is_windows):
    for is_64_bit in (True, False):
        code = evidence_module.machine_code(is_64_bit, is_windows)

        assert code.count(b"\x0f\xa2") == 1
        assert (code[:1], code[-2:]) == (b"\x53", b"\x5b\xc3")


def test_cpuid_of_this_machine_agrees_with_its_kernel():
    evidence = gather_indicators()

    flag = evidence["hypervisor_flag"]
    assert json.loads(json.dumps(evidence)) == evidence
    assert flag is None or not evidence["leaves"] or evidence["cpuid1_ecx31"] == flag
    assert (evidence["vendor"] or "") in Path("/proc/cpuinfo").read_text()
