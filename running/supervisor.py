"""Run the whole product until Ctrl-C: `python -m running.supervisor`."""

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from running import durability
from running.embedded import Services
from running.errors import ServiceError
from running.folders import VarFolder
from running.options import Options, child_environment
from running.probe import is_healthy
from running.processes import Child, Program, Rotation, last_lines
from running.servers import Server
from running.supervision import Stopped, Supervision, say

PREPARE_S = 1800.0  # a migration of a large database takes its time
HEALTHY_S = 120.0
LOAD_S = 900.0
LOAD_TRIES = 3
ALONE_S = 1.0
FOREVER_S = float("inf")


class Supervisor:
    """Starts the product, and looks after it until somebody asks to stop."""

    def __init__(self, options: Options, supervision: Supervision) -> None:
        self.options = options
        self.supervision = supervision
        self.folder = VarFolder(options.var)
        self.environment: dict[str, str] = {}
        self.owner: dict[str, str] = {}
        self.servers: list[Server] = []
        self.upload_token = options.var / "upload-token"
        self.begun = time.monotonic()

    def run(self) -> None:
        # The port first: if it is taken, nothing has been started or changed.
        with self.options.listen() as listener:
            self.folder.prepare()
            lock = self.folder.lock()
            try:
                with self._servers():
                    self._prepare()
                    self._start(listener.fileno())
                    self._load_reference()
                    say(f"ready: {self.options.url}")
                    seconds = time.monotonic() - self.begun
                    say(f"{way_in(self.options.var)}; Ctrl-C stops ({seconds:.1f} s)")
                    self.supervision.watch_until(lambda: False, FOREVER_S)
            finally:
                lock.release()

    @contextmanager
    def _servers(self) -> Iterator[None]:
        """Start our own servers, or check the given ones; stop all at the end."""
        services = None
        try:
            if self.options.has_own_servers:
                say(f"starting PostgreSQL and Valkey in {self.options.var}")
                services = Services(
                    self.folder, self.supervision.pause, self.options.archive
                )
                services.start()
            self._set_environment(services)
            yield
        finally:
            self.supervision.stop()
            if services:
                services.stop(lambda: self.supervision.in_a_hurry)
            self.supervision.leave_nothing()

    def _set_environment(self, services: Services | None) -> None:
        # Those of an earlier start may be torn, by a power cut.
        shutil.rmtree(self.folder.counters, ignore_errors=True)
        own = {
            "SECRET_KEY": os.environ.get("SECRET_KEY")
            or self.folder.secret("secret-key"),
            "PROMETHEUS_MULTIPROC_DIR": str(self.folder.counters),
            "METRICS_TOKEN": os.environ.get("METRICS_TOKEN")
            or self.folder.secret("metrics-token"),
        }
        if services:
            own |= services.environment()
            self.owner = services.owner()
            self.servers = [services.valkey, services.postgres]
        else:
            for advice in durability.check(
                self.options.database_url, self.options.redis_url
            ):
                say(advice)
        self.environment = child_environment(self.options, own, os.environ)
        # For `prepare` alone: whoever owns the tables sees all rows.
        if url := self.environment.pop("OWNER_DATABASE_URL", ""):
            self.owner = self.owner or {"OWNER_DATABASE_URL": url}

    def _prepare(self) -> None:
        """Migrate, collect static files, make the first lab; idempotent."""
        say("preparing the database")
        program = self._program("prepare", *manage("prepare"))
        child = Child(replace(program, environment=self.environment | self.owner))
        self.supervision.begin(child)
        if self.supervision.finish(PREPARE_S) != 0:
            raise ServiceError(
                "The database cannot be prepared. The end of "
                f"{child.log}:\n{last_lines(child.log, 15)}"
            )

    def _start(self, listener: int) -> None:
        """Start web, worker and sweeper, and the upload of the reference studies.

        Web comes first, being awaited; the loader's connection waits in our listener.
        """
        say("starting web, worker and sweeper")
        self.supervision.chores.append(Rotation(self.folder.logs))
        web, worker, sweeper = (
            Child(program)
            for program in (
                self._program(
                    "web",
                    *web_command(listener, self.folder.logs / "access.log"),
                    inherit=[listener],
                    death_signal=signal.SIGTERM,
                ),
                self._program("worker", *worker_command()),
                self._program("sweeper", *manage("sweep")),
            )
        )
        web.start()
        # Before they run: what has no process yet does not count as dead.
        self.supervision.keep(web, worker, sweeper, *self.servers)
        if self.upload_token.exists() and self.options.has_reference:
            self.supervision.begin(self._loader())
        self._wait_for_health()
        # Nothing to upload, and it ends now; three starts at once would delay "ready".
        self.supervision.watch_until(self.supervision.is_alone, ALONE_S)
        worker.start()
        sweeper.start()

    def _wait_for_health(self) -> None:
        health = f"{self.options.url}api/v1/health/"
        # Kept before all others.
        web = self.supervision.keepers[0]
        self.supervision.watch_until(
            lambda: web.dies_too_often or is_healthy(health), HEALTHY_S
        )
        if not is_healthy(health):
            raise ServiceError(
                f"{health} does not answer 200. The end of "
                f"{web.thing.log}:\n{last_lines(web.thing.log, 15)}"
            )

    def _loader(self) -> Child:
        token_file = str(self.upload_token)
        url = self.options.url.rstrip("/")
        command = ("-m", "running.load_reference", "--url", url, "--token-file")
        # Its progress is for the terminal.
        return Child(self._program("load", *command, token_file, log=None))

    def _load_reference(self) -> None:
        """Wait for the reference studies; what is there is not uploaded again."""
        if self.supervision.once is None:
            return
        for _ in range(LOAD_TRIES - 1):
            if self.supervision.finish(LOAD_S) == 0:
                return
            self.supervision.begin(self._loader())
        if self.supervision.finish(LOAD_S) != 0:
            say("The reference studies are not complete; the next start goes on.")

    def _program(self, name: str, *command: str, **more: object) -> Program:
        given: dict[str, Any] = {"log": self.folder.logs / f"{name}.log", **more}
        return Program(
            name=name,
            command=[sys.executable, *command],
            environment=self.environment,
            **given,
        )


