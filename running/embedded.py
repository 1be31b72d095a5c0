"""The servers Virtlab brings along: PostgreSQL and Valkey, started in one folder.

    with embedded.services(Path("var")) as services:
        os.environ.update(services.environment())
        services.postgres.restart()

Call it from a thread that lives as long as the servers shall (the main thread).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from running.errors import ServiceError
from running.folders import VarFolder
from running.postgres import OWNER, Postgres
from running.servers import step
from running.valkey import Valkey

__all__ = ["ServiceError", "Services", "services"]


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
        """Stop the broker, then the database."""
        self.valkey.stop(hurried)
        self.postgres.stop(hurried)

    def owner(self) -> dict[str, str]:
        """Return the variable for what makes and changes tables, and nothing else."""
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
    """Run both servers in the folder, alone, for the length of a ``with`` block."""
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
