"""Stored values as text: names, circumstances, amounts, sentences."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, cast

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from benchmarks.comparing.table import OPTIONS, Column, Fact, rank
from benchmarks.models import System
from benchmarks.sentences import Sentence, translated
from dashboard.kit import figures

Text = str | Promise
NONE = "\N{EN DASH}"

PROPERTIES: dict[str, Text] = {
    "platform": gettext_lazy("Hypervisor, version"),
    "host": gettext_lazy("Host"),
    "hypervisor": gettext_lazy("Hypervisor"),
    "hypervisor_version": gettext_lazy("Version"),
    "virtualization": gettext_lazy("Type"),
    "guest_os": gettext_lazy("Guest OS"),
    "guest_bits": gettext_lazy("Bits"),
    "vcpus": gettext_lazy("vCPUs"),
    "memory_bytes": gettext_lazy("Memory"),
    "hw_virt": gettext_lazy("AMD-V / VT-x"),
    "guest_tools": gettext_lazy("Guest tools"),
    "storage": gettext_lazy("Storage"),
    "swap": gettext_lazy("Swap"),
    "scheduler": gettext_lazy("Scheduler"),
}

# Words of facts that are abbreviations.
ACRONYMS = {"cpu", "ip", "mtu", "numa", "os", "smt", "tcp"}

# Properties whose values need no name beside them.
SELF_EVIDENT = {"host", "virtualization", "guest_os", "guest_bits", "memory_bytes"}

# What tells systems apart, in the order in which it is said.
ORDER = ("platform", "guest_os", "guest_bits", *OPTIONS)

COMPONENTS: dict[str, Text] = {
    "CPU": gettext_lazy("CPU"),
    "memory": gettext_lazy("Memory"),
    "disk": gettext_lazy("Disk"),
    "network": gettext_lazy("Network"),
    "power": gettext_lazy("Power"),
    "application": gettext_lazy("Application"),
}

SCENARIOS: dict[str, Text] = {
    "single": gettext_lazy("Single"),
    "parallel": gettext_lazy("Parallel"),
    "under CPU load": gettext_lazy("Under CPU load"),
    "disk and network combined": gettext_lazy("Disk and network combined"),
    "inter-vm": gettext_lazy("Between VMs"),
    "same-host": gettext_lazy("Within a host"),
    "inter-host": gettext_lazy("Between hosts"),
    "combined": gettext_lazy("Different work at once"),
}

AGGREGATES: dict[str, Text] = {
    "sum": gettext_lazy("sum of the VMs"),
    "mean": gettext_lazy("mean of the VMs"),
    "all": gettext_lazy("all VMs together"),
    "host": gettext_lazy("the host"),
}

BETTER: dict[str, Text] = {
    "higher": gettext_lazy("higher is better"),
    "lower": gettext_lazy("lower is better"),
    "neither": gettext_lazy("neither is better"),
}

# The usual facts of a machine, in the order in which one asks for them.
FACTS: dict[str, Text] = {
    "cpu": gettext_lazy("CPU"),
    "cores": gettext_lazy("Cores"),
    "threads": gettext_lazy("Threads"),
    "l1_kib_per_core": gettext_lazy("L1 per core, KiB"),
    "l2_kib_per_core": gettext_lazy("L2 per core, KiB"),
    "hardware_virtualization": gettext_lazy("Virtualization support"),
    "memory": gettext_lazy("Memory"),
    "mainboard": gettext_lazy("Mainboard"),
    "disk": gettext_lazy("Disk"),
    "storage": gettext_lazy("Storage"),
    "network": gettext_lazy("Network"),
    "power_meter": gettext_lazy("Power meter"),
    "guests": gettext_lazy("Guests"),
    "note": gettext_lazy("Note"),
}


def fact_name(name: str) -> str:
    """Return what a fact is called; an unknown one by its own name."""
    return str(FACTS.get(name, name.replace("_", " ")))


def stated_fact(name: str, value: object, *, is_inner: bool = False) -> tuple[str, str]:
    """Return a fact as a name and a text; bytes with a unit that can be read."""
    *words, last = name.split(" ")
    if last == "bytes" and isinstance(value, int) and not isinstance(value, bool):
        return " ".join(words) or _("size"), figures.size(value)
    # As Linux writes it in /sys/devices/system/cpu/smt/control.
    is_lacking = value == "notsupported"
    text = _("not supported") if is_lacking else stated_text(value, is_inner=is_inner)
    return name, text


def stated_text(value: object, *, is_inner: bool = False) -> str:
    """Return what an agent or a person stated as one line, whatever its shape."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, Mapping):
        pairs = (stated_fact(name, it, is_inner=True) for name, it in value.items())
        parts = ", ".join(f"{name}: {text}" for name, text in pairs)
        return f"({parts})" if parts and is_inner else parts or NONE
    if isinstance(value, list):
        parts = ", ".join(stated_text(it, is_inner=True) for it in value)
        return parts or NONE
    return NONE if value in (None, "") else str(value)


