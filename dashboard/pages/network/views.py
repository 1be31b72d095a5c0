from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.comparability import efficiency
from benchmarks.comparison.comparison_row import NO_SINGLE_FIGURE
from benchmarks.comparison.comparison_table import Fact
from benchmarks.comparison.network_matrices import (
    Asymmetry,
    Endpoints,
    NetworkMatrix,
    NetworkMetric,
    NetworkPath,
    study_network,
)
from benchmarks.custom_tools.lookup import require_tool
from benchmarks.models import Study
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit import formatting
from dashboard.kit.chips import Chip, ChipRow
from dashboard.kit.page_cache import cached_study_page, study_view
from dashboard.kit.routes import NETWORK_STUDY, Tab, page
from dashboard.kit.table_cells import value_text
from dashboard.kit.url_parts import STUDY_PATH, ignored_parameters
from dashboard.wording import state_names

MULTIPLICATION_SIGN = "\N{MULTIPLICATION SIGN}"
VALUE_SHADES = ("even", "fast-1", "fast-2", "fast-3", "fast-4", "fast-5")

PathCell = dict[str, Any]
"""A matrix cell. Cells of changes have no asymmetry mark and no flags."""
MatrixRows = tuple[tuple[str, str, tuple["PathCell | None", ...]], ...]


def network_page(
    viewer: Viewer, study: Study, query: Mapping[str, str]
) -> dict[str, Any] | None:
    metrics = study_network(viewer, study)
    if not metrics:
        return None
    text = query.get("metric", "")
    index = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
    index = index if index < len(metrics) else 0
    metric = metrics[index]
    paths = all_paths(metric)
    # All matrices share a log scale of shades, on which 0 has no place.
    shaded = [path.value for path in paths if path.value and path.value > 0]
    ends = (min(shaded), max(shaded)) if shaded else (1.0, 1.0)
    lowest, highest = (float(f"{end:.3g}") for end in ends)
    flags = {flag.pk: flag for path in paths for flag in path.flags}
    rates = {path.line_rate for path in paths if path.line_rate is not None}
    return {
        "metric": metric,
        "title": network_metric_name(metric),
        "sentences": list(metric_sentences(metric)),
        "rows": _choices(metrics, metric),
        "shades": VALUE_SHADES,
        "ends_text": (formatting.exact(lowest), wording.quantity(highest, metric.unit)),
        "is_judged": metric.better in ("higher", "lower"),
        "grids": _grids(metric, ends),
        "flags": [flags[pk] for pk in sorted(flags)],
        "line_rate": ", ".join(
            wording.quantity(rate, metric.unit) for rate in sorted(rates)
        ),
        "media": {path.medium for path in paths},
        "ignored_parameters": ignored_parameters(query, {"metric": index}),
    }


def _choices(metrics: Sequence[NetworkMetric], metric: NetworkMetric) -> list[ChipRow]:
    chips = []
    for number, option in enumerate(metrics):
        name = network_metric_name(option)
        parameter_sets = [
            same.parameters for same in metrics if network_metric_name(same) == name
        ]
        facts = [
            wording.fact_text(Fact(parameter, text))
            for parameter, text in option.parameters.items()
            if any(parameters.get(parameter) != text for parameters in parameter_sets)
        ]
        label = ", ".join([name, *facts])
        query = urlencode({"metric": number})
        chips.append(Chip(label, query, option is metric))
    return [ChipRow(_("Metric"), chips)] if len(chips) > 1 else []


def _grids(
    metric: NetworkMetric, ends: tuple[float, float]
) -> list[tuple[str, str, MatrixRows]]:
    """Return (title, kind, rows) of each matrix.

    ``ends`` are the values with the first and the last shade.
    """
    matrices = metric.matrices
    grids = [
        (setting_name(matrix), "value", _values(matrix, *ends)) for matrix in matrices
    ]
    if len(matrices) == 2:
        change = _changes(*matrices, better=metric.better)
        grids.append((_("Change"), "change", change))
    names = [name for name, _host in metric.nodes]
    return [
        (
            title,
            kind,
            tuple(
                (name, host, tuple(views.get((name, target)) for target in names))
                for name, host in metric.nodes
                if any((name, target) in views for target in names)
            ),
        )
        for title, kind, views in grids
    ]


