"""A simulated Hyper-V host: its counters from PDH, and Get-VM."""

import argparse
import ctypes
import json

import pytest

from agents.commands import telemetry
from agents.commands.telemetry import Counters, parse_virtual_machines, typeperf_log
from agents.errors import AgentError, UsageError
from benchmarks.parsing import run_extraction

TOTAL = r"Hyper-V Hypervisor Logical Processor(_Total)\% Total Run Time"
WEB = r"Hyper-V Hypervisor Virtual Processor(web:Hv VP 0)\% Total Run Time"
MORE_DATA = 0x800007D2 - (1 << 32)  # C returns it as a signed number


class MadeUpPdh:
    """Knows English counter names; two machines may have the same name."""

    def __init__(self, values):
        self.values, self.paths, self.opened, self.is_open = values, [], [], False

    def PdhOpenQueryW(self, source, data, query):  # noqa: N802
        self.is_open = True
        return 0

    def PdhAddEnglishCounterW(self, query, path, data, counter):  # noqa: N802
        self.opened.append(path)
        if path not in self.values:
            return 0xC0000BB8 - (1 << 32)
        self.paths.append(path)
        counter._obj.value = len(self.paths)
        return 0

    def PdhCollectQueryData(self, query):  # noqa: N802
        return 0

    def PdhGetFormattedCounterArrayW(  # noqa: N802
        self, counter, kind, size, number, room
    ):
        rows = self.values[self.paths[counter.value - 1]]
        item = telemetry._item(ctypes)
        size._obj.value = ctypes.sizeof(item) * len(rows)
        number._obj.value = len(rows)
        if room is None:
            return MORE_DATA if rows else 0
        array = (item * len(rows)).from_buffer(room)
        for one, (name, status, value) in zip(array, rows, strict=True):
            one.name, one.status, one.value = name, status, value
        self.stored_values = array  # the texts must live as long as the structure
        return 0

    def PdhCloseQuery(self, query):  # noqa: N802
        self.is_open = False


ROWS = {
    "\\" + TOTAL: [("_Total", 0, 65.5)],
    telemetry.COUNTERS[4]: [
        *(("web:Hv VP 0", 0, 48.75), ("web:Hv VP 0", 1, 12.5)),
        ("gone:Hv VP 0", 0xC0000BC6, 0.0),
    ],
}


def test_counters_are_requested_in_english_by_instance():
    pdh = MadeUpPdh(ROWS)

    with Counters(pdh=pdh) as counters:
        row = counters.read()

    assert pdh.opened == list(telemetry.COUNTERS)
    assert row == {TOTAL: 65.5, WEB: 48.75, WEB.replace("VP 0)", "VP 0#1)"): 12.5}
    assert not pdh.is_open


def test_windows_without_the_role_is_reported_and_the_query_closed():
    pdh = MadeUpPdh({r"\Processor(_Total)\% Processor Time": []})

    with pytest.raises(AgentError, match="no Hyper-V counters"):
        Counters(pdh=pdh)
    assert not pdh.is_open


def test_log_is_parsed_like_typeperf():
    samples = [
        (1785000000.25, {TOTAL: 60.0}),
        (1785000001.0, {TOTAL: 70.0, WEB: 50.0}),
    ]

    (run,) = run_extraction.extract_runs(typeperf_log('HV"1', samples))

    means = {
        reading.parameters["instance"]: reading.value
        for reading in run.readings
        if reading.metric == "CPU utilization mean"
    }
    assert run.tool == "pdh-csv"
    assert means == {"_Total": 65.0, "web:Hv VP 0": 50.0}
    assert run.facts["samples"] == 2


class StopAfter:
    def __init__(self, times):
        self.times = times

    def wait(self, seconds):
        self.times -= 1
        return self.times <= 0


def test_hour_is_one_upload(monkeypatch):
    monkeypatch.setattr(telemetry, "MAX_ROWS", 3)
    options = argparse.Namespace(every=1.0, seconds=0.0)

    with Counters(pdh=MadeUpPdh(ROWS)) as counters:
        logs = list(telemetry.record_hourly(counters, options, StopAfter(7)))

    assert [text.count("\n") - 1 for text, _ in logs] == [3, 3, 1]
    assert all(started.endswith("Z") for _, started in logs)


GET_VM = {
    **{"Name": "web", "State": "Running", "Generation": 2, "Version": "10.0"},
    **{"ProcessorCount": 4, "MemoryStartup": 2**31, "DynamicMemoryEnabled": False},
    **{"IntegrationServicesVersion": None, "Nested": True, "Reserve": 0},
}


def test_get_vm_becomes_facts():
    [(name, facts)] = parse_virtual_machines("\ufeff" + json.dumps(GET_VM)).items()

    assert name == "web"
    assert facts["vcpus"] == 4
    assert facts["reserve percent"] == 0
    assert facts["nested virtualization"] is True
    assert "integration services" not in facts


@pytest.mark.parametrize("printed", [None, "", "Get-VM : not found", "[1, {}]", "3"])
def test_invalid_get_vm_output_is_ignored(printed):
    assert parse_virtual_machines(printed) == {}


def test_machines_are_separate():
    both = json.dumps([GET_VM, {**GET_VM, "Name": "db"}])

    assert set(parse_virtual_machines(both)) == {"web", "db"}


def test_other_system_is_told_what_to_push():
    options = argparse.Namespace(look=True)

    with pytest.raises(UsageError, match="xentop"):
        telemetry.run(options)
