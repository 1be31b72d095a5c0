"""Serve Plotly from its wheel: no CDN, and no copy of it in our repository."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plotly
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

SERVED = "vendor/plotly.min.js"
PACKAGE_DATA = Path(plotly.__file__).parent / "package_data"


class PlotlyFinder(BaseFinder):
    """Finds ``vendor/plotly.min.js`` and nothing else of the wheel."""

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
        found = str(PACKAGE_DATA / Path(SERVED).name)
        return [found] if find_all else found

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, FileSystemStorage]]:
        """Return the one file for collectstatic."""
        yield Path(SERVED).name, self.storage
