"""gunicorn's own logs."""

from typing import Any

from gunicorn.glogging import Logger

from benchmarks.monitoring.tracing import JsonLines, Traced
from config import logs


class WebLog(Logger):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's two logs, in the same form as the others."""

    def setup(self, cfg: Any) -> None:
        """Set up its own, then give what it set up our form."""
        super().setup(cfg)
        if logs.chosen_format() != "json":
            return
        for log in (self.error_log, self.access_log):
            for handler in log.handlers:
                handler.addFilter(Traced())
                handler.setFormatter(JsonLines())
