"""`make chaos`: kill, freeze and starve a product during uploads.

Faults affect only the product's own processes. See docs/reliability.md, make chaos.
"""

import math
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import psycopg
import redis

from agents.client import Client
from devtools.temporary_product import (
    arguments,
    database,
    document,
    exit_code_for,
    running_product,
    send_request,
    temporary_folder,
    upload,
    upload_lines,
    wait_until,
)
from running.embedded_servers import EmbeddedServers
from running.product_launcher import Product
from running.var_folder import VarFolder

STUDY, HOST = "chaos", "chaos-host"
RUNS_PER_SYSTEM = 2_000
BULK_SHARE, MAX_LINES = 0.2, 200
CLIENTS = 8
RESPONSE_TIMEOUT_S = 15.0
PAUSES_S = (0.6, 1.8)
FROZEN_S = 2.0
SETTLE_TIMEOUT_S = 120.0
SLOWEST_RATE = 100
"""Runs that are processed per second on a busy machine."""
REPEATED_SHARE = 0.05
DISK = "8g"
PARTS = {
    "web": ("gunicorn",),
    "worker": ("celery", "worker"),
    "sweeper": ("manage.py", "sweep"),
    "postgres": ("bin/postgres", "-D"),
    "valkey": ("valkey-server",),
}
PAGES = ("/", "/api/v1/health/", "/studies/first-lab/{study}/compare/")


@dataclass
class ClientLog:
    """The uploads of one client, and the responses, by key.

    ``sent`` has the name of the system and the value, ``acked`` the time.
    """

    sent: dict[str, tuple[str, float]] = field(default_factory=dict)
    acked: dict[str, float] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    errors_at: list[float] = field(default_factory=list)


class ProductUnderTest:
    def __init__(self, product: Product, study: str = STUDY) -> None:
        self.product, self.study = product, study
        self.services = EmbeddedServers(VarFolder(product.var))
        self.socket = self.services.valkey.socket

    def processes(self, part: str) -> list[psutil.Process]:
        processes = self.product.processes_matching(*PARTS[part])
        processes.sort(key=lambda process: process.pid)
        if part != "postgres":
            return processes
        # Backends are found as children, because they replace their command line.
        return [
            *processes,
            *(c for parent in processes for c in parent.children(recursive=True)),
        ]

    def broker(self) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self.socket), socket_timeout=3)


Fault = Callable[[ProductUnderTest, random.Random], None]


def _signal(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _killed(part: str, number: int = signal.SIGKILL, target: str = "all") -> Fault:
    def fault(under_test: ProductUnderTest, rng: random.Random) -> None:
        processes = under_test.processes(part)
        targets = {"all": processes, "master": processes[:1], "child": processes[1:]}
        if not targets[target]:
            # The part is not running again yet, or has no children.
            raise ProcessLookupError
        if target == "child":
            _signal([rng.choice(targets[target])], number)
        else:
            _signal(targets[target], number)

    return fault


def _frozen(part: str) -> Fault:
    def fault(under_test: ProductUnderTest, rng: random.Random) -> None:
        processes = under_test.processes(part)
        _signal(processes, signal.SIGSTOP)
        time.sleep(FROZEN_S)
        _signal(processes, signal.SIGCONT)

    return fault


def _flush(under_test: ProductUnderTest, rng: random.Random) -> None:
    under_test.broker().flushall()


def _lose_broker(under_test: ProductUnderTest, rng: random.Random) -> None:
    _signal(under_test.processes("valkey"), signal.SIGKILL)
    shutil.rmtree(under_test.product.var / "valkey", ignore_errors=True)


def _fill_broker(under_test: ProductUnderTest, rng: random.Random) -> None:
    under_test.broker().config_set("maxmemory", 1)
    time.sleep(FROZEN_S)
    with suppress(redis.RedisError):  # reset by a restart
        under_test.broker().config_set("maxmemory", 0)


def _end_sessions(under_test: ProductUnderTest, rng: random.Random) -> None:
    with database(under_test.product.var) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE usename = 'virtlab'"
        )


def _lock_outbox(under_test: ProductUnderTest, rng: random.Random) -> None:
    with database(under_test.product.var) as connection, connection.transaction():
        connection.execute("SET LOCAL lock_timeout = '5s'")
        connection.execute("LOCK TABLE benchmarks_job IN ACCESS EXCLUSIVE MODE")
        time.sleep(FROZEN_S)


