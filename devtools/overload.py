"""`make overload`: serve readers, uploaders, slow and idle clients at the same time.

See docs/reliability.md, Other commands.
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

from devtools import temporary_product
from devtools.load_generation import CpuTime, percentile
from devtools.temporary_product import (
    RESPONSE_TIMEOUT_S,
    document,
    running_product,
    send_request,
    temporary_folder,
    upload,
)
from running.product_launcher import Product, wait_until_processed

READERS, UPLOADERS, SLOW, IDLE = 50, 10, 200, 500
TARGET_S: Final = 2.0
# Seconds between two bytes, below the server's timeout.
SLOW_SEND_S: Final = 3.0
STUDY: Final = "overload"
PARTIAL_HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
PARTIAL_BODY = (
    b"POST /api/v1/runs/ HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    b"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"
)
# With these options, each thread waits for its client.
GUNICORN_THREADS = "--worker-class gthread --workers 2 --threads 4"


@dataclass
class LoadLog:
    times_s: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    acked: set[str] = field(default_factory=set)


LINE: Final = (
    f"overload: seed {{seed}}, {{seconds:.0f}} s, {READERS} readers, {UPLOADERS} "
    f"uploaders, {SLOW} slow, {IDLE} idle: {{pages}} pages, p95 {{slowest_s:.2f}} s, "
    "{unanswered} unanswered, {acknowledged} acknowledged, {lost} lost, {doubled} "
    "doubled, {errors} x 5xx"
)


def _read(port: int, pages: list[str], seed: str, end: float, log: LoadLog) -> None:
    rng = random.Random(seed)
    while time.monotonic() < end:
        started = time.monotonic()
        status = send_request(port, rng.choice(pages)).status
        log.statuses[status] += 1
        if status:
            log.times_s.append(time.monotonic() - started)


def _upload(product: Product, seed: str, end: float, log: LoadLog) -> None:
    rng = random.Random(seed)
    while time.monotonic() < end:
        key = str(uuid.UUID(int=rng.getrandbits(128), version=4))
        value = rng.uniform(50, 60)
        status = upload(product, document(STUDY, "overloaded", value, key=key))
        log.statuses[status] += 1
        if status in {200, 202}:
            log.acked.add(key)


class SlowClients(threading.Thread):
    """Clients that send one byte now and then (``slow``), or nothing (``idle``)."""

    def __init__(self, port: int, slow: int, idle: int, end: float) -> None:
        super().__init__(daemon=True)
        self.port, self.end = port, end
        starts = [PARTIAL_HEAD, PARTIAL_BODY] * (slow // 2)
        self.slow = [self._open(start) for start in starts]
        self.idle = [self._open(b"") for _ in range(idle)]

    def _open(self, start: bytes) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        sock.sendall(start)
        return sock

    def run(self) -> None:
        while time.monotonic() < self.end:
            for sock in self.slow:
                with suppress(OSError):  # closed by the server
                    sock.sendall(b"x")
            time.sleep(SLOW_SEND_S)

    def close(self) -> None:
        for sock in (*self.slow, *self.idle):
            sock.close()


def overload(product: Product, seed: int, seconds: float) -> dict[str, float]:
    client = product.client()
    slug = temporary_product.upload_reference(product, most=200)
    client.create_study({"slug": STUDY, "title": "Overload", "visibility": "public"})
    client.register_host({"slug": "overloaded", "facts": {"cores": 2}})
    home = f"/studies/first-lab/{slug}/"
    pages = ["/", "/labs/", home, f"{home}compare/", f"{home}runs/"]
    pages += [f"{home}flags/", f"/api/v1/cells/?study={slug}"]
    end = time.monotonic() + seconds
    slow = SlowClients(product.port, SLOW, IDLE, end)
    readers, uploaders = ([LoadLog() for _ in range(n)] for n in (READERS, UPLOADERS))
    threads: list[threading.Thread] = [slow]
    for number, log in enumerate(readers):
        args: tuple[object, ...] = (
            product.port,
            pages,
            f"{seed} reader {number}",
            end,
            log,
        )
        threads.append(threading.Thread(target=_read, args=args, daemon=True))
    for number, log in enumerate(uploaders):
        args = (product, f"{seed} uploader {number}", end, log)
        threads.append(threading.Thread(target=_upload, args=args, daemon=True))
    cpu = CpuTime(product.process.pid)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 2 * RESPONSE_TIMEOUT_S)
    # Printed because, unlike speed, it does not depend on other load.
    used = sorted(cpu.used().items(), key=lambda part: -part[1])
    print("CPU time:", ", ".join(f"{part} {seconds:.1f} s" for part, seconds in used))
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
    parser.add_argument(
        "--control", action="store_true", help="a server that must fail"
    )
    parser.add_argument(
        "--any-speed",
        action="store_true",
        help="on a busy machine: only report the speed",
    )
    options = parser.parse_args()
    environment = {"GUNICORN_CMD_ARGS": GUNICORN_THREADS} if options.control else {}
    with (
        temporary_folder("overload") as folder,
        running_product(folder / "var", **environment) as product,
    ):
        figures = overload(product, options.seed, options.seconds)
    print(LINE.format(**figures))
    is_quick = (
        figures["pages"] > 0
        and not figures["unanswered"]
        and figures["slowest_s"] < TARGET_S
    )
    is_right = not (figures["lost"] or figures["doubled"] or figures["errors"])
    return temporary_product.exit_code_for(
        is_good=is_right and (options.any_speed or is_quick),
        control=options.control,
        is_found=not is_quick,
    )


if __name__ == "__main__":
    sys.exit(main())
