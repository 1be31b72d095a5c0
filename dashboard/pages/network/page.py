"""What the network page shows for one metric: matrices side by side, and sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from urllib.parse import urlencode

from django.utils.translation import gettext as _

from benchmarks import tools
from benchmarks.analysis.baselines import efficiency
from benchmarks.analysis.paths import Ends
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
    all_paths,
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


Lines = tuple[tuple[str, str, tuple["PathView | None", ...]], ...]


@dataclass(frozen=True)
class PathView:
    """What a matrix shows of one path; a change has neither mark nor flags."""

    main: str
    sub: str
    shade: str
    medium: str
    sentence: str
    heard: str = ""
    is_asymmetric: bool = False
    flags: int = 0


@dataclass(frozen=True)
class Grid:
    """A matrix as a table: a line for each sender, a column for each receiver."""

    title: str
    kind: str
    rows: Lines


@dataclass(frozen=True)
class NetworkPage:
    """One metric of a study's network, and the others that there are."""

    metrics: Sequence[NetworkMetric]
    metric: NetworkMetric
    query: Mapping[str, str]
    shades: tuple[str, ...] = LEVELS

    @property
    def title(self) -> str:
        return metric_name(self.metric)

    @property
    def sentences(self) -> tuple[str, ...]:
        return tuple(sentences(self.metric))

    @property
    def rows(self) -> tuple[ChipRow, ...]:
        """Return the metrics by what tells them apart, where there are several."""
        chips = []
        for at, metric in enumerate(self.metrics):
            name = metric_name(metric)
            alike = [it.parameters for it in self.metrics if metric_name(it) == name]
            facts = [
                wording.fact_text(Fact(parameter, text))
                for parameter, text in metric.parameters.items()
                if any(other.get(parameter) != text for other in alike)
            ]
            label = ", ".join([name, *facts])
            chips.append(Chip(label, urlencode({"metric": at}), metric is self.metric))
        row = ChipRow(_("Metric"), tuple(chips), is_long=len(chips) > MOST_CHIPS)
        return (row,) if len(chips) > 1 else ()

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Return the least and the most that shades stand for."""
        values = [path.value or 0.0 for path in all_paths(self.metric)]
        # Shades are on a log scale, which has no place for 0.
        shaded = [value for value in values if value > 0]
        # All matrices share the ends, so that a shade means the same before and after.
        return (min(shaded), max(shaded)) if shaded else (1.0, 1.0)

    @property
    def ends_text(self) -> tuple[str, str]:
        least, most = (float(f"{end:.3g}") for end in self.ends)
        return figures.exact(least), wording.quantity(most, self.metric.unit)

    @property
    def is_judged(self) -> bool:
        """Whether more or less is better."""
        return self.metric.better in ("higher", "lower")

    @property
    def grids(self) -> Iterator[Grid]:
        """Yield the matrix of each setting; of two, what changed between them."""
        matrices = self.metric.matrices
        for matrix in matrices:
            title = setting_name(matrix)
            yield Grid(title, "value", self._lines(self._values(matrix)))
        if len(matrices) == 2:
            yield Grid(_("Change"), "change", self._lines(self._changes(*matrices)))

    def _values(self, matrix: Matrix) -> dict[Ends, PathView]:
        # An asymmetry is of a pair: both of its directions are marked.
        marked = {frozenset(it.larger): it for it in matrix.asymmetries}
        least, most = self.ends
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
                under = _("%(share)d %% of line") % {"share": round(100 * path.share)}
            views[pair] = PathView(
                main=_value(path),
                sub=under,
                shade=shade,
                medium=path.medium,
                sentence=path_sentence(path, asymmetry),
                heard=heard_path(path, asymmetry),
                is_asymmetric=asymmetry is not None,
                flags=len(path.flags),
            )
        return views

    def _changes(self, before: Matrix, after: Matrix) -> dict[Ends, PathView]:
        """Return the second matrix as multiples of the first; shaded where more is
        better or less is, with the way that is better in one colour."""
        is_rate, views = self.metric.better == "higher", {}
        for pair, path in after.paths.items():
            old = before.paths.get(pair)
            factor = change_of(old, path)
            if old is None or factor is None:
                continue
            shade = ""
            if self.is_judged:
                # Turned where less is better, so that one colour always means better.
                gain = efficiency(factor, 1.0, "higher" if is_rate else "lower")
                shade = figures.heat(gain)
            views[pair] = PathView(
                main=f"{TIMES}\N{NO-BREAK SPACE}{figures.ratio(factor)}",
                sub=f"{_value(old)} → {_value(path)}",
                shade=shade,
                medium=path.medium,
                sentence=path_sentence(path, None),
            )
        return views

    def _lines(self, views: Mapping[Ends, PathView]) -> Lines:
        names = [name for name, _host in self.metric.nodes]
        return tuple(
            (name, host, tuple(views.get((name, other)) for other in names))
            for name, host in self.metric.nodes
            if any((name, other) in views for other in names)
        )

    @cached_property
    def flags(self) -> list[Flag]:
        paths = all_paths(self.metric)
        flags = {flag.pk: flag for path in paths for flag in path.flags}
        return [flags[pk] for pk in sorted(flags)]

    @property
    def line_rate(self) -> str:
        paths = all_paths(self.metric)
        rates = {path.line_rate for path in paths if path.line_rate is not None}
        unit = self.metric.unit
        return ", ".join(wording.quantity(rate, unit) for rate in sorted(rates))

    @cached_property
    def media(self) -> set[str]:
        return {path.medium for path in all_paths(self.metric)}

    @property
    def unmet(self) -> tuple[str, ...]:
        """Return what the address asks for and is not here."""
        return unmet(self.query, {"metric": self.metrics.index(self.metric)})


def network_page(
    viewer: Viewer, study: Study, query: Mapping[str, str]
) -> NetworkPage | None:
    """Return the page for the metric that a URL's query names; None without paths."""
    metrics = study_network(viewer, study)
    if not metrics:
        return None
    place = query.get("metric", "")
    # Bounded, as int() raises for a text of thousands of digits.
    at = int(place) if place.isascii() and place.isdigit() and len(place) < 4 else 0
    return NetworkPage(metrics, metrics[at if at < len(metrics) else 0], query)


def metric_name(metric: NetworkMetric) -> str:
    """Return a metric with its tool; several differ in their parameters alone."""
    tool = tools.get(metric.tool)
    return f"{tool.title}: {tool.metric(metric.metric).title}"


def _value(path: Path) -> str:
    if path.value is None:
        return row_figure(path.figure)
    return figures.exact(float(f"{path.value:.4g}"))