def _fill_disk(under_test: ProductUnderTest, rng: random.Random) -> None:
    """Fill the disk (a private mount) for two seconds."""
    folder = under_test.product.var
    # Shrink it to its content. This fails if the content grows meanwhile.
    while not _resize(folder, f"{shutil.disk_usage(folder).used}"):
        pass
    time.sleep(FROZEN_S)
    _resize(folder, DISK)


def _resize(folder: Path, size: str) -> bool:
    command = ["mount", "-o", f"remount,size={size}", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


FAULTS: dict[str, Fault] = {
    "web child killed": _killed("web", target="child"),
    "web killed": _killed("web"),
    "web child asked to stop": _killed("web", signal.SIGTERM, "child"),
    "web frozen": _frozen("web"),
    "worker child killed": _killed("worker", target="child"),
    "worker killed": _killed("worker"),
    "worker asked to stop": _killed("worker", signal.SIGTERM, "master"),
    "worker frozen": _frozen("worker"),
    "sweeper killed": _killed("sweeper"),
    "sweeper frozen": _frozen("sweeper"),
    "postmaster killed": _killed("postgres", target="master"),
    "backend killed": _killed("postgres", target="child"),
    "postgres stopped": _killed("postgres", signal.SIGINT, "master"),
    "postgres frozen": _frozen("postgres"),
    "sessions ended": _end_sessions,
    "outbox locked": _lock_outbox,
    "broker killed": _killed("valkey"),
    "broker lost": _lose_broker,
    "broker flushed": _flush,
    "broker full": _fill_broker,
    "broker frozen": _frozen("valkey"),
}
DISK_FAULTS: dict[str, Fault] = {"disk full": _fill_disk}


class Uploader(threading.Thread):
    """A client that uploads single runs, and in ``bulk_share`` of requests many."""

    def __init__(
        self,
        number: int,
        under_test: ProductUnderTest,
        seed: int,
        stop: threading.Event,
        bulk_share: float = 0.0,
    ):
        super().__init__(daemon=True)
        self.number, self.under_test, self.stop = number, under_test, stop
        self.rng = random.Random(f"{seed} {under_test.study} {number}")
        self.bulk_share = bulk_share
        self.log = ClientLog()

    def run(self) -> None:
        while not self.stop.is_set():
            is_bulk = self.rng.random() < self.bulk_share
            size = self.rng.randint(2, MAX_LINES) if is_bulk else 1
            runs = [self._new_run() for _ in range(size)]
            while not self.stop.is_set():
                status = self._send(runs)
                self.log.statuses[status] += 1
                if status in {200, 202}:
                    if self.rng.random() < REPEATED_SHARE:
                        continue  # as if the response was lost
                    now = time.monotonic()
                    self.log.acked.update((str(run["key"]), now) for run in runs)
                    break
                if status == 500:
                    self.log.errors_at.append(time.monotonic())
                if status in {400, 401, 404, 409, 413, 422}:
                    self.log.refused.append(f"{runs[0]['key']}: {status}")
                    break
                time.sleep(self.rng.uniform(0.05, 0.2))

    def _new_run(self) -> dict[str, Any]:
        key = str(UUID(int=self.rng.getrandbits(128), version=4))
        # Random, because runs with equal values would be duplicates.
        value = self.rng.uniform(50, 60)
        system = f"client {self.number}, part {len(self.log.sent) // RUNS_PER_SYSTEM}"
        self.log.sent[key] = (system, value)
        study, names = self.under_test.study, {"guest_os": system}
        return document(study, HOST, value, key=key, system=names)

    def _send(self, runs: list[dict[str, Any]]) -> int:
        product = self.under_test.product
        if len(runs) == 1:
            return upload(product, runs[0], timeout_s=RESPONSE_TIMEOUT_S)
        return upload_lines(product, runs, timeout_s=RESPONSE_TIMEOUT_S)


class Reader(threading.Thread):
    def __init__(self, under_test: ProductUnderTest, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.port, self.stop, self.log = under_test.product.port, stop, ClientLog()
        self.pages = [page.format(study=under_test.study) for page in PAGES]

    def run(self) -> None:
        while not self.stop.is_set():
            for page in self.pages:
                status = send_request(
                    self.port, page, timeout_s=RESPONSE_TIMEOUT_S
                ).status
                self.log.statuses[status] += 1
                if status == 500:
                    self.log.errors_at.append(time.monotonic())
                self.stop.wait(0.1)


Figures = dict[str, float]
FAILURE_COUNTS = [
    "lost",
    "doubled",
    "unprocessed",
    "wrong",
    "quarantined",
    "refused",
    "errors",
]
LINE = (
    "chaos: seed {seed}, {seconds:.0f} s, {faults} faults of {kinds} kinds, "
    "{acknowledged} acknowledged, {lost} lost, {doubled} doubled, {unprocessed} "
    "without result, {wrong} cells wrong, {quarantined} quarantined wrongly, {refused} "
    "refused, {errors} x 500 ({errors_in_outages} more in outages), acknowledging "
    "again within {slowest_s:.1f} s, settled {settled_s:.1f} s after the end"
)


def chaos(folder: Path, seed: int, seconds: float, *, sabotage: bool) -> Figures:
    """Run a product and apply faults; return the values for `LINE`."""
    with (
        mounted_disk(folder, DISK) as has_disk,
        running_product(folder / "var") as product,
    ):
        return run_faults(
            ProductUnderTest(product),
            seed,
            seconds,
            has_disk=has_disk,
            sabotage=sabotage,
        )


@contextmanager
def mounted_disk(folder: Path, size: str) -> Iterator[bool]:
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs"]
    target = folder / "var"
    target.mkdir()
    mount = subprocess.run([*command, str(target)], capture_output=True, check=False)
    if mount.returncode != 0:
        print("no disk can be mounted, so a full disk is not tested")
    try:
        yield mount.returncode == 0
    finally:
        if mount.returncode == 0:
            subprocess.run(["umount", "--lazy", str(target)], check=False)


def run_faults(
    under_test: ProductUnderTest,
    seed: int,
    seconds: float,
    *,
    has_disk: bool,
    sabotage: bool = False,
    most_runs: float = math.inf,
    bulk_share: float = 0.0,
) -> Figures:
    client, study = under_test.product.client(), under_test.study
    client.create_study({"slug": study, "title": "Chaos", "visibility": "public"})
    client.register_host({"slug": HOST, "facts": {"cores": 2}})
    stop = threading.Event()
    uploaders = [
        Uploader(number, under_test, seed, stop, bulk_share)
        for number in range(CLIENTS)
    ]
    reader = Reader(under_test, stop)
    for thread in (*uploaders, reader):
        thread.start()
    faults = FAULTS | (DISK_FAULTS if has_disk else {})

    def is_enough() -> bool:
        return sum(len(uploader.log.acked) for uploader in uploaders) >= most_runs

    applied = _apply_faults(under_test, faults, seed, seconds, is_enough)
    # Clients go on until the product has recovered, then finish their last requests.
    wait_until(lambda: _is_healthy(client), SETTLE_TIMEOUT_S)
    stop.set()
    for thread in (*uploaders, reader):
        thread.join(30)
    started = time.monotonic()
    if sabotage:
        _sabotage(under_test)
    acknowledged = sum(len(uploader.log.acked) for uploader in uploaders)
    unsettled = _settle(under_test, SETTLE_TIMEOUT_S + acknowledged / SLOWEST_RATE)
    settled_s = time.monotonic() - started
    logs = [uploader.log for uploader in uploaders]
    outages = _outages(applied, logs)
    errors_at = [at for log in (*logs, reader.log) for at in log.errors_at]
    inside = sum(any(a <= at <= b for a, b in outages) for at in errors_at)
    if unsettled:
        print(f"not settled: {unsettled}")
    return {
        "seed": seed,
        "seconds": seconds,
        "faults": len(applied),
        "kinds": len({name for name, _ in applied}),
        "acknowledged": acknowledged,
        "refused": sum(len(log.refused) for log in logs),
        "errors": len(errors_at) - inside,
        "errors_in_outages": inside,
        "slowest_s": max((b - a for a, b in outages), default=0.0),
        "settled_s": settled_s,
        **_compare(under_test, logs),
    }


def _apply_faults(
    under_test: ProductUnderTest,
    faults: dict[str, Fault],
    seed: int,
    seconds: float,
    is_enough: Callable[[], bool],
) -> list[tuple[str, float]]:
    """Apply random faults until the time is over; return names and start times."""
    rng = random.Random(seed)
    applied: list[tuple[str, float]] = []
    end = time.monotonic() + seconds
    remaining: list[str] = []
    while time.monotonic() < end and not is_enough():
        # Apply each kind before repeating any.
        remaining = remaining or rng.sample(sorted(faults), len(faults))
        name = remaining.pop()
        started = time.monotonic()
        try:
            faults[name](under_test, rng)
        except (psycopg.Error, redis.RedisError, OSError, RuntimeError) as error:
            # The part has not recovered from an earlier fault.
            print(f"  {name}: not applied ({type(error).__name__})")
        else:
            applied.append((name, started))
        time.sleep(rng.uniform(*PAUSES_S))
    return applied


def _outages(
    applied: list[tuple[str, float]], logs: list[ClientLog]
) -> list[tuple[float, float]]:
    """Return the time of each fault and that of the next acknowledged upload."""
    acks = sorted(at for log in logs for at in log.acked.values())
    outages = []
    for _, started in applied:
        later = [at for at in acks if at > started]
        outages.append((started, later[0] if later else started + SETTLE_TIMEOUT_S))
    return outages


def _is_healthy(client: Client) -> bool:
    with suppress(Exception):  # not healthy yet
        health = client.get("health/")
        return bool(health["database"] and health["redis"])
    return False


def _settle(under_test: ProductUnderTest, timeout_s: float = SETTLE_TIMEOUT_S) -> str:
    """Wait until all uploads are processed; return "", or a problem after a timeout."""
    waiting = (
        "SELECT count(*) FROM benchmarks_job"
        " WHERE kind = 'upload' AND quarantined_at IS NULL"
    )
    with database(under_test.product.var) as connection:

        def pending() -> Any:
            return connection.execute(waiting).fetchone()

        is_settled = wait_until(lambda: pending() == (0,), timeout_s)
        return "" if is_settled else f"{pending()[0]} uploads wait"


def _compare(under_test: ProductUnderTest, logs: list[ClientLog]) -> dict[str, int]:
    sent = {key: value for log in logs for key, value in log.sent.items()}
    acked = {key for log in logs for key in log.acked}
    with database(under_test.product.var) as connection:
        runs = connection.execute(
            "SELECT run.key::text, run.status FROM benchmarks_run AS run"
            " JOIN benchmarks_study AS study ON study.id = run.study_id"
            " WHERE study.slug = %s",
            [under_test.study],
        ).fetchall()
        cells = connection.execute(
            "SELECT system.guest_os, cell.n, cell.mean FROM benchmarks_cell AS cell"
            " JOIN benchmarks_system AS system ON system.id = cell.system_id"
            " JOIN benchmarks_study AS study ON study.id = cell.study_id"
            " WHERE study.slug = %s",
            [under_test.study],
        ).fetchall()
    stored = Counter(str(key) for key, _ in runs)
    statuses = Counter(str(status) for _, status in runs)
    expected: dict[str, list[float]] = {}
    for key in stored.keys() & sent.keys():
        name, value = sent[key]
        expected.setdefault(name, []).append(value)
    actual = {str(name): (n, mean) for name, n, mean in cells}
    wrong = 0
    for name, values in expected.items():
        n, mean = actual.get(name, (0, math.nan))
        target = math.fsum(values) / len(values)
        is_right = isinstance(mean, float) and math.isclose(mean, target, rel_tol=1e-9)
        if n != len(values) or not is_right:
            wrong += 1
            print(f"  {name}: n {n}, not {len(values)}; mean {mean}, not {target}")
    return {
        "lost": len(acked - stored.keys()),
        "doubled": sum(n - 1 for n in stored.values()),
        "unprocessed": statuses["received"],
        "quarantined": statuses["quarantined"] + statuses["rejected"],
        "wrong": wrong,
    }


def _sabotage(under_test: ProductUnderTest) -> None:
    _settle(under_test)
    with database(under_test.product.var) as connection:
        connection.execute("SET session_replication_role = replica")
        ids = "SELECT id FROM benchmarks_run WHERE study_id = (SELECT id FROM"
        run_ids = f"{ids} benchmarks_study WHERE slug = '{STUDY}') ORDER BY id"
        connection.execute(
            f"DELETE FROM benchmarks_run WHERE id IN ({run_ids} LIMIT 1)"
        )
        connection.execute(
            "UPDATE benchmarks_run SET status = 'received' WHERE id IN"
            f" ({run_ids} LIMIT 1)"
        )
        connection.execute(
            "UPDATE benchmarks_run SET key = (SELECT key FROM benchmarks_run"
            f" WHERE id IN ({run_ids} LIMIT 1)), upload_position = 2"
            f" WHERE id IN ({run_ids} OFFSET 1 LIMIT 1)"
        )


def main() -> int:
    options = arguments(__doc__, "plant errors to find", seed=1, seconds=300.0)
    with temporary_folder("chaos") as folder:
        figures = chaos(folder, options.seed, options.seconds, sabotage=options.control)
    print(LINE.format(**figures))
    planted = ("lost", "unprocessed", "doubled", "wrong")
    return exit_code_for(
        is_good=not any(figures[name] for name in FAILURE_COUNTS),
        control=options.control,
        is_found=all(figures[name] for name in planted),
    )


if __name__ == "__main__":
    sys.exit(main())
