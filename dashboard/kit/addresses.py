"""What addresses have in common: beginnings, ids, queries, and choices as links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.http import urlencode

from benchmarks.models import Study

STUDY = "studies/<slug:lab>/<slug:slug>/"
LAB = "labs/<slug:lab>/"
MEMBER = f"{LAB}members/<int:person_id>/"

MOST_CHIPS = 10


def id_in(text: str) -> int:
    """Return an id out of a URL; 0, which nothing has, for any other text."""
    # Eighteen digits always fit a bigint; isdigit() alone lets through "²", which int()
    # refuses.
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def cell_address(study: Study, query: Mapping[str, str]) -> str:
    """Return where the cell of an old address is shown now."""
    place = [study.lab.slug, study.slug, id_in(query["cell"])]
    chosen = urlencode({"baseline": query["baseline"]} if "baseline" in query else {})
    return "?".join(filter(None, [reverse("dashboard:cell", args=place), chosen]))


def address(query: Mapping[str, str], **changes: str) -> str:
    """Return the query of an address with some parts changed; an empty one is left out.

    >>> address({"tool": "fio", "bits": "32"}, bits="", pin="4")
    '?tool=fio&pin=4'
    """
    parts = {name: text for name, text in {**query, **changes}.items() if text}
    return f"?{urlencode(parts)}"


def unmet(query: Mapping[str, str], followed: Mapping[str, object]) -> tuple[str, ...]:
    """Return the parts of a query that came to something else, or to nothing.

    >>> unmet({"case": "99", "run": "4"}, {"case": 7, "run": 4, "family": None})
    ('case=99',)
    """
    return tuple(
        f"{name}={query[name]}"
        for name, value in followed.items()
        if query.get(name) and query[name] != str(value)
    )


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
    chips: Sequence[Chip]

    @property
    def is_long(self) -> bool:
        """Whether there are too many to stand open."""
        return len(self.chips) > MOST_CHIPS
