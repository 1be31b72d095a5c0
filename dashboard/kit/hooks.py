"""What Django's settings name: a page for an empty 405, the finder of Plotly's file."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import plotly
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

SERVED = "vendor/plotly.min.js"
PACKAGE_DATA = Path(plotly.__file__).parent / "package_data"


class ButtonAddressMiddleware:
    """Give a page to an answer that would be a blank window.

    Some addresses only take what a button sends; opened, they say why they are empty.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code != 405 or response.content:
            return response
        page = render(request, "405.html", status=405)
        # A 405 has to say what is allowed (RFC 9110).
        page["Allow"] = response["Allow"]
        return page


class PlotlyFinder(BaseFinder):
    """Serve ``vendor/plotly.min.js`` from the wheel and nothing else of it.

    No CDN, and no copy of it in our repository.
    """

    def __init__(self, app_names: Any = None, *args: Any, **kwargs: Any) -> None:
        # The storage's files are named by the prefix; collectstatic puts it back.
        self.storage = FileSystemStorage(location=str(PACKAGE_DATA))
        self.storage.prefix = "vendor"  # type: ignore[attr-defined]  # Django's own way

    def check(self, **kwargs: Any) -> list[Any]:
        """Return nothing to complain about: the wheel is pinned."""
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        """Return where the file lies, for that one path."""
        if path != SERVED:
            return []
        file = str(PACKAGE_DATA / Path(SERVED).name)
        return [file] if find_all else file

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, FileSystemStorage]]:
        """Return the one file for collectstatic."""
        yield Path(SERVED).name, self.storage
