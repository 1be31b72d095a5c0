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

from running import durable_server_checks
from running.embedded_servers import EmbeddedServers
from running.errors import StartError
from running.health_probe import is_healthy
from running.options import Options, child_environment
from running.processes import Child, Program, Rotation, last_lines
from running.server_base import Server
from running.supervision import StopRequested, Supervision, print_line
from running.var_folder import VarFolder

PREPARE_TIMEOUT_S = 1800.0  # migrating a large database takes time
HEALTH_TIMEOUT_S = 120.0
LOAD_TIMEOUT_S = 900.0
LOAD_ATTEMPTS = 3
DETACH_CHECK_S = 1.0
FOREVER_S = float("inf")
# The file descriptor that ends when the database is prepared (`config/gunicorn.py`).
WAIT_VARIABLE = "WAIT_FOR_FD"


class Supervisor:
    def __init__(self, options: Options, supervision: Supervision) -> None:
        self.options = options
        self.supervision = supervision
        self.folder = VarFolder(options.var)
        self.environment: dict[str, str] = {}
        self.owner: dict[str, str] = {}
        self.servers: list[Server] = []
        self.upload_token = options.var / "upload-token"
        self.started = time.monotonic()

    def run(self) -> None:
        # First, so that nothing has changed if the port is in use.
        with self.options.listen() as listener:
            self.folder.prepare()
            lock = self.folder.lock()
            try:
                with self._servers():
                    prepared = self._start_web(listener.fileno())
                    self._prepare()
                    os.close(prepared)
                    self._start()
                    self._load_reference()
                    print_line(f"ready: {self.options.url}")
                    seconds = time.monotonic() - self.started
                    print_line(
                        f"{sign_in_hint(self.options.var)}; "
                        f"Ctrl-C stops ({seconds:.1f} s)"
                    )
                    self._load_data_sets()
                    self.supervision.run_until(lambda: False, FOREVER_S)
            finally:
                lock.release()

    @contextmanager
    def _servers(self) -> Iterator[None]:
        services = None
        try:
            if self.options.has_own_servers:
                print_line(f"starting PostgreSQL and Valkey in {self.options.var}")
                services = EmbeddedServers(
                    self.folder, self.supervision.pause, self.options.archive
                )
                services.start()
            self._set_environment(services)
            yield
        finally:
            self.supervision.stop()
            if services:
                services.stop(lambda: self.supervision.in_a_hurry)
            self.supervision.kill_leftovers()

    def _set_environment(self, services: EmbeddedServers | None) -> None:
        # A power failure may have damaged the counters.
        shutil.rmtree(self.folder.counters, ignore_errors=True)
        own = {
            "SECRET_KEY": os.environ.get("SECRET_KEY")
            or self.folder.secret("secret-key"),
            "AGENT_SIGNING_KEY": os.environ.get("AGENT_SIGNING_KEY")
            or self.folder.secret("agent-signing-key"),
            "PROMETHEUS_MULTIPROC_DIR": str(self.folder.counters),
            "METRICS_TOKEN": os.environ.get("METRICS_TOKEN")
            or self.folder.secret("metrics-token"),
        }
        if services:
            own |= services.environment()
            self.owner = services.owner_environment()
            self.servers = [services.valkey, services.postgres]
        else:
            for advice in durable_server_checks.check(
                self.options.database_url, self.options.redis_url
            ):
                print_line(advice)
        self.environment = child_environment(self.options, own, os.environ)
        # Only for `prepare`, because the owner sees all rows.
        if url := self.environment.pop("OWNER_DATABASE_URL", ""):
            self.owner = self.owner or {"OWNER_DATABASE_URL": url}

    def _prepare(self) -> None:
        print_line("preparing the database")
        program = self._program("prepare", *manage_command("prepare"))
        child = Child(replace(program, environment=self.environment | self.owner))
        self.supervision.start_task(child)
        if self.supervision.wait_for_task(PREPARE_TIMEOUT_S) != 0:
            raise StartError(
                "The database cannot be prepared. The end of "
                f"{child.log}:\n{last_lines(child.log, 15)}"
            )

    def _start_web(self, listener: int) -> int:
        """Start the web process, which imports its modules and then waits.

        Return the file descriptor to close when the database is prepared.
        """
        waits_for, prepared = os.pipe()
        program = self._program(
            "web",
            *web_command(listener, self.folder.logs / "access.log"),
            inherit=[listener, waits_for],
            death_signal=signal.SIGTERM,
        )
        environment = {**self.environment, WAIT_VARIABLE: str(waits_for)}
        web = Child(replace(program, environment=environment))
        web.start()
        self.supervision.add(web)
        return prepared

    def _start(self) -> None:
        """Start the other processes.

        The loader can connect at once: its connection waits in the listening socket.
        """
        print_line("starting web, worker and sweeper")
        self.supervision.chores.append(Rotation(self.folder.logs))
        worker = Child(self._program("worker", *worker_command()))
        sweeper = Child(self._program("sweeper", *manage_command("sweep")))
        # Worker and sweeper have no process yet, so they do not count as dead.
        self.supervision.add(worker, sweeper, *self.servers)
        if self.upload_token.exists() and self.options.loads_reference:
            self.supervision.start_task(self._loader())
        self._wait_for_health()
        # If no study is missing, the loader ends now. Wait for it, because three
        # simultaneous starts would delay readiness.
        self.supervision.run_until(self.supervision.has_no_task, DETACH_CHECK_S)
        worker.start()
        sweeper.start()

    def _wait_for_health(self) -> None:
        health = f"{self.options.url}api/v1/health/"
        web = self.supervision.restarters[0]
        self.supervision.run_until(
            lambda: web.dies_too_often or is_healthy(health), HEALTH_TIMEOUT_S
        )
        if not is_healthy(health):
            raise StartError(
                f"{health} does not return 200. The end of "
                f"{web.program.log}:\n{last_lines(web.program.log, 15)}"
            )

    def _loader(self, *arguments: str) -> Child:
        token_file = str(self.upload_token)
        url = self.options.url.rstrip("/")
        command = ("-m", "running.load_reference", "--url", url, "--token-file")
        return Child(self._program("load", *command, token_file, *arguments, log=None))

    def _load_reference(self) -> None:
        if self.supervision.task is None:
            return
        for _ in range(LOAD_ATTEMPTS - 1):
            if self.supervision.wait_for_task(LOAD_TIMEOUT_S) == 0:
                return
            self.supervision.start_task(self._loader())
        if self.supervision.wait_for_task(LOAD_TIMEOUT_S) != 0:
            print_line(
                "The reference studies are incomplete; the next start will continue."
            )

    def _load_data_sets(self) -> None:
        """Load the large studies while the product runs."""
        if not (self.upload_token.exists() and self.options.loads_data_sets):
            return
        self.supervision.start_task(self._loader("--data-sets"))
        if self.supervision.wait_for_task(FOREVER_S) != 0:
            print_line(
                "The large reference studies are incomplete; the next start will "
                "continue."
            )

    def _program(self, name: str, *command: str, **fields: object) -> Program:
        options: dict[str, Any] = {"log": self.folder.logs / f"{name}.log", **fields}
        return Program(
            name=name,
            command=[sys.executable, *command],
            environment=self.environment,
            **options,
        )


def sign_in_hint(var: Path) -> str:
    if (var / "first-sign-in").exists():
        files = f"sign in with {var}/first-sign-in, upload with {var}/upload-token"
    else:
        files = (
            "use the sign-ins and tokens of the database; for a new token: make "
            'manage ARGS="create_token LAB NAME --upload"'
        )
    return f"{files}; logs are in {var}/log"


def manage_command(name: str, *arguments: str) -> tuple[str, ...]:
    """Return a command without Django's checks, which load all pages and take 1 s."""
    return ("manage.py", name, "--skip-checks", *arguments)


def web_command(listener: int, access_log: Path) -> tuple[str, ...]:
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


def run_supervised(start: Callable[[Supervision], None]) -> int:
    supervision = Supervision()
    supervision.install_signal_handlers()
    try:
        start(supervision)
    except StopRequested:
        print_line("stopped")
    except StartError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def main() -> int:
    return run_supervised(
        lambda supervision: Supervisor(
            Options.from_environment(os.environ), supervision
        ).run()
    )


if __name__ == "__main__":
    sys.exit(main())
