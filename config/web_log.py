"""gunicorn's own logs."""

import re
from typing import Any, Final

from gunicorn.glogging import Logger

from benchmarks.monitoring.tracing import JsonLines, Traced
from config import logs

# The secret of a feed stands in its address: feed readers sign in nowhere.
SECRET: Final = re.compile(r"\bvf_[\w-]+")


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

    def atoms(self, *args: Any) -> Any:
        """Return what a line of the access log is made of, without secrets."""
        atoms = super().atoms(*args)
        for name in ("r", "q", "f"):
            atoms[name] = SECRET.sub("vf_...", str(atoms.get(name, "")))
        return atoms
