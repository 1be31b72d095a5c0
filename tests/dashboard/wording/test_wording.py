"""Names and values as text."""

import pytest

from benchmarks.comparison.comparison_table import Fact
from benchmarks.models import Host, System
from dashboard import wording


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("vms", "1", "1 VM"),
        ("vms", "3", "3 VMs"),
        ("slot", "2", "VM 2"),
        ("slot", "sum", "sum of the VMs"),
        ("guest_bits", "32", "32-bit"),
        ("memory_bytes", str(2**30), "Memory 1 GiB"),
        ("vcpus", "2", "2 vCPUs"),
        ("swap", "SSD", "Swap SSD"),
        ("block_sizes", "4k", "block sizes 4k"),
        ("load", "LINPACK", "load: LINPACK"),
        ("scenario", "inter-vm", "Between VMs"),
    ],
)
def test_facts_include_their_names(name, value, text):
    assert wording.fact_text(Fact(name, value)) == text


def test_headings_of_custom_options_are_capitalized():
    assert wording.property_name("guest_bits") == "Bits"
    assert wording.property_name("huge_pages") == "Huge pages"
    assert wording.property_name("cpu model") == "CPU model"
    assert wording.property_name("NUMA") == "NUMA"


def test_a_single_run_is_named_as_such():
    assert wording.runs_text(1) == "single run"
    assert wording.runs_text(11) == "11 runs"


@pytest.mark.parametrize(
    ("stated", "text"),
    [
        ("tsc", "tsc"),
        (["a", "b"], "a, b"),
        ({"mds": "Not affected", "smt": False}, "mds: Not affected, smt: no"),
        ({"eth0": {"mtu": 1400, "up": True}}, "eth0: (mtu: 1400, up: yes)"),
        ({"argv": ["run", "--all"], "load": 2.29}, "argv: run, --all, load: 2.29"),
        (0, "0"),
        *((nothing, "\N{EN DASH}") for nothing in ("", None, [], {})),
    ],
)
def test_reported_values_are_one_line_and_missing_ones_a_dash(stated, text):
    assert wording.format_stated_value(stated) == text


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("memory bytes", 25276514304, ("memory", "23.5\N{NO-BREAK SPACE}GiB")),
        ("swap bytes", 0, ("swap", "0\N{NO-BREAK SPACE}B")),
        ("pages", 4, ("pages", "4")),
        ("smt", "notsupported", ("smt", "not supported")),
        (
            "disks",
            {"vda": {"bytes": 274877906944, "vendor": "0x1af4"}},
            ("disks", "vda: (size: 256\N{NO-BREAK SPACE}GiB, vendor: 0x1af4)"),
        ),
    ],
)
def test_byte_counts_have_a_unit(name, value, told):
    assert wording.fact_row(name, value) == told


def test_system_names_contain_all_reported_properties():
    system = System(
        hypervisor="Xen",
        hypervisor_version="3.3",
        virtualization="full",
        guest_os="Ubuntu Server 9.04",
        guest_bits=32,
        options={"hw_virt": "on"},
    )

    assert wording.system_name(system) == (
        "Xen 3.3 full, Ubuntu Server 9.04, 32-bit, AMD-V / VT-x on"
    )
    assert wording.system_name(System(hypervisor="native")) == "native"


def native_on(pk, slug):
    return System(pk=pk, hypervisor="native", host=Host(pk=ord(slug[0]), slug=slug))


def test_system_names_include_hosts_if_there_are_several():
    one, other, third = (
        native_on(1, "alpha"),
        native_on(2, "beta"),
        native_on(3, "beta"),
    )

    names = {1: "native, alpha", 2: "native, beta"}
    assert wording.system_names([one, other]) == names
    assert wording.system_names([third, other]) == {3: "native", 2: "native"}


def test_short_names_end_with_the_host_if_it_varies():
    one, other, xen = native_on(1, "alpha"), native_on(2, "beta"), native_on(3, "beta")
    xen.hypervisor, xen.options = "Xen", {"swap": "SSD"}

    assert wording.short_system_names([one, other]) == {1: "alpha", 2: "beta"}
    assert wording.short_system_names([other, xen]) == {2: "native", 3: "Xen, Swap SSD"}
    assert wording.short_system_names([one, xen]) == {
        1: "native, alpha",
        3: "Xen, Swap SSD, beta",
    }


def test_values_and_units_are_not_separated_by_a_line_break():
    assert wording.quantity(13.08, "MB/s") == "13.08\N{NO-BREAK SPACE}MB/s"
    assert wording.quantity(4.0, "") == "4"
    assert wording.quantity(None, "s") == ""
