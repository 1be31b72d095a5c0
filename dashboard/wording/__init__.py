"""Names and values as text: systems, facts, slots, quantities, sentences."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, cast

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from benchmarks.comparison.comparison_table import OPTIONS, Column, Fact, rank_by_order
from benchmarks.host_facts import steal_share
from benchmarks.hypervisor_names import NATIVE
from benchmarks.models import Run, System
from benchmarks.sentences import Sentence, translate
from dashboard.kit import formatting

Text = str | Promise
DASH = "\N{EN DASH}"

PROPERTY_NAMES: dict[str, Text] = {
    "platform": gettext_lazy("Hypervisor"),
    "host": gettext_lazy("Host"),
    "machine_model": gettext_lazy("Machine model"),
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

# Outside of this range, "75% slower" is harder to read than "25% of the speed".
HALF, TWICE = 0.5, 2.0

ACRONYMS = {"cpu", "ip", "mtu", "numa", "os", "smt", "tcp"}

# Properties whose values are clear without a name.
UNNAMED_PROPERTIES = {
    "host",
    "machine_model",
    "virtualization",
    "guest_os",
    "guest_bits",
    "memory_bytes",
}

PROPERTY_ORDER = ("platform", "guest_os", "guest_bits", *OPTIONS)

COMPONENT_NAMES: dict[str, Text] = {
    "CPU": gettext_lazy("CPU"),
    "memory": gettext_lazy("Memory"),
    "disk": gettext_lazy("Disk"),
    "network": gettext_lazy("Network"),
    "power": gettext_lazy("Power"),
    "application": gettext_lazy("Application"),
}

SCENARIO_NAMES: dict[str, Text] = {
    "single": gettext_lazy("Single"),
    "parallel": gettext_lazy("Parallel"),
    "under CPU load": gettext_lazy("Under CPU load"),
    "disk and network combined": gettext_lazy("Disk and network combined"),
    "inter-vm": gettext_lazy("Between VMs"),
    "same-host": gettext_lazy("Within a host"),
    "inter-host": gettext_lazy("Between hosts"),
    "combined": gettext_lazy("Mixed workloads"),
}

AGGREGATE_NAMES: dict[str, Text] = {
    "sum": gettext_lazy("sum of the VMs"),
    "mean": gettext_lazy("mean of the VMs"),
    "all": gettext_lazy("all VMs together"),
    "host": gettext_lazy("the host"),
}

DIRECTION_NAMES: dict[str, Text] = {
    "higher": gettext_lazy("higher is better"),
    "lower": gettext_lazy("lower is better"),
    "neither": gettext_lazy("neither is better"),
}

# Facts of a machine, in the order in which pages list them.
FACT_NAMES: dict[str, Text] = {
    "cpu": gettext_lazy("CPU"),
    "cores": gettext_lazy("Cores"),
    "threads": gettext_lazy("Threads"),
    "l1_kib_per_core": gettext_lazy("L1 per core (KiB)"),
    "l2_kib_per_core": gettext_lazy("L2 per core (KiB)"),
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
    return str(FACT_NAMES.get(name, name.replace("_", " ")))


def fact_row(name: str, value: object, *, is_inner: bool = False) -> tuple[str, str]:
    *words, last = name.split(" ")
    if last == "bytes" and isinstance(value, int) and not isinstance(value, bool):
        return " ".join(words) or _("size"), formatting.file_size(value)
    # The value of /sys/devices/system/cpu/smt/control.
    is_unsupported = value == "notsupported"
    text = (
        _("not supported")
        if is_unsupported
        else format_stated_value(value, is_inner=is_inner)
    )
    return name, text


def format_stated_value(value: object, *, is_inner: bool = False) -> str:
    """Return a value of any JSON type as one line; inner objects in parentheses."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, Mapping):
        pairs = (fact_row(name, item, is_inner=True) for name, item in value.items())
        parts = ", ".join(f"{name}: {text}" for name, text in pairs)
        return f"({parts})" if parts and is_inner else parts or DASH
    if isinstance(value, list):
        parts = ", ".join(format_stated_value(item, is_inner=True) for item in value)
        return parts or DASH
    return DASH if value in (None, "") else str(value)


def emulation_note() -> str:
    return _(
        "The processor is emulated in software (QEMU TCG). Use these numbers to test "
        "Virtlab, not to compare hypervisors."
    )


def property_name(name: str) -> str:
    if name in PROPERTY_NAMES:
        return str(PROPERTY_NAMES[name])
    words = [
        word.upper() if word in ACRONYMS else word
        for word in name.replace("_", " ").split(" ")
    ]
    # Not capitalize(), which lower-cases the rest of the word.
    return " ".join([words[0][:1].upper() + words[0][1:], *words[1:]])


