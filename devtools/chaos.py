"""`make chaos`: kill, freeze and starve a product during uploads.

Clients upload as fast as they can and repeat a twentieth of the acknowledged uploads.
Faults hit only the product's own processes. Afterwards the acknowledgements are
compared with the database. A ``--seed`` repeats the faults; ``--control`` plants errors
that must be found.
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
from devtools.product import (
    arguments,
    ask,
    database,
    document,
    own_folder,
    upload,
    verdict,
    wait_until,
)
from running import product
from running.embedded import Services
from running.folders import VarFolder
from running.product import Product

STUDY, HOST = "chaos", "chaos-host"
CLIENTS = 8
ANSWERED_S = 15.0
PAUSES_S = (0.6, 1.8)
FROZEN_S = 2.0
SETTLED_S = 120.0
THROWN_AWAY = 0.05
DISK = "4g"
PARTS = {
    "web": ("gunicorn",),
    "worker": ("celery", "worker"),
    "sweeper": ("manage.py", "sweep"),
    "postgres": ("bin/postgres", "-D"),
    "valkey": ("valkey-server",),
}
PAGES = ("/", "/api/v1/health/", f"/studies/first-lab/{STUDY}/compare/")


@dataclass
class Log:
    """What clients and readers saw; a list is appended to by one thread each."""

    sent: dict[str, tuple[int, float]] = field(default_factory=dict)
    acked: dict[str, float] = field(default_factory=dict)
    statuses: Counter[int] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)
    errors_at: list[float] = field(default_factory=list)


class World:
    """A running product and its parts."""

    def __init__(self, running: Product) -> None:
        self.product = running
        self.services = Services(VarFolder(running.var))
        self.socket = self.services.valkey.socket

    def processes(self, part: str) -> list[psutil.Process]:
        """Return a part's processes, its master first; backends show a title."""
        found = self.product.named(*PARTS[part])
        found.sort(key=lambda process: process.pid)
        if part != "postgres":
            return found
        return [
            *found,
            *(c for parent in found for c in parent.children(recursive=True)),
        ]

    def broker(self) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self.socket), socket_timeout=3)


Fault = Callable[[World, random.Random], None]


def _signal(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def _killed(which: str, number: int = signal.SIGKILL, part: str = "all") -> Fault:
    """Make a fault that sends a signal to all of a part, its master, or one child."""

    def fault(world: World, chance: random.Random) -> None:
        found = world.processes(which)
        chosen = {"all": found, "master": found[:1], "child": found[1:]}[part]
        if not chosen:
            # Not yet back from an earlier fault: a master without children is no child.
            raise ProcessLookupError
        _signal([chance.choice(chosen)] if part == "child" else chosen, number)

    return fault


def _frozen(which: str) -> Fault:
    """Make a fault that stops all processes of a part for two seconds."""

    def fault(world: World, chance: random.Random) -> None:
        found = world.processes(which)
        _signal(found, signal.SIGSTOP)
        time.sleep(FROZEN_S)
        _signal(found, signal.SIGCONT)

    return fault


def _flush(world: World, chance: random.Random) -> None:
    world.broker().flushall()


def _lose_broker(world: World, chance: random.Random) -> None:
    """Kill the broker, and remove all that it kept."""
    _signal(world.processes("valkey"), signal.SIGKILL)
    shutil.rmtree(world.product.var / "valkey", ignore_errors=True)


def _fill_broker(world: World, chance: random.Random) -> None:
    """Let the broker take nothing for two seconds."""
    world.broker().config_set("maxmemory", 1)
    time.sleep(FROZEN_S)
    with suppress(redis.RedisError):  # killed meanwhile, it has forgotten it
        world.broker().config_set("maxmemory", 0)


def _end_sessions(world: World, chance: random.Random) -> None:
    with database(world.product.var) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE usename = 'virtlab'"
        )


