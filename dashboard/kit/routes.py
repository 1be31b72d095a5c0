"""Registration of pages: URL, view, and metadata for navigation and tests."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from typing import Any, Final, Literal

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase
from django.urls import URLPattern, path
from django.utils import translation
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from dashboard.kit.url_parts import STUDY_PATH
from dashboard.kit.viewers import sign_in_required
from dashboard.wording import Text

# Studies that tests use to open pages. `EMPTY_STUDY` has no runs.
XEN_STUDY: Final = "/studies/alpha-lab/lmu-2010-xen/"
ESXI_STUDY: Final = "/studies/alpha-lab/lmu-2010-esxi/"
KVM_STUDY: Final = "/studies/alpha-lab/uoc-2012-kvm/"
NETWORK_STUDY: Final = "/studies/alpha-lab/heidelberg-2007-xen/"
DISK_STUDY: Final = "/studies/alpha-lab/inqbus-2008-io/"
MULTI_DAY_STUDY: Final = "/studies/alpha-lab/days/"
EMPTY_STUDY: Final = "/studies/alpha-lab/bare/"
PATH_PARAMETER_EXAMPLES: Final = {
    "lab": "alpha-lab",
    "slug": "lmu-2010-xen",
    "host": "lmu-athlon64-x2-4800",
    "hypervisor": "xen",
    "machine": "lmu-athlon64-x2-4800",
    "work": "disk-sequential-read",
}
PATH_PARAMETER: Final = re.compile(r"<\w+:(\w+)>")

RouteKind = Literal["page", "part", "file", "action"]
Statuses = tuple[int, int]
"""HTTP statuses for a viewer of the lab, and for its maintainers and admins."""
MEMBERS_READ: Final[Statuses] = (200, 200)
EDITORS_ONLY: Final[Statuses] = (404, 200)
UPLOADERS_ONLY: Final[Statuses] = (403, 200)
EDITOR_ACTION: Final[Statuses] = (404, 302)
UPLOADER_ACTION: Final[Statuses] = (403, 302)
REDIRECTED: Final[Statuses] = (302, 302)
HIDDEN: Final[Statuses] = (404, 404)


@dataclass(frozen=True)
class Tab:
    title: Text
    order: int
    required_attribute: str = ""


@dataclass(frozen=True, kw_only=True)
class Route:
    """URL pattern with metadata for navigation and tests.

    Tests open ``example_urls`` (with and without content), count queries for
    ``query_count_urls`` (relative to the study's URL unless they start with a slash),
    try IDs of other labs in ``id_queries``, and replace ``{words}`` in URLs by IDs.
    """

    name: str
    path: str
    kind: RouteKind
    example_urls: tuple[str, ...]
    query_count_urls: tuple[str, ...]
    member_statuses: Statuses
    anonymous_status: int
    is_cached: bool
    is_private: bool
    id_queries: tuple[str, ...]
    tab: Tab | None


_routes: dict[str, Route] = {}


def routes() -> dict[str, Route]:
    import_module("dashboard.urls")
    return _routes


def study_tabs() -> list[tuple[str, Tab]]:
    tabs = [(name, route.tab) for name, route in routes().items() if route.tab]
    return sorted(tabs, key=lambda item: item[1].order)


def route(
    url_path: str,
    view: Callable[..., HttpResponseBase],
    name: str,
    *,
    kind: RouteKind = "page",
    example_urls: tuple[str, ...] = ("",),
    query_count_urls: tuple[str, ...] | None = None,
    member_statuses: Statuses = MEMBERS_READ,
    anonymous_status: int = 404,
    is_private: bool | None = None,
    id_queries: tuple[str, ...] = (),
    tab: Tab | None = None,
) -> URLPattern:
    """Register a view that checks methods and users itself. Files are in English.

    ``example_urls`` without a leading slash are appended to the example of
    ``url_path``. By default, URLs without parameters are public, and queries are
    counted for pages with no parameters besides the study.
    """
    parameters = set(PATH_PARAMETER.findall(url_path)) - {"form"}
    example = "/" + PATH_PARAMETER.sub(_example, url_path)
    study_relative_path = url_path.removeprefix(STUDY_PATH)
    is_of_study = url_path.startswith(STUDY_PATH) and parameters == {"lab", "slug"}
    if query_count_urls is None:
        is_counted = is_of_study and kind == "page" and anonymous_status == 404
        query_count_urls = (study_relative_path,) if is_counted else ()
    urls = [url if url.startswith("/") else example + url for url in example_urls]
    if tab:
        urls.append(f"{EMPTY_STUDY}{study_relative_path}")
    _routes[name] = Route(
        name=name,
        path=url_path,
        kind=kind,
        example_urls=tuple(urls) if kind == "page" else (),
        query_count_urls=query_count_urls,
        member_statuses=member_statuses,
        anonymous_status=anonymous_status,
        is_cached=getattr(view, "is_cached", False),
        is_private=bool(parameters) if is_private is None else is_private,
        id_queries=id_queries,
        tab=tab,
    )
    return path(url_path, _in_english(view) if kind == "file" else view, name=name)


def _in_english(
    view: Callable[..., HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    @wraps(view)
    def answer(*args: Any, **kwargs: Any) -> HttpResponseBase:
        with translation.override(settings.LANGUAGE_CODE):
            response = view(*args, **kwargs)
        response.headers["Content-Language"] = settings.LANGUAGE_CODE
        return response

    return answer


def _example(parameter: re.Match[str]) -> str:
    name = parameter[1]
    return PATH_PARAMETER_EXAMPLES.get(name) or "{" + name.removesuffix("_id") + "}"


def page(
    url_path: str, view: Callable[..., HttpResponseBase], name: str, **options: Any
) -> URLPattern:
    return route(url_path, require_safe(view), name, **options)


def member_page(
    url_path: str, view: Callable[..., HttpResponse], name: str, **options: Any
) -> URLPattern:
    return page(
        url_path, sign_in_required(view), name, **{"anonymous_status": 302, **options}
    )


def form_page(
    url_path: str, view: Callable[..., HttpResponse], name: str, **options: Any
) -> URLPattern:
    """Register a page with a form for signed-in users, by default for editors."""
    checked = require_http_methods(["GET", "HEAD", "POST"])(sign_in_required(view))
    return route(
        url_path,
        checked,
        name,
        **{"member_statuses": EDITORS_ONLY, "anonymous_status": 302, **options},
    )


def action(
    url_path: str, view: Callable[..., HttpResponse], name: str, **options: Any
) -> URLPattern:
    checked = require_POST(sign_in_required(view))
    options = {
        "kind": "action",
        "member_statuses": EDITOR_ACTION,
        "anonymous_status": 302,
        **options,
    }
    return route(url_path, checked, name, **options)
