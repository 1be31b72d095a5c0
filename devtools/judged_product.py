import json
import re
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import numpy as np
from numpy.random import Generator

NAMESPACE: Final = uuid.UUID("7a9f2ab4-6d35-4be6-9f4c-4a37a9c3a1c5")
START: Final = datetime(2026, 3, 2, 6, tzinfo=UTC)
TIMEOUT_S: Final = 600
PAGE: Final = 1000
MAX_LINES: Final = 5000
ADVICE: Final = "Start the product with LAB_STUDIES_PER_DAY=0."


class Product:
    """The API with an upload token and, for private studies, a token that reads.

    ``changed_words`` counts verdicts that the check of all runs changed, by study.
    """

    def __init__(self, url: str, token: str, read_token: str = "") -> None:
        self._api = f"{url.rstrip('/')}/api/v1/"
        self._tokens = read_token or token, token
        # An upload token cannot read private data.
        self.visibility = "private" if read_token else "public"
        self.changed_words: Counter[str] = Counter()

    def send(self, path: str, body: bytes | None = None, kind: str = "json") -> Any:
        headers = {
            "Authorization": f"Token {self._tokens[body is not None]}",
            "Content-Type": f"application/{kind}",
        }
        url = path if path.startswith("http") else self._api + path
        while True:
            try:
                request = Request(url, body, headers)
                with urlopen(request, timeout=TIMEOUT_S) as response:
                    return json.load(response)
            except HTTPError as error:
                detail = error.read().decode()
                if error.code != 429:
                    raise RuntimeError(f"{url}: {error.code} {detail}") from error
                wait_s = int(error.headers.get("Retry-After", 1))
                if wait_s > TIMEOUT_S:
                    raise RuntimeError(f"{url}: {detail} {ADVICE}") from error
                time.sleep(wait_s)

    def rows(self, path: str) -> Iterator[dict[str, Any]]:
        page = self.send(path)
        while page:
            yield from page["results"]
            page = self.send(page["next"]) if page["next"] else None

    def add_host(self, slug: str) -> None:
        body = {"slug": slug, "facts": {"cores": 4}}
        self.send("hosts/", json.dumps(body).encode())

    def add_study(self, slug: str, title: str, **fields: Any) -> None:
        body = {"slug": slug, "title": title, "visibility": self.visibility, **fields}
        self.send("studies/", json.dumps(body).encode())

    def upload(self, documents: Iterable[Mapping[str, Any]]) -> None:
        lines = list(map(json.dumps, documents))
        for start in range(0, len(lines), MAX_LINES):
            body = "\n".join(lines[start : start + MAX_LINES]).encode()
            self.send("runs/bulk/", body, "x-ndjson")

    def comparisons(self, study: str) -> list[dict[str, Any]]:
        return list(self.rows(f"comparisons/?study={study}&page_size={PAGE}"))

    def evidence(self, hypervisor: str) -> dict[str, Any]:
        question = {"hypervisor": hypervisor, "work_class": "cpu-floating-point"}
        return next(self.rows(f"evidence/?{urlencode(question)}"))

    def wait(self, study: str) -> None:
        end = time.monotonic() + TIMEOUT_S
        early: set[tuple[int, str]] = set()
        while time.monotonic() < end:
            words = self._words(study)
            counts = self.send(f"studies/{study}/")["counts"]
            if not counts["waiting_runs"] and not counts["unchecked_runs"]:
                self.changed_words[study] += len(early - self._words(study))
                return
            early |= words
            time.sleep(1)
        raise TimeoutError(study)

    def _words(self, study: str) -> set[tuple[int, str]]:
        return {
            (result["id"], result["verdict"])
            for result in self.comparisons(study)
            if result["verdict"] in {"slower", "faster", "equivalent"}
        }


def slugify(name: str) -> str:
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")


def generator_of(name: str, seed: int) -> Generator:
    return np.random.default_rng([uuid.uuid5(NAMESPACE, name).int % 2**32, seed])


def run_document(
    study: str,
    host: str,
    hypervisor: str,
    number: int,
    minute: float | None,
    value_by_size: Mapping[int, float],
    *,
    is_time: bool = False,
) -> dict[str, Any]:
    tool, metric, unit, parameter = (
        ("hackbench", "time", "s", "groups")
        if is_time
        else ("linpack", "performance", "Mflop/s", "size")
    )
    document: dict[str, Any] = {
        "key": str(uuid.uuid5(NAMESPACE, f"{study} {host} {hypervisor} {number}")),
        "study": study,
        "system": {
            "host": host,
            "hypervisor": hypervisor,
            "guest_os": "Linux",
            "guest_bits": 64,
        },
        "tool": tool,
        "samples": [
            {
                "metric": metric,
                "value": value,
                "unit": unit,
                "parameters": {parameter: size},
            }
            for size, value in value_by_size.items()
        ],
    }
    if minute is not None:
        document["started_at"] = (START + timedelta(minutes=minute)).isoformat()
    return document
