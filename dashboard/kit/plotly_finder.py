from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plotly
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

PLOTLY_STATIC_PATH = "vendor/plotly.min.js"
PLOTLY_PACKAGE_DATA = Path(plotly.__file__).parent / "package_data"


class PlotlyFinder(BaseFinder):
    def __init__(self, app_names: Any = None, *args: Any, **kwargs: Any) -> None:
        self.storage = FileSystemStorage(location=str(PLOTLY_PACKAGE_DATA))
        # `collectstatic` reads this attribute, as in Django's own finders.
        self.storage.prefix = "vendor"  # type: ignore[attr-defined]

    def check(self, **kwargs: Any) -> list[Any]:
        return []

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        if path != PLOTLY_STATIC_PATH:
            return []
        file = str(PLOTLY_PACKAGE_DATA / Path(PLOTLY_STATIC_PATH).name)
        return [file] if find_all else file

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, FileSystemStorage]]:
        yield Path(PLOTLY_STATIC_PATH).name, self.storage
