"""Addresses of the pages, from each folder of `dashboard/pages/`, and old addresses.

What was cited or bookmarked by an old address redirects to its new one.
"""

import re
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import re_path
from django.views.decorators.http import require_safe

from dashboard import pages

app_name = "dashboard"

urlpatterns = [
    address
    for page in iter_modules(pages.__path__)
    for address in import_module(f"{pages.__name__}.{page.name}.views").urlpatterns
]

# First old prefixes, then old parts of paths that already have a new prefix.
RENAMED: Final = (
    (r"^/campaigns/", "/studies/"),
    (r"^/snapshots/", "/versions/"),
    (r"^/freezings/", "/publishing/"),
    (r"^/words/", "/glossary/"),
    (r"^(/studies/[^/]+/[^/]+)/influence/", r"\1/factor-effects/"),
    (r"^(/studies/[^/]+/[^/]+)/history/", r"\1/trend/"),
    (r"^(/studies/[^/]+/[^/]+)/freeze/", r"\1/publish/"),
    (r"^(/labs/[^/]+)/deeds/", r"\1/audit-log/"),
)


@require_safe
def lead_on(request: HttpRequest) -> HttpResponse:
    """Redirect an old address permanently to its new one, with its query."""
    address = request.get_full_path()
    for old, new in RENAMED:
        address = re.sub(old, new, address)
    return redirect(address, permanent=True)


moved_patterns = [
    re_path(r"^(?:campaigns|snapshots|freezings)/", lead_on),
    re_path(r"^words/$", lead_on),
    re_path(r"^labs/[^/]+/deeds/$", lead_on),
]
