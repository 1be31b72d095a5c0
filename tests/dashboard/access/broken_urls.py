"""The product's addresses, and some that fail in every way a page can."""

from typing import NoReturn

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest
from django.urls import path

from config.urls import urlpatterns as product

ERRORS = {400: SuspiciousOperation, 403: PermissionDenied, 500: RuntimeError}


def fail(request: HttpRequest, code: int) -> NoReturn:
    """Raise what Django answers with this status."""
    raise ERRORS[code]("on purpose")


urlpatterns = [path("broken/<int:code>/", fail), *product]
