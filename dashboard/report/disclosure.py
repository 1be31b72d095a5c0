"""Systems and machines, and what a report must say that nobody stated."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.disclosure import DISCLOSURE
from benchmarks.analysis.publishing import Assessment
from benchmarks.errors import shorten
from benchmarks.models import Host, System
from benchmarks.selectors.campaign_detail import CampaignDetail
from dashboard import wording
from dashboard.report.document import Section, Table, plain_table
from dashboard.wording import Text

ON_SYSTEMS: Final[tuple[tuple[Text, str], ...]] = (
    (gettext_lazy("Type"), "virtualization"),
    (gettext_lazy("Guest OS"), "guest_os"),
    (gettext_lazy("Bits"), "guest_bits"),
    (gettext_lazy("vCPUs"), "vcpus"),
    (gettext_lazy("Memory"), "memory_bytes"),
)
SYSTEMS = 200
FACT_LENGTH = 1_000


def disclosure(detail: CampaignDetail, judged: Assessment) -> Section:
    """Return what is known of machines and systems, and what was not stated."""
    systems = [_systems(detail)] if detail.systems else []
    tables = [*systems, *(_host(host) for host in detail.hosts)]
    return Section(
        "systems",
        _("Systems and disclosure"),
        tuple(_paragraphs(detail, judged)),
        tuple(tables),
    )


def _paragraphs(detail: CampaignDetail, judged: Assessment) -> Iterator[str]:
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


def _systems(detail: CampaignDetail) -> Table:
    head = [_("No."), _("Hypervisor"), *(str(name) for name, _key in ON_SYSTEMS)]
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
    for thing in DISCLOSURE["host"]:
        found = [fact_text(facts.pop(name)) for name in thing.facts if name in facts]
        if found:
            rows.append([capfirst(wording.said(thing.name)), "; ".join(found)])
        else:
            silent.append(wording.said(thing.name))
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
