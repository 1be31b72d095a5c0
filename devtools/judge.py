"""`make judge`: upload simulated worlds to a running product and count its verdicts.

Each world of `tests.benchmarks.analysis.worlds` becomes one study per seed. The program
uploads the runs in bulk, waits for the checks, and reads verdicts and flags through the
API, as an agent would.
"""

import argparse
import json
import re
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np

from benchmarks.analysis.verdicts import Verdict
from tests.benchmarks.analysis.worlds import WORLDS, Drawn, Floats, World, correct

NAMESPACE: Final = uuid.UUID("7a9f2ab4-6d35-4be6-9f4c-4a37a9c3a1c5")
START: Final = datetime(2026, 3, 2, 6, tzinfo=UTC)
# Some guests are faster: verdicts have to be right in both directions.
TRUTHS: Final = np.repeat([1.0, 0.98, 0.95, 0.9, 1 / 0.95], [20, 8, 8, 8, 4])
WORDS: Final = {
    verdict.slug: verdict
    for verdict in (Verdict.SLOWER, Verdict.FASTER, Verdict.EQUIVALENT)
}
TIMEOUT_S: Final = 300
PAGE: Final = 1000


class Product:
    def __init__(self, url: str, token: str, read_token: str = "") -> None:
        self._api, self._token = f"{url.rstrip('/')}/api/v1/", token
        self._read_token = read_token or token
        # An upload token cannot read private data.
        self.visibility = "private" if read_token else "public"

    def send(self, path: str, body: bytes | None = None, kind: str = "json") -> Any:
        headers = {
            "Authorization": f"Token {self._token if body else self._read_token}",
            "Content-Type": f"application/{kind}",
        }
        url = path if path.startswith("http") else self._api + path
        while True:
            try:
                with urlopen(Request(url, body, headers), timeout=TIMEOUT_S) as response:
                    return json.load(response)
            except HTTPError as error:
                detail = error.read().decode()
                if error.code != 429:
                    raise RuntimeError(f"{url}: {error.code} {detail}") from error
                time.sleep(int(error.headers.get("Retry-After", 1)))

    def post(self, path: str, **fields: Any) -> Any:
        return self.send(path, json.dumps(fields).encode())

    def rows(self, path: str) -> Iterator[dict[str, Any]]:
        page = self.send(path)
        while page:
            yield from page["results"]
            page = self.send(page["next"]) if page["next"] else None

    def wait(self, study: str) -> None:
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            counts = self.send(f"studies/{study}/")["counts"]
            if not counts["waiting_runs"] and not counts["unchecked_runs"]:
                return
            time.sleep(1)
        raise TimeoutError(study)


@dataclass(frozen=True)
class Judged:
    """The product's statements on the cells of a world; arrays by cell."""

    world: World
    truth: Floats
    word: np.ndarray
    is_refused: np.ndarray
    is_weak: np.ndarray
    is_decidable: np.ndarray
    covers: np.ndarray
    reasons: tuple[tuple[str, ...], ...]
    flags: tuple[tuple[str, ...], ...]


def slug_of(world: World, seed: int) -> str:
    return f"judge-{re.sub('[^a-z0-9]+', '-', world.name.lower()).strip('-')}-{seed}"


def documents(world: World, drawn: Drawn, study: str) -> Iterator[dict[str, Any]]:
    """Yield one run per start of a side, with a sample of each cell."""
    tool, metric, unit, parameter = (
        ("linpack", "performance", "Mflop/s", "size")
        if world.better == "higher"
        else ("hackbench", "time", "s", "groups")
    )
    for hypervisor, side in (("native", drawn.native), ("KVM", drawn.guest)):
        for run in range(side.values.shape[1]):
            document = {
                "key": str(uuid.uuid5(NAMESPACE, f"{study} {hypervisor} {run}")),
                "study": study,
                "system": {
                    "host": study,
                    "hypervisor": hypervisor,
                    "guest_os": "Linux",
                    "guest_bits": 64,
                },
                "tool": tool,
                "samples": [
                    {
                        "metric": metric,
                        "value": float(value),
                        "unit": unit,
                        "parameters": {parameter: 1000 + cell},
                    }
                    for cell, value in enumerate(side.values[:, run])
                ],
            }
            if side.minutes is not None:
                start = START + timedelta(minutes=float(side.minutes[run]))
                document["started_at"] = start.isoformat()
            if side.sessions:
                document["session"] = side.sessions[run]
            yield document


def draw(world: World, seed: int) -> Drawn:
    number = int(uuid.uuid5(NAMESPACE, world.name).int % 2**32)
    return world.draw(np.random.default_rng([number, seed]), TRUTHS)


def upload(product: Product, world: World, seed: int) -> tuple[str, Drawn]:
    study, drawn = slug_of(world, seed), draw(world, seed)
    product.post("hosts/", slug=study, facts={"cores": 4})
    product.post("studies/", slug=study, title=f"{world.name}, seed {seed}", visibility=product.visibility)
    lines = [json.dumps(document) for document in documents(world, drawn, study)]
    product.send("runs/bulk/", "\n".join(lines).encode(), "x-ndjson")
    return study, drawn


