"""Chips: links that select one of several values."""

from collections.abc import Sequence
from dataclasses import dataclass

MAX_VISIBLE_CHIPS = 10


@dataclass(frozen=True)
class Chip:
    label: str
    query: str
    is_chosen: bool


@dataclass(frozen=True)
class ChipRow:
    label: str
    chips: Sequence[Chip]

    @property
    def is_collapsed(self) -> bool:
        return len(self.chips) > MAX_VISIBLE_CHIPS
