"""What the overview adds up, and every ratio as a line at its place of a strip."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from benchmarks.comparing.profile import Band
from benchmarks.studies.lists import StudyCard
from dashboard.kit import figures

# A slip of a unit (0.001) would squeeze all other lines into one.
LOWEST, HIGHEST = 0.1, 4.0
TICKS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
MAJOR = (0.25, 1.0, 4.0)
NEAR = 0.02


@dataclass(frozen=True)
class StripLine:
    """A mark: where it stands, in percent of the strip's width, and on which side."""

    # A text: CSS takes a decimal point, whatever the language of the page.
    x: str
    side: str


@dataclass(frozen=True)
class Tick:
    """A labelled place of the axis."""

    x: str
    label: str
    is_major: bool


@dataclass(frozen=True)
class Strip:
    """A band and its marks."""

    band: Band
    lines: tuple[StripLine, ...]
    goes_below: bool
    goes_above: bool
    """Whether some ratios lie beyond the ends of the axis."""


@dataclass(frozen=True)
class StripGroup:
    """The strips of one component."""

    component: str
    strips: tuple[Strip, ...]


@dataclass(frozen=True)
class Strips:
    """All strips on one axis, which reaches as far as the ratios do."""

    groups: tuple[StripGroup, ...]
    ticks: tuple[Tick, ...]
    native: str
    pairs: int

    @property
    def has_doubts(self) -> bool:
        """Whether a flag doubts the end of any band."""
        bands = (strip.band for group in self.groups for strip in group.strips)
        return any(it.is_lowest_doubted or it.is_highest_doubted for it in bands)


@dataclass(frozen=True)
class Totals:
    """Sums over studies; a system measured in two of them counts twice."""

    studies: str
    systems: str
    runs: str
    compared: str


def totals(cards: Sequence[StudyCard]) -> Totals:
    """Add the cards up and write the sums."""
    tallies = [card.tally for card in cards]
    return Totals(
        studies=f"{len(cards):,}",
        systems=f"{sum(tally.systems for tally in tallies):,}",
        runs=f"{sum(tally.runs for tally in tallies):,}",
        compared=f"{sum(tally.compared for tally in tallies):,}",
    )


def strips(bands: Sequence[Band]) -> Strips | None:
    """Place every line of the bands on one log axis; None without any band."""
    if not bands:
        return None
    # Some room beyond the outermost line; the axis always shows 0.25 to 1.25.
    low = max(min(0.25, *(band.lowest for band in bands)) * 0.85, LOWEST)
    high = min(max(1.25, *(band.highest for band in bands)) * 1.15, HIGHEST)

    def place(ratio: float) -> str:
        return f"{100 * figures.place(ratio, low, high):.2f}%"

    groups = []
    for component, members in groupby(bands, key=lambda band: band.component):
        own = []
        for band in members:
            lines = []
            for ratio in band.lines:
                side = "below" if ratio < 1 else "above"
                if abs(ratio - 1) <= NEAR:
                    side = "near"
                # A ratio beyond an end of the axis is not drawn: the strip says so.
                if low <= ratio <= high:
                    lines.append(StripLine(place(ratio), side))
            strip = Strip(
                band,
                tuple(lines),
                goes_below=band.lowest < low,
                goes_above=band.highest > high,
            )
            own.append(strip)
        groups.append(StripGroup(component, tuple(own)))
    return Strips(
        groups=tuple(groups),
        ticks=tuple(
            Tick(place(tick), figures.number(tick, ".3g"), tick in MAJOR)
            for tick in TICKS
            if low <= tick <= high
        ),
        native=place(1.0),
        pairs=sum(band.pairs for band in bands),
    )
