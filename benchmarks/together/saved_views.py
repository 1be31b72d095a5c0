"""Saved views: addresses of comparisons, studies and evidence, with names.

A person's own, or shared with one of their labs. The same name in the same place is the
same view: saving it again gives it another address.
"""

import re
from typing import Final

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.models import Lab, Membership, SavedView
from benchmarks.sentences import Sentence
from benchmarks.text import clean_text, collapse
from benchmarks.viewer import Viewer

MOST: Final = 200
"""How many views one person keeps, and one lab."""
MOST_LETTERS: Final = 4_000
# Pages only, and of this site alone: no host can stand in it.
PLACES: Final = re.compile(
    r"/(?:compare|evidence|studies)/(?:[-\w]+/)*(?:\?[^\s#]*)?\Z"
)


def can_be_saved(address: str) -> bool:
    """Return whether an address is of a page that shows a choice."""
    return len(address) <= MOST_LETTERS and PLACES.match(address) is not None


def visible_views(viewer: Viewer, person: User | None = None) -> QuerySet[SavedView]:
    """Return the views of somebody: their own, and those of their labs; by name."""
    seen = Q(lab__in=viewer.lab_ids)
    if person is not None:
        seen |= Q(lab=None, person=person)
    views = SavedView.objects.filter(seen).select_related("lab")
    return views.order_by("name", "pk")


def find_view(viewer: Viewer, pk: int, person: User | None = None) -> SavedView:
    """Return one view, or raise NotFoundError."""
    view = visible_views(viewer, person).filter(pk=pk).first()
    if view is None:
        raise NotFoundError(Sentence("saved view"), pk)
    return view


def save_view(
    *, name: str, address: str, person: User | None, lab: Lab | None, agent: str = ""
) -> SavedView:
    """Save an address under a name, for a person alone or for one of their labs.

    ``agent`` names the agent if no person saves it.
    """
    name, address = _checked_name(name), _checked_address(address)
    place = Q(lab=lab) if lab else Q(lab=None, person=person)
    there = SavedView.objects.filter(place)
    who = person.get_username() if person else agent
    if view := there.filter(name=name).first():
        view.address, view.person, view.who = address, person, who
        view.saved_at = timezone.now()
        view.save()
        return view
    if there.count() >= MOST:
        raise InvalidError(
            "saved_view", "There are {n} views already. Delete one first.", n=MOST
        )
    return SavedView.objects.create(
        lab=lab, person=person, who=who, name=name, address=address
    )


def change_view(
    *,
    view: SavedView,
    name: str | None = None,
    address: str | None = None,
    person: User | None = None,
    agent: str = "",
) -> SavedView:
    """Give a view another name or address; whose it is stays."""
    if name is not None:
        view.name = _checked_name(name)
        others = SavedView.objects.exclude(pk=view.pk).filter(name=view.name)
        place = Q(lab=view.lab_id) if view.lab_id else Q(lab=None, person=view.person)
        if others.filter(place).exists():
            raise InvalidError("saved_view", "There is another view of this name.")
    if address is not None:
        view.address = _checked_address(address)
    view.person = person if view.lab_id else view.person
    view.who = person.get_username() if person else agent
    view.saved_at = timezone.now()
    view.save()
    return view


def _checked_name(name: str) -> str:
    name = clean_text(collapse(name), what=Sentence("name"))
    if not name or len(name) > 100:
        raise InvalidError("saved_view", "A view needs a name of 1 to 100 characters.")
    return name


def _checked_address(address: str) -> str:
    if not can_be_saved(address):
        raise InvalidError(
            "saved_view",
            "Save the address of a study, a comparison or evidence, from its first "
            "slash on: /compare/?work=cpu-integer",
        )
    return address


def may_change_view(view: SavedView, person: User) -> bool:
    """Return whether a person saved the view, or keeps the lab that shares it."""
    if view.person_id == person.pk or view.lab_id is None:
        return view.person_id == person.pk
    places = Membership.objects.filter(lab=view.lab_id, user=person)
    return places.filter(role__in=Membership.KEEPERS).exists()
