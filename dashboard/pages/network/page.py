"""What the network page shows for one metric: matrices side by side, and sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from benchmarks import tools
from benchmarks.analysis.baselines import efficiency
from benchmarks.analysis.paths import Asymmetry, Ends
from benchmarks.comparing.network import Matrix, NetworkMetric, Path, study_network
from benchmarks.comparing.row import NO_SINGLE_FIGURE
from benchmarks.comparing.table import Fact
from benchmarks.models import Flag, Study
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit import figures
from dashboard.kit.addresses import MOST_CHIPS, Chip, ChipRow, unmet
from dashboard.kit.table_cells import row_figure
from dashboard.pages.network.words import (
    change_of,
    heard_path,
    path_sentence,
    sentences,
    setting_name,
)
from dashboard.wording import states

TIMES = "\N{MULTIPLICATION SIGN}"
LEVELS = ("even", "fast-1", "fast-2", "fast-3", "fast-4", "fast-5")
"""Shades of a value, least first."""


@dataclass(frozen=True)
class PathView:
    """What a matrix shows of one path."""

    main: str
    sub: str
    shade: str
    medium: str
    is_asymmetric: bool
    flags: int
    sentence: str
    heard: str


@dataclass(frozen=True)
class Grid:
    """A matrix as a table: a line for each sender, a column for each receiver."""

    title: str
    kind: str
    is_judged: bool
    """Whether more or less is better."""
    rows: tuple[tuple[str, str, tuple[PathView | None, ...]], ...]


@dataclass(frozen=True)
class NetworkPage:
    """Everything of the page that depends on what was chosen."""

    metric: NetworkMetric | None
    title: str
    sentences: tuple[str, ...]
    rows: tuple[ChipRow, ...]
    heads: tuple[tuple[str, str], ...]
    grids: tuple[Grid, ...]
    flags: tuple[Flag, ...]
    line_rate: str
    media: frozenset[str]
    ends: tuple[str, str] = ("", "")
    """The least and the most that shades stand for."""
    shades: tuple[str, ...] = LEVELS
    unmet: tuple[str, ...] = ()
    """What the address asks for and is not here."""


def network_page(viewer: Viewer, study: Study, query: Mapping[str, str]) -> NetworkPage:
    """Return the page for the metric that a URL's query names."""
    metrics = study_network(viewer, study)
    place = query.get("metric", "")
    at = int(place) if place.isascii() and place.isdigit() and len(place) < 4 else 0
    if not metrics:
        return NetworkPage(None, "", (), (), (), (), (), "", frozenset())
    metric = metrics[at] if at < len(metrics) else metrics[0]
    paths = [path for matrix in metric.matrices for path in matrix.paths.values()]
    rates = {path.line_rate for path in paths if path.line_rate is not None}
    flags = {flag.pk: flag for path in paths for flag in path.flags}
    return NetworkPage(
        metric=metric,
        title=_name(metric),
        sentences=tuple(sentences(metric)),
        rows=_rows(metrics, metric),
        heads=metric.nodes,
        grids=_grids(metric),
        flags=tuple(flags[pk] for pk in sorted(flags)),
        line_rate=", ".join(wording.quantity(it, metric.unit) for it in sorted(rates)),
        media=frozenset(path.medium for path in paths),
        ends=_ends_text(metric),
        unmet=unmet(query, {"metric": metrics.index(metric)}),
    )


def _name(metric: NetworkMetric) -> str:
    tool = tools.get(metric.tool)
    return f"{tool.title}: {tool.metric(metric.metric).title}"


def _rows(
    metrics: Sequence[NetworkMetric], chosen: NetworkMetric
) -> tuple[ChipRow, ...]:
    chips = tuple(
        Chip(_label(metric, metrics), urlencode({"metric": at}), metric is chosen)
        for at, metric in enumerate(metrics)
    )
    row = ChipRow(_("Metric"), chips, is_long=len(chips) > MOST_CHIPS)
    return (row,) if len(chips) > 1 else ()


