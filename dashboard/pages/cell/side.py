"""One side of a cell as its charts need it. PURE: plain values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.analysis.intervals import MeanInterval
from dashboard.charts.figures import plain
from dashboard.kit import figures

SPEED_TOKENS: Final = ("--series-4", "--series-3")


@dataclass(frozen=True)
class Strand:
    """One run: its label ("run 12"), the session it belongs to, and its samples."""

    label: str
    session: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Speed:
    """One of two speeds: its label ("59 MB/s (64 %)"), centre and number of points."""

    label: str
    centre: float
    count: int


@dataclass(frozen=True)
class Side:
    """This cell, or its baseline.

    ``series`` is what the shape was found in: run means, or the iterations of few
    runs; ``outliers`` are places in it. ``box`` is smallest, quartiles and largest of
    the run means; none for too few, or for two speeds. Colours are tokens of the style
    sheet.
    """

    name: str
    token: str
    unit: str
    strands: tuple[Strand, ...]
    series: tuple[float, ...]
    speeds: tuple[Speed, ...] = ()
    outliers: tuple[int, ...] = ()
    period: int | None = None
    is_first_apart: bool = False
    box: tuple[float, float, float, float, float] | None = None
    mean: MeanInterval | None = None
    mean_label: str = "mean"
    is_faint: bool = False

    @property
    def is_of_run_means(self) -> bool:
        """Whether each point of the series is a run."""
        return len(self.series) == len(self.strands)

    @property
    def has_iterations(self) -> bool:
        """Whether a run has more than one sample."""
        return any(len(strand.values) > 1 for strand in self.strands)

    def places(self) -> list[float]:
        """Return where each point stands in the sequence of samples, from 1."""
        if not self.is_of_run_means:
            return [float(at) for at in range(1, len(self.series) + 1)]
        ends = self.ends()
        starts = [0, *ends[:-1]]
        return [
            (first + 1 + last) / 2 for first, last in zip(starts, ends, strict=True)
        ]

    def ends(self) -> list[int]:
        """Return the number of samples up to the end of each run."""
        total, found = 0, []
        for strand in self.strands:
            total += len(strand.values)
            found.append(total)
        return found

    def speed_of(self) -> list[int]:
        """Return to which speed each point belongs; all to 0 where there is but one."""
        if len(self.speeds) < 2:
            return [0] * len(self.series)
        ranked = sorted(range(len(self.series)), key=self.series.__getitem__)
        lower = set(ranked[: self.speeds[0].count])
        return [0 if at in lower else 1 for at in range(len(self.series))]

    def speed_tokens(self) -> tuple[str, ...]:
        """Return the colour of each speed; the side's own where there is but one."""
        return SPEED_TOKENS if len(self.speeds) > 1 else (self.token,)

    def texts(self) -> list[str]:
        """Return what hovering over each point tells."""
        if self.is_of_run_means:
            pairs = zip(self.strands, self.series, strict=True)
            return [self.said(strand.label, value) for strand, value in pairs]
        return [text for texts in self.sample_texts() for text in texts]

    def sample_texts(self) -> list[list[str]]:
        """Return what hovering over each sample tells, run by run."""
        return [
            [
                self.said(f"{strand.label}, {at}" if several else strand.label, value)
                for at, value in enumerate(strand.values, start=1)
            ]
            for strand in self.strands
            for several in [len(strand.values) > 1]
        ]

    def said(self, what: str, value: float) -> str:
        return plain(f"{what}: {figures.brief(value)} {self.unit}".rstrip())


def hovering(texts: Sequence[str]) -> dict[str, Any]:
    """Return the part of a trace that shows these texts and nothing else."""
    return {"text": list(texts), "hovertemplate": "%{text}<extra></extra>"}


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """Return an axis with a title, one that dragging does not move."""
    return {"title": {"text": plain(title)}, "fixedrange": True, **more}


def figure(
    data: list[dict[str, Any]], height: int, **layout: Any
) -> dict[str, Any] | None:
    """Return a figure whose colours are tokens; None when there is nothing to draw."""
    common = {
        "height": height,
        "hovermode": "closest",
        "meta": {"tokens": True},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "showlegend": any(trace.get("showlegend", False) for trace in data),
    }
    return {"data": data, "layout": {**common, **layout}} if data else None
