"""Questions that people ask about hypervisors, and where their answers are."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.evidence.subjects import visible_effects
from benchmarks.models import Cell, System
from benchmarks.search import newest_studies_of
from benchmarks.system_options import VOCABULARY, find_option
from benchmarks.viewer import Viewer
from dashboard.kit.subject_urls import hypervisor_url, work_url
from dashboard.wording import Text
from dashboard.wording.evidence import work_phrase

SETTING, WORK, HYPERVISOR = "setting", "work", "hypervisor"
METRIC, PARAMETER, CO_RUN = "metric", "parameter", "co-run"
MIN_VMS: Final = 8
"""Number of VMs from which on co-runs answer questions about many of them."""
MAX_SYSTEMS: Final = 2_000

Data = tuple[str, str]
"""The kind and name of data that answer a question."""


@dataclass(frozen=True)
class AskedQuestion:
    """A question; ``answers`` are kinds and names of pages.

    ``needs`` are the data that answer it, by default those of the pages. ``measure``
    says how to measure them if the pages do not.
    """

    slug: str
    text: Text
    answers: tuple[str, ...]
    keywords: str = ""
    measure: Text = ""
    needs: tuple[Data, ...] = ()


QUESTIONS: Final = (
    AskedQuestion(
        "disk-settings",
        gettext_lazy("Disk IOPS in the guest are half of the host's. Which setting?"),
        (
            *("setting disk_io", "setting disk_cache", "setting iothreads"),
            *("setting controller", "work disk-random-read"),
        ),
        "proxmox slow iops virtio cache",
    ),
    AskedQuestion(
        "aio",
        gettext_lazy("aio=native, threads or io_uring, with or without an I/O thread?"),
        ("setting disk_io", "setting iothreads"),
        "iothread disk",
    ),
    AskedQuestion(
        "shared-storage",
        gettext_lazy("Proxmox or ESXi: who is faster with 32 VMs on shared storage?"),
        ("page density", "page cross-study", "hypervisor VMware ESXi"),
        "nvme queue depth vmware kvm iodepth",
        gettext_lazy(
            "Run fio with the queue depths 1, 8, 32 and 128 at the same time in 32 "
            "VMs on the same storage, under both hypervisors."
        ),
        ((CO_RUN, "disk"),),
    ),
    AskedQuestion(
        "migrate-mix",
        gettext_lazy("What will my mix of work lose or gain under another hypervisor?"),
        ("page mix",),
        "esxi proxmox move switch",
    ),
    AskedQuestion(
        "migration-time",
        gettext_lazy("How long does moving a VM to another hypervisor take?"),
        (),
        "esxi import convert v2v move off",
        gettext_lazy(
            "Time virt-v2v or the import of the new hypervisor for disks of several "
            "sizes, and upload the seconds as a metric of a tool of your lab."
        ),
        ((METRIC, "conversion time"),),
    ),
    AskedQuestion(
        "openshift",
        gettext_lazy("OpenShift Virtualization or vSphere?"),
        ("hypervisor KVM", "hypervisor VMware ESXi", "page cross-study"),
        "kubevirt vmware sysbench fio iperf3 stream",
        gettext_lazy(
            "Run sysbench, fio, iperf3 and STREAM on one machine: on bare metal, then "
            "in a VM of the same size under each of the two."
        ),
        ((HYPERVISOR, "KubeVirt"),),
    ),
    AskedQuestion(
        "publish-kubevirt",
        gettext_lazy("In which format do I publish KubeVirt results?"),
        ("docs study-files#kubevirt-vep-411",),
        "vep 411 schema json",
    ),
    AskedQuestion(
        "kubevirt-disk",
        gettext_lazy(
            "How much slower is the disk of a KubeVirt VM than under libvirt?"
        ),
        ("work disk-random-write", "work disk-tail-latency"),
        "latency cyclictest fio",
        gettext_lazy(
            "Run fio and cyclictest in the same VM under KubeVirt and under libvirt on "
            "one machine, and name libvirt as the reference of the study."
        ),
        ((HYPERVISOR, "KubeVirt"),),
    ),
    AskedQuestion(
        "nested",
        gettext_lazy("How much slower is a nested hypervisor?"),
        ("setting nested",),
        "hyper-v inside vm",
    ),
    AskedQuestion(
        "windows-hyper-v",
        gettext_lazy("Does enabling Hyper-V or WSL2 slow down Windows itself?"),
        ("setting vbs", "hypervisor Hyper-V (WSL2 utility VM)"),
        "vbs memory integrity core isolation",
        needs=((SETTING, "vbs"),),
    ),
    AskedQuestion(
        "cpu-type",
        gettext_lazy("CPU type host or x86-64-v3?"),
        ("setting cpu_mode",),
        "windows slow memory proxmox model",
    ),
    AskedQuestion(
        "mitigations",
        gettext_lazy("What do the Spectre and Meltdown mitigations cost in a VM?"),
        ("setting mitigations", "work system-system-call"),
    ),
    AskedQuestion(
        "pinning",
        gettext_lazy("Is CPU pinning worth it?"),
        ("setting pinning", "setting emulator_pinning", "setting numatune"),
        "vcpu affinity",
    ),
    AskedQuestion(
        "memory-settings",
        gettext_lazy("What do huge pages, KSM and ballooning cost or save?"),
        ("setting hugepages", "setting ksm", "setting balloon"),
    ),
    AskedQuestion(
        "overcommit",
        gettext_lazy("How much CPU overcommit is acceptable?"),
        ("page density", "setting vcpus"),
        "steal ready time ratio vcpu pcpu",
        gettext_lazy(
            "Run a benchmark in 1, 2, 4 ... VMs until the virtual CPUs are four times "
            "the CPUs, and record the steal time with virtlab-agent or vmstat."
        ),
        ((CO_RUN, "CPU"),),
    ),
    AskedQuestion(
        "vms-per-host",
        gettext_lazy("How many VMs fit on a host, and what does a VM cost?"),
        ("page density", "work energy-per-work"),
        "consolidation price watt",
    ),
    AskedQuestion(
        "vms-with-iops",
        gettext_lazy("How many VMs can do 500 IOPS before the p99 latency is 5 ms?"),
        ("page density", "work disk-tail-latency"),
        "limit write latency",
        gettext_lazy(
            "Run fio with 500 writes per second at the same time in 1, 2, 4 ... VMs of "
            "one machine until the p99 latency exceeds the limit."
        ),
        ((CO_RUN, "disk"),),
    ),
    AskedQuestion(
        "fastest-start",
        gettext_lazy("Firecracker, Cloud Hypervisor or QEMU: which starts fastest?"),
        ("page start-times",),
        "microvm boot",
    ),
    AskedQuestion(
        "monitor-memory",
        gettext_lazy("How much memory does the monitor itself use per VM?"),
        ("page density#direct",),
        "overhead rss vmm qemu",
        needs=((METRIC, "resident set"),),
    ),
    AskedQuestion(
        "boot-storm",
        gettext_lazy("What happens in a boot storm?"),
        ("page start-times",),
        "many at once parallel start",
    ),
    AskedQuestion(
        "live-migration",
        gettext_lazy("How long is the downtime of a live migration?"),
        ("docs agents#virtual-machines-from-outside",),
        "vmotion move running",
        gettext_lazy(
            "Run virtlab-agent vm migrate at least five times, idle and under load. It "
            "records the downtime and the total time."
        ),
        ((METRIC, "migration downtime"),),
    ),
    AskedQuestion(
        "first-write",
        gettext_lazy("Xen or KVM on Ceph: is the first write special?"),
        ("setting disk_image", "work disk-random-write"),
        "xen storage rbd slow preallocation thin allocate",
        gettext_lazy(
            "Run fio twice over the same new disk, and state the first pass as "
            "pass=first among the parameters. Repeat it on a preallocated disk."
        ),
        ((PARAMETER, "pass"),),
    ),
    AskedQuestion("bhyve", gettext_lazy("bhyve or KVM?"), ("hypervisor bhyve",)),
    AskedQuestion(
        "passthrough",
        gettext_lazy("virtio, SR-IOV or passthrough for network and GPU?"),
        ("setting network", "setting gpu"),
        "vgpu vfio nic",
    ),
    AskedQuestion(
        "postgresql",
        gettext_lazy("PostgreSQL in a VM or on bare metal?"),
        ("work application-database",),
        "pgbench sql",
    ),
    AskedQuestion(
        "confidential",
        gettext_lazy("What does confidential computing cost?"),
        ("setting confidential",),
        "sev snp tdx encryption memory",
    ),
)


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question with its pages (title and address)."""

    question: AskedQuestion
    pages: tuple[tuple[str, str], ...]
    is_measured: bool