def property_heading(name: str) -> str:
    return (
        property_name(name) if name in PROPERTY_NAMES else capfirst(property_name(name))
    )


def platform_name(platform: str) -> str:
    return _("native") if platform == NATIVE else platform


def property_value(name: str, value: object) -> str:
    if value in ("", None):
        return ""
    if name in {"platform", "hypervisor"}:
        return platform_name(str(value))
    if name == "guest_bits":
        return _("%(bits)s-bit") % {"bits": value}
    if name == "memory_bytes":
        return formatting.memory_size(int(str(value)))
    # Convert only whole multiples of 1 KiB; other numbers stay as reported.
    count, _blank, unit = str(value).partition(" ")
    if unit == "B" and count.isdecimal() and int(count) and int(count) % 1024 == 0:
        return formatting.memory_size(int(count))
    return str(value)


def fact_text(fact: Fact) -> str:
    """Return a fact that is clear without a heading: ``3 VMs``, ``VM 2``."""
    return _fact_text(fact, get_language(), formatting.current_number_format())


@lru_cache(maxsize=4096)
def _fact_text(
    fact: Fact, _language: str | None, _locale: formatting.NumberFormat
) -> str:
    """Return the text of a fact, cached because tables repeat facts."""
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
    return f"{PROPERTY_NAMES.get(fact.name, fact.name.replace('_', ' '))} {value}"


def short_fact_text(fact: Fact) -> str:
    if fact.name in UNNAMED_PROPERTIES:
        return property_value(fact.name, fact.value)
    return fact_text(fact)


def system_name(system: System) -> str:
    parts = [
        platform_name(system.platform),
        system.guest_os,
        property_value("guest_bits", system.guest_bits),
        *(short_fact_text(Fact(*option)) for option in system.options.items()),
    ]
    return ", ".join(filter(None, parts))


def system_names(systems: Iterable[System]) -> Mapping[int, str]:
    """Return system names by ID; they include the host if there are several hosts."""
    by_id = {system.pk: system for system in systems}
    has_hosts = len({system.host_id for system in by_id.values()}) > 1
    return {
        pk: system_name(system) + (f", {system.host.slug}" if has_hosts else "")
        for pk, system in by_id.items()
    }


def column_name(column: Column) -> str:
    """Return a column's platform and the facts that distinguish it from others."""
    facts = (short_fact_text(fact) for fact in column.facts if fact.value)
    return ", ".join([platform_name(column.platform), *facts]).strip()


def compared_with_text(reference: System | None, names: Mapping[int, str]) -> str:
    if reference is None:
        return _("compared with native")
    system = names.get(reference.pk) or system_name(reference)
    return _("compared with %(system)s") % {"system": system}


def slot_of_total(slot: str, vms: int | None) -> str:
    """Return which of several parallel VMs a slot is: ``slot 2 of 3``."""
    if not slot.isdecimal():
        return slot_text(slot) or _("one of several VMs")
    if vms is None:
        return _("slot %(slot)s") % {"slot": slot}
    return _("slot %(slot)s of %(vms)s") % {"slot": slot, "vms": vms}


def slot_text(slot: str) -> str:
    return str(AGGREGATE_NAMES.get(slot) or _("VM %(slot)s") % {"slot": slot})


def lower_first(text: str) -> str:
    """Return the text with a lower-case first letter, unless it is an acronym."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def scenario_name(scenario: str) -> str:
    return str(SCENARIO_NAMES.get(scenario, scenario))


def component_name(component: str) -> str:
    return str(COMPONENT_NAMES.get(component, component)) or _("All benchmarks")


FACT_TEXTS: Final[Mapping[str, Callable[[str], str]]] = {
    "slot": slot_text,
    "scenario": scenario_name,
    "component": component_name,
}


def range_text(low: str, high: str) -> str:
    return _("%(low)s to %(high)s") % {"low": low, "high": high}


def runs_text(n: int) -> str:
    return _runs_text(n, get_language())


@lru_cache(maxsize=1024)
def _runs_text(n: int, _language: str | None) -> str:
    """Return a number of runs as text, cached because tables repeat it."""
    return ngettext("single run", "%(n)s runs", n) % {"n": n}


def failed_runs_text(failed: int, counted: int, reason: str) -> str:
    """Return how many runs of a result failed and why, or "" if none did."""
    if not failed:
        return ""
    text = ngettext(
        "%(failed)s of %(n)s run failed: %(reason)s",
        "%(failed)s of %(n)s runs failed: %(reason)s",
        failed + counted,
    )
    return text % {
        "failed": failed,
        "n": failed + counted,
        "reason": translate_text(reason),
    }


class _PageTranslator:
    """Translator of domain sentences, with the reader's number format."""

    def template(self, sentence: Sentence) -> str:
        if sentence.plural:
            n = sentence.parameters["n"]
            return ngettext(sentence.template, sentence.plural, cast(int, n))
        return _(sentence.template)

    def number(self, written: str) -> str:
        if written.endswith("%"):
            return formatting.with_percent_sign(self.number(written[:-1]))
        return formatting.localize_number(written)

    def day(self, text: str) -> str:
        return formatting.localize_day(text)


