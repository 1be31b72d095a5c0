"""The product's URLs, and URLs that fail with each status."""

from typing import NoReturn

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import HttpRequest
from django.urls import path

from config.urls import urlpatterns as product

ERRORS = {400: SuspiciousOperation, 403: PermissionDenied, 500: RuntimeError}


def fail(request: HttpRequest, code: int) -> NoReturn:
    """Raise the exception for which Django responds with this status."""
    raise ERRORS[code]("on purpose")


urlpatterns = [path("broken/<int:code>/", fail), *product]
