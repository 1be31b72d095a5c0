"""What row-level security costs: `python -m bench.row_security VAR`.

VAR is the folder of a product that runs with the reference studies. In one process, in
turns: as requests are bound, and as the role that sees all, for whom PostgreSQL looks
at no policy and is told nothing. CPU time of the thread and of its PostgreSQL process,
which other work on the machine changes little: the median of each, and the median of
the differences of neighbours.
"""

import argparse
import json
import os
import statistics
import time
import uuid
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from running.embedded import Services
from running.folders import VarFolder
from running.processes import ROOT

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("var", type=Path)
    options.add_argument("--turns", type=int, default=60)
    options.add_argument("--only", default="", help="what has this in its name")
    asked = options.parse_args()
    services = Services(VarFolder(asked.var))
    os.environ |= services.environment() | {
        "VIRTLAB_VAR": str(asked.var),
        "ALLOWED_HOSTS": "testserver",
    }
    import django

    django.setup()
    table = Table("what", "without, ms", "with, ms", "more, ms", "more, %")
    for what, ask in _requests(asked.var).items():
        if asked.only in what:
            table.add_row(what, *(row := _compared(ask, asked.turns)))
            print(what, *row, flush=True)
    Console(width=100).print(table)
    print("load", *os.getloadavg())


def _requests(var: Path) -> dict[str, Callable[[], Any]]:
    from django.contrib.auth.models import User
    from django.test import Client

    from benchmarks import sight
    from benchmarks.models import Cell
    from dashboard.kit import kept

    with sight.everything():
        cell = Cell.objects.filter(n__gt=1, study__visibility="public").first()
        assert cell is not None
        study = f"{cell.study.lab.slug}/{cell.study.slug}"
        person = User.objects.order_by("pk")[0]
    stranger, member = Client(), Client()
    with sight.everything():
        member.force_login(person)

    def page(address: str, client: Client = stranger, anew: bool = False) -> Any:
        def ask() -> None:
            if anew:
                kept._texts.clear()
            answer = client.get(address)
            assert answer.status_code == 200, (address, answer.status_code)

        return ask

    token = {"Authorization": f"Token {(var / 'read-token').read_text().strip()}"}

    def api(address: str) -> Any:
        def ask() -> None:
            assert stranger.get(address, headers=token).status_code == 200

        return ask

    compare, overview = f"/studies/{study}/compare/", "/"
    return {
        "kept page, stranger": page(compare),
        "kept page, member": page(compare, member),
        "overview anew": page(overview, anew=True),
        "overview anew, member": page(overview, member, anew=True),
        "compare anew": page(compare, anew=True),
        "study anew": page(f"/studies/{study}/", anew=True),
        "cell anew": page(f"/studies/{study}/cells/{cell.pk}/", anew=True),
        "flags anew": page(f"/studies/{study}/flags/", anew=True),
        "evidence anew": page("/evidence/", anew=True),
        "runs, token": api("/api/v1/runs/"),
        "systems, token": api("/api/v1/systems/"),
        "cells, token": api(f"/api/v1/cells/?study={study}"),
        **_uploads(var, stranger),
    }


def _uploads(var: Path, client: Any) -> dict[str, Callable[[], Any]]:
    upload = {"Authorization": f"Token {(var / 'upload-token').read_text().strip()}"}
    client.post(
        "/api/v1/studies/",
        json.dumps({"slug": "row-security", "title": "Cost of row-level security"}),
        content_type="application/json",
        headers=upload,
    )
    client.post(
        "/api/v1/hosts/",
        json.dumps({"slug": "row-security"}),
        content_type="application/json",
        headers=upload,
    )

    def run(**more: Any) -> dict[str, Any]:
        return {
            "key": str(uuid.uuid4()),
            "study": "row-security",
            "system": {"host": "row-security", "hypervisor": "native"},
            "tool": "stream",
            **more,
        }

    def send(address: str, body: str, kind: str = "application/json") -> Any:
        answer = client.post(address, body, content_type=kind, headers=upload)
        assert answer.status_code in (200, 201, 202), answer.content[:300]

    samples = [
        {
            "metric": "bandwidth",
            "value": 1.0,
            "unit": "MB/s",
            "parameters": {"kernel": "copy"},
        }
    ]
    printed = (ROOT / "tests/data/stream/5.10-float.txt").read_text()
    return {
        "upload, short way": lambda: send(
            "/api/v1/runs/", json.dumps(run(samples=samples))
        ),
        "20 uploads in bulk": lambda: send(
            "/api/v1/runs/bulk/",
            "\n".join(json.dumps(run(samples=samples)) for _ in range(20)),
            "application/x-ndjson",
        ),
        "upload of raw output": lambda: send(
            "/api/v1/runs/", json.dumps(run(output=printed))
        ),
    }


@contextmanager
def _unbound() -> Any:
    from benchmarks import sight

    bound = sight.current
    sight.current = lambda: sight.EVERYTHING
    try:
        yield
    finally:
        sight.current = bound


def _compared(ask: Callable[[], Any], turns: int) -> tuple[str, ...]:
    found: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(2 * turns + 8):
        is_bound = turn % 2 == 0
        if is_bound:
            took = _cpu_ms(ask)
        else:
            with _unbound():
                took = _cpu_ms(ask)
        if turn >= 8:
            found[is_bound].append(took)
    without, bound = (statistics.median(found[it]) for it in (False, True))
    pairs = zip(found[False], found[True], strict=True)
    more = statistics.median(after - before for before, after in pairs)
    return (
        f"{without:.2f}",
        f"{bound:.2f}",
        f"{more:+.2f}",
        f"{more / without:+.1%}",
    )


def _cpu_ms(ask: Callable[[], Any]) -> float:
    from django.db import connection

    # With a session that is told what to show, as a thread that answers always has.
    connection.ensure_connection()
    process = connection.connection.info.backend_pid
    begun = time.thread_time_ns() + _server_ns(process)
    ask()
    assert connection.connection.info.backend_pid == process
    return (time.thread_time_ns() + _server_ns(process) - begun) / 1e6


def _server_ns(process: int) -> int:
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[0])


if __name__ == "__main__":
    main()
