"""The figures of the data sets, computed from their rows."""

import json
from collections import Counter
from functools import cache
from statistics import fmean, median, stdev

import pytest

from benchmarks.reference.data_files import DATA, data_set_names, read_rows
from benchmarks.reference.study_documents import run_documents

POWER, PGBENCH, X86, CUNNIE, HPI, NEU, NSDI, SPARECORES = data_set_names()
rows_of = cache(read_rows)


def expected(slug):
    content = json.loads((DATA / slug / "expected.json").read_text(encoding="utf-8"))
    if slug == SPARECORES:
        return {"rows": content["rows"]}
    return content


def rows(slug, **wanted):
    """Return the rows whose columns, or else parameters, have the wanted texts."""
    return [
        row
        for row in rows_of(slug)
        if all(
            getattr(row, name, row.parameters.get(name, "")) == text
            for name, text in wanted.items()
        )
    ]


def values(slug, **wanted):
    return [float(row.value) for row in rows(slug, **wanted)]


def mean(slug, **wanted):
    return fmean(values(slug, **wanted))


def setting_ratio(slug, setting, reference="v1-baseline", **wanted):
    return mean(slug, setting=setting, **wanted) / mean(
        slug, setting=reference, **wanted
    )


def starts(machine, hypervisor, unit="us", **wanted):
    plain = dict.fromkeys(("firmware", "network", "guest_kernel", "kernel_image"), "")
    found = [
        row
        for row in rows(
            NSDI,
            tool="boot timer",
            scenario="single",
            hypervisor=hypervisor,
            unit=unit,
            **{**plain, **wanted},
        )
        if row.machine == machine and "machine" not in row.parameters
    ]
    return [float(row.value) for row in found]


def microvm_starts(machine):
    found = rows(NSDI, tool="boot timer", scenario="single", hypervisor="QEMU")
    return [
        float(row.value)
        for row in found
        if row.machine == machine and row.parameters.get("machine") == "microvm"
    ]


def http_at_500(**wanted):
    return mean(HPI, tool="weighttp", concurrency="500", container="", **wanted)


def start_up(hypervisor, guest_os):
    return mean(HPI, tool="boot timer", hypervisor=hypervisor, guest_os=guest_os)


def neu_mean(tool, hypervisor, **wanted):
    book = "DeVries 2021 workbook"
    return mean(NEU, document=book, tool=tool, hypervisor=hypervisor, **wanted)


def neu_ratio(tool, **wanted):
    guest = neu_mean(tool, "VMware Workstation", **wanted)
    return guest / neu_mean(tool, "native", **wanted)


def nvme_iops(version):
    return mean(
        CUNNIE, metric="disk operations", machine="cunnie-esxi", disk="NVMe",
        version=version, network="",
    )  # fmt: skip


def pgbench_figures():
    buffer = values(PGBENCH, setting="v1-baseline", workload="buffer")
    native_io = "v5-native-thread-no-cache"
    return {
        **{
            f"pgbench {load}, v5 native-thread-no-cache / baseline (rate)": (
                setting_ratio(PGBENCH, native_io, workload=load)
            )
            for load in ("buffer", "memory", "disk")
        },
        "pgbench buffer, baseline, CV": stdev(buffer) / fmean(buffer),
    }


def x86_figures():
    cg = values(X86, tool="NPB", operation="CG", setting="v1-baseline")
    return {
        "compression, v4 native-thread / baseline (time)": setting_ratio(
            X86, "v4-native-thread", tool="pbzip2 and pigz"
        ),
        "NPB CG, baseline, longest / median": max(cg) / median(cg),
    }


def power_figures():
    shifted, numad = "v39-shifted-baseline", "v7-N-cpu-auto-numad"
    spread = "v38-N-numa-topology-pinspread"
    baseline = {"setting": "v1-baseline", "tool": "WildFly testsuite"}
    return {
        "compression, v7 numad / baseline (time)": setting_ratio(
            POWER, numad, tool="pbzip2 and pigz"
        ),
        "NPB TOTAL, v38 / v39 (time)": setting_ratio(
            POWER, spread, reference=shifted, operation="TOTAL"
        ),
        "DayTrader, v39 / v1-baseline (requests, same XML)": setting_ratio(
            POWER, shifted, tool="JMeter DayTrader"
        ),
        "WildFly testsuite, runs of v1-baseline": len(rows(POWER, **baseline)),
        "NPB DC, values above 145 s": sum(
            value > 145 for value in values(POWER, operation="DC")
        ),
    }


def hpi_figures():
    native = http_at_500(hypervisor="native")
    return {
        "start-up mean, Ubuntu on Xen, s": start_up("Xen", "Ubuntu"),
        "start-up mean, MirageOS on Xen, s": start_up("Xen", "MirageOS"),
        "start-up mean, Ubuntu on KVM, s": start_up("KVM", "Ubuntu"),
        "start-up mean, OSv on KVM, s": start_up("KVM", "OSv"),
        "start-up mean, Ubuntu on Docker, s": start_up("Docker", "Ubuntu"),
        "start-up mean, Ubuntu on LXD, s": start_up("LXD", "Ubuntu"),
        **{
            f"HTTP at concurrency 500, Ubuntu / {name} / Ubuntu on native": (
                http_at_500(hypervisor=name, guest_os="Ubuntu") / native
            )
            for name in ("Xen", "KVM")
        },
    }


