"""A Hyper-V host that is made up: its counters as PDH hands them out, and Get-VM."""

import argparse
import ctypes
import json

import pytest

from agents.commands import telemetry
from agents.commands.telemetry import Counters, log_of, machines_of
from agents.errors import AgentError, UsageError
from benchmarks.parsing import reading

TOTAL = r"Hyper-V Hypervisor Logical Processor(_Total)\% Total Run Time"
WEB = r"Hyper-V Hypervisor Virtual Processor(web:Hv VP 0)\% Total Run Time"
MORE_DATA = 0x800007D2 - (1 << 32)  # as a signed number of C comes back


class MadeUpPdh:
    """Knows the English names it is given; two machines may have one name."""

    def __init__(self, values):
        self.values, self.paths, self.asked, self.is_open = values, [], [], False

    def PdhOpenQueryW(self, source, data, query):  # noqa: N802
        self.is_open = True
        return 0

    def PdhAddEnglishCounterW(self, query, path, data, counter):  # noqa: N802
        self.asked.append(path)
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
        self.kept = array  # the texts live as long as it does
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


def test_counters_are_asked_for_in_english_and_by_instance():
    pdh = MadeUpPdh(ROWS)

    with Counters(pdh=pdh) as counters:
        row = counters.read()

    assert pdh.asked == list(telemetry.COUNTERS)
    assert row == {TOTAL: 65.5, WEB: 48.75, WEB.replace("VP 0)", "VP 0#1)"): 12.5}
    assert not pdh.is_open


def test_a_windows_without_the_role_says_so_and_closes_the_query():
    pdh = MadeUpPdh({r"\Processor(_Total)\% Processor Time": []})

    with pytest.raises(AgentError, match="no counters of Hyper-V"):
        Counters(pdh=pdh)
    assert not pdh.is_open


def test_the_log_is_read_by_virtlab_as_typeperfs_is():
    samples = [
        (1785000000.25, {TOTAL: 60.0}),
        (1785000001.0, {TOTAL: 70.0, WEB: 50.0}),
    ]

    (run,) = reading.read(log_of('HV"1', samples))

    means = {
        each.parameters["instance"]: each.value
        for each in run.readings
        if each.metric == "CPU utilization mean"
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


def test_an_hour_is_one_upload(monkeypatch):
    monkeypatch.setattr(telemetry, "MOST_ROWS", 3)
    options = argparse.Namespace(every=1.0, seconds=0.0)

    with Counters(pdh=MadeUpPdh(ROWS)) as counters:
        logs = list(telemetry.recorded(counters, options, StopAfter(7)))

    assert [text.count("\n") - 1 for text, _ in logs] == [3, 3, 1]
    assert all(started.endswith("Z") for _, started in logs)


GET_VM = {
    **{"Name": "web", "State": "Running", "Generation": 2, "Version": "10.0"},
    **{"ProcessorCount": 4, "MemoryStartup": 2**31, "DynamicMemoryEnabled": False},
    **{"IntegrationServicesVersion": None, "Nested": True, "Reserve": 0},
}


def test_what_get_vm_says_is_kept_as_facts():
    [(name, facts)] = machines_of("\ufeff" + json.dumps(GET_VM)).items()

    assert name == "web"
    assert facts["vcpus"] == 4
    assert facts["reserve percent"] == 0
    assert facts["nested virtualization"] is True
    assert "integration services" not in facts


@pytest.mark.parametrize("printed", [None, "", "Get-VM : not found", "[1, {}]", "3"])
def test_what_is_no_list_of_machines_is_nothing(printed):
    assert machines_of(printed) == {}


def test_several_machines_are_told_apart():
    both = json.dumps([GET_VM, {**GET_VM, "Name": "db"}])

    assert set(machines_of(both)) == {"web", "db"}


def test_another_system_is_told_what_to_push():
    options = argparse.Namespace(look=True)

    with pytest.raises(UsageError, match="xentop"):
        telemetry.run(options)