def _values(
    matrix: NetworkMatrix, lowest: float, highest: float
) -> dict[Endpoints, PathCell]:
    asymmetry_by_pair = {
        frozenset(asymmetry.larger): asymmetry for asymmetry in matrix.asymmetries
    }
    views = {}
    for pair, path in matrix.paths.items():
        asymmetry = asymmetry_by_pair.get(frozenset(pair))
        subtext, shade = "", ""
        if path.value is None:
            subtext = state_names.state_name(NO_SINGLE_FIGURE)
        else:
            step = 0
            if path.value > 0 and lowest < highest:
                fraction = log(path.value / lowest) / log(highest / lowest)
                # For the highest value, the fraction is 1, beyond the last shade.
                step = min(int(fraction * len(VALUE_SHADES)), len(VALUE_SHADES) - 1)
            shade = VALUE_SHADES[step]
        if path.line_rate_share is not None:
            subtext = _("%(share)d%% of link capacity") % {
                "share": round(100 * path.line_rate_share)
            }
        spoken_text = _path_text(path, asymmetry)
        if path.flags:
            spoken_text += " " + _("Flagged.")
        views[pair] = {
            "main": _value(path),
            "sub": subtext,
            "shade": shade,
            "medium": path.medium,
            "sentence": path_sentence(path, asymmetry),
            "aria_label": spoken_text,
            "is_asymmetric": asymmetry is not None,
            "flags": len(path.flags),
        }
    return views


def _changes(
    before: NetworkMatrix, after: NetworkMatrix, *, better: str
) -> dict[Endpoints, PathCell]:
    """Return the second matrix relative to the first.

    Metrics without a better direction have no shades.
    """
    views = {}
    for pair, path in after.paths.items():
        old = before.paths.get(pair)
        factor = path_change(old, path)
        if old is None or factor is None:
            continue
        shade = ""
        if better in ("higher", "lower"):
            # The factor is inverted if lower is better, so that colors mean the same.
            gain = efficiency(factor, 1.0, "higher" if better == "higher" else "lower")
            shade = formatting.ratio_shade(gain)
        views[pair] = {
            "main": "\N{NO-BREAK SPACE}".join(
                (MULTIPLICATION_SIGN, formatting.ratio(factor))
            ),
            "sub": f"{_value(old)} → {_value(path)}",
            "shade": shade,
            "medium": path.medium,
            "sentence": path_sentence(path, None),
        }
    return views


def network_metric_name(metric: NetworkMetric) -> str:
    tool = require_tool(metric.tool)
    return f"{tool.title}: {tool.metric(metric.metric).title}"


def all_paths(metric: NetworkMetric) -> list[NetworkPath]:
    return [path for matrix in metric.matrices for path in matrix.paths.values()]


def metric_sentences(metric: NetworkMetric) -> Iterator[str]:
    if len(metric.matrices) == 2 and metric.better in ("higher", "lower"):
        yield from _change(metric, *metric.matrices)
    if metric.better == "higher":
        asymmetric_matrices = [
            matrix for matrix in metric.matrices if matrix.asymmetries
        ]
        if asymmetric_matrices:
            yield _asymmetry(asymmetric_matrices[-1])
        paths = metric.matrices[-1].paths
        shares = {
            ends: path.line_rate_share
            for ends, path in paths.items()
            if path.line_rate_share is not None
        }
        if shares:
            best = max(shares, key=shares.__getitem__)
            line_rate = paths[best].line_rate
            worst = min(
                (ends for ends in shares if paths[ends].line_rate == line_rate),
                key=shares.__getitem__,
            )
            sentence = (
                _("The link capacity is %(rate)s. %(best)s reaches %(most)d%% of it.")
                if worst == best
                else _(
                    "The link capacity is %(rate)s. %(best)s reaches %(most)d%% of it, "
                    "%(worst)s only %(least)d%%."
                )
            )
            yield sentence % {
                "rate": wording.quantity(line_rate, metric.unit, exact=True),
                "best": scale_ends_text(best),
                "most": round(100 * shares[best]),
                "worst": scale_ends_text(worst),
                "least": round(100 * shares[worst]),
            }
    flags = [path.flags for path in all_paths(metric)]
    flagged = sum(map(bool, flags))
    if flagged:
        yield ngettext(
            "%(n)s of %(all)s paths is flagged: see the warnings below.",
            "%(n)s of %(all)s paths are flagged: see the warnings below.",
            flagged,
        ) % {"n": flagged, "all": len(flags)}


def _change(
    metric: NetworkMetric, before: NetworkMatrix, after: NetworkMatrix
) -> Iterator[str]:
    changes = {
        ends: change
        for ends, path in after.paths.items()
        if (change := path_change(before.paths.get(ends), path)) is not None
    }
    if not changes:
        return
    is_rate = metric.better == "higher"
    ranked = sorted(changes, key=changes.__getitem__)
    if not is_rate:
        ranked.reverse()
    worst, best = ranked[0], ranked[-1]
    is_best_gain, is_worst_gain = (
        changes[ends] >= 1 if is_rate else changes[ends] <= 1 for ends in (best, worst)
    )
    values = {
        "setting": setting_name(after),
        "n": len(changes),
        "best": scale_ends_text(best),
        "gain": _times(changes[best]),
        "worst": scale_ends_text(worst),
        "loss": _times(changes[worst]),
    }
    paths = [*before.paths.values(), *after.paths.values()]
    template = gain_template(is_best_gain, is_worst_gain, len(changes))
    yield _sentence(template % values, paths)


