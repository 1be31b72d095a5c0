"""What can be done with a column: make it the reference, pin it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.comparing.columns import Column
from benchmarks.models import System
from dashboard import wording
from dashboard.kit.selections import NATIVE, PINS, Selection, address
from dashboard.pages.compare.figure import column_name


@dataclass(frozen=True)
class ColumnTools:
    """A column with the addresses of the page after each action."""

    name: str
    is_edge: bool
    is_reference: bool
    reference: str
    is_pinned: bool
    pin: str


def column_tools(
    columns: tuple[Column, ...], chosen: Selection, query: Mapping[str, str]
) -> Iterator[ColumnTools]:
    """Yield the tools of each column; doing a thing again undoes it."""
    for column in columns:
        key = str(column.system_id)
        is_reference = key == chosen.baseline
        yield ColumnTools(
            name=column_name(column),
            is_edge=column.is_edge,
            is_reference=is_reference,
            reference=address(query, baseline=NATIVE if is_reference else key),
            is_pinned=key in chosen.pins,
            pin=address(query, pin=_toggled(chosen.pins, key)),
        )


def _toggled(pins: tuple[str, ...], key: str) -> str:
    rest = [pin for pin in pins if pin != key]
    return ",".join(rest if key in pins else [*rest, key][-PINS:])


@dataclass(frozen=True)
class Pin:
    """A pinned system and the address without it."""

    name: str
    without: str


def pins(pinned: tuple[System, ...], query: Mapping[str, str]) -> list[Pin]:
    """Return what is pinned."""
    keys = tuple(str(each.pk) for each in pinned)
    return [
        Pin(wording.system_name(each), address(query, pin=_toggled(keys, str(each.pk))))
        for each in pinned
    ]
