"""What all studies of the overview come to. PURE but for its input."""

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.studies.lists import StudyCard


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