PAGE_TRANSLATOR = _PageTranslator()


def translate_text(text: str) -> str:
    return translate(text, PAGE_TRANSLATOR)


COUNTED_UNITS: Final = {
    what: f"{what}s"
    for what in (
        *("connection", "event", "fault", "file", "fork", "op", "operation"),
        *("request", "session", "step", "transaction", "update"),
    )
} | {"query": "queries", "reply": "replies", "IO": "IOs"}
"""Plurals of the things that rates count."""


def steal_text(run: Run) -> str:
    """Return the CPU time that the host gave to others, or "" if it is unknown."""
    share = steal_share(run.facts)
    return "" if share is None else formatting.percent(share, ".1f")


def published_mean(n: int, deviation: float | None, unit: str) -> str:
    """Return what is known of the runs behind a published mean."""
    if deviation is None:
        return ngettext(
            "mean of %(n)s run, standard deviation not published",
            "mean of %(n)s runs, standard deviation not published",
            n,
        ) % {"n": formatting.exact(n)}
    return ngettext(
        "mean of %(n)s run, standard deviation %(deviation)s, as published",
        "mean of %(n)s runs, standard deviation %(deviation)s, as published",
        n,
    ) % {"n": formatting.exact(n), "deviation": quantity(deviation, unit)}


def quantity(
    value: float | None,
    unit: str,
    *,
    exact: bool = False,
    interval: formatting.Interval | None = None,
    decimals: int | None = None,
) -> str:
    """Return a value with its unit; ``exact`` keeps every stored digit."""
    if value is None:
        return ""
    factor, unit = formatting.readable_unit(unit, [value])
    value = formatting.scaled(value, factor)
    if interval is not None:
        interval = (
            formatting.scaled(interval[0], factor),
            formatting.scaled(interval[1], factor),
        )
    text = (
        formatting.exact(value)
        if exact
        else formatting.measurement(value, interval, decimals=decimals)
    )
    if unit == "1/s":
        return f"{text}/s"
    return formatting.with_unit(text, unit)


def value_with_unit(value: float | None, unit: str) -> str:
    return quantity(value, unit) or DASH


def ratio_or_dash(value: float | None) -> str:
    return DASH if value is None else formatting.ratio(value)


def rate_unit(metric: str, unit: str) -> str:
    """Return a unit that names what is counted: ``events/s`` for ``1/s``."""
    if unit != "1/s" or not metric:
        return unit
    *_rest, counted, last = ["", *metric.split()]
    if last == "IOPS":
        return last
    return (
        f"{COUNTED_UNITS[counted]}/s"
        if last == "rate" and counted in COUNTED_UNITS
        else unit
    )


def unit_name(metric: str, unit: str) -> str:
    """Return a unit as people write it: ``µs`` for ``us``, ``events/s`` for ``1/s``."""
    return rate_unit(metric, formatting.UNIT_NAMES.get(unit, unit))


def short_system_names(systems: Iterable[System]) -> Mapping[int, str]:
    """Return system names by ID, without the facts that all systems share."""
    by_id = {system.pk: system for system in systems}
    has_hosts = len({system.host_id for system in by_id.values()}) > 1
    facts_by_system = {
        pk: {
            "platform": platform_name(system.platform),
            "guest_os": system.guest_os,
            "guest_bits": property_value("guest_bits", system.guest_bits),
            **{
                name: short_fact_text(Fact(name, str(value)))
                for name, value in system.options.items()
            },
            **({"host": system.host.slug} if has_hosts else {}),
        }
        for pk, system in by_id.items()
    }
    names = dict.fromkeys(name for facts in facts_by_system.values() for name in facts)
    varying = [
        name
        # The host is last, as in full names.
        for name in sorted(
            names,
            key=lambda name: (name == "host", rank_by_order(PROPERTY_ORDER, name)),
        )
        if len({facts.get(name, "") for facts in facts_by_system.values()}) > 1
    ]
    return {
        pk: ", ".join(facts[name] for name in varying if facts.get(name))
        or system_name(by_id[pk])
        for pk, facts in facts_by_system.items()
    }
