"""Systems, machines and tools, and what a report must say that nobody stated."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.analysis.publishing import DISCLOSURE, Assessment
from benchmarks.comparing.row import ComparisonRow
from benchmarks.comparing.table import COMPONENTS, rank
from benchmarks.errors import shorten
from benchmarks.models import Host
from benchmarks.studies.lists import StudyDetail
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.document import Section, Table, plain_table
from dashboard.wording import Text, states

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
PART = " · "


def not_stated() -> str:
    """Return what is said of something nobody stated."""
    return _("not stated")


def disclosure(detail: StudyDetail, judged: Assessment, tools: Table) -> Section:
    """Return what is known of machines, systems and tools, and what was not stated."""
    texts = [] if detail.systems else [_("Nothing has been measured yet.")]
    texts.append(_("As stated by the authors; what they did not state is marked."))
    if len(detail.systems) > SYSTEMS:
        words = {"n": SYSTEMS, "all": len(detail.systems)}
        texts.append(_("The first %(n)s of %(all)s systems are shown.") % words)
    for group, names in judged.undisclosed.items():
        missing = ", ".join(map(wording.said, names))
        text = _("Missing metadata of the %(group)s: %(names)s.")
        texts.append(text % {"group": group, "names": missing})
    systems = [_systems(detail), tools] if detail.systems else []
    tables = [*systems, *map(_host, detail.hosts)]
    title = _("Systems and disclosure")
    return Section("systems", title, tuple(texts), tuple(tables))


def _systems(detail: StudyDetail) -> Table:
    """Return what is stated of each system; its host where there are several."""
    hosts = [host.slug for host in detail.hosts]
    head = [_("No."), _("Hypervisor"), *(str(name) for name, _key in ON_SYSTEMS)]
    head += [_("Options"), *([_("Host")] if len(hosts) > 1 else [])]
    rows = []
    for number, system in enumerate(detail.systems[:SYSTEMS], start=1):
        stated = [
            wording.property_value(key, getattr(system, key)) or not_stated()
            for _name, key in ON_SYSTEMS
        ]
        if system.is_native:
            stated[0] = "-"
        options = "; ".join(
            f"{wording.property_name(name)} {value}"
            for name, value in system.options.items()
        )
        platform = f"{system.hypervisor} {system.hypervisor_version}".strip()
        row = [str(number), platform, *stated, options or "-", system.host.slug]
        rows.append(row[: len(head)])
    title = _("Systems") if len(hosts) > 1 else _("Systems on %(host)s")
    weights = (2, 5, 6, 10, 3, 5, 5, 10, 7)[: len(head)]
    return plain_table(title % {"host": hosts[0]}, head, rows, weights=weights)


def _host(host: Host) -> Table:
    """Return a machine's facts, and the names of those that nobody stated."""

    def text(name: str, value: Any) -> str:
        is_size = name.endswith(BYTES) and isinstance(value, int)
        return figures.size(value) if is_size else fact_text(value)

    def named(name: str, value: Any) -> str:
        # Under the name of its thing a bare number would not say what it counts.
        # Not isinstance(): yes and no are ints, too.
        is_bare = type(value) is int and not name.endswith(BYTES)
        label = f"{wording.fact_name(name)}: " if is_bare else ""
        return label + text(name, value)

    facts = dict(host.facts)
    rows, missing = [], []
    for thing in DISCLOSURE["host"]:
        texts = [named(name, facts.pop(name)) for name in thing.facts if name in facts]
        if texts:
            rows.append([capfirst(wording.said(thing.name)), "; ".join(texts)])
        else:
            missing.append(wording.said(thing.name))
    rows += [
        [capfirst(wording.fact_name(name)), text(name, value)]
        for name, value in facts.items()
    ]
    if missing:
        rows.append([not_stated(), ", ".join(missing)])
    title = f"{host.slug}: {host.title}" if host.title else host.slug
    return plain_table(_("Machine %(name)s") % {"name": title}, (), rows)


def fact_text(value: Any) -> str:
    """Write a fact; nested ones as name and value, and of a long one the beginning."""
    if isinstance(value, str):
        return shorten(value, FACT_LENGTH)
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {fact_text(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(fact_text, value))
    return json.dumps(value)


def tools_table(
    rows: Iterable[ComparisonRow], versions: Mapping[str, Sequence[str]]
) -> Table:
    """Return a line for each metric: its tool, its unit, whose clock timed it.

    ``versions`` are those of each tool.
    """
    members: dict[tuple[Any, ...], list[ComparisonRow]] = {}
    for row in rows:
        metric = row.case.label.partition(PART)[0]
        component = rank(COMPONENTS, row.case.component)
        place = (component, row.case.tool_title, metric, row.shown.unit)
        members.setdefault(place, []).append(row)
    lines = []
    for (_component, tool, metric, unit), cells in sorted(
        members.items(), key=lambda item: item[0]
    ):
        printed = versions.get(cells[0].case.tool, ())
        # Some tools print their name before their version.
        known = (text.removeprefix(f"{tool} ") or not_stated() for text in printed)
        clocks = (
            states.clock_name(clock) if clock else not_stated()
            for clock in dict.fromkeys(row.clock for row in cells)
        )
        lines.append(
            (
                tool,
                ", ".join(known) or not_stated(),
                metric,
                unit,
                str(wording.BETTER.get(cells[0].shown.better, "")),
                "; ".join(clocks),
                str(len(cells)),
            )
        )
    head = (
        *(_("Tool"), _("Version"), _("Metric"), _("Unit")),
        *(_("Better"), _("Timed by"), _("Results")),
    )
    weights = (4, 3, 6, 3, 4, 6, 2)
    return plain_table(_("Benchmarks"), head, lines, numbers_from=6, weights=weights)