def _label(metric: NetworkMetric, metrics: Sequence[NetworkMetric]) -> str:
    same = [each.parameters for each in metrics if _name(each) == _name(metric)]
    facts = [
        wording.fact_text(Fact(name, text))
        for name, text in metric.parameters.items()
        if any(other.get(name) != text for other in same)
    ]
    return ", ".join([_name(metric), *facts])


def _ends(metric: NetworkMetric) -> tuple[float, float]:
    values = [
        path.value
        for matrix in metric.matrices
        for path in matrix.paths.values()
        if path.value is not None and path.value > 0
    ]
    return (min(values), max(values)) if values else (1.0, 1.0)


def _ends_text(metric: NetworkMetric) -> tuple[str, str]:
    least, most = (float(f"{each:.3g}") for each in _ends(metric))
    return figures.exact(least), wording.quantity(most, metric.unit)


def _grids(metric: NetworkMetric) -> tuple[Grid, ...]:
    ends = _ends(metric)
    grids = [_grid(metric, matrix, ends) for matrix in metric.matrices]
    if len(metric.matrices) == 2:
        grids.append(_change(metric, *metric.matrices))
    return tuple(grids)


def _grid(metric: NetworkMetric, matrix: Matrix, ends: tuple[float, float]) -> Grid:
    marked = {_either(each): each for each in matrix.asymmetries}
    views = {
        pair: PathView(
            main=_value(path),
            sub=_sub(path),
            shade="" if path.value is None else _level(path.value, *ends),
            medium=path.medium,
            is_asymmetric=frozenset(pair) in marked,
            flags=len(path.flags),
            sentence=path_sentence(path, marked.get(frozenset(pair))),
            heard=heard_path(path, marked.get(frozenset(pair))),
        )
        for pair, path in matrix.paths.items()
    }
    return Grid(
        setting_name(matrix), "value", _is_judged(metric), _lines(metric, views)
    )


def _either(asymmetry: Asymmetry) -> frozenset[str]:
    return frozenset(asymmetry.larger)


def _value(path: Path) -> str:
    if path.value is None:
        return row_figure(path.figure)
    return figures.exact(float(f"{path.value:.4g}"))


def _sub(path: Path) -> str:
    if path.value is None:
        return states.state_name(NO_SINGLE_FIGURE)
    if path.share is None:
        return ""
    return _("%(share)d %% of line") % {"share": round(100 * path.share)}


def _level(value: float, low: float, high: float) -> str:
    """Return one of six shades on a log scale from the least to the most."""
    if value <= 0 or low == high:
        return LEVELS[0]
    share = log(value / low) / log(high / low)
    return LEVELS[min(int(share * len(LEVELS)), len(LEVELS) - 1)]


def _change(metric: NetworkMetric, before: Matrix, after: Matrix) -> Grid:
    """The second matrix as a multiple of the first; shaded where more is better or
    less is, with the way that is better in one colour."""
    views = {}
    for pair, path in after.paths.items():
        old = before.paths.get(pair)
        factor = change_of(old, path)
        if old is None or factor is None:
            continue
        views[pair] = PathView(
            main=f"{TIMES}\u00a0{figures.ratio(factor)}",
            sub=f"{_value(old)} → {_value(path)}",
            shade=_gain(metric, factor),
            medium=path.medium,
            is_asymmetric=False,
            flags=0,
            sentence=path_sentence(path, None),
            heard="",
        )
    return Grid(_("Change"), "change", _is_judged(metric), _lines(metric, views))


def _is_judged(metric: NetworkMetric) -> bool:
    return metric.better in ("higher", "lower")


def _gain(metric: NetworkMetric, factor: float) -> str:
    if not _is_judged(metric):
        return ""
    is_rate = metric.better == "higher"
    return figures.heat(efficiency(factor, 1.0, "higher" if is_rate else "lower"))


def _lines(
    metric: NetworkMetric, views: Mapping[Ends, PathView]
) -> tuple[tuple[str, str, tuple[PathView | None, ...]], ...]:
    names = [name for name, _host in metric.nodes]
    return tuple(
        (name, host, tuple(views.get((name, other)) for other in names))
        for name, host in metric.nodes
        if any((name, other) in views for other in names)
    )
