"""URLs of the pages, and redirects of old URLs that may have been cited."""

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

# Old prefixes first, then old parts of paths whose prefix is already new.
REDIRECTS: Final = (
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
def redirect_old_url(request: HttpRequest) -> HttpResponse:
    url = request.get_full_path()
    for old, new in REDIRECTS:
        url = re.sub(old, new, url)
    return redirect(url, permanent=True)


redirect_patterns = [
    re_path(r"^(?:campaigns|snapshots|freezings)/", redirect_old_url),
    re_path(r"^words/$", redirect_old_url),
    re_path(r"^labs/[^/]+/deeds/$", redirect_old_url),
]