def emulation_words() -> str:
    """Return what a reader has to know of systems on a software emulator."""
    return _(
        "Measured under software emulation (QEMU TCG). Use these numbers to test the "
        "pipeline, not to compare hypervisors."
    )


def property_name(name: str) -> str:
    """Return what a property is called; a lab's own as a heading: ``CPU model``."""
    if name in PROPERTIES:
        return str(PROPERTIES[name])
    words = [
        word.upper() if word in ACRONYMS else word
        for word in name.replace("_", " ").split(" ")
    ]
    # Not capitalize(), which would write the rest of the word small.
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


def property_heading(name: str) -> str:
    """Return what a property is called where its name stands alone."""
    return property_name(name) if name in PROPERTIES else capfirst(property_name(name))


def property_value(name: str, value: object) -> str:
    """Return a property's value under its own heading."""
    if value in ("", None):
        return ""
    if name == "guest_bits":
        return _("%(bits)s-bit") % {"bits": value}
    if name == "memory_bytes":
        return figures.amount_of_memory(int(str(value)))
    # 4096 B are 4 KiB; what is no whole number of them is left as it was stated.
    count, _blank, unit = str(value).partition(" ")
    if unit == "B" and count.isdecimal() and int(count) and int(count) % 1024 == 0:
        return figures.amount_of_memory(int(count))
    return str(value)


def fact_text(fact: Fact) -> str:
    """Return a fact that has to explain itself: ``3 VMs``, ``slot 2``, ``swap SSD``."""
    return _fact_text(fact, get_language(), figures.locale())


@lru_cache(maxsize=4096)
def _fact_text(fact: Fact, _language: str | None, _locale: figures.Locale) -> str:
    """Do it once a reader's language and signs: a table says it hundreds of times."""
    if fact.name == "vms":
        count = int(fact.value)
        return ngettext("%(n)s VM", "%(n)s VMs", count) % {"n": count}
    if write := FACT_TEXTS.get(fact.name):
        return write(fact.value)
    if fact.name == "vcpus":
        count = int(fact.value)
        return ngettext("%(n)s vCPU", "%(n)s vCPUs", count) % {"n": count}
    if fact.name == "load":
        return _("load: %(load)s") % {"load": fact.value}
    value = property_value(fact.name, fact.value)
    if fact.name == "guest_bits":
        return value
    return f"{PROPERTIES.get(fact.name, fact.name.replace('_', ' '))} {value}"


def fact_in_brief(fact: Fact) -> str:
    """Return a system's fact that stands among its others: ``32-bit``, ``swap SSD``."""
    if fact.name in SELF_EVIDENT:
        return property_value(fact.name, fact.value)
    return fact_text(fact)


def system_name(system: System) -> str:
    """Return a system in words: ``Xen 3.3 full, Ubuntu Server 9.04, 32-bit``."""
    parts = [
        system.platform,
        system.guest_os,
        property_value("guest_bits", system.guest_bits),
        *(fact_in_brief(Fact(*option)) for option in system.options.items()),
    ]
    return ", ".join(filter(None, parts))


def system_names(systems: Iterable[System]) -> Mapping[int, str]:
    """Return the names of a study's systems by id, with hosts if there are several."""
    by_id = {system.pk: system for system in systems}
    has_hosts = len({system.host_id for system in by_id.values()}) > 1
    return {
        pk: system_name(system) + (f", {system.host.slug}" if has_hosts else "")
        for pk, system in by_id.items()
    }


def column_name(column: Column) -> str:
    """Return a column's platform and all that tells it from the others."""
    facts = (fact_in_brief(fact) for fact in column.facts if fact.value)
    return ", ".join([column.platform, *facts]).strip()


def against_text(reference: System | None, names: Mapping[int, str]) -> str:
    """Return what ratios are compared with; ``names`` are those of the systems."""
    if reference is None:
        return _("compared with native")
    system = names.get(reference.pk) or system_name(reference)
    return _("compared with %(system)s") % {"system": system}


def slot_of_vms(slot: str, vms: int | None) -> str:
    """Return which of several VMs that ran together it was: ``slot 2 of 3``."""
    if not slot.isdecimal():
        return slot_text(slot) or _("one of several VMs")
    if vms is None:
        return _("slot %(slot)s") % {"slot": slot}
    return _("slot %(slot)s of %(vms)s") % {"slot": slot, "vms": vms}


