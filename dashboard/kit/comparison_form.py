"""Form of a comparison. Its whole state is in the URL."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.comparison.comparison_table import (
    MACHINE_MODEL,
    OPTIONS,
    ORDER_BY_RATIO,
    PLATFORM,
    CaseGroup,
    CaseRow,
    ComparisonTable,
)
from benchmarks.comparison.filters_and_order import (
    ENERGY_VERDICTS,
    VERDICTS,
    ResultFilter,
)
from benchmarks.comparison.row_queries import StudyFacets, study_facets
from benchmarks.models import Run, Study, System
from dashboard import wording
from dashboard.kit.url_parts import ignored_parameters, query_string
from dashboard.wording import state_names
from dashboard.wording.verdicts import ENERGY, MEASURED_VALUE, OVERHEAD, verdict_name

NATIVE_BASELINE = "native"
ALL_SCENARIOS = "all"
WIDE_MENUS = {"baseline", "system"}
MAX_PINS = 2
FILTER_PARAMETERS = (
    "component",
    "tool",
    "guest_os",
    "bits",
    "verdict",
    "evidence",
    "effect",
)
UNKNOWN_BITS = -1  # matches no system
RELATIVE_PERFORMANCE = "efficiency"
ALL_METRICS, PRIMARY_METRICS = "all", "primary"
METRICS = {
    "": gettext_lazy("Primary of each tool"),
    ALL_METRICS: gettext_lazy("All"),
}
QUANTITIES = {
    RELATIVE_PERFORMANCE: gettext_lazy("Relative performance"),
    OVERHEAD: gettext_lazy("Overhead"),
    MEASURED_VALUE: gettext_lazy("Measured value"),
    ENERGY: gettext_lazy("Energy per unit of work"),
}
COLUMN_ORDERS = {
    "": gettext_lazy("By property"),
    ORDER_BY_RATIO: gettext_lazy("Best median first"),
}
ROW_ORDERS = {
    "": gettext_lazy("By tool"),
    "effect": gettext_lazy("Largest effect first"),
    "-effect": gettext_lazy("Smallest effect first"),
    "slowest": gettext_lazy("Slowest first"),
    "fastest": gettext_lazy("Fastest first"),
    "verdict": gettext_lazy("By verdict"),
    "evidence": gettext_lazy("Strongest evidence first"),
}
EVIDENCE_FILTERS = {
    "": gettext_lazy("All"),
    "faint": gettext_lazy("At least 2 runs per side"),
    "indicative": gettext_lazy("At least 3 runs per side"),
    "verdict": gettext_lazy("At least 5 runs per side, or 3 sessions"),
    "ranking": gettext_lazy("At least 10 runs per side"),
}
EFFECT_SIZES = ("2", "5", "10", "25", "50", "100")
"""Choices of the smallest effect, in percent: 25 matches ratios >= 1.25 or <= 0.8."""
UNREACHABLE_EFFECT = inf
RATIO_FILTERS = {
    "": gettext_lazy("All"),
    "ratios": gettext_lazy("Only benchmarks with ratios"),
}


@dataclass(frozen=True)
class MenuChoice:
    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True)
class FilterMenu:
    name: str
    label: str
    choices: tuple[MenuChoice, ...]
    is_changed: bool
    is_wide: bool = False

    @classmethod
    def from_texts(
        cls,
        name: str,
        label: str,
        texts: Mapping[str, Any],
        value: str,
        *,
        is_wide: bool = False,
    ) -> "FilterMenu":
        """Return a menu; ``texts`` are its labels by value, the default first."""
        choices = (
            MenuChoice(key, str(text), key == value) for key, text in texts.items()
        )
        is_changed = value != next(iter(texts), "")
        return cls(name, label, tuple(choices), is_changed, is_wide)


@dataclass(frozen=True)
class ComparisonSelection:
    """Filters and display options of a comparison. An empty filter matches all."""

    baseline: str
    scenario: str
    component: str
    tool: str
    guest_os: str
    bits: str
    quantity: str = RELATIVE_PERFORMANCE
    group: str = PLATFORM
    order: str = ""
    ratio_filter: str = ""
    search: str = ""
    verdict: str = ""
    evidence: str = ""
    effect: str = ""
    sort: str = ""
    metrics: str = ""
    pins: tuple[str, ...] = ()

    @property
    def result_filter(self) -> ResultFilter:
        percent = 0.0
        if self.effect:
            is_valid = self.effect in EFFECT_SIZES
            percent = float(self.effect) if is_valid else UNREACHABLE_EFFECT
        return ResultFilter(self.verdict, self.evidence, percent)

    def cell_lookups(self) -> dict[str, Any]:
        """Return the filters as ORM lookups on cells; invalid values match nothing."""
        values = {
            "scenario": "" if self.scenario == ALL_SCENARIOS else self.scenario,
            "case__component": self.component,
            "case__tool": self.tool,
            "system__guest_os": self.guest_os,
        }
        lookups: dict[str, Any] = {name: text for name, text in values.items() if text}
        if self.bits:
            is_number = self.bits.isascii() and self.bits.isdigit()
            lookups["system__guest_bits"] = (
                # Longer numbers are out of the column's range.
                int(self.bits) if is_number and len(self.bits) < 5 else UNKNOWN_BITS
            )
        return lookups

    def active_filters(self) -> dict[str, str]:
        scenario = "" if self.scenario == ALL_SCENARIOS else self.scenario
        values = {
            "scenario": scenario,
            "component": self.component,
            "tool": self.tool,
            "guest_os": self.guest_os,
            "bits": self.bits,
            "only": self.ratio_filter,
            "q": self.search,
            "verdict": self.verdict,
            "evidence": self.evidence,
            "effect": self.effect,
            "metrics": "" if self.metrics == ALL_METRICS else PRIMARY_METRICS,
        }
        return {name: text for name, text in values.items() if text}

    def reference(self, facets: StudyFacets) -> System | None:
        return next(iter(_systems_by_key([self.baseline], facets)), None)

    def pinned(self, facets: StudyFacets) -> tuple[System, ...]:
        return _systems_by_key(self.pins, facets)


@dataclass(frozen=True)
class ComparisonForm:
    query: Mapping[str, str]
    selection: ComparisonSelection
    facets: StudyFacets
    baseline: System | None
    """Selected baseline; None for native."""
    pinned: tuple[System, ...]
    filter_menus: list[FilterMenu]
    display_menus: list[FilterMenu]
    ignored_parameters: tuple[str, ...]

    @cached_property
    def system_names(self) -> Mapping[int, str]:
        return wording.system_names(self.facets.systems)

    @property
    def is_pair(self) -> bool:
        return len(self.pinned) == MAX_PINS

    @property
    def filter_chips(self) -> list[dict[str, Any]]:
        return [
            {
                "label": menu.label,
                "value": choice.label,
                "without": query_string(self.query, **{menu.name: ""}),
            }
            for menu in (*self.filter_menus, *self.display_menus)
            for choice in menu.choices
            if menu.is_changed and choice.is_chosen
        ]

    @property
    def has_display_changes(self) -> bool:
        return any(menu.is_changed for menu in self.display_menus)

    @property
    def pin_chips(self) -> list[dict[str, Any]]:
        keys = tuple(str(system.pk) for system in self.pinned)
        return [
            {
                "label": _("Compare"),
                "value": self.system_names[system.pk],
                "without": query_string(
                    self.query, pin=toggle_pin(keys, str(system.pk))
                ),
            }
            for system in self.pinned
        ]

    def cell_query(self, baseline: str) -> str:
        show = self.selection.quantity
        parts = {
            "baseline": "" if baseline == NATIVE_BASELINE else baseline,
            "show": "" if show == RELATIVE_PERFORMANCE else show,
        }
        return query_string(parts) if any(parts.values()) else ""


def comparison_form(study: Study, query: Mapping[str, str]) -> ComparisonForm:
    all_facets = study_facets(study)
    selection = read_selection(query, all_facets)
    baseline, pinned = selection.reference(all_facets), selection.pinned(all_facets)
    applied = {
        "baseline": baseline.pk if baseline else NATIVE_BASELINE,
        "pin": ",".join(str(system.pk) for system in pinned),
        "show": selection.quantity,
        "order": selection.order,
        "only": selection.ratio_filter,
        "sort": selection.sort,
        "metrics": selection.metrics,
    }
    return ComparisonForm(
        query=query,
        selection=selection,
        facets=all_facets,
        baseline=baseline,
        pinned=pinned,
        filter_menus=build_filter_menus(selection, all_facets, study),
        display_menus=build_display_menus(selection, all_facets),
        ignored_parameters=ignored_parameters(query, applied),
    )


def read_selection(
    query: Mapping[str, str], facets: StudyFacets
) -> ComparisonSelection:
    first = facets.scenarios[0] if facets.scenarios else ALL_SCENARIOS
    return ComparisonSelection(
        baseline=query.get("baseline") or NATIVE_BASELINE,
        scenario=query.get("scenario") or first,
        quantity=read_quantity(query),
        group=query.get("group") or default_group(facets),
        order=_choice_or_default(query.get("order"), COLUMN_ORDERS, ""),
        ratio_filter=_choice_or_default(query.get("only"), RATIO_FILTERS, ""),
        search=query.get("q", "").strip(),
        sort=_choice_or_default(query.get("sort"), ROW_ORDERS, ""),
        metrics=_choice_or_default(query.get("metrics"), METRICS, ""),
        pins=tuple(filter(None, query.get("pin", "").split(",")))[-MAX_PINS:],
        **{name: query.get(name, "") for name in FILTER_PARAMETERS},
    )


def default_group(facets: StudyFacets) -> str:
    """Return the machine model if systems of several models are compared."""
    models = {system.host.facts.get(MACHINE_MODEL) for system in facets.systems}
    return MACHINE_MODEL if len(models - {None}) > 1 else PLATFORM


def read_quantity(query: Mapping[str, str]) -> str:
    return _choice_or_default(query.get("show"), QUANTITIES, RELATIVE_PERFORMANCE)


def _choice_or_default(text: str | None, texts: Mapping[str, Any], default: str) -> str:
    return text if text and text in texts else default


def _systems_by_key(keys: Iterable[str], facets: StudyFacets) -> tuple[System, ...]:
    systems = {str(system.pk): system for system in facets.systems}
    return tuple(systems[key] for key in dict.fromkeys(keys) if key in systems)


def build_filter_menus(
    selection: ComparisonSelection, facets: StudyFacets, study: Study
) -> list[FilterMenu]:
    all_option = {"": _("All")}
    if any(system.is_native for system in facets.systems):
        native = _("Native, same host and bits")
    elif study.reference_system_id:
        native = _("The study's reference system")
    else:
        native = _("Native (not measured here)")
    names = wording.system_names(facets.systems)
    baselines = {NATIVE_BASELINE: native} | {
        str(pk): name for pk, name in names.items()
    }
    scenarios = {name: wording.scenario_name(name) for name in facets.scenarios}
    all_scenarios = {ALL_SCENARIOS: _("All scenarios")} if len(scenarios) != 1 else {}
    components = {name: wording.component_name(name) for name in facets.components}
    bits = {str(bits): _("%(bits)s-bit") % {"bits": bits} for bits in facets.guest_bits}
    oses = {name: name for name in facets.guest_oses}
    return [
        filter_menu(selection.baseline, "baseline", _("Baseline"), baselines),
        filter_menu(
            selection.scenario, "scenario", _("Scenario"), scenarios | all_scenarios
        ),
        filter_menu(
            selection.component, "component", _("Component"), all_option | components
        ),
        filter_menu(selection.tool, "tool", _("Tool"), all_option | dict(facets.tools)),
        filter_menu(selection.guest_os, "guest_os", _("Guest OS"), all_option | oses),
        filter_menu(selection.bits, "bits", _("Bits"), all_option | bits),
    ]


def build_display_menus(
    selection: ComparisonSelection, facets: StudyFacets
) -> list[FilterMenu]:
    options = {name for system in facets.systems for name in system.options}
    default = default_group(facets)
    names = list(dict.fromkeys([default, PLATFORM, "virtualization"]))
    names += ["guest_os", "guest_bits"]
    names += [name for name in OPTIONS if name in options]
    names += sorted(options.difference(names))
    groups = {name: wording.property_name(name) for name in names}
    verdict_values = ENERGY_VERDICTS if selection.quantity == ENERGY else VERDICTS
    verdict_options = {"": _("All")} | {
        name: verdict_name(name) for name in verdict_values
    }
    sizes = {"": _("All")} | {
        name: _("%(percent)s%% or more") % {"percent": name} for name in EFFECT_SIZES
    }
    return [
        filter_menu(selection.metrics, "metrics", _("Metrics"), METRICS),
        filter_menu(selection.verdict, "verdict", _("Verdict"), verdict_options),
        filter_menu(selection.evidence, "evidence", _("Evidence"), EVIDENCE_FILTERS),
        filter_menu(selection.effect, "effect", _("Effect size"), sizes),
        filter_menu(selection.sort, "sort", _("Sort rows"), ROW_ORDERS),
        filter_menu(selection.quantity, "show", _("Show in cells"), QUANTITIES),
        filter_menu(selection.group, "group", _("Group columns by"), groups),
        filter_menu(selection.order, "order", _("Order columns"), COLUMN_ORDERS),
        filter_menu(
            selection.ratio_filter, "only", _("Rows and columns"), RATIO_FILTERS
        ),
    ]


def run_menus(
    query: Mapping[str, str], facets: StudyFacets, names: Mapping[int, str]
) -> list[FilterMenu]:
    """Return the filters of a list of runs; ``names`` are system names by ID."""
    all_option = {"": _("All")}
    statuses = {
        status.value: str(state_names.RUN_STATUSES[status]) for status in Run.Status
    }
    scenarios = {name: wording.scenario_name(name) for name in facets.scenarios}
    systems = {str(system.pk): names[system.pk] for system in facets.systems}
    texts = (
        ("tool", _("Tool"), dict(facets.tools)),
        ("status", _("Status"), statuses),
        ("scenario", _("Scenario"), scenarios),
        ("system", _("System"), systems),
    )
    return [
        filter_menu(query.get(name, ""), name, label, all_option | options)
        for name, label, options in texts
    ]


def filter_menu(
    value: str, name: str, label: str, texts: Mapping[str, Any]
) -> FilterMenu:
    # The menu shows an unknown value, too, so that users can remove it.
    options = texts if value in texts else {**texts, value: value}
    return FilterMenu.from_texts(
        name, label, options, value, is_wide=name in WIDE_MENUS
    )


def toggle_pin(pins: tuple[str, ...], key: str) -> str:
    """Return the query parameter with a pin added or removed.

    Above `MAX_PINS`, the earliest pins are dropped.
    """
    rest = [pin for pin in pins if pin != key]
    return ",".join(rest if key in pins else [*rest, key][-MAX_PINS:])


def matches_search(q: str, group: CaseGroup, row: CaseRow) -> bool:
    """Return whether the headings of a row contain every word of ``q``."""
    if not q:
        return True
    facts = [wording.fact_text(fact) for fact in (*group.facts, *row.facts)]
    component = wording.component_name(group.component)
    heading = " ".join(
        [component, group.tool, group.label, row.label, *facts]
    ).casefold()
    return all(word in heading for word in q.casefold().split())


def search_rows(table: ComparisonTable, q: str) -> ComparisonTable:
    groups = (
        replace(
            group,
            rows=tuple(row for row in group.rows if matches_search(q, group, row)),
        )
        for group in table.groups
    )
    return replace(table, groups=tuple(group for group in groups if group.rows))
