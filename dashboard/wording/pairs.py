from collections.abc import Mapping, Sequence
from statistics import median

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from benchmarks.comparison.comparison_table import COMPONENTS, rank_by_order
from benchmarks.models import System
from dashboard import wording
from dashboard.kit import formatting


def short_names(first: System, second: System) -> tuple[str, str]:
    """Return the shortest names that distinguish two systems."""

    def version(system: System) -> str:
        return f"{system.hypervisor} {system.hypervisor_version}".strip()

    for name in (version, lambda system: system.platform, wording.system_name):
        names = name(first), name(second)
        if names[0] != names[1]:
            return _distinctive_parts(*names)
    hosts = (
        f"{names[0]}, {first.host.title or first.host.slug}",
        f"{names[1]}, {second.host.title or second.host.slug}",
    )
    return hosts if hosts[0] != hosts[1] else names


def _distinctive_parts(first: str, second: str) -> tuple[str, str]:
    """Return the parts that differ, if both names have one."""
    parts = first.split(", "), second.split(", ")
    own = [part for part in parts[0] if part not in parts[1]]
    other = [part for part in parts[1] if part not in parts[0]]
    return (", ".join(own), ", ".join(other)) if own and other else (first, second)


def pair_sentence(
    first: str, second: str, ratios: Mapping[str, Sequence[float]], margin: float
) -> str:
    """Return the median speed of the first system relative to the second.

    ``ratios`` are positive, by component. Differences within the margin are equal.
    """
    parts = [
        _("%(comparison)s in %(component)s")
        % {
            "comparison": _comparison(median(values), margin),
            "component": wording.lower_first(wording.component_name(component)),
        }
        for component, values in sorted(
            ratios.items(), key=lambda entry: rank_by_order(COMPONENTS, entry[0])
        )
        if values
    ]
    if not parts:
        return ""
    count = sum(map(len, ratios.values()))
    basis = ngettext("%(n)s benchmark", "medians of %(n)s benchmarks", count)
    return _("Compared with %(second)s, %(first)s is %(parts)s (%(basis)s).") % {
        "first": first,
        "second": second,
        "parts": ", ".join(parts),
        "basis": basis % {"n": formatting.number(count)},
    }


def _comparison(ratio: float, margin: float) -> str:
    if abs(ratio - 1) <= margin:
        return _("equally fast")
    if not wording.HALF <= ratio <= wording.TWICE:
        return _("%(factor)s times as fast") % {
            "factor": formatting.number(ratio, ".2g")
        }
    difference = {"difference": formatting.percent_difference(ratio)}
    if ratio < 1:
        return _("%(difference)s slower") % difference
    return _("%(difference)s faster") % difference