def slot_text(slot: str) -> str:
    """Return which of the VMs, or which figure of them all."""
    return str(AGGREGATES.get(slot) or _("VM %(slot)s") % {"slot": slot})


def scenario_name(scenario: str) -> str:
    return str(SCENARIOS.get(scenario, scenario))


def component_name(component: str) -> str:
    """Return a component's name; of none: all of them."""
    return str(COMPONENTS.get(component, component)) or _("All benchmarks")


FACT_TEXTS: Final[Mapping[str, Callable[[str], str]]] = {
    "slot": slot_text,
    "scenario": scenario_name,
    "component": component_name,
}


def span_text(low: str, high: str) -> str:
    """Return two written ends as one text: ``0.94 to 0.98``."""
    return _("%(low)s to %(high)s") % {"low": low, "high": high}


def runs_text(n: int) -> str:
    """Return the number of runs behind a figure; one is called what it is."""
    return _runs_text(n, get_language())


@lru_cache(maxsize=1024)
def _runs_text(n: int, _language: str | None) -> str:
    """Do it once a language: a table says it thousands of times."""
    return ngettext("single run", "%(n)s runs", n) % {"n": n}


class _Reader:
    """Says sentences of the core in the reader's language, with the reader's signs."""

    def template(self, sentence: Sentence) -> str:
        if sentence.plural:
            n = sentence.parameters["n"]
            return ngettext(sentence.template, sentence.plural, cast(int, n))
        return _(sentence.template)

    def number(self, written: str) -> str:
        return figures.localized(written.replace("%", "\N{NO-BREAK SPACE}%"))


READER = _Reader()


def said(text: str) -> str:
    """Translate a sentence of the domain; return other texts unchanged."""
    return figures.unbroken(translated(text, READER))


COUNTED: Final = {
    what: f"{what}s"
    for what in (
        *("connection", "event", "fault", "file", "fork", "op", "operation"),
        *("request", "session", "step", "transaction", "update"),
    )
} | {"query": "queries", "reply": "replies", "IO": "IOs"}
"""What rates count, one and many."""


def quantity(
    value: float | None,
    unit: str,
    *,
    whole: bool = False,
    within: figures.Interval | None = None,
    decimals: int | None = None,
) -> str:
    """Return a value with its unit; ``whole``: with every digit stored."""
    if value is None:
        return ""
    factor, unit = figures.legible(unit, [value])
    value = figures.times(value, factor)
    if within is not None:
        within = figures.times(within[0], factor), figures.times(within[1], factor)
    text = (
        figures.exact(value)
        if whole
        else figures.brief(value, within, decimals=decimals)
    )
    if unit == "1/s":
        return f"{text}/s"
    return f"{text}\N{NO-BREAK SPACE}{unit}" if unit else text


def in_unit(value: float | None, unit: str) -> str:
    """Return a value with its unit, or a dash."""
    return quantity(value, unit) or NONE


def shown_ratio(value: float | None) -> str:
    """Return a ratio, or a dash."""
    return NONE if value is None else figures.ratio(value)


def rate_unit(metric: str, unit: str) -> str:
    """Return the unit of a rate by what it counts: a plain 1/s does not say it.

    >>> rate_unit("CPU event rate", "1/s"), rate_unit("disk IOPS", "1/s")
    ('events/s', 'IOPS')
    """
    if unit != "1/s" or not metric:
        return unit
    *_others, what, last = ["", *metric.split()]
    if last == "IOPS":
        return last
    return f"{COUNTED[what]}/s" if last == "rate" and what in COUNTED else unit


def short_names(systems: Iterable[System]) -> Mapping[int, str]:
    """Return each system's name by its id, without what all of them have in common."""
    by_id = {system.pk: system for system in systems}
    has_hosts = len({system.host_id for system in by_id.values()}) > 1
    stated = {
        pk: {
            "platform": system.platform,
            "guest_os": system.guest_os,
            "guest_bits": property_value("guest_bits", system.guest_bits),
            **{
                name: fact_in_brief(Fact(name, str(value)))
                for name, value in system.options.items()
            },
            **({"host": system.host.slug} if has_hosts else {}),
        }
        for pk, system in by_id.items()
    }
    names = dict.fromkeys(name for facts in stated.values() for name in facts)
    varying = [
        name
        # The host last, as in a whole name.
        for name in sorted(names, key=lambda name: (name == "host", rank(ORDER, name)))
        if len({facts.get(name, "") for facts in stated.values()}) > 1
    ]
    return {
        pk: ", ".join(facts[name] for name in varying if facts.get(name))
        # A system that states nothing of what varies has its whole name.
        or system_name(by_id[pk])
        for pk, facts in stated.items()
    }
