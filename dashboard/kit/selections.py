"""What the reader of a comparison has chosen; all of it stands in the URL."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparing.rows import Facets, facets
from benchmarks.comparing.sifting import ENERGY_VERDICTS, VERDICTS, Sieve
from benchmarks.comparing.table import (
    BY_RATIO,
    OPTIONS,
    PLATFORM,
    CaseGroup,
    CaseRow,
    ComparisonTable,
)
from benchmarks.models import Run, Study, System
from dashboard import wording
from dashboard.kit.addresses import address, unmet
from dashboard.wording import states
from dashboard.wording.verdicts import ENERGY, OVERHEAD, VALUE, verdict_name

NATIVE = "native"
ALL = "all"
WIDE = {"baseline", "system"}
PINS = 2
NARROWING = ("component", "tool", "guest_os", "bits", "verdict", "evidence", "effect")
NO_BITS = -1  # no system has so many: nonsense finds nothing
SPEED = "efficiency"
SHOWN = {
    SPEED: gettext_lazy("Relative performance"),
    OVERHEAD: gettext_lazy("Overhead"),
    VALUE: gettext_lazy("Measured value"),
    ENERGY: gettext_lazy("Energy per work"),
}
ORDERS = {
    "": gettext_lazy("By their properties"),
    BY_RATIO: gettext_lazy("Best median first"),
}
SORTS = {
    "": gettext_lazy("By tool"),
    "effect": gettext_lazy("Largest effect first"),
    "-effect": gettext_lazy("Smallest effect first"),
    "slowest": gettext_lazy("Slowest first"),
    "fastest": gettext_lazy("Fastest first"),
    "verdict": gettext_lazy("By verdict"),
    "evidence": gettext_lazy("Strongest evidence first"),
}
EVIDENCE = {
    "": gettext_lazy("All"),
    "faint": gettext_lazy("2 runs a side or more"),
    "indicative": gettext_lazy("3 runs a side or more"),
    "verdict": gettext_lazy("5 runs a side or more"),
    "ranking": gettext_lazy("10 runs a side or more"),
}
EFFECTS = ("2", "5", "10", "25", "50", "100")
"""How far a ratio is from 1 at least, in percent."""
NO_EFFECT_IS_SO_LARGE = inf
KEPT = {"": gettext_lazy("All"), "ratios": gettext_lazy("Only with ratios")}


@dataclass(frozen=True)
class Choice:
    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True)
class Menu:
    """A menu of the filter form; ``is_changed``: not as it stands at first."""

    name: str
    label: str
    choices: tuple[Choice, ...]
    is_changed: bool
    is_wide: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        label: str,
        texts: Mapping[str, Any],
        value: str,
        *,
        is_wide: bool = False,
    ) -> "Menu":
        """Return a menu of texts by their values; the first one is the default."""
        choices = (Choice(key, str(text), key == value) for key, text in texts.items())
        is_changed = value != next(iter(texts), "")
        return cls(name, label, tuple(choices), is_changed, is_wide)


@dataclass(frozen=True)
class Selection:
    """The chosen baseline, filters and looks; an empty filter lets all through."""

    baseline: str
    scenario: str
    component: str
    tool: str
    guest_os: str
    bits: str
    show: str = SPEED
    group: str = PLATFORM
    order: str = ""
    only: str = ""
    q: str = ""
    verdict: str = ""
    evidence: str = ""
    effect: str = ""
    sort: str = ""
    pins: tuple[str, ...] = ()

    @property
    def sieve(self) -> Sieve:
        """What is asked of rows; nonsense finds nothing, as it should."""
        percent = 0.0
        if self.effect:
            is_known = self.effect in EFFECTS
            percent = float(self.effect) if is_known else NO_EFFECT_IS_SO_LARGE
        return Sieve(self.verdict, self.evidence, percent)

    def filters(self) -> dict[str, Any]:
        """Return the look-ups on cells; nonsense finds nothing, as it should."""
        looked_up = {
            "scenario": "" if self.scenario == ALL else self.scenario,
            "case__component": self.component,
            "case__tool": self.tool,
            "system__guest_os": self.guest_os,
        }
        lookups: dict[str, Any] = {
            name: text for name, text in looked_up.items() if text
        }
        if self.bits:
            is_number = self.bits.isascii() and self.bits.isdigit()
            lookups["system__guest_bits"] = (
                # More digits than the column has room for find nothing either.
                int(self.bits) if is_number and len(self.bits) < 5 else NO_BITS
            )
        return lookups

    def narrowed(self) -> dict[str, str]:
        """Return what is left of the study, by the names of the query's parts."""
        scenario = "" if self.scenario == ALL else self.scenario
        names = (
            *("component", "tool", "guest_os", "bits", "only", "q"),
            *("verdict", "evidence", "effect"),
        )
        parts = {"scenario": scenario, **{name: getattr(self, name) for name in names}}
        return {name: text for name, text in parts.items() if text}

    def reference(self, facets: Facets) -> System | None:
        """Return the system to compare with; None: the native machine."""
        return next(iter(_named([self.baseline], facets)), None)

    def pinned(self, facets: Facets) -> tuple[System, ...]:
        """Return the pinned systems in the order of the pins."""
        return _named(self.pins, facets)


