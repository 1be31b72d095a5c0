"""`make overload`: readers, uploaders, slow and idle clients, all at once.

Afterwards the acknowledgements are compared with the database. ``--control`` uses
gunicorn's own threads, which a few slow clients occupy: that must be found.
"""

import argparse
import random
import socket
import sys
import threading
import time
import uuid
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from devtools import product as own
from devtools.product import (
    CpuTime,
    ask,
    document,
    own_folder,
    percentile,
    running_product,
    upload,
)
from running.product import Product, wait_until_processed

READERS, UPLOADERS, SLOW, IDLE = 50, 10, 200, 500
WANTED_S: Final = 2.0
# A byte so often: faster than the server gives up, slower than anybody types.
DRIP_S: Final = 3.0
STUDY: Final = "overload"
HALF_A_HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
HALF_A_BODY = (
    b"POST /api/v1/runs/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"
)
# What loses: a thread reads from its client, and waits for it.
GUNICORNS_OWN = "--worker-class gthread --workers 2 --threads 4"


@dataclass
class Log:
    """The answers that one reader or uploader got."""

    times_s: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    acked: set[str] = field(default_factory=set)


LINE: Final = (
    f"overload: seed {{seed}}, {{seconds:.0f}} s, {READERS} readers, {UPLOADERS} "
    f"uploaders, {SLOW} slow, {IDLE} idle: {{pages}} pages, p95 {{slowest_s:.2f}} s, "
    "{unanswered} unanswered, {acknowledged} acknowledged, {lost} lost, {doubled} "
    "doubled, {errors} x 5xx"
)


def _read(port: int, pages: list[str], seed: str, end: float, log: Log) -> None:
    chance = random.Random(seed)
    while time.monotonic() < end:
        begun = time.monotonic()
        status = ask(port, chance.choice(pages)).status
        log.statuses[status] += 1
        if status:
            log.times_s.append(time.monotonic() - begun)


def _upload(running: Product, seed: str, end: float, log: Log) -> None:
    chance = random.Random(seed)
    while time.monotonic() < end:
        key = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        value = chance.uniform(50, 60)
        status = upload(running, document(STUDY, "overloaded", value, key=key))
        log.statuses[status] += 1
        if status in {200, 202}:
            log.acked.add(key)


class Slow(threading.Thread):
    """Connections that say nothing, and others that say a byte now and then."""

    def __init__(self, port: int, slow: int, idle: int, end: float) -> None:
        super().__init__(daemon=True)
        self.port, self.end = port, end
        begun = [HALF_A_HEAD, HALF_A_BODY] * (slow // 2)
        self.slow = [self._open(each) for each in begun]
        self.idle = [self._open(b"") for _ in range(idle)]

    def _open(self, begun: bytes) -> socket.socket:
        line = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        line.sendall(begun)
        return line

    def run(self) -> None:
        while time.monotonic() < self.end:
            for line in self.slow:
                with suppress(OSError):  # hung up on, as it may be
                    line.sendall(b"x")
            time.sleep(DRIP_S)

    def close(self) -> None:
        for line in (*self.slow, *self.idle):
            line.close()


def overload(running: Product, seed: int, seconds: float) -> dict[str, float]:
    """Overload a product for so long; return the values of ``LINE``."""
    client = running.client()
    slug = own.upload_reference(running, most=200)
    client.create_study({"slug": STUDY, "title": "Overload", "visibility": "public"})
    client.register_host({"slug": "overloaded", "facts": {"cores": 2}})
    address = f"/studies/first-lab/{slug}/"
    pages = ["/", "/labs/", address, f"{address}compare/", f"{address}runs/"]
    pages += [f"{address}flags/", f"/api/v1/cells/?study={slug}"]
    end = time.monotonic() + seconds
    slow = Slow(running.port, SLOW, IDLE, end)
    readers, uploaders = ([Log() for _ in range(n)] for n in (READERS, UPLOADERS))
    threads: list[threading.Thread] = [slow]
    for number, log in enumerate(readers):
        given = (running.port, pages, f"{seed} reader {number}", end, log)
        threads.append(threading.Thread(target=_read, args=given, daemon=True))
    for number, log in enumerate(uploaders):
        sent = (running, f"{seed} uploader {number}", end, log)
        threads.append(threading.Thread(target=_upload, args=sent, daemon=True))
    cpu = CpuTime(running.process.pid)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 2 * own.ANSWERED_S)
    # Of a machine that others use, too, this is what speaks of us.
    taken = sorted(cpu.taken().items(), key=lambda part: -part[1])
    print("CPU time:", ", ".join(f"{part} {used:.1f} s" for part, used in taken))
    slow.close()
    wait_until_processed(client)
    stored = Counter(run["key"] for run in client.get_all("runs/", study=STUDY))
    acked = {key for log in uploaders for key in log.acked}
    logs = [*readers, *uploaders]
    return {
        "seed": seed,
        "seconds": seconds,
        "pages": sum(len(log.times_s) for log in readers),
        "slowest_s": percentile([s for log in readers for s in log.times_s], 0.95),
        "acknowledged": len(acked),
        "lost": len(acked - stored.keys()),
        "doubled": sum(n - 1 for n in stored.values()),
        "errors": sum(
            log.statuses[status] for log in logs for status in range(500, 600)
        ),
        "unanswered": sum(log.statuses[0] for log in logs),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--control", action="store_true", help="a server that loses")
    parser.add_argument(
        "--any-speed", action="store_true", help="a busy machine: speed is only told"
    )
    given = parser.parse_args()
    more = {"GUNICORN_CMD_ARGS": GUNICORNS_OWN} if given.control else {}
    with (
        own_folder("overload") as folder,
        running_product(folder / "var", **more) as running,
    ):
        figures = overload(running, given.seed, given.seconds)
    print(LINE.format(**figures))
    is_quick = (
        figures["pages"] > 0
        and not figures["unanswered"]
        and figures["slowest_s"] < WANTED_S
    )
    is_right = not (figures["lost"] or figures["doubled"] or figures["errors"])
    return own.verdict(
        is_good=is_right and (given.any_speed or is_quick),
        control=given.control,
        is_found=not is_quick,
    )


if __name__ == "__main__":
    sys.exit(main())
