"""What `make run` can be told: PORT, BIND, VAR, REFERENCE, and servers to use."""

import errno
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from running.errors import ServiceError
from running.processes import ROOT

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}
WAITING_CONNECTIONS = 512


@dataclass(frozen=True)
class Options:
    """One server's address, folder and, if not its own, database and broker."""

    host: str
    port: int
    var: Path
    database_url: str = ""
    redis_url: str = ""
    archive: Path | None = None
    has_reference: bool = True

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Options":
        """Read the options; raise ServiceError for values that cannot work."""
        database, broker = (
            environment.get(name, "") for name in ("DATABASE_URL", "REDIS_URL")
        )
        if bool(database) != bool(broker):
            given, missing = "DATABASE_URL", "REDIS_URL"
            if broker:
                given, missing = missing, given
            raise ServiceError(
                f"{given} is set, but {missing} is not. Set both to use servers of "
                "your own, or neither to let Virtlab start its own."
            )
        port = environment.get("PORT") or "8000"
        if not port.isascii() or not port.isdigit() or not 1 <= int(port) <= 65535:
            raise ServiceError(f"PORT={port} is not a number from 1 to 65535.")
        reference = environment.get("REFERENCE") or "on"
        if reference not in {"on", "off"}:
            raise ServiceError(
                f"REFERENCE={reference} is neither on nor off: whether the published "
                "studies are loaded."
            )
        archive = environment.get("ARCHIVE")
        return cls(
            # Not HOST: some shells export the machine's name under it.
            host=environment.get("BIND") or "127.0.0.1",
            port=int(port),
            var=(ROOT / (environment.get("VAR") or "var")).absolute(),
            database_url=database,
            redis_url=broker,
            archive=(ROOT / archive).absolute() if archive else None,
            has_reference=reference == "on",
        )

    @property
    def has_own_servers(self) -> bool:
        return not self.database_url

    @property
    def url(self) -> str:
        host = EVERYWHERE.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    def listen(self) -> socket.socket:
        """Open the port for as long as we run: web processes come and go."""
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        try:
            return socket.create_server(
                (self.host, self.port), family=family, backlog=WAITING_CONNECTIONS
            )
        except OSError as error:
            raise ServiceError(self._why_not_listening(error)) from error

    def _why_not_listening(self, error: OSError) -> str:
        if error.errno == errno.EADDRINUSE:
            return (
                f"Port {self.port} is taken by another program. Choose another one: "
                f"PORT={self.port % 65535 + 1} make run"
            )
        if error.errno == errno.EACCES:
            return (
                f"Port {self.port} is reserved for root. Choose a higher one: "
                "PORT=8000 make run"
            )
        return (
            f"{self.host}:{self.port} is no address of this machine ({error}). Use "
            "BIND=127.0.0.1, or BIND=0.0.0.0 to be reached from other machines."
        )


def allowed_hosts(options: Options, environment: Mapping[str, str]) -> str:
    """Return ALLOWED_HOSTS: what was chosen, and always our own address."""
    own = ["127.0.0.1", "localhost", "[::1]"]
    if options.host not in {*own, "::1"}:
        own += [EVERYWHERE.get(options.host, options.host), socket.gethostname()]
    chosen = [environment["ALLOWED_HOSTS"]] if "ALLOWED_HOSTS" in environment else []
    return ",".join(dict.fromkeys([*chosen, *own]))


def child_environment(
    options: Options, services: Mapping[str, str], environment: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of the product's processes.

    PG* variables would redirect the connection to a server of our own; they stay with
    servers of somebody else's.
    """
    kept = {
        name: value
        for name, value in environment.items()
        if not (options.has_own_servers and name.startswith("PG"))
    }
    return {
        **kept,
        **services,
        "ALLOWED_HOSTS": allowed_hosts(options, environment),
        "VIRTLAB_VAR": str(options.var),
        "PYTHONUNBUFFERED": "1",
        # Threads that each keep room of their own give none of it back.
        "MALLOC_ARENA_MAX": "2",
        "TZ": os.environ.get("TZ", "UTC"),
    }