@dataclass(frozen=True)
class Chooser:
    """The form of a comparison, and in chips what was chosen in it."""

    query: Mapping[str, str]
    selection: Selection
    facets: Facets
    baseline: System | None
    """The system that was chosen to compare with; None: native."""
    pinned: tuple[System, ...]
    menus: list[Menu]
    looks: list[Menu]
    unmet: tuple[str, ...]
    """What the address asks for and is not here."""

    @cached_property
    def names(self) -> Mapping[int, str]:
        return wording.system_names(self.facets.systems)

    @property
    def is_direct(self) -> bool:
        return len(self.pinned) == PINS

    @property
    def chips(self) -> list[dict[str, Any]]:
        """What was chosen otherwise than it stands at first."""
        return [
            {
                "label": menu.label,
                "value": choice.label,
                "without": address(self.query, **{menu.name: ""}),
            }
            for menu in (*self.menus, *self.looks)
            for choice in menu.choices
            if menu.is_changed and choice.is_chosen
        ]

    @property
    def is_looked_at_otherwise(self) -> bool:
        """Whether a look is not as it stands at first, so that its menus are open."""
        return any(menu.is_changed for menu in self.looks)

    @property
    def pins(self) -> list[dict[str, Any]]:
        """What is pinned, each with the way to let it go."""
        keys = tuple(str(system.pk) for system in self.pinned)
        return [
            {
                "label": _("Compare"),
                "value": self.names[system.pk],
                "without": address(self.query, pin=pin_toggled(keys, str(system.pk))),
            }
            for system in self.pinned
        ]

    def cell_query(self, baseline: str) -> str:
        """Return what a cell's page has to know: its baseline, and what is shown."""
        show = self.selection.show
        parts = {
            "baseline": "" if baseline == NATIVE else baseline,
            "show": "" if show == SPEED else show,
        }
        return address(parts) if any(parts.values()) else ""


def chooser(study: Study, query: Mapping[str, str]) -> Chooser:
    """Return the form of a study's comparison as a URL's query fills it in."""
    all_facets = facets(study)
    chosen = selection(query, all_facets)
    baseline, pinned = chosen.reference(all_facets), chosen.pinned(all_facets)
    followed = {
        "baseline": baseline.pk if baseline else NATIVE,
        "pin": ",".join(str(system.pk) for system in pinned),
        "show": chosen.show,
        "order": chosen.order,
        "only": chosen.only,
        "sort": chosen.sort,
    }
    return Chooser(
        query=query,
        selection=chosen,
        facets=all_facets,
        baseline=baseline,
        pinned=pinned,
        menus=menus(chosen, all_facets, study),
        looks=looks(chosen, all_facets),
        unmet=unmet(query, followed),
    )


def selection(query: Mapping[str, str], facets: Facets) -> Selection:
    """Read the choice from a URL; what is not said is at its default."""
    first = facets.scenarios[0] if facets.scenarios else ALL
    return Selection(
        baseline=query.get("baseline") or NATIVE,
        scenario=query.get("scenario") or first,
        show=shown(query),
        group=query.get("group") or PLATFORM,
        order=_known(query.get("order"), ORDERS, ""),
        only=_known(query.get("only"), KEPT, ""),
        q=query.get("q", "").strip(),
        sort=_known(query.get("sort"), SORTS, ""),
        pins=tuple(filter(None, query.get("pin", "").split(",")))[-PINS:],
        **{name: query.get(name, "") for name in NARROWING},
    )


def shown(query: Mapping[str, str]) -> str:
    """Return the quantity that cells show, by the query of an address."""
    return _known(query.get("show"), SHOWN, SPEED)


def _known(text: str | None, texts: Mapping[str, Any], first: str) -> str:
    return text if text and text in texts else first


def _named(keys: Iterable[str], facets: Facets) -> tuple[System, ...]:
    systems = {str(system.pk): system for system in facets.systems}
    return tuple(systems[key] for key in dict.fromkeys(keys) if key in systems)


