"""Facts of machines from the output of programs, in the programs' own format."""

from benchmarks.parsing.machine_facts import read_machine

LSCPU = """\
Architecture:                            x86_64
CPU op-mode(s):                          32-bit, 64-bit
CPU(s):                                  32
Vendor ID:                               AuthenticAMD
Model name:                              AMD EPYC 7302P 16-Core Processor
CPU family:                              23
Model:                                   49
Thread(s) per core:                      2
Core(s) per socket:                      16
Socket(s):                               1
Stepping:                                0
CPU max MHz:                             3000.0000
Virtualization:                          AMD-V
L3 cache:                                128 MiB (8 instances)
NUMA node(s):                            1
"""
UNAME = (
    "Linux secret-name 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 "
    "(2024-02-01) x86_64 GNU/Linux\n"
)
DMIDECODE = """\
# dmidecode 3.4
Getting SMBIOS data from sysfs.

Handle 0x0000, DMI type 0, 26 bytes
BIOS Information
\tVendor: American Megatrends Inc.
\tVersion: 2.8
\tRelease Date: 02/21/2024

Handle 0x0001, DMI type 1, 27 bytes
System Information
\tManufacturer: Supermicro
\tProduct Name: H12SSL-i
\tSerial Number: S123SECRET
\tUUID: 00000000-0000-0000-0000-3cecef000000

Handle 0x0010, DMI type 4, 48 bytes
Processor Information
\tVersion: AMD EPYC 7302P 16-Core Processor
\tStatus: Populated, Enabled
\tCore Count: 16
\tThread Count: 32

Handle 0x0011, DMI type 4, 48 bytes
Processor Information
\tVersion: Not Specified
\tStatus: Unpopulated

Handle 0x0020, DMI type 17, 92 bytes
Memory Device
\tSize: 32 GB
\tType: DDR4
\tSpeed: 3200 MT/s
\tConfigured Memory Speed: 2933 MT/s

Handle 0x0021, DMI type 17, 92 bytes
Memory Device
\tSize: 16384 MB
\tType: DDR4
\tConfigured Memory Speed: 2933 MT/s

Handle 0x0022, DMI type 17, 92 bytes
Memory Device
\tSize: No Module Installed
\tType: Unknown
"""
ESXCLI = """\
   CPU Packages: 2
   CPU Cores: 20
   CPU Threads: 40
   Hyperthreading Active: true
   HV Support: 3
   Physical Memory: 240470433792 Bytes
   Reliable Memory: 0 Bytes
   NUMA Node Count: 2
Platform Information
   UUID: 0x4c 0x4c 0x45 0x44
   Product Name: PowerEdge R620
   Vendor Name: Dell Inc.
   Serial Number: 8SECRET
   Enclosure Serial Number: 8SECRET
   Product: VMware ESXi
   Version: 8.0.3
   Build: Releasebuild-24677879
"""
SYSTEMINFO = """\
Host Name:                 SECRETHOST
OS Name:                   Microsoft Windows Server 2008 R2 Datacenter
OS Version:                6.1.7600 N/A Build 7600
Registered Owner:          Secret Owner
System Manufacturer:       HP
System Model:              ProLiant DL380 G7
System Type:               x64-based PC
Processor(s):              2 Processor(s) Installed.
                      [01]: Intel64 Family 6 Model 44 Stepping 2 GenuineIntel ~2400 Mhz
                      [02]: Intel64 Family 6 Model 44 Stepping 2 GenuineIntel ~2400 Mhz
BIOS Version:              HP P67, 8/16/2015
Total Physical Memory:     65.526 MB
Available Physical Memory: 1.640 MB
"""