def gain_template(is_best_gain: bool, is_worst_gain: bool, path_count: int) -> str:
    if not is_best_gain:
        return ngettext(
            "%(setting)s: %(n)s path was measured before and after. %(worst)s worsened "
            "to %(loss)s times its previous value.",
            "%(setting)s: %(n)s paths were measured before and after, and none "
            "improved. %(worst)s worsened most, to %(loss)s times its previous value.",
            path_count,
        )
    if not is_worst_gain:
        return _(
            "%(setting)s: %(n)s paths were measured before and after. %(best)s "
            "improved most, to %(gain)s times its previous value. %(worst)s worsened "
            "most, to %(loss)s times its previous value."
        )
    return ngettext(
        "%(setting)s: %(n)s path was measured before and after. %(best)s reached "
        "%(gain)s times its previous value.",
        "%(setting)s: %(n)s paths were measured before and after, and none worsened. "
        "%(best)s improved most, to %(gain)s times its previous value. %(worst)s "
        "improved least, to %(loss)s times its previous value.",
        path_count,
    )


def _asymmetry(matrix: NetworkMatrix) -> str:
    first, *others = matrix.asymmetries
    path, return_path = matrix.paths[first.larger], matrix.paths[first.larger[::-1]]
    unit = path.cell.case.unit
    text = _(
        "Asymmetric (%(setting)s): %(path)s is %(factor)s times as fast as the "
        "reverse direction (%(more)s vs. %(less)s, %(medium)s)"
    ) % {
        "setting": setting_name(matrix),
        "path": scale_ends_text(first.larger),
        "factor": _times(first.factor),
        "more": wording.quantity(path.value, unit),
        "less": wording.quantity(return_path.value, unit),
        "medium": medium_name(path),
    }
    end = "."
    if others:
        # 25% is `MIN_ASYMMETRY` in benchmarks/comparison/network_matrices.py.
        end = ngettext(
            "; %(n)s other path differs from its reverse direction by more than 25%%.",
            "; %(n)s other paths differ from their reverse directions by more than "
            "25%%.",
            len(others),
        ) % {"n": len(others)}
    return _sentence(text + end, [path, return_path])


def _sentence(text: str, paths: Sequence[NetworkPath]) -> str:
    capital = text[:1].upper() + text[1:]
    is_single = all(path.cell.n == 1 for path in paths)
    return " ".join([capital, _("Single runs.")]) if is_single else capital


def path_change(before: NetworkPath | None, after: NetworkPath) -> float | None:
    old, new = before.value if before else None, after.value
    return new / old if old and new and min(old, new) > 0 else None


def path_sentence(path: NetworkPath, asymmetry: Asymmetry | None) -> str:
    flags = [wording.translate_text(flag.message) for flag in path.flags]
    return " ".join(
        [f"{scale_ends_text(path.endpoints)}: {_path_text(path, asymmetry)}", *flags]
    )


def _path_text(path: NetworkPath, asymmetry: Asymmetry | None) -> str:
    unit = path.cell.case.unit
    value = wording.quantity(path.value, unit, exact=True)
    value = value or value_text(path.figure, unit)
    parts = [f"{value}, {medium_name(path)}, {wording.runs_text(path.cell.n)}."]
    if reason := wording.translate_text(path.figure.reason):
        parts.append(reason)
    if asymmetry:
        values = (scale_ends_text(asymmetry.larger), _times(asymmetry.factor))
        parts.append(_("%s is %s times as fast as the reverse direction.") % values)
    return " ".join(parts)


def setting_name(matrix: NetworkMatrix) -> str:
    tuned = dict.fromkeys(("no", "off"), _("before tuning"))
    tuned |= dict.fromkeys(("yes", "on"), _("after tuning"))
    names = []
    for fact in matrix.setting:
        if fact.name == "tuned" and fact.value in tuned:
            names.append(tuned[fact.value])
        else:
            names.append(wording.fact_text(fact) if fact.value else _("not reported"))
    return ", ".join(names) or _("As measured")


def scale_ends_text(ends: Endpoints) -> str:
    return f"{ends[0]} → {ends[1]}"


def medium_name(path: NetworkPath) -> str:
    return {
        "loopback": _("loopback"),
        "same_host": _("within the host"),
        "wire": _("over the wire"),
        "unknown": _("medium not reported"),
    }[path.medium]


def _value(path: NetworkPath) -> str:
    if path.value is None:
        return value_text(path.figure)
    return formatting.exact(float(f"{path.value:.4g}"))


def _times(factor: float) -> str:
    return formatting.exact(float(f"{factor:.3g}"))


urlpatterns = [
    page(
        f"{STUDY_PATH}network/",
        cached_study_page(study_view("network/network.html", network_page)),
        "network",
        example_urls=(f"{NETWORK_STUDY}network/",),
        tab=Tab(gettext_lazy("Network"), 60, required_attribute="has_network"),
    ),
]
