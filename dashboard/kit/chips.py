"""Choices of a page as rows of links."""

from dataclasses import dataclass

MOST_CHIPS = 10


@dataclass(frozen=True)
class Chip:
    """A choice as a link."""

    label: str
    query: str
    is_chosen: bool


@dataclass(frozen=True)
class ChipRow:
    """The choices of one kind."""

    label: str
    chips: tuple[Chip, ...]
    is_long: bool = False
    """Too many to stand open."""