def test_lscpu_describes_the_processor():
    read = read_machine(LSCPU)

    assert read.programs == ("lscpu",)
    assert read.facts == {
        "architecture": "x86_64",
        "cpu model": "AMD EPYC 7302P 16-Core Processor",
        "cpu family model stepping": "23/49/0",
        "sockets": 1,
        "cores": 16,
        "threads": 32,
        "smt": "on",
        "numa nodes": 1,
        "cpu max MHz": 3000,
        "L3 cache": "128 MiB (8 instances)",
        "hardware virtualization": "AMD-V",
    }
    assert read.warnings == ()


def test_dmidecode_counts_installed_parts():
    facts = read_machine(DMIDECODE).facts

    assert facts == {
        "machine vendor": "Supermicro",
        "machine": "H12SSL-i",
        "firmware": "2.8",
        "cpu model": "AMD EPYC 7302P 16-Core Processor",
        "sockets": 1,
        "cores": 16,
        "threads": 32,
        "memory bytes": 48 * 1024**3,
        "memory modules": 2,
        "memory type": "DDR4",
        "memory speed": "2933 MT/s",
    }


def test_esxcli_reports_cores_memory_and_build():
    facts = read_machine(ESXCLI).facts

    assert facts == {
        "sockets": 2,
        "cores": 20,
        "threads": 40,
        "smt": "on",
        "memory bytes": 240470433792,
        "numa nodes": 2,
        "machine": "PowerEdge R620",
        "machine vendor": "Dell Inc.",
        "distribution": "VMware ESXi 8.0.3",
        "hypervisor build": "24677879",
    }


def test_systeminfo_separates_thousands_by_its_locale():
    facts = read_machine(SYSTEMINFO.replace("\n", "\r\n")).facts

    assert facts["memory bytes"] == 65526 * 1024**2
    assert read_machine(SYSTEMINFO.replace("65.526", "65,526")).facts == facts
    assert (facts["sockets"], facts["cpu nominal MHz"]) == (2, 2400)
    assert (facts["machine vendor"], facts["firmware"]) == ("HP", "HP P67")


def test_uname_reports_the_kernel_but_not_the_name():
    assert read_machine(UNAME).facts == {
        "kernel": "6.1.0-18-amd64",
        "architecture": "x86_64",
    }


def test_uname_of_esxi_reports_its_build():
    text = (
        "VMkernel esx1 7.0.3 #1 SMP Release build-20328353 Aug  3 2022 x86_64 x86_64 "
        "x86_64 ESXi"
    )

    assert read_machine(text).facts == {
        "kernel": "VMkernel 7.0.3",
        "architecture": "x86_64",
        "hypervisor build": "20328353",
    }


def test_several_programs_are_read_in_any_order():
    first = read_machine(UNAME + LSCPU + DMIDECODE)
    second = read_machine(
        f"$ dmidecode\n{DMIDECODE}\n$ lscpu\n{LSCPU}\n$ uname -a\n{UNAME}"
    )

    assert first.facts == second.facts
    assert first.programs == ("dmidecode", "lscpu", "uname")
    assert first.facts["memory bytes"] == 48 * 1024**3
    assert first.facts["kernel"] == "6.1.0-18-amd64"


def test_identifying_data_are_not_read():
    for text in (DMIDECODE, ESXCLI, SYSTEMINFO, UNAME):
        assert "secret" not in str(read_machine(text).facts).lower()


def test_output_of_a_guest_is_a_warning():
    (vendor,) = read_machine(f"{LSCPU}Hypervisor vendor: KVM\n").warnings
    (machine,) = read_machine(DMIDECODE.replace("Supermicro", "QEMU")).warnings

    assert "KVM" in vendor
    assert "QEMU" in machine


def test_other_text_gives_no_facts():
    for text in ("", "hello", "Total: 12\nMean: 3\n", "\0" * 50, "a:b\n" * 20_000):
        assert read_machine(text).facts == {}


def test_a_missing_number_of_cores_makes_the_sum_unknown():
    two = DMIDECODE.replace("Status: Unpopulated", "Status: Populated, Enabled")

    facts = read_machine(two).facts

    assert facts["sockets"] == 2
    assert "cores" not in facts
