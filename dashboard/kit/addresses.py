"""What addresses of several pages have in common: beginnings, and ids in them."""

from collections.abc import Mapping

from django.urls import reverse
from django.utils.http import urlencode

from benchmarks.models import Study

STUDY = "studies/<slug:lab>/<slug:slug>/"
LAB = "labs/<slug:lab>/"
MEMBER = f"{LAB}members/<int:person_id>/"


def id_in(text: str) -> int:
    """Return an id out of a URL; 0, which nothing has, for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def cell_address(study: Study, query: Mapping[str, str]) -> str:
    """Return where the cell of an old address is shown now."""
    place = [study.lab.slug, study.slug, id_in(query["cell"])]
    chosen = urlencode({"baseline": query["baseline"]} if "baseline" in query else {})
    return "?".join(filter(None, [reverse("dashboard:cell", args=place), chosen]))