def question_url(slug: str) -> str:
    return f"{reverse('dashboard:questions')}#{slug}"


def answered_questions(viewer: Viewer) -> list[AnsweredQuestion]:
    available = _available(viewer)
    return [
        AnsweredQuestion(
            question,
            tuple(map(_page, question.answers)),
            any(map(available.__contains__, _needs(question))),
        )
        for question in QUESTIONS
    ]


def _needs(question: AskedQuestion) -> Iterable[Data]:
    return question.needs or map(_data, question.answers)


def _data(answer: str) -> Data:
    kind, _space, name = answer.partition(" ")
    return kind, name


def _available(viewer: Viewer) -> set[Data]:
    works = visible_effects(viewer).values_list("work_class", flat=True).distinct()
    varied = systems_with_options(viewer).values_list("options", flat=True)
    cells = Cell.objects.visible_to(viewer).filter(n__gt=0)
    needed = {data for question in QUESTIONS for data in _needs(question)}
    return {
        *((WORK, work) for work in works),
        *((SETTING, find_option(name).name) for options in varied for name in options),
        *(data for data in needed if data[0] in {"page", "docs"}),
        *(
            data
            for data in needed
            if (filters := _cell_filters(*data)) and cells.filter(**filters).exists()
        ),
    }


def _cell_filters(kind: str, name: str) -> dict[str, Any]:
    filters: dict[str, dict[str, Any]] = {
        HYPERVISOR: {"system__hypervisor": name},
        METRIC: {"case__metric": name},
        PARAMETER: {"case__parameters__has_key": name},
        CO_RUN: {"vms__gte": MIN_VMS, "case__component": name},
    }
    return filters.get(kind, {})


