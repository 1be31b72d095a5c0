"""What the network page shows for one metric: its matrices, and what they say."""

from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import Any
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.analysis.comparability import efficiency
from benchmarks.comparing.network import (
    Asymmetry,
    Ends,
    Matrix,
    NetworkMetric,
    Path,
    study_network,
)
from benchmarks.comparing.row import NO_SINGLE_FIGURE
from benchmarks.comparing.table import Fact
from benchmarks.models import Study
from benchmarks.own_tools.lookup import known_tool
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.addresses import STUDY, Chip, ChipRow, unmet
from dashboard.kit.kept import kept_study_page, study_view
from dashboard.kit.routes import NETWORK, Tab, page
from dashboard.kit.table_cells import row_figure
from dashboard.wording import states

TIMES = "\N{MULTIPLICATION SIGN}"
LEVELS = ("even", "fast-1", "fast-2", "fast-3", "fast-4", "fast-5")
"""Shades of a value, least first."""

View = dict[str, Any]
"""What a matrix shows of one path; a change has neither mark nor flags."""
Lines = tuple[tuple[str, str, tuple["View | None", ...]], ...]


def network_page(
    viewer: Viewer, study: Study, query: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return the page for one metric; None for a study without paths."""
    metrics = study_network(viewer, study)
    if not metrics:
        return None
    text = query.get("metric", "")
    # Bounded, as int() raises for a text of thousands of digits.
    place = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
    place = place if place < len(metrics) else 0
    metric = metrics[place]
    paths = all_paths(metric)
    # Shades are on a log scale, which has no place for 0. All matrices share the ends,
    # so that a shade means the same before and after.
    shaded = [path.value for path in paths if path.value and path.value > 0]
    ends = (min(shaded), max(shaded)) if shaded else (1.0, 1.0)
    least, most = (float(f"{end:.3g}") for end in ends)
    flags = {flag.pk: flag for path in paths for flag in path.flags}
    rates = {path.line_rate for path in paths if path.line_rate is not None}
    return {
        "metric": metric,
        "title": metric_name(metric),
        "sentences": list(metric_sentences(metric)),
        "rows": _choices(metrics, metric),
        "shades": LEVELS,
        "ends_text": (figures.exact(least), wording.quantity(most, metric.unit)),
        "is_judged": metric.better in ("higher", "lower"),
        "grids": _grids(metric, ends),
        "flags": [flags[pk] for pk in sorted(flags)],
        "line_rate": ", ".join(
            wording.quantity(rate, metric.unit) for rate in sorted(rates)
        ),
        "media": {path.medium for path in paths},
        "unmet": unmet(query, {"metric": place}),
    }


def _choices(metrics: Sequence[NetworkMetric], metric: NetworkMetric) -> list[ChipRow]:
    chips = []
    for place, other in enumerate(metrics):
        name = metric_name(other)
        alike = [same.parameters for same in metrics if metric_name(same) == name]
        facts = [
            wording.fact_text(Fact(parameter, text))
            for parameter, text in other.parameters.items()
            if any(parameters.get(parameter) != text for parameters in alike)
        ]
        label = ", ".join([name, *facts])
        query = urlencode({"metric": place})
        chips.append(Chip(label, query, other is metric))
    return [ChipRow(_("Metric"), chips)] if len(chips) > 1 else []


def _grids(
    metric: NetworkMetric, ends: tuple[float, float]
) -> list[tuple[str, str, Lines]]:
    """Return each matrix with its title and kind; ``ends`` are those of the shades."""
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
                (name, host, tuple(views.get((name, other)) for other in names))
                for name, host in metric.nodes
                if any((name, other) in views for other in names)
            ),
        )
        for title, kind, views in grids
    ]


def _values(matrix: Matrix, least: float, most: float) -> dict[Ends, View]:
    # An asymmetry is of a pair: both of its directions are marked.
    marked = {
        frozenset(asymmetry.larger): asymmetry for asymmetry in matrix.asymmetries
    }
    views = {}
    for pair, path in matrix.paths.items():
        asymmetry = marked.get(frozenset(pair))
        under, shade = "", ""
        if path.value is None:
            under = states.state_name(NO_SINGLE_FIGURE)
        else:
            # One of six shades, on a log scale from the least to the most.
            step = 0
            if path.value > 0 and least < most:
                share = log(path.value / least) / log(most / least)
                # The greatest value has a share of 1: one shade too many.
                step = min(int(share * len(LEVELS)), len(LEVELS) - 1)
            shade = LEVELS[step]
        if path.share is not None:
            under = _("%(share)d\N{NO-BREAK SPACE}%% of link") % {
                "share": round(100 * path.share)
            }
        # Beside the heads of the table, for screen readers: one word for all flags.
        heard = _path_text(path, asymmetry)
        if path.flags:
            heard += " " + _("Flagged.")
        views[pair] = {
            "main": _value(path),
            "sub": under,
            "shade": shade,
            "medium": path.medium,
            "sentence": path_sentence(path, asymmetry),
            "heard": heard,
            "is_asymmetric": asymmetry is not None,
            "flags": len(path.flags),
        }
    return views


def _changes(before: Matrix, after: Matrix, *, better: str) -> dict[Ends, View]:
    """Return the second matrix as multiples of the first; shaded where more is better
    or less is, with the way that is better in one colour."""
    views = {}
    for pair, path in after.paths.items():
        old = before.paths.get(pair)
        factor = change_of(old, path)
        if old is None or factor is None:
            continue
        shade = ""
        if better in ("higher", "lower"):
            # Turned where less is better, so that one colour always means better.
            gain = efficiency(factor, 1.0, "higher" if better == "higher" else "lower")
            shade = figures.heat(gain)
        views[pair] = {
            "main": f"{TIMES}\N{NO-BREAK SPACE}{figures.ratio(factor)}",
            "sub": f"{_value(old)} → {_value(path)}",
            "shade": shade,
            "medium": path.medium,
            "sentence": path_sentence(path, None),
        }
    return views


def metric_name(metric: NetworkMetric) -> str:
    tool = known_tool(metric.tool)
    return f"{tool.title}: {tool.metric(metric.metric).title}"


def all_paths(metric: NetworkMetric) -> list[Path]:
    return [path for matrix in metric.matrices for path in matrix.paths.values()]


def metric_sentences(metric: NetworkMetric) -> Iterator[str]:
    """Say what the setting changed, which directions differ, how near the wire is."""
    if len(metric.matrices) == 2 and metric.better in ("higher", "lower"):
        yield from _change(metric, *metric.matrices)
    if metric.better == "higher":
        uneven = [matrix for matrix in metric.matrices if matrix.asymmetries]
        if uneven:
            yield _asymmetry(uneven[-1])
        # How much of the wire the best path has, for the last setting.
        paths = metric.matrices[-1].paths
        shares = {
            ends: path.share for ends, path in paths.items() if path.share is not None
        }
        if shares:
            best = max(shares, key=shares.__getitem__)
            worst = min(shares, key=shares.__getitem__)
            yield _(
                "The wire carries %(rate)s: %(best)s has %(most)d %% of it, %(worst)s "
                "%(least)d %%."
            ) % {
                "rate": wording.quantity(
                    paths[best].line_rate, metric.unit, whole=True
                ),
                "best": ends_text(best),
                "most": round(100 * shares[best]),
                "worst": ends_text(worst),
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


def _change(metric: NetworkMetric, before: Matrix, after: Matrix) -> Iterator[str]:
    changes = {
        ends: change
        for ends, path in after.paths.items()
        if (change := change_of(before.paths.get(ends), path)) is not None
    }
    if not changes:
        return
    is_rate = metric.better == "higher"
    ranked = sorted(changes, key=changes.__getitem__)
    if not is_rate:
        ranked.reverse()
    worst, best = ranked[0], ranked[-1]
    gains = [
        changes[ends] >= 1 if is_rate else changes[ends] <= 1 for ends in (best, worst)
    ]
    words = {
        "setting": setting_name(after),
        "n": len(changes),
        "best": ends_text(best),
        "gain": _times(changes[best]),
        "worst": ends_text(worst),
        "loss": _times(changes[worst]),
    }
    paths = [*before.paths.values(), *after.paths.values()]
    yield _sentence(change_text(*gains) % words, paths)


def change_text(is_best_gain: bool, is_worst_gain: bool) -> str:
    """Return the sentence's template; a path that lost did not gain the least."""
    if not is_best_gain:
        return _(
            "%(setting)s, of %(n)s paths measured both times, none gained: %(worst)s "
            "lost the most (%(loss)s times what it was)."
        )
    if not is_worst_gain:
        return _(
            "%(setting)s, of %(n)s paths measured both times, %(best)s gained the most "
            "(%(gain)s times what it was) and %(worst)s lost the most (%(loss)s times)."
        )
    return _(
        "%(setting)s, of %(n)s paths measured both times, %(best)s gained the most "
        "(%(gain)s times what it was) and %(worst)s the least (%(loss)s times)."
    )


def _asymmetry(matrix: Matrix) -> str:
    first, *others = matrix.asymmetries
    path, back = matrix.paths[first.larger], matrix.paths[first.larger[::-1]]
    unit = path.cell.case.unit
    text = _(
        "Asymmetric: %(setting)s, %(path)s is %(factor)s times as fast as the way "
        "back (%(more)s against %(less)s, %(medium)s)"
    ) % {
        "setting": setting_name(matrix),
        "path": ends_text(first.larger),
        "factor": _times(first.factor),
        "more": wording.quantity(path.value, unit),
        "less": wording.quantity(back.value, unit),
        "medium": medium_name(path),
    }
    end = "."
    if others:
        # A quarter: `CLEAR` of benchmarks/comparing/network.py.
        end = ngettext(
            "; %(n)s other pair differs by more than a quarter.",
            "; %(n)s other pairs differ by more than a quarter.",
            len(others),
        ) % {"n": len(others)}
    return _sentence(text + end, [path, back])


def _sentence(text: str, paths: Sequence[Path]) -> str:
    """Begin with a capital, and say so where nothing was measured twice."""
    capital = text[:1].upper() + text[1:]
    is_single = all(path.cell.n == 1 for path in paths)
    return " ".join([capital, _("Single runs.")]) if is_single else capital


def change_of(before: Path | None, after: Path) -> float | None:
    """Return a path as a multiple of what it was; None where either is no figure."""
    old, new = before.value if before else None, after.value
    return new / old if old and new and min(old, new) > 0 else None


def path_sentence(path: Path, asymmetry: Asymmetry | None) -> str:
    flags = [wording.said(flag.sentence) for flag in path.flags]
    return " ".join([f"{ends_text(path.ends)}: {_path_text(path, asymmetry)}", *flags])


def _path_text(path: Path, asymmetry: Asymmetry | None) -> str:
    unit = path.cell.case.unit
    value = wording.quantity(path.value, unit, whole=True)
    value = value or row_figure(path.figure, unit)
    parts = [f"{value}, {medium_name(path)}, {wording.runs_text(path.cell.n)}."]
    if reason := wording.said(path.figure.reason):
        parts.append(reason)
    if asymmetry:
        words = (ends_text(asymmetry.larger), _times(asymmetry.factor))
        parts.append(_("%s carries %s times what comes back.") % words)
    return " ".join(parts)


def setting_name(matrix: Matrix) -> str:
    tuned = dict.fromkeys(("no", "off"), _("before tuning"))
    tuned |= dict.fromkeys(("yes", "on"), _("after tuning"))
    names = []
    for fact in matrix.setting:
        if fact.name == "tuned" and fact.value in tuned:
            names.append(tuned[fact.value])
        else:
            names.append(wording.fact_text(fact) if fact.value else _("not stated"))
    return ", ".join(names) or _("As measured")


def ends_text(ends: Ends) -> str:
    return f"{ends[0]} → {ends[1]}"


def medium_name(path: Path) -> str:
    return {
        "loopback": _("loopback"),
        "inside": _("within the host"),
        "wire": _("over the wire"),
        "unknown": _("over what was not stated"),
    }[path.medium]


def _value(path: Path) -> str:
    if path.value is None:
        return row_figure(path.figure)
    return figures.exact(float(f"{path.value:.4g}"))


def _times(factor: float) -> str:
    return figures.exact(float(f"{factor:.3g}"))


urlpatterns = [
    page(
        f"{STUDY}network/",
        kept_study_page(study_view("network/network.html", network_page)),
        "network",
        walked=(f"{NETWORK}network/",),
        tab=Tab(gettext_lazy("Network"), 60, needs="has_network"),
    ),
]
