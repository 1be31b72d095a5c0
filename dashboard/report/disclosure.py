"""Systems and machines, and what a report must say that nobody stated."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.errors import shorten
from benchmarks.models import Host, System
from benchmarks.selectors.campaign_detail import CampaignDetail
from dashboard import wording
from dashboard.report.document import Section, Table, plain_table
from dashboard.wording import Text

# What a published number must come with (docs/method.md), and the facts that say it.
ON_HOSTS: Final[tuple[tuple[Text, tuple[str, ...]], ...]] = (
    (gettext_lazy("CPU"), ("cpu",)),
    (gettext_lazy("Cores"), ("cores",)),
    (gettext_lazy("Microcode"), ("microcode",)),
    (gettext_lazy("Threads per core (SMT)"), ("smt", "threads")),
    (gettext_lazy("Turbo"), ("turbo",)),
    (gettext_lazy("Frequency governor"), ("governor", "cpu_governor")),
    (gettext_lazy("NUMA"), ("numa", "numa_nodes")),
    (gettext_lazy("Memory"), ("memory", "memory_bytes")),
    (gettext_lazy("Disk and its cache"), ("disk", "storage")),
    (gettext_lazy("Network and offloads"), ("network",)),
    (gettext_lazy("Mitigations"), ("mitigations",)),
)
ON_SYSTEMS: Final[tuple[tuple[Text, str], ...]] = (
    (gettext_lazy("Type"), "virtualization"),
    (gettext_lazy("Guest OS"), "guest_os"),
    (gettext_lazy("Bits"), "guest_bits"),
    (gettext_lazy("vCPUs"), "vcpus"),
    (gettext_lazy("Memory"), "memory_bytes"),
)
# Asked of every hypervisor; each is one of a system's options if it is stated at all.
ON_HYPERVISORS: Final[tuple[tuple[Text, str], ...]] = (
    (gettext_lazy("CPU pinning"), "pinning"),
    (gettext_lazy("ballooning"), "ballooning"),
    (gettext_lazy("huge pages"), "huge_pages"),
    (gettext_lazy("bus of the disk"), "disk_bus"),
    (gettext_lazy("cache mode of the disk"), "disk_cache"),
    (gettext_lazy("model of the network card"), "nic_model"),
    (gettext_lazy("clock source"), "clocksource"),
    (gettext_lazy("kernel of the guest"), "kernel"),
)


SYSTEMS = 200
FACT_LENGTH = 1_000


def disclosure(detail: CampaignDetail) -> Section:
    """Return what is known of machines and systems, and what was not stated."""
    tables = [_host(host) for host in detail.hosts]
    return Section(
        "systems",
        _("Systems and disclosure"),
        tuple(_paragraphs(detail)),
        (_systems(detail), *tables),
    )


def _paragraphs(detail: CampaignDetail) -> Iterator[str]:
    yield _("As stated by who measured. What was not stated is said to be so.")
    if len(detail.systems) > SYSTEMS:
        yield _("The first %(n)s of %(all)s systems are shown.") % {
            "n": SYSTEMS,
            "all": len(detail.systems),
        }
    guests = [system for system in detail.systems if not system.is_native]
    silent = [
        str(name)
        for name, option in ON_HYPERVISORS
        if not any(option in system.options for system in guests)
    ]
    if guests and silent:
        yield _("Not stated of any hypervisor: %(names)s.") % {
            "names": ", ".join(silent)
        }


def _systems(detail: CampaignDetail) -> Table:
    head = ["#", _("Hypervisor"), *(str(name) for name, _key in ON_SYSTEMS)]
    rows = (
        [str(at), *_system(system)]
        for at, system in enumerate(detail.systems[:SYSTEMS], start=1)
    )
    head += [_("Options"), _("Host")]
    weights = (2, 5, 6, 10, 3, 5, 5, 10, 7)
    return plain_table(_("Systems"), head, rows, weights=weights)


def _system(system: System) -> list[str]:
    platform = f"{system.hypervisor} {system.hypervisor_version}".strip()
    stated = [_stated(key, getattr(system, key)) for _name, key in ON_SYSTEMS]
    if system.is_native:
        stated[0] = "-"
    options = "; ".join(
        f"{wording.property_name(name)} {value}"
        for name, value in system.options.items()
    )
    return [platform, *stated, options or "-", system.host.slug]


def _stated(name: str, value: object) -> str:
    return wording.property_value(name, value) or not_stated()


def not_stated() -> str:
    """Return what is said of something nobody said."""
    return _("not stated")


def _host(host: Host) -> Table:
    """Return a machine's facts, and the names of those that nobody stated."""
    facts = dict(host.facts)
    rows, silent = [], []
    for name, keys in ON_HOSTS:
        found = [fact_text(facts.pop(key)) for key in keys if key in facts]
        if found:
            rows.append([str(name), "; ".join(found)])
        else:
            silent.append(str(name))
    rows += [[wording.fact_name(key), fact_text(value)] for key, value in facts.items()]
    if silent:
        rows.append([not_stated(), ", ".join(silent)])
    title = f"{host.slug}: {host.title}" if host.title else host.slug
    return plain_table(_("Machine %(name)s") % {"name": title}, (), rows)


def fact_text(value: Any) -> str:
    """Write a fact; nested ones as name and value, and of a long one the beginning."""
    if isinstance(value, str):
        return shorten(value, FACT_LENGTH)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {fact_text(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(fact_text, value))
    return json.dumps(value)
