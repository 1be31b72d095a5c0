"""What would be asked of Windows, on a Windows that is made up.

It shows that names and types fit; docs/agents.md says that no Windows has seen it.
"""

import contextlib
import ctypes
import importlib
import os
import types

import pytest

from agents import windows
from agents.detection import evidence as evidence_module
from agents.detection import facts
from agents.detection.evidence import gather_evidence
from agents.detection.layers import judge
from benchmarks.platforms import BENEATH

REGISTRY = {
    windows.BIOS: {
        "SystemManufacturer": "Microsoft Corporation",
        "SystemProductName": "Virtual Machine",
        "BIOSVendor": "American Megatrends Inc.",
    },
    windows.CPU: {"ProcessorNameString": "AMD EPYC 7763", "~MHz": 2445},
    windows.DEVICE_GUARD: {"EnableVirtualizationBasedSecurity": 1},
    windows.MEMORY: {"FeatureSettingsOverride": 3, "FeatureSettingsOverrideMask": 3},
    windows.ROLE: {"Start": 2},
    windows.WINDOWS: {"ProductName": "Windows Server 2022", "BuildLabEx": "20348.1"},
}


class MadeUpRegistry(types.ModuleType):
    HKEY_LOCAL_MACHINE = "HKLM"

    @staticmethod
    def OpenKey(root, key):  # noqa: N802
        assert root == "HKLM"
        if key not in REGISTRY:
            raise FileNotFoundError(2, "no such key")
        return contextlib.nullcontext(REGISTRY[key])

    @staticmethod
    def QueryValueEx(opened, name):  # noqa: N802
        if name not in opened:
            raise FileNotFoundError(2, "no such value")
        return opened[name], 1


class Allocate:
    """VirtualAlloc: remembers what it was asked for and gives a page, or none."""

    restype = None

    def __init__(self, page):
        self.page, self.asked = page, []

    def __call__(self, *words):
        self.asked.append(words)
        return self.page


class MadeUpKernel:
    def __init__(self, page=0):
        self.VirtualAlloc = Allocate(page)

    @staticmethod
    def GetPhysicallyInstalledSystemMemory(kib):  # noqa: N802
        kib._obj.value = 8 * 1024 * 1024
        return 1


@pytest.fixture
def kernel(monkeypatch):
    """A kernel32 whose pages are ordinary memory of ours."""
    page = ctypes.create_string_buffer(4096)
    made = MadeUpKernel(ctypes.addressof(page))
    made.page = page
    library = types.SimpleNamespace(kernel32=made)
    monkeypatch.setattr(ctypes, "windll", library, raising=False)
    return made


@pytest.fixture
def registry(monkeypatch):
    real = importlib.import_module

    def load(name):
        return MadeUpRegistry(name) if name == "winreg" else real(name)

    monkeypatch.setattr(windows.importlib, "import_module", load)


def test_the_registry_tells_firmware_and_cpu(registry):
    evidence = windows.evidence_of_windows()

    assert evidence["dmi"]["sys_vendor"] == "Microsoft Corporation"
    assert evidence["dmi"]["board_vendor"] is None
    assert (evidence["model"], evidence["build"]) == ("AMD EPYC 7763", "20348.1")
    assert judge(evidence).layers == ("hyper-v",)


def test_the_registry_tells_what_runs_beneath(registry):
    evidence = windows.evidence_of_windows()

    assert evidence["windows"] == {"vbs": 1, "code integrity": None, "role": 2}


def test_facts_of_windows(registry, kernel, monkeypatch):
    found = windows.facts_of_windows()
    monkeypatch.delitem(REGISTRY[windows.MEMORY], "FeatureSettingsOverride")
    untuned = windows.facts_of_windows()

    assert found["distribution"] == "Windows Server 2022"
    assert found["memory bytes"] == 8 * 1024**3
    assert found["cpu nominal MHz"] == 2445
    assert found["kernel tuning"] == "FeatureSettingsOverride=3/3"
    assert untuned["kernel tuning"] is None


def test_what_runs_beneath_is_sent_by_the_name_the_flag_asks_for(
    registry, kernel, monkeypatch
):
    made_up = windows.evidence_of_windows()
    monkeypatch.setattr(facts, "gather_evidence", lambda: made_up)

    assert facts.gather_platform()[BENEATH] == "set, not running"


def test_on_windows_these_are_asked(registry, kernel, monkeypatch):
    monkeypatch.setattr(evidence_module, "open_cpuid", lambda: None)
    monkeypatch.setattr(os, "name", "nt")

    evidence, found = gather_evidence(), facts.gather_facts()

    assert evidence["dmi"]["product_name"] == "Virtual Machine"
    assert evidence["leaves"] == {}
    assert found["cpu model"] == "AMD EPYC 7763"


def test_the_machine_code_is_put_into_an_executable_page(kernel):
    code = evidence_module.machine_code(is_64_bit=True, is_windows=True)

    address, _ = evidence_module._executable_on_windows(ctypes, code)

    (asked,) = kernel.VirtualAlloc.asked
    assert asked == (None, 4096, 0x3000, 0x40)
    assert kernel.VirtualAlloc.restype is ctypes.c_void_p
    assert ctypes.string_at(address, len(code)) == code


def test_a_windows_that_forbids_such_pages_is_asked_nothing(kernel):
    kernel.VirtualAlloc.page = None

    with pytest.raises(OSError, match="executable"):
        evidence_module._executable_on_windows(ctypes, b"")