def neu_figures():
    network = {"metric": "throughput", "operation": "send"}
    return {
        **{
            f"LINPACK mean, {name}, Mflop/s": neu_mean("LINPACK", name)
            for name in ("native", "Docker", "VMware Workstation")
        },
        "STREAM copy mean, VMware Workstation / native": neu_ratio(
            "STREAM", operation="copy"
        ),
        "IOzone read 64k mean, VMware Workstation / native": neu_ratio(
            "IOzone", operation="read", size="64k"
        ),
        "netperf mean of ten sizes, VMware Workstation / native": neu_ratio(
            "netperf", **network
        ),
        "values of the paper's tables that stand in its text": len(
            rows(NEU, document="DeVries 2021 paper")
        ),
    }


def nsdi_figures():
    machines = ("nsdi-m5d-metal", "nsdi-haswell-e3", "nsdi-nehalem-w3520")
    disk = {"metric": "disk operations", "operation": "read", "bs": "4k"}
    deep = {**disk, "iodepth": "32"}
    m5d = machines[0]
    return {
        **{
            f"serial start, Cloud Hypervisor, {name}, median, us": median(
                starts(name, "Cloud Hypervisor")
            )
            for name in machines
        },
        "serial start, QEMU microvm / QEMU, m5d.metal, medians": (
            median(microvm_starts(m5d)) / median(starts(m5d, "QEMU"))
        ),
        "serial start, Firecracker's own count, m5d.metal, median, ms": median(
            starts(m5d, "Firecracker", unit="ms", configured_by="API")
        ),
        "fio rand-read-4k depth 32, Firecracker / native, IOPS": (
            mean(NSDI, hypervisor="Firecracker", **deep)
            / mean(NSDI, hypervisor="native", **deep)
        ),
        "resident set, Firecracker, 8192 MiB, m5d.metal, KiB": mean(
            NSDI,
            metric="resident set",
            hypervisor="Firecracker",
            memory="8192 MiB",
            machine=m5d,
        ),
        "iperf3 receive 1 stream, QEMU, m5d.metal, bit/s": mean(
            NSDI,
            tool="iperf3",
            operation="receive",
            streams="1",
            hypervisor="QEMU",
            machine=m5d,
        ),
    }


def cunnie_figures():
    iops, write = {"metric": "disk operations"}, {"operation": "write"}
    pvscsi = mean(CUNNIE, table="pvscsi/pvscsi.json", **iops)
    lsilogic = mean(CUNNIE, table="pvscsi/lsilogic.json", **iops)
    credit = values(CUNNIE, disk="gp2 20 GiB", **iops)
    return {
        "IOPS mean, pvscsi/pvscsi.json": pvscsi,
        "IOPS mean, pvscsi/lsilogic.json": lsilogic,
        "pvscsi / lsilogic, IOPS": pvscsi / lsilogic,
        "pvscsi / lsilogic, write MB/s": (
            mean(CUNNIE, controller="pvscsi", **write)
            / mean(CUNNIE, controller="lsilogic", **write)
        ),
        "vSphere NVMe IOPS, GoBonnieGo 1.0.5 / 1.0.7": (
            nvme_iops("1.0.5") / nvme_iops("1.0.7")
        ),
        "AWS gp2 20 GiB, median of the last 32 runs / of the first 10, IOPS": (
            median(credit[-32:]) / median(credit[:10])
        ),
        "10 / 1 Gbit/s, write MB/s (thinned)": (
            mean(CUNNIE, table="10g_upgrade/10g.json", **write)
            / mean(CUNNIE, table="10g_upgrade/1g.json", **write)
        ),
    }


FIGURES = {
    POWER: power_figures,
    PGBENCH: pgbench_figures,
    X86: x86_figures,
    CUNNIE: cunnie_figures,
    HPI: hpi_figures,
    NEU: neu_figures,
    NSDI: nsdi_figures,
    SPARECORES: lambda: {"rows": len(rows_of(SPARECORES))},
}


@pytest.mark.parametrize("slug", FIGURES)
def test_the_published_figures_can_be_computed_from_the_rows(slug):
    printed, computed = expected(slug), FIGURES[slug]()

    assert computed.keys() == printed.keys()
    for name, figure in printed.items():
        decimals = len(str(figure).partition(".")[2])
        assert round(computed[name], decimals) == figure, name


@pytest.mark.parametrize("slug", FIGURES)
def test_every_printed_value_and_deviation_is_uploaded(slug):
    uploads = run_documents(slug, rows_of(slug))
    samples = [sample for upload in uploads for sample in upload["samples"]]
    deviations = [
        row
        for row in rows_of(slug)
        if "deviation" in row.note or "printed RMS" in row.note
    ]

    assert Counter(sample["value"] for sample in samples) == Counter(
        float(row.value) for row in rows_of(slug)
    )
    assert sum("standard_deviation" in s for s in samples) == len(deviations)
    assert sum("runs" in s for s in samples) == len(
        [row for row in rows_of(slug) if "runs" in row.parameters]
    )
