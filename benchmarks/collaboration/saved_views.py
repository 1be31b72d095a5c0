"""Saved views: named paths of pages that show data.

A view belongs to a person or to a lab, where its name is unique. Saving a view with the
same name replaces its path.
"""

import re
from typing import Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.models import Lab, Membership, SavedView
from benchmarks.sentences import Sentence
from benchmarks.text_validation import clean_text, normalize_whitespace
from benchmarks.viewer import Viewer

MAX_SAVED_VIEWS: Final = 200
"""The limit for each person and each lab."""
MAX_PATH_LENGTH: Final = 4_000
_SECTIONS: Final = (
    "compare|density|evidence|hypervisors|machines|mix|search|settings|start-up|studies"
    "|work"
)
SAVABLE_PATHS: Final = re.compile(
    rf"/(?:(?:{_SECTIONS})/(?:[-\w]+/)*)?(?:\?[^\s#]*)?\Z"
)


def can_be_saved(path: str) -> bool:
    return len(path) <= MAX_PATH_LENGTH and SAVABLE_PATHS.match(path) is not None


def visible_views(viewer: Viewer, person: User | None = None) -> QuerySet[SavedView]:
    condition = Q(lab__in=viewer.lab_ids)
    if person is not None:
        condition |= Q(lab=None, person=person)
    views = SavedView.objects.filter(condition).select_related("lab")
    return views.order_by("name", "pk")


def find_view(viewer: Viewer, pk: int, person: User | None = None) -> SavedView:
    view = visible_views(viewer, person).filter(pk=pk).first()
    if view is None:
        raise NotFoundError(Sentence("saved view"), pk)
    return view


@transaction.atomic
def save_view(
    *, name: str, path: str, person: User | None, lab: Lab | None, agent: str = ""
) -> SavedView:
    """Save a path as a view of a lab, or of the person if ``lab`` is None.

    Raises InvalidError.
    """
    name, path = _checked_name(name), _checked_path(path)
    _lock(lab, person)
    scope = Q(lab=lab) if lab else Q(lab=None, person=person)
    existing = SavedView.objects.filter(scope)
    saved_by = person.get_username() if person else agent
    if view := existing.filter(name=name).first():
        view.path, view.person, view.saved_by = path, person, saved_by
        view.saved_at = timezone.now()
        view.save()
        return view
    if existing.count() >= MAX_SAVED_VIEWS:
        raise InvalidError(
            "invalid_saved_view",
            "You already have {n} saved views. Delete one first.",
            n=MAX_SAVED_VIEWS,
        )
    return SavedView.objects.create(
        lab=lab, person=person, saved_by=saved_by, name=name, path=path
    )


@transaction.atomic
def update_view(
    *,
    view: SavedView,
    name: str | None = None,
    path: str | None = None,
    person: User | None = None,
    agent: str = "",
) -> SavedView:
    """Raises InvalidError."""
    if name is not None:
        view.name = _checked_name(name)
        _lock(view.lab, view.person)
        other_views = SavedView.objects.exclude(pk=view.pk).filter(name=view.name)
        scope = Q(lab=view.lab_id) if view.lab_id else Q(lab=None, person=view.person)
        if other_views.filter(scope).exists():
            raise InvalidError(
                "invalid_saved_view", "Another view already has this name."
            )
    if path is not None:
        view.path = _checked_path(path)
    view.person = person if view.lab_id else view.person
    view.saved_by = person.get_username() if person else agent
    view.saved_at = timezone.now()
    view.save()
    return view


def _lock(lab: Lab | None, person: User | None) -> None:
    """Let one client at a time add or rename the views of a lab or person."""
    if lab:
        Lab.objects.select_for_update(no_key=True).get(pk=lab.pk)
    elif person:
        User.objects.select_for_update(no_key=True).get(pk=person.pk)


def _checked_name(name: str) -> str:
    name = clean_text(normalize_whitespace(name), label=Sentence("name"))
    if not name or len(name) > 100:
        raise InvalidError("invalid_saved_view", "Enter a name of 1 to 100 characters.")
    return name


def _checked_path(path: str) -> str:
    if not can_be_saved(path):
        raise InvalidError(
            "invalid_saved_view",
            "Only pages that show data can be saved. Open the page and choose Save "
            "this view at its end, or send its URL path, for example "
            "/compare/?work=cpu-integer",
        )
    return path


def may_change_view(view: SavedView, person: User) -> bool:
    if view.person_id == person.pk or view.lab_id is None:
        return view.person_id == person.pk
    memberships = Membership.objects.filter(lab=view.lab_id, user=person)
    return memberships.filter(role__in=Membership.EDITORS).exists()
