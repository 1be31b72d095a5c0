"""The scope of a token that each endpoint and method needs.

Reading needs no token, and the scope `read` for private data. The exceptions, and all
methods that write, are listed by the name of their URL. docs/api.md has the same table.
"""

from collections.abc import Mapping
from typing import Final

from django.http import HttpRequest
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

UPLOAD: Final = "upload"
"""For agents: send results, register what they measured, and execute plans."""
MANAGE: Final = "manage"
"""For scripts of people: everything else that changes the lab's data."""

SCOPES: Final[Mapping[str, Mapping[str, str]]] = {
    "archives": {"POST": UPLOAD},
    "bundles": {"POST": UPLOAD},
    "comment": {"PATCH": MANAGE},
    "comments": {"POST": MANAGE},
    "custom-tool": {"PATCH": MANAGE},
    "custom-tool-versions": {"POST": MANAGE},
    "custom-tools": {"POST": MANAGE},
    # The code in the request is the permission.
    "enrolments": {"POST": ""},
    "flag": {"PATCH": MANAGE},
    "host": {"PATCH": MANAGE},
    "hosts": {"POST": UPLOAD},
    "labs": {"POST": MANAGE},
    # Nothing is stored.
    "parse": {"POST": ""},
    "parse-machine": {"POST": ""},
    "part-arrive": {"POST": UPLOAD},
    "part-finish": {"POST": UPLOAD},
    "plan": {"PATCH": MANAGE},
    "plan-next": {"POST": UPLOAD},
    "plan-slots": {"POST": UPLOAD},
    "plans": {"POST": MANAGE},
    "power": {"POST": UPLOAD},
    "review": {"PATCH": MANAGE},
    "reviews": {"POST": MANAGE},
    "runs": {"POST": UPLOAD},
    "runs-bulk": {"POST": UPLOAD},
    "saved-view": {"PATCH": MANAGE, "DELETE": MANAGE},
    "saved-views": {"POST": MANAGE},
    "sessions": {"POST": MANAGE},
    "studies": {"POST": MANAGE},
    # Agents look up their study by changing nothing. Each change needs `manage`.
    "study": {"PATCH": UPLOAD},
    "study-file": {"POST": MANAGE},
    "systems": {"POST": UPLOAD},
    "version": {"PATCH": MANAGE},
    # The target URLs of webhooks may contain a secret.
    "webhook": {"GET": MANAGE, "PATCH": MANAGE, "DELETE": MANAGE},
    "webhook-deliveries": {"GET": MANAGE},
    "webhook-test": {"POST": MANAGE},
    "webhooks": {"GET": MANAGE, "POST": MANAGE},
}


def required_scope(request: Request | HttpRequest) -> str:
    """Return the scope that a token needs for a request; "" if any token will do."""
    match = request.resolver_match
    method = "GET" if request.method == "HEAD" else str(request.method)
    scopes = SCOPES.get(match.url_name or "", {}) if match else {}
    return scopes.get(method, "" if method in SAFE_METHODS else MANAGE)