def way_in(var: Path) -> str:
    """Return where to find the first sign-in; a restored database has none."""
    if (var / "first-sign-in").exists():
        files = f"sign in with {var}/first-sign-in, upload with {var}/upload-token"
    else:
        files = (
            "sign-ins and tokens are those of the database; for a new token: make "
            'manage ARGS="create_token LAB NAME --upload"'
        )
    return f"{files}; logs are in {var}/log"


def manage(name: str, *arguments: str) -> tuple[str, ...]:
    """Return the command line of a management command.

    Without Django's checks, which load every page: they are of the program, `make
    check` has run them, and every start would wait a second for them.
    """
    return ("manage.py", name, "--skip-checks", *arguments)


def web_command(listener: int, access_log: Path) -> tuple[str, ...]:
    """Return the web server's command line; the listening socket is inherited."""
    return (
        *("-m", "gunicorn", "--config", "config/gunicorn.py"),
        *("--bind", f"fd://{listener}", "--access-logfile", str(access_log)),
        "config.wsgi:application",
    )


def worker_command() -> tuple[str, ...]:
    return (
        *("-m", "celery", "-A", "config", "worker", "--concurrency", "2"),
        *("--loglevel", "INFO"),
        *("--without-gossip", "--without-mingle"),
    )


def guarded(work: Callable[[Supervision], None]) -> int:
    """Run something under supervision; return the exit code."""
    supervision = Supervision()
    supervision.listen()
    try:
        work(supervision)
    except Stopped:
        say("stopped")
    except ServiceError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def main() -> int:
    return guarded(
        lambda supervision: Supervisor(Options.of(os.environ), supervision).run()
    )


if __name__ == "__main__":
    sys.exit(main())