def menus(chosen: Selection, facets: Facets, study: Study) -> list[Menu]:
    """Return the menus of the filter form, each with its choice marked."""
    everything = {"": _("All")}
    if any(system.is_native for system in facets.systems):
        native = _("Native, same host and bits")
    elif study.reference_system_id:
        native = _("The study's reference system")
    else:
        native = _("Native (not measured here)")
    names = wording.system_names(facets.systems)
    baselines = {NATIVE: native} | {str(pk): name for pk, name in names.items()}
    scenarios = {name: wording.scenario_name(name) for name in facets.scenarios}
    # Of one scenario it would say the same; without any it is all there is.
    several = {ALL: _("All scenarios")} if len(scenarios) != 1 else {}
    components = {name: wording.component_name(name) for name in facets.components}
    bits = {str(bits): _("%(bits)s-bit") % {"bits": bits} for bits in facets.guest_bits}
    oses = {name: name for name in facets.guest_oses}
    return [
        _menu(chosen.baseline, "baseline", _("Baseline"), baselines),
        _menu(chosen.scenario, "scenario", _("Scenario"), scenarios | several),
        _menu(chosen.component, "component", _("Component"), everything | components),
        _menu(chosen.tool, "tool", _("Tool"), everything | dict(facets.tools)),
        _menu(chosen.guest_os, "guest_os", _("Guest OS"), everything | oses),
        _menu(chosen.bits, "bits", _("Bits"), everything | bits),
    ]


def looks(chosen: Selection, facets: Facets) -> list[Menu]:
    """Return the menus that change how the table looks, not what is in it."""
    options = {name for system in facets.systems for name in system.options}
    names = [PLATFORM, "virtualization", "guest_os", "guest_bits"]
    names += [name for name in OPTIONS if name in options]
    names += sorted(options.difference(names))
    groups = {name: wording.property_name(name) for name in names}
    known = ENERGY_VERDICTS if chosen.show == ENERGY else VERDICTS
    said = {"": _("All")} | {name: verdict_name(name) for name in known}
    sizes = {"": _("All")} | {
        name: _("%(percent)s %% or more") % {"percent": name} for name in EFFECTS
    }
    return [
        _menu(chosen.verdict, "verdict", _("Verdict"), said),
        _menu(chosen.evidence, "evidence", _("Evidence"), EVIDENCE),
        _menu(chosen.effect, "effect", _("Size of effect"), sizes),
        _menu(chosen.sort, "sort", _("Sort rows"), SORTS),
        _menu(chosen.show, "show", _("Cells show"), SHOWN),
        _menu(chosen.group, "group", _("Group columns by"), groups),
        _menu(chosen.order, "order", _("Order columns"), ORDERS),
        _menu(chosen.only, "only", _("Rows and columns"), KEPT),
    ]


def run_menus(
    query: Mapping[str, str], facets: Facets, names: Mapping[int, str]
) -> list[Menu]:
    """Return the menus above a list of runs; ``names`` are those of the systems."""
    everything = {"": _("All")}
    statuses = {status.value: str(states.STATUSES[status]) for status in Run.Status}
    scenarios = {name: wording.scenario_name(name) for name in facets.scenarios}
    systems = {str(system.pk): names[system.pk] for system in facets.systems}
    texts = (
        ("tool", _("Tool"), dict(facets.tools)),
        ("status", _("Status"), statuses),
        ("scenario", _("Scenario"), scenarios),
        ("system", _("System"), systems),
    )
    return [
        _menu(query.get(name, ""), name, label, everything | known)
        for name, label, known in texts
    ]


def _menu(value: str, name: str, label: str, texts: Mapping[str, Any]) -> Menu:
    # An unknown value of an address stays in its menu: it narrows the table, and the
    # reader must see how to take it out.
    known = texts if value in texts else {**texts, value: value}
    return Menu.of(name, label, known, value, is_wide=name in WIDE)


def pin_toggled(pins: tuple[str, ...], key: str) -> str:
    """Return the pins with one more, or without it if it is among them."""
    rest = [pin for pin in pins if pin != key]
    return ",".join(rest if key in pins else [*rest, key][-PINS:])


def is_found(q: str, group: CaseGroup, row: CaseRow) -> bool:
    """Whether every searched word is in a row's or group's heading."""
    if not q:
        return True
    facts = [wording.fact_text(fact) for fact in (*group.facts, *row.facts)]
    component = wording.component_name(group.component)
    heading = " ".join(
        [component, group.tool, group.label, row.label, *facts]
    ).casefold()
    return all(word in heading for word in q.casefold().split())


def searched(table: ComparisonTable, q: str) -> ComparisonTable:
    """Return a table without the rows in which the words of a search do not stand."""
    groups = (
        replace(group, rows=tuple(row for row in group.rows if is_found(q, group, row)))
        for group in table.groups
    )
    return replace(table, groups=tuple(group for group in groups if group.rows))