def read(product: Product, world: World, study: str, drawn: Drawn) -> Judged:
    product.wait(study)
    rows: dict[int, dict[str, Any]] = {}
    cell_of: dict[int, int] = {}
    parameter = "size" if world.better == "higher" else "groups"
    for row in product.rows(f"comparisons/?study={study}&page_size={PAGE}"):
        number = int(row["parameters"][parameter]) - 1000
        cell_of[row["id"]] = number
        if row["hypervisor"] != "native":
            rows[number] = row
    flags: list[set[str]] = [set() for _ in TRUTHS]
    for flag in product.rows(f"flags/?study={study}&page_size={PAGE}"):
        name = f"{flag['rule']} ({flag['severity']})"
        for cell in _cells_of(flag):
            if cell in cell_of:
                flags[cell_of[cell]].add(name)
    ordered = [rows[number] for number in range(len(TRUTHS))]
    word = np.array([WORDS.get(row["verdict"], 0) for row in ordered])
    ends = np.array(
        [(row["low"] or np.nan, row["high"] or np.nan) for row in ordered], dtype=float
    )
    covers = np.where(
        np.isnan(ends[:, 0]),
        np.nan,
        (ends[:, 0] <= drawn.truth) & (drawn.truth <= ends[:, 1]),
    )
    return Judged(
        world,
        drawn.truth,
        word,
        np.array([row["verdict"] == "not_assessed" for row in ordered]),
        np.array([bool(row["is_weak"]) for row in ordered]),
        drawn.decided() & world.sees_noise,
        covers,
        tuple(tuple(row["reason_codes"]) for row in ordered),
        tuple(tuple(sorted(names)) for names in flags),
    )


def _cells_of(flag: dict[str, Any]) -> set[int]:
    return {int(one["id"]) for one in flag["subjects"] if one["kind"] == "cell"}


@dataclass(frozen=True)
class Summary:
    """Shares over the cells of a world, in percent; NaN without cells."""

    cells: int
    wrong_at_1: float
    wrong_at_edge: float
    wrong_elsewhere: float
    weak: float
    refused: float
    flagged: float
    decidable_with_word: float
    decidable: int
    coverage: float


def summary(judged: Sequence[Judged]) -> Summary:
    def joined(name: str) -> Any:
        return np.concatenate([getattr(one, name) for one in judged])

    truth, word = joined("truth"), joined("word")
    right = correct(truth)
    different = (word == Verdict.SLOWER) | (word == Verdict.FASTER)
    wrong = (word > 0) & (word != right)
    at_1, at_edge = truth == 1, np.isclose(np.abs(truth - 1), 0.02)
    refused = joined("is_refused")
    flagged = np.array([bool(names) for one in judged for names in one.flags])
    decidable = joined("is_decidable")
    weak = joined("is_weak") & (word > 0)

    def share(values: Any) -> float:
        return float(100 * np.nanmean(values)) if len(values) else float("nan")

    return Summary(
        len(truth),
        share((different & ~weak)[at_1]),
        share((wrong & ~weak)[at_edge]),
        share((wrong & ~weak)[~at_1 & ~at_edge]),
        share(weak),
        # Implausible if a guest is faster than native.
        share(refused[truth <= 1]),
        share(flagged[truth <= 1]),
        share(((word == right) & (word > 0))[decidable]),
        int(decidable.sum()),
        share(joined("covers")) if not np.isnan(joined("covers")).all() else float("nan"),
    )


COLUMNS: Final = (
    "world", "wrong at 1", "wrong at 0.98", "wrong elsewhere", "weak words", "refused",
    "flagged", "decidable with a word", "decidable", "coverage",
)  # fmt: skip


def table_row(world: World, result: Summary) -> str:
    shares = (
        result.wrong_at_1, result.wrong_at_edge, result.wrong_elsewhere, result.weak,
        result.refused, result.flagged, result.decidable_with_word,
    )  # fmt: skip
    cells = [world.name, *(f"{share:.1f}" for share in shares)]
    return f"| {' | '.join([*cells, str(result.decidable), f'{result.coverage:.1f}'])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("token_file", type=Path)
    parser.add_argument("--read-token-file", type=Path)
    parser.add_argument("--worlds", default="", help="only worlds whose name matches")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--reasons", action="store_true", help="count codes and flags")
    options = parser.parse_args()
    tokens = [
        file.read_text().strip()
        for file in (options.token_file, options.read_token_file)
        if file
    ]
    product = Product(options.url, *tokens)
    worlds = [world for world in WORLDS if re.search(options.worlds, world.name)]
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    print(f"| {' | '.join(COLUMNS)} |\n|---|{'---:|' * (len(COLUMNS) - 1)}", flush=True)
    uploads = {world.name: [upload(product, world, seed) for seed in seeds] for world in worlds}
    for world in worlds:
        judged = [read(product, world, *one) for one in uploads[world.name]]
        print(table_row(world, summary(judged)), flush=True)
        if options.reasons:
            for what in ("reasons", "flags"):
                found = Counter(
                    name for one in judged for names in getattr(one, what) for name in names
                )
                if found:
                    print(f"    {what}: {dict(found.most_common())}")


if __name__ == "__main__":
    main()
