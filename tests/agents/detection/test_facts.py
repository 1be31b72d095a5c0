"""Host facts: read from kernel files, omitted if unknown."""

import json
from pathlib import Path

import pytest

from agents.detection import facts
from agents.detection.facts import drop_unknown, gather_facts

DOCS = Path(__file__).parents[3] / "docs" / "agents.md"

CPU = """processor\t: {number}
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 1
model name\t: AMD EPYC 7543 32-Core Processor
stepping\t: 1
microcode\t: 0xa0011d1
physical id\t: {socket}
core id\t\t: {core}
flags\t\t: fpu svm

"""


@pytest.fixture
def root(tmp_path):
    """The files of a machine with two sockets, each with two cores of two threads."""
    places = [(number // 4, number // 2 % 2) for number in range(8)]
    cpuinfo = "".join(
        CPU.format(number=number, socket=socket, core=core)
        for number, (socket, core) in enumerate(places)
    )
    files = {
        "proc/cpuinfo": cpuinfo,
        "proc/meminfo": "MemTotal:       65536 kB\nHugePages_Total:       3\n",
        "proc/stat": "cpu  10 0 20 900 1 0 2 67 5 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n",
        "proc/cmdline": "root=UUID=ab-cd mitigations=off quiet password=x nosmt",
        "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12"\n',
        "sys/devices/system/cpu/smt/control": "on\n",
        "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
        "sys/devices/system/cpu/vulnerabilities/meltdown": "Mitigation: PTI\n",
        "sys/devices/system/node/node0/cpulist": "0-3",
        "sys/devices/system/node/node1/cpulist": "4-7",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "sys/block/sda/size": "2048\n",
        "sys/block/sda/queue/rotational": "1\n",
        "sys/block/sda/queue/scheduler": "none [mq-deadline] bfq\n",
        "sys/block/sda/device/model": "WDC WD1003FBYX  \n",
        "sys/block/loop0/size": "0\n",
        "sys/class/net/eth0/speed": "1000\n",
        "sys/class/net/eth0/mtu": "1500\n",
        "sys/class/net/veth1/speed": "-1\n",
        "sys/class/net/lo/mtu": "65536\n",
        "sys/hypervisor/type": "xen\n",
        "sys/hypervisor/version/major": "4\n",
        "sys/hypervisor/version/minor": "17\n",
        "sys/hypervisor/version/extra": ".5\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "sys/class/net/eth0/device").mkdir()
    (tmp_path / "sys/class/net/eth0/device/driver").symlink_to("/sys/drivers/e1000e")
    return tmp_path


def test_sockets_cores_and_threads_are_counted(root):
    result = facts.cpu_facts(str(root))

    assert (result["sockets"], result["cores"], result["threads"]) == (2, 4, 8)
    assert (result["smt"], result["numa nodes"]) == ("on", 2)
    assert result["cpu model"] == "AMD EPYC 7543 32-Core Processor"
    assert result["cpu family model stepping"] == "25/1/1"
    assert result["hardware virtualization"] == "AMD-V"
    assert (result["governor"], result["microcode"]) == ("performance", "0xa0011d1")


def test_meminfo_kb_are_1024_bytes(root):
    result = facts.cpu_facts(str(root))

    assert (result["memory bytes"], result["huge pages"]) == (65536 * 1024, 3)
    assert result["transparent huge pages"] == "madvise"


@pytest.mark.parametrize(
    ("no_turbo", "boost", "expected"),
    [("1", None, "off"), ("0", None, "on"), (None, "1", "on"), (None, "0", "off")],
)
def test_turbo_is_read_from_either_driver(no_turbo, boost, expected):
    assert facts.turbo_state(no_turbo, boost) == expected
    assert facts.turbo_state(None, None) is None


def test_cpu_without_topology_has_no_sockets(root):
    (root / "proc/cpuinfo").write_text("processor\t: 0\nmodel name\t: old\n")

    result = facts.cpu_facts(str(root))

    assert (result["sockets"], result["cores"], result["threads"]) == (None, None, 1)


def test_kernel_clock_mitigations_and_hypervisor_are_read(root):
    result = drop_unknown(facts.kernel_facts(str(root)))

    assert result["distribution"] == "Debian GNU/Linux 12"
    assert result["mitigations"] == {"meltdown": "Mitigation: PTI"}
    assert result["hypervisor build"] == {"xen": "4.17.5"}
    assert "clocksource" not in result


def test_guest_time_is_not_counted_twice(root):
    assert facts.kernel_facts(str(root))["steal"] == {
        "stolen ticks": 67,
        "all ticks": 1000,
    }
    assert facts.steal_ticks("cpu 1 2 3 4\n") is None


def test_only_tuning_parameters_of_command_line_are_kept(root):
    assert facts.kernel_facts(str(root))["kernel tuning"] == "mitigations=off nosmt"


def test_disks_are_read_without_virtual_devices(root):
    result = facts.disk_facts(str(root))

    assert list(result) == ["sda"]
    assert result["sda"]["bytes"] == 2048 * 512
    assert result["sda"]["scheduler"] == "mq-deadline"
    assert (result["sda"]["rotational"], result["sda"]["model"]) == (
        "yes",
        "WDC WD1003FBYX",
    )


def test_networks_are_read_without_negative_speeds(root):
    result = facts.network_facts(str(root))

    assert sorted(result) == ["eth0", "veth1"]
    assert (result["eth0"]["speed Mbit/s"], result["eth0"]["driver"]) == (
        1000,
        "e1000e",
    )
    assert result["veth1"]["speed Mbit/s"] is None


def test_relevant_offloads_are_read():
    printed = "Features for eth0:\nrx-checksumming: on [fixed]\nrx-fcs: off\n"
    printed += "\ttx-checksum-ipv4: on\ntcp-segmentation-offload: off\n"

    assert facts.parse_offloads(printed) == {
        "rx-checksumming": "on",
        "tcp-segmentation-offload": "off",
    }
    assert facts.parse_offloads(None) == {}


def test_unknown_facts_are_dropped_at_every_depth():
    result = drop_unknown(
        {"a": None, "b": {"c": None, "d": 0}, "e": {"f": None}, "g": ""}
    )

    assert result == {"b": {"d": 0}, "g": ""}


def test_facts_of_this_machine_are_json_with_documented_names(root):
    result = gather_facts()
    documented = DOCS.read_text()

    assert json.loads(json.dumps(result)) == result
    assert result["threads"] >= 1
    names = {*result, *gather_facts(str(root))}
    names |= {*facts.cpu_facts(str(root)), *facts.kernel_facts(str(root))}
    names |= {*facts.disk_facts(str(root))["sda"]}
    names |= {*facts.network_facts(str(root))["eth0"]}
    for name in names:
        assert f"`{name}`" in documented, name
