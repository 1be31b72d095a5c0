"""Detection on a simulated Windows.

The tests show that names and types are consistent; docs/agents.md states that no real
Windows was tested.
"""

import contextlib
import ctypes
import importlib
import os
import types

import pytest

from agents import windows
from agents.detection import facts
from agents.detection import indicators as evidence_module
from agents.detection.indicators import gather_indicators
from agents.detection.layers import detect_layers
from benchmarks.hypervisor_names import VBS_FACT

REGISTRY = {
    windows.BIOS: {
        "SystemManufacturer": "Microsoft Corporation",
        "SystemProductName": "Virtual Machine",
        "BIOSVendor": "American Megatrends Inc.",
    },
    windows.CPU: {"ProcessorNameString": "AMD EPYC 7763", "~MHz": 2445},
    windows.DEVICE_GUARD: {"EnableVirtualizationBasedSecurity": 1},
    windows.MEMORY: {"FeatureSettingsOverride": 3, "FeatureSettingsOverrideMask": 3},
    windows.HYPER_V_ROLE: {"Start": 2},
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
    """VirtualAlloc, which records its arguments and returns a page or none."""

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
    """A kernel32 whose pages are ordinary memory."""
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


def test_firmware_and_cpu_are_read_from_the_registry(registry):
    evidence = windows.windows_indicators()

    assert evidence["dmi"]["sys_vendor"] == "Microsoft Corporation"
    assert evidence["dmi"]["board_vendor"] is None
    assert (evidence["model"], evidence["build"]) == ("AMD EPYC 7763", "20348.1")
    assert detect_layers(evidence).layers == ("hyper-v",)


def test_vbs_is_read_from_the_registry(registry):
    evidence = windows.windows_indicators()

    assert evidence["windows"] == {
        "vbs": 1,
        "code integrity": None,
        "role": 2,
        "container": None,
    }


def test_windows_facts_are_read(registry, kernel, monkeypatch):
    result = windows.windows_facts()
    monkeypatch.delitem(REGISTRY[windows.MEMORY], "FeatureSettingsOverride")
    untuned = windows.windows_facts()

    assert result["distribution"] == "Windows Server 2022"
    assert result["memory bytes"] == 8 * 1024**3
    assert result["cpu nominal MHz"] == 2445
    assert result["kernel tuning"] == "FeatureSettingsOverride=3/3"
    assert untuned["kernel tuning"] is None


def test_vbs_fact_has_the_name_that_the_flag_reads(registry, kernel, monkeypatch):
    made_up = windows.windows_indicators()
    monkeypatch.setattr(facts, "gather_indicators", lambda: made_up)

    assert facts.gather_platform()[VBS_FACT] == "set, not running"


def test_gathering_on_windows_uses_registry_and_cpuid(registry, kernel, monkeypatch):
    monkeypatch.setattr(evidence_module, "open_cpuid", lambda: None)
    monkeypatch.setattr(os, "name", "nt")

    evidence, result = gather_indicators(), facts.gather_facts()

    assert evidence["dmi"]["product_name"] == "Virtual Machine"
    assert evidence["leaves"] == {}
    assert result["cpu model"] == "AMD EPYC 7763"


def test_machine_code_is_written_to_an_executable_page(kernel):
    code = evidence_module.machine_code(is_64_bit=True, is_windows=True)

    address, _ = evidence_module._executable_on_windows(ctypes, code)

    (asked,) = kernel.VirtualAlloc.asked
    assert asked == (None, 4096, 0x3000, 0x40)
    assert kernel.VirtualAlloc.restype is ctypes.c_void_p
    assert ctypes.string_at(address, len(code)) == code


def test_forbidden_executable_page_means_no_cpuid(kernel):
    kernel.VirtualAlloc.page = None

    with pytest.raises(OSError, match="executable"):
        evidence_module._executable_on_windows(ctypes, b"")
