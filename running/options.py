"""Options of `make run`: PORT, BIND, VAR, LOAD_REFERENCE, and external servers."""

import errno
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from running.errors import StartError
from running.processes import ROOT

WILDCARD_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
LISTEN_BACKLOG = 512


@dataclass(frozen=True)
class Options:
    host: str
    port: int
    var: Path
    database_url: str = ""
    redis_url: str = ""
    archive: Path | None = None
    loads_reference: bool = True
    loads_data_sets: bool = True

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Options":
        """Read the options; raise StartError for invalid values."""
        database, broker = (
            environment.get(name, "") for name in ("DATABASE_URL", "REDIS_URL")
        )
        if bool(database) != bool(broker):
            present, missing = "DATABASE_URL", "REDIS_URL"
            if broker:
                present, missing = missing, present
            raise StartError(
                f"{present} is set, but {missing} is not. Set both to use your own "
                "servers, or neither to let Virtlab start its own."
            )
        port = environment.get("PORT") or "8000"
        if not port.isascii() or not port.isdigit() or not 1 <= int(port) <= 65535:
            raise StartError(f"PORT={port} is not a number from 1 to 65535.")
        reference = environment.get("LOAD_REFERENCE") or "on"
        if reference not in {"on", "small", "off"}:
            raise StartError(
                f"LOAD_REFERENCE={reference} is neither on, small nor off. It controls "
                "whether the published studies are loaded; small leaves out the large "
                "ones."
            )
        archive = environment.get("ARCHIVE")
        return cls(
            # Not HOST: some shells set it to the machine's name.
            host=environment.get("BIND") or "127.0.0.1",
            port=int(port),
            var=(ROOT / (environment.get("VAR") or "var")).absolute(),
            database_url=database,
            redis_url=broker,
            archive=(ROOT / archive).absolute() if archive else None,
            loads_reference=reference != "off",
            loads_data_sets=reference == "on",
        )

    @property
    def has_own_servers(self) -> bool:
        return not self.database_url

    @property
    def url(self) -> str:
        host = WILDCARD_HOSTS.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    def listen(self) -> socket.socket:
        """Open the socket that all web processes share; raise StartError."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server(
                (self.host, self.port), family=family, backlog=LISTEN_BACKLOG
            )
        except OSError as error:
            raise StartError(self._listen_error_message(error)) from error

    def _listen_error_message(self, error: OSError) -> str:
        if error.errno == errno.EADDRINUSE:
            return (
                f"Port {self.port} is used by another program. Choose another port: "
                f"PORT={self.port % 65535 + 1} make run"
            )
        if error.errno == errno.EACCES:
            return (
                f"Port {self.port} needs root. Choose a higher port: PORT=8000 make run"
            )
        return (
            f"{self.host}:{self.port} is not an address of this machine ({error}). Use "
            "BIND=127.0.0.1, or BIND=0.0.0.0 to accept other machines."
        )


def allowed_hosts(options: Options, environment: Mapping[str, str]) -> str:
    own = ["127.0.0.1", "localhost", "[::1]"]
    if options.host not in {*own, "::1"}:
        own += [WILDCARD_HOSTS.get(options.host, options.host), socket.gethostname()]
    configured = (
        [environment["ALLOWED_HOSTS"]] if "ALLOWED_HOSTS" in environment else []
    )
    return ",".join(dict.fromkeys([*configured, *own]))


def child_environment(
    options: Options, services: Mapping[str, str], environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of the product's processes.

    PG* variables are removed: only the URLs, or our own servers, name the database.
    """
    inherited = {
        name: value for name, value in environment.items() if not name.startswith("PG")
    }
    return {
        **inherited,
        **services,
        "ALLOWED_HOSTS": allowed_hosts(options, environment),
        "VIRTLAB_VAR": str(options.var),
        "PYTHONUNBUFFERED": "1",
        # Few malloc arenas, because each keeps its freed memory.
        "MALLOC_ARENA_MAX": "2",
        "TZ": os.environ.get("TZ", "UTC"),
    }
