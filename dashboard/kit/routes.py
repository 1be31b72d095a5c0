"""Registration of pages: address, view, and what navigation and tests need.

A page's `views.py` fills its `urlpatterns` with `page`, `member_page`, `form_page`,
`action` and `route`, which also store a `Route`. The tabs of a study, the tests that
walk all pages or request every address as every kind of user, and the development
tools read the routes.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Literal

from django.http import HttpResponse, HttpResponseBase
from django.urls import URLPattern, path
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from dashboard.kit.addresses import STUDY
from dashboard.kit.viewers import signed_in
from dashboard.wording import Text

# Reference studies that the tests load, and a study without runs.
XEN: Final = "/studies/alpha-lab/lmu-2010-xen/"
ESXI: Final = "/studies/alpha-lab/lmu-2010-esxi/"
UOC: Final = "/studies/alpha-lab/uoc-2012-kvm/"
NETWORK: Final = "/studies/alpha-lab/heidelberg-2007-xen/"
DISKS: Final = "/studies/alpha-lab/inqbus-2008-io/"
DAYS: Final = "/studies/alpha-lab/days/"
BARE: Final = "/studies/alpha-lab/bare/"
EXAMPLES: Final = {
    "lab": "alpha-lab",
    "slug": "lmu-2010-xen",
    "host": "lmu-athlon64-x2-4800",
}
PARAMETER: Final = re.compile(r"<\w+:(\w+)>")

Kind = Literal["page", "part", "file", "action"]
Statuses = tuple[int, int]
"""What a lab's viewer gets, and its maintainers and admins."""
READ: Final[Statuses] = (200, 200)
KEEP: Final[Statuses] = (404, 200)
UPLOAD: Final[Statuses] = (403, 200)
DO_KEEP: Final[Statuses] = (404, 302)
DO_UPLOAD: Final[Statuses] = (403, 302)
REDIRECT: Final[Statuses] = (302, 302)
HIDDEN: Final[Statuses] = (404, 404)


@dataclass(frozen=True)
class Tab:
    """A tab of a study's pages, shown if the study's attribute ``needs`` is true."""

    title: Text
    order: int
    needs: str = ""


@dataclass(frozen=True, kw_only=True)
class Route:
    """One address. ``{words}`` in example addresses stand for ids, which tests fill in.

    ``walked``: example addresses that show a page full and empty. ``counted``:
    addresses that work for any study, relative to the study unless they begin with a
    slash. ``own``: status codes for members of the lab; ``nobody``: for anonymous
    users. Other users get 404. ``ids``: queries with ids of systems, cells and others.
    """

    name: str
    address: str
    kind: Kind
    walked: tuple[str, ...]
    counted: tuple[str, ...]
    own: Statuses
    nobody: int
    is_cached: bool
    is_private: bool
    """Whether it may show something of a lab that others may not see."""
    ids: tuple[str, ...]
    tab: Tab | None


_routes: dict[str, Route] = {}


def routes() -> dict[str, Route]:
    """Return the routes of all pages by name."""
    import_module("dashboard.urls")
    return _routes


def study_tabs() -> list[tuple[str, Tab]]:
    """Return the tabs of a study's pages in their order, each with its route's name."""
    tabs = [(name, route.tab) for name, route in routes().items() if route.tab]
    return sorted(tabs, key=lambda named: named[1].order)


def route(
    place: str,
    view: Callable[..., HttpResponseBase],
    name: str,
    *,
    kind: Kind = "page",
    walked: tuple[str, ...] = ("",),
    counted: tuple[str, ...] | None = None,
    own: Statuses = READ,
    nobody: int = 404,
    is_private: bool | None = None,
    ids: tuple[str, ...] = (),
    tab: Tab | None = None,
) -> URLPattern:
    """Register a view that restricts methods and users itself.

    ``walked`` that do not begin with a slash are appended to the example of ``place``.
    A tab is also walked in a study without runs. By default an address without
    parameters is public, and one of a study without further parameters is counted.
    """
    parameters = set(PARAMETER.findall(place)) - {"form"}
    example = "/" + PARAMETER.sub(_example, place)
    inside = place.removeprefix(STUDY)
    is_of_study = place.startswith(STUDY) and parameters == {"lab", "slug"}
    if counted is None:
        is_counted = is_of_study and kind == "page" and nobody == 404
        counted = (inside,) if is_counted else ()
    places = [it if it.startswith("/") else example + it for it in walked]
    if tab:
        places.append(f"{BARE}{inside}")
    _routes[name] = Route(
        name=name,
        address=place,
        kind=kind,
        walked=tuple(places) if kind == "page" else (),
        counted=counted,
        own=own,
        nobody=nobody,
        is_cached=getattr(view, "is_cached", False),
        is_private=bool(parameters) if is_private is None else is_private,
        ids=ids,
        tab=tab,
    )
    return path(place, view, name=name)


def _example(parameter: re.Match[str]) -> str:
    name = parameter[1]
    return EXAMPLES.get(name) or "{" + name.removesuffix("_id") + "}"


def page(
    place: str, view: Callable[..., HttpResponseBase], name: str, **options: Any
) -> URLPattern:
    """Register a view that only reads."""
    return route(place, require_safe(view), name, **options)


def member_page(
    place: str, view: Callable[..., HttpResponse], name: str, **options: Any
) -> URLPattern:
    """Register a page that only reads, for signed-in users."""
    return page(place, signed_in(view), name, **{"nobody": 302, **options})


def form_page(
    place: str, view: Callable[..., HttpResponse], name: str, **options: Any
) -> URLPattern:
    """Register a page with a form that is sent to it, by default for maintainers."""
    checked = require_http_methods(["GET", "HEAD", "POST"])(signed_in(view))
    return route(place, checked, name, **{"own": KEEP, "nobody": 302, **options})


def action(
    place: str, view: Callable[..., HttpResponse], name: str, **options: Any
) -> URLPattern:
    """Register an address that a button posts to, by default for maintainers."""
    checked = require_POST(signed_in(view))
    options = {"kind": "action", "own": DO_KEEP, "nobody": 302, **options}
    return route(place, checked, name, **options)
