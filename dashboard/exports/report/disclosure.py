"""Systems and machines, and what a report must say that nobody stated."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.publishing import DISCLOSURE, Assessment
from benchmarks.errors import shorten
from benchmarks.models import Host, System
from benchmarks.studies.lists import StudyDetail
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.document import Section, Table, plain_table
from dashboard.wording import Text

ON_SYSTEMS: Final[tuple[tuple[Text, str], ...]] = (
    (gettext_lazy("Type"), "virtualization"),
    (gettext_lazy("Guest OS"), "guest_os"),
    (gettext_lazy("Bits"), "guest_bits"),
    (gettext_lazy("vCPUs"), "vcpus"),
    (gettext_lazy("Memory"), "memory_bytes"),
)
BYTES: Final = "bytes"
SYSTEMS = 200
FACT_LENGTH = 1_000


def disclosure(detail: StudyDetail, judged: Assessment, tools: Table) -> Section:
    """Return what is known of machines, systems and tools, and what was not stated."""
    systems = [_systems(detail), tools] if detail.systems else []
    tables = [*systems, *(_host(host) for host in detail.hosts)]
    return Section(
        "systems",
        _("Systems and disclosure"),
        tuple(_paragraphs(detail, judged)),
        tuple(tables),
    )


def _paragraphs(detail: StudyDetail, judged: Assessment) -> Iterator[str]:
    if not detail.systems:
        yield _("Nothing has been measured yet.")
    yield _("As stated by who measured. What was not stated is said to be so.")
    if len(detail.systems) > SYSTEMS:
        yield _("The first %(n)s of %(all)s systems are shown.") % {
            "n": SYSTEMS,
            "all": len(detail.systems),
        }
    for group, names in judged.undisclosed.items():
        yield _("Not stated everywhere, of the %(group)s: %(names)s.") % {
            "group": group,
            "names": ", ".join(map(wording.said, names)),
        }


def _systems(detail: StudyDetail) -> Table:
    """Return what is stated of each system; its host where there are several."""
    hosts = [host.slug for host in detail.hosts]
    head = [_("No."), _("Hypervisor"), *(str(name) for name, _key in ON_SYSTEMS)]
    head += [_("Options"), *([_("Host")] if len(hosts) > 1 else [])]
    rows = (
        [str(at), *_system(system)][: len(head)]
        for at, system in enumerate(detail.systems[:SYSTEMS], start=1)
    )
    title = _("Systems") if len(hosts) > 1 else _("Systems on %(host)s")
    weights = (2, 5, 6, 10, 3, 5, 5, 10, 7)[: len(head)]
    return plain_table(title % {"host": hosts[0]}, head, rows, weights=weights)


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
    for thing in DISCLOSURE["host"]:
        found = [_named(name, facts.pop(name)) for name in thing.facts if name in facts]
        if found:
            rows.append([capfirst(wording.said(thing.name)), "; ".join(found)])
        else:
            silent.append(wording.said(thing.name))
    rows += [
        [capfirst(wording.fact_name(name)), _said(name, value)]
        for name, value in facts.items()
    ]
    if silent:
        rows.append([not_stated(), ", ".join(silent)])
    title = f"{host.slug}: {host.title}" if host.title else host.slug
    return plain_table(_("Machine %(name)s") % {"name": title}, (), rows)


def _named(name: str, value: Any) -> str:
    """Write a fact under its thing; a bare number says of what it is."""
    is_count = isinstance(value, int) and not isinstance(value, bool)
    text = _said(name, value)
    is_clear = not is_count or name.endswith(BYTES)
    return text if is_clear else f"{wording.fact_name(name)}: {text}"


def _said(name: str, value: Any) -> str:
    if name.endswith(BYTES) and isinstance(value, int):
        return figures.size(value)
    return fact_text(value)


def fact_text(value: Any) -> str:
    """Write a fact; nested ones as name and value, and of a long one the beginning."""
    if isinstance(value, str):
        return shorten(value, FACT_LENGTH)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {fact_text(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(fact_text, value))
    return json.dumps(value)