def _lock_outbox(world: World, chance: random.Random) -> None:
    """Let nobody touch the outbox for two seconds."""
    with database(world.product.var) as connection, connection.transaction():
        connection.execute("SET LOCAL lock_timeout = '5s'")
        connection.execute("LOCK TABLE benchmarks_job IN ACCESS EXCLUSIVE MODE")
        time.sleep(FROZEN_S)


def _fill_disk(world: World, chance: random.Random) -> None:
    """Leave no byte of the disk for two seconds; it is one of our own."""
    place = world.product.var
    # Made as small as what it holds, which takes no time; it grows meanwhile.
    while not _resize(place, f"{shutil.disk_usage(place).used}"):
        pass
    time.sleep(FROZEN_S)
    _resize(place, DISK)


def _resize(place: Path, size: str) -> bool:
    command = ["mount", "-o", f"remount,size={size}", str(place)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


FAULTS: dict[str, Fault] = {
    "web child killed": _killed("web", part="child"),
    "web killed": _killed("web"),
    "web child asked to stop": _killed("web", signal.SIGTERM, "child"),
    "web frozen": _frozen("web"),
    "worker child killed": _killed("worker", part="child"),
    "worker killed": _killed("worker"),
    "worker asked to stop": _killed("worker", signal.SIGTERM, "master"),
    "worker frozen": _frozen("worker"),
    "sweeper killed": _killed("sweeper"),
    "sweeper frozen": _frozen("sweeper"),
    "postmaster killed": _killed("postgres", part="master"),
    "backend killed": _killed("postgres", part="child"),
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
ON_A_DISK_OF_OUR_OWN: dict[str, Fault] = {"disk full": _fill_disk}


class Uploader(threading.Thread):
    """A client that repeats each upload until it is acknowledged."""

    def __init__(self, number: int, world: World, seed: int, stop: threading.Event):
        super().__init__(daemon=True)
        self.number, self.product, self.stop = number, world.product, stop
        self.chance = random.Random(f"{seed} {number}")
        self.log = Log()

    def run(self) -> None:
        while not self.stop.is_set():
            key = UUID(int=self.chance.getrandbits(128), version=4)
            # All digits: the same value twice would be the same run, uploaded twice.
            value = self.chance.uniform(50, 60)
            self.log.sent[str(key)] = (self.number, value)
            # Each client has its own system, and so its own cell.
            system = {"guest_os": f"client {self.number}"}
            run = document(STUDY, HOST, value, key=str(key), system=system)
            while not self.stop.is_set():
                status = upload(self.product, run, timeout_s=ANSWERED_S)
                self.log.statuses[status] += 1
                if status in {200, 202}:
                    if self.chance.random() < THROWN_AWAY:
                        continue  # as if it had never come
                    self.log.acked[str(key)] = time.monotonic()
                    break
                if status == 500:
                    self.log.errors_at.append(time.monotonic())
                if status in {400, 401, 404, 409, 413, 422}:
                    self.log.refused.append(f"{key}: {status}")
                    break
                time.sleep(self.chance.uniform(0.05, 0.2))


class Reader(threading.Thread):
    def __init__(self, world: World, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.port, self.stop, self.log = world.product.port, stop, Log()

    def run(self) -> None:
        while not self.stop.is_set():
            for page in PAGES:
                status = ask(self.port, page, timeout_s=ANSWERED_S).status
                self.log.statuses[status] += 1
                if status == 500:
                    self.log.errors_at.append(time.monotonic())
                self.stop.wait(0.1)


Figures = dict[str, float]
WRONG = ["lost", "doubled", "unprocessed", "wrong", "quarantined", "refused", "errors"]
LINE = (
    "chaos: seed {seed}, {seconds:.0f} s, {faults} faults of {kinds} kinds, "
    "{acknowledged} acknowledged, {lost} lost, {doubled} doubled, {unprocessed} "
    "without result, {wrong} cells wrong, {quarantined} quarantined wrongly, {refused} "
    "refused, {errors} x 500 ({errors_in_outages} more in outages), acknowledging "
    "again within {slowest_s:.1f} s, settled {settled_s:.1f} s after the end"
)


def chaos(folder: Path, seed: int, seconds: float, *, sabotage: bool) -> Figures:
    """Run a product in a folder, hurt it, and count."""
    with _disk(folder) as own_disk:
        running = product.start(folder / "var", REFERENCE="off")
        try:
            running.wait_until_ready()
            return _hurt(World(running), seed, seconds, own_disk, sabotage)
        finally:
            running.stop()


@contextmanager
def _disk(folder: Path) -> Iterator[bool]:
    """Put a disk of our own into the folder, if we may: one that can be filled."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=755", "tmpfs"]
    place = folder / "var"
    place.mkdir()
    mounted = subprocess.run([*command, str(place)], capture_output=True, check=False)
    if mounted.returncode != 0:
        print("no disk of our own can be mounted: a full one is not tried")
    try:
        yield mounted.returncode == 0
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", "--lazy", str(place)], check=False)


def _hurt(
    world: World, seed: int, seconds: float, own_disk: bool, sabotage: bool
) -> Figures:
    client = world.product.client()
    client.create_study({"slug": STUDY, "title": "Chaos", "visibility": "public"})
    client.register_host({"slug": HOST, "facts": {"cores": 2}})
    stop = threading.Event()
    uploaders = [Uploader(n, world, seed, stop) for n in range(CLIENTS)]
    reader = Reader(world, stop)
    for thread in (*uploaders, reader):
        thread.start()
    faults = FAULTS | (ON_A_DISK_OF_OUR_OWN if own_disk else {})
    done = _do_faults(world, faults, seed, seconds)
    # What is broken is being mended; whatever is in hand gets its answer.
    wait_until(lambda: _is_well(client), SETTLED_S)
    stop.set()
    for thread in (*uploaders, reader):
        thread.join(30)
    begun = time.monotonic()
    if sabotage:
        _sabotage(world)
    unsettled = _settle(world)
    settled_s = time.monotonic() - begun
    logs = [uploader.log for uploader in uploaders]
    outages = _outages(done, logs)
    errors_at = [at for log in (*logs, reader.log) for at in log.errors_at]
    inside = sum(any(a <= at <= b for a, b in outages) for at in errors_at)
    if unsettled:
        print(f"not settled: {unsettled}")
    return {
        "seed": seed,
        "seconds": seconds,
        "faults": len(done),
        "kinds": len({name for name, _ in done}),
        "acknowledged": sum(len(log.acked) for log in logs),
        "refused": sum(len(log.refused) for log in logs),
        "errors": len(errors_at) - inside,
        "errors_in_outages": inside,
        "slowest_s": max((b - a for a, b in outages), default=0.0),
        "settled_s": settled_s,
        **_compare(world, logs),
    }


def _do_faults(
    world: World, faults: dict[str, Fault], seed: int, seconds: float
) -> list[tuple[str, float]]:
    """Do faults until the time is over; return which, and when each began."""
    chance = random.Random(seed)
    done: list[tuple[str, float]] = []
    end = time.monotonic() + seconds
    turn: list[str] = []
    while time.monotonic() < end:
        # Every kind comes once before any comes again.
        turn = turn or chance.sample(sorted(faults), len(faults))
        name = turn.pop()
        begun = time.monotonic()
        try:
            faults[name](world, chance)
        except (psycopg.Error, redis.RedisError, OSError, RuntimeError) as error:
            # What it would have hurt is away by an earlier fault: it does not count.
            print(f"  {name}: not done ({type(error).__name__})")
        else:
            done.append((name, begun))
        time.sleep(chance.uniform(*PAUSES_S))
    return done


def _outages(
    done: list[tuple[str, float]], logs: list[Log]
) -> list[tuple[float, float]]:
    """Return for each fault the time until the next acknowledgement."""
    acks = sorted(at for log in logs for at in log.acked.values())
    outages = []
    for _, begun in done:
        later = [at for at in acks if at > begun]
        outages.append((begun, later[0] if later else begun + SETTLED_S))
    return outages


def _is_well(client: Client) -> bool:
    with suppress(Exception):  # whatever it is: it is not well yet
        said = client.get("health/")
        return bool(said["database"] and said["redis"])
    return False


def _settle(world: World) -> str:
    """Wait until all that was acknowledged is processed; return what is left."""
    waiting = (
        "SELECT count(*) FROM benchmarks_job"
        " WHERE kind = 'upload' AND quarantined_at IS NULL"
    )
    with database(world.product.var) as connection:

        def left() -> Any:
            return connection.execute(waiting).fetchone()

        is_settled = wait_until(lambda: left() == (0,), SETTLED_S)
        return "" if is_settled else f"{left()[0]} uploads wait"


def _compare(world: World, logs: list[Log]) -> dict[str, int]:
    """Count the differences between the database and the acknowledgements."""
    sent = {key: value for log in logs for key, value in log.sent.items()}
    acked = {key for log in logs for key in log.acked}
    with database(world.product.var) as connection:
        runs = connection.execute(
            "SELECT run.key::text, run.status FROM benchmarks_run AS run"
            " JOIN benchmarks_study AS study ON study.id = run.study_id"
            " WHERE study.slug = %s",
            [STUDY],
        ).fetchall()
        cells = connection.execute(
            "SELECT system.guest_os, cell.n, cell.mean FROM benchmarks_cell AS cell"
            " JOIN benchmarks_system AS system ON system.id = cell.system_id"
            " JOIN benchmarks_study AS study ON study.id = cell.study_id"
            " WHERE study.slug = %s",
            [STUDY],
        ).fetchall()
    stored = Counter(str(key) for key, _ in runs)
    statuses = Counter(str(status) for _, status in runs)
    expected: dict[str, list[float]] = {}
    for key in stored.keys() & sent.keys():
        number, value = sent[key]
        expected.setdefault(f"client {number}", []).append(value)
    found = {str(name): (n, mean) for name, n, mean in cells}
    wrong = 0
    for name, values in expected.items():
        n, mean = found.get(name, (0, math.nan))
        right = math.fsum(values) / len(values)
        is_right = isinstance(mean, float) and math.isclose(mean, right, rel_tol=1e-9)
        if n != len(values) or not is_right:
            wrong += 1
            print(f"  {name}: n {n}, mean {mean}; right: n {len(values)}, mean {right}")
    return {
        "lost": len(acked - stored.keys()),
        "doubled": sum(n - 1 for n in stored.values()),
        "unprocessed": statuses["received"],
        "quarantined": statuses["quarantined"] + statuses["rejected"],
        "wrong": wrong,
    }


def _sabotage(world: World) -> None:
    """Lose, forget, double and miscount runs, as a broken product does."""
    _settle(world)
    with database(world.product.var) as connection:
        connection.execute("SET session_replication_role = replica")
        ids = "SELECT id FROM benchmarks_run WHERE study_id = (SELECT id FROM"
        mine = f"{ids} benchmarks_study WHERE slug = '{STUDY}') ORDER BY id"
        connection.execute(f"DELETE FROM benchmarks_run WHERE id IN ({mine} LIMIT 1)")
        connection.execute(
            "UPDATE benchmarks_run SET status = 'received' WHERE id IN"
            f" ({mine} LIMIT 1)"
        )
        connection.execute(
            "UPDATE benchmarks_run SET key = (SELECT key FROM benchmarks_run"
            f" WHERE id IN ({mine} LIMIT 1)), part = 2"
            f" WHERE id IN ({mine} OFFSET 1 LIMIT 1)"
        )


def main() -> int:
    given = arguments(__doc__, "must find a saboteur", seed=1, seconds=300.0)
    with own_folder("chaos") as folder:
        figures = chaos(folder, given.seed, given.seconds, sabotage=given.control)
    print(LINE.format(**figures))
    seen = ("lost", "unprocessed", "doubled", "wrong")
    return verdict(
        is_good=not any(figures[name] for name in WRONG),
        control=given.control,
        is_found=all(figures[name] for name in seen),
    )


if __name__ == "__main__":
    sys.exit(main())