def systems_with_options(viewer: Viewer) -> QuerySet[Any]:
    """Return measured systems, annotated with their newest visible study."""
    systems = System.objects.exclude(options={}).order_by("pk")
    return newest_studies_of(systems, "system", viewer)[:MAX_SYSTEMS]


def _page(answer: str) -> tuple[str, str]:
    kind, name = _data(answer)
    if kind == SETTING:
        option = VOCABULARY[name]
        return _(option.title), reverse("dashboard:setting", args=[option.slug])
    if kind == WORK:
        return str(capfirst(work_phrase(name))), work_url(name)
    if kind == HYPERVISOR:
        return name, hypervisor_url(name)
    name, mark, anchor = name.partition("#")
    if kind == "docs":
        url = reverse("dashboard:docs-page", args=[name])
        return str(DOCUMENT_TITLES[name]), url + mark + anchor
    return str(PAGE_TITLES[name]), reverse(f"dashboard:{name}") + mark + anchor


PAGE_TITLES: Final[dict[str, Text]] = {
    "cross-study": gettext_lazy("Compare across studies"),
    "density": gettext_lazy("VMs per host"),
    "mix": gettext_lazy("My mix of work"),
    "start-times": gettext_lazy("Start-up times"),
}
DOCUMENT_TITLES: Final[dict[str, Text]] = {
    "agents": gettext_lazy("The agent"),
    "study-files": gettext_lazy("Study files"),
}
