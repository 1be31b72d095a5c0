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
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import numpy as np
from numpy.random import Generator

from benchmarks.analysis.verdicts import Verdict
from tests.benchmarks.analysis.simulation import PoolCoverage, coverage_of_pools
from tests.benchmarks.analysis.world_verdicts import (
    COLUMNS,
    TRUTHS,
    Judged,
    summarize_world,
)
from tests.benchmarks.analysis.worlds import (
    POOL_WORLDS,
    STEP_MIN,
    WORLDS,
    Drawn,
    Floats,
    PoolWorld,
    World,
    draw_machines,
)

NAMESPACE: Final = uuid.UUID("7a9f2ab4-6d35-4be6-9f4c-4a37a9c3a1c5")
START: Final = datetime(2026, 3, 2, 6, tzinfo=UTC)
WORDS: Final = {
    verdict.slug: verdict
    for verdict in (Verdict.SLOWER, Verdict.FASTER, Verdict.EQUIVALENT)
}
TIMEOUT_S: Final = 300
PAGE: Final = 1000
MAX_LINES: Final = 5000
POOLS: Final = 12


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
                with urlopen(
                    Request(url, body, headers), timeout=TIMEOUT_S
                ) as response:
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

    def evidence(self, hypervisor: str) -> dict[str, Any]:
        query = urlencode(
            {"hypervisor": hypervisor, "work_class": "cpu-floating-point"}
        )
        return next(self.rows(f"evidence/?{query}"))

    def wait(self, study: str) -> None:
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            counts = self.send(f"studies/{study}/")["counts"]
            if not counts["waiting_runs"] and not counts["unchecked_runs"]:
                return
            time.sleep(1)
        raise TimeoutError(study)


def _slug(name: str) -> str:
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")


def slug_of(world: World | PoolWorld, seed: int) -> str:
    return f"judge-{_slug(world.name)}-{seed}"


def _generator(name: str, seed: int) -> Generator:
    return np.random.default_rng([uuid.uuid5(NAMESPACE, name).int % 2**32, seed])


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
    return world.draw(_generator(world.name, seed), TRUTHS)


def upload(product: Product, world: World, seed: int) -> tuple[str, Drawn]:
    study, drawn = slug_of(world, seed), draw(world, seed)
    product.post("hosts/", slug=study, facts={"cores": 4})
    product.post(
        "studies/",
        slug=study,
        title=f"{world.name}, seed {seed}",
        visibility=product.visibility,
    )
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


def _run(
    study: str, host: str, hypervisor: str, run: int, minute: float, value: float
) -> dict[str, Any]:
    return {
        "key": str(uuid.uuid5(NAMESPACE, f"{study} {host} {hypervisor} {run}")),
        "study": study,
        "system": {
            "host": host,
            "hypervisor": hypervisor,
            "guest_os": "Linux",
            "guest_bits": 64,
        },
        "tool": "linpack",
        "samples": [
            {
                "metric": "performance",
                "value": value,
                "unit": "Mflop/s",
                "parameters": {"size": 1000},
            }
        ],
        "started_at": (START + timedelta(minutes=minute)).isoformat(),
    }


def upload_pool(product: Product, world: PoolWorld, seed: int) -> list[str]:
    """Upload a study per lab; each hypervisor of the studies is one pool."""
    generator = _generator(world.name, seed)
    machines = [draw_machines(generator, world) for _ in range(POOLS)]
    for lab in range(len(world.labs)):
        study = f"{slug_of(world, seed)}-{lab}"
        product.post(
            "studies/",
            slug=study,
            title=f"{world.name}, seed {seed}, lab {lab}",
            institution=f"Judge lab {lab}",
            visibility=product.visibility,
        )
        lines = []
        for index, machine in enumerate(machines[0]):
            if machine.lab != lab:
                continue
            host = f"{study}-{machine.number}"
            product.post("hosts/", slug=host, facts={"cores": 4})
            level = generator.uniform(2000, 6000)
            for run in range(world.runs):
                minute = run * (POOLS + 1) * STEP_MIN
                for place in range(POOLS + 1):
                    # The machine has one native side, whose noise is that of pool 0.
                    pool = machines[max(place - 1, 0)][index]
                    noise = pool.error * np.sqrt(world.runs / 2)
                    ratio = pool.log_ratio if place else 0.0
                    value = level * np.exp(ratio + noise * generator.normal())
                    name = hypervisor_of(world, seed, place - 1) if place else "native"
                    lines.append(
                        _run(
                            study,
                            host,
                            name,
                            run,
                            minute + place * STEP_MIN,
                            round(value, 3),
                        )
                    )
        for start in range(0, len(lines), MAX_LINES):
            body = "\n".join(map(json.dumps, lines[start : start + MAX_LINES]))
            product.send("runs/bulk/", body.encode(), "x-ndjson")
    return [f"{slug_of(world, seed)}-{lab}" for lab in range(len(world.labs))]


def hypervisor_of(world: PoolWorld, seed: int, pool: int) -> str:
    return f"Judge {POOL_WORLDS.index(world)}.{seed}.{pool}"


def read_pool(
    product: Product, world: PoolWorld, seed: int, studies: Sequence[str]
) -> tuple[PoolCoverage, Counter[str]]:
    for study in studies:
        product.wait(study)
    questions = [hypervisor_of(world, seed, pool) for pool in range(POOLS)]
    answers = [product.evidence(question) for question in questions]
    intervals, predictions = (
        [
            ends and tuple(np.log(ends))
            for ends in (each["pool"][name] for each in answers)
        ]
        for name in ("confidence_interval", "prediction_interval")
    )
    found = Counter(f"{each['pool']['machine_count']} machines" for each in answers)
    found.update(each["strength"] for each in answers)
    return coverage_of_pools(world, intervals, predictions), found


COPIES: Final = 4
DOCTORINGS: Final[dict[str, Callable[[Generator, Floats], Floats]]] = {
    "unchanged": lambda generator, values: values,
    "rounded to 3 digits": lambda generator, values: np.round(values, -1),
    "in another order": lambda generator, values: generator.permutation(values),
    "each run changed by 0.01 %": lambda generator, values: np.round(
        values * (1 + 1e-4 * generator.normal(size=values.shape)), 3
    ),
    "one run changed by 1 %": lambda generator, values: np.round(
        values * np.where(np.arange(len(values)) == 3, 1.01, 1), 3
    ),
    "all runs 0.5 % faster": lambda generator, values: np.round(values * 1.005, 3),
}
# Machines of one model with quiet, coarse readings are not copies of each other.
ALIKE: Final = "machines of one model, steps of 1 %"


def upload_copies(product: Product, name: str) -> list[str]:
    """Upload 3 machines of 3 labs, and `COPIES` copies of one under other hosts."""
    generator = _generator(name, 0)
    doctor = DOCTORINGS.get(name)
    studies = []
    originals: list[dict[str, Floats]] = []
    for number in range(3 + (COPIES if doctor else 0)):
        study = f"judge-copies-{_slug(name)}-{number}"
        product.post("hosts/", slug=study, facts={"cores": 4})
        product.post(
            "studies/",
            slug=study,
            title=f"{name}, {number}",
            # Half of the copies are in labs of their own.
            institution=f"Judge lab {number if number < COPIES or number % 2 else 0}",
            visibility=product.visibility,
        )
        level = 3000.0 if not doctor else generator.uniform(2000, 6000)
        sides = {
            "native": 1.0,
            f"Judge {name}": 0.93 + 0.01 * (number if doctor else 0),
        }
        readings = {
            side: level
            * truth
            * (1 + (0.002 if not doctor else 0.01) * generator.normal(size=10))
            for side, truth in sides.items()
        }
        readings = {
            side: np.round(values, -1 if not doctor else 2)
            for side, values in readings.items()
        }
        if number < 3:
            originals.append(readings)
        elif doctor:
            readings = {
                s: doctor(generator, values) for s, values in originals[0].items()
            }
        lines = [
            _run(
                study,
                study,
                side,
                run,
                (2 * run + place) * STEP_MIN + 1000 * number,
                float(value),
            )
            for place, (side, values) in enumerate(readings.items())
            for run, value in enumerate(values)
        ]
        product.send(
            "runs/bulk/", "\n".join(map(json.dumps, lines)).encode(), "x-ndjson"
        )
        studies.append(study)
    return studies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("token_file", type=Path)
    parser.add_argument("--read-token-file", type=Path)
    parser.add_argument("--worlds", default="", help="only worlds whose name matches")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--pools", action="store_true", help="labs instead of cells")
    parser.add_argument("--reasons", action="store_true", help="count codes and flags")
    options = parser.parse_args()
    tokens = [
        file.read_text().strip()
        for file in (options.token_file, options.read_token_file)
        if file
    ]
    product = Product(options.url, *tokens)
    if options.pools:
        judge_pools(product, options)
    else:
        judge_worlds(product, options)


def table_row(*columns: str) -> str:
    return f"| {' | '.join(columns)} |"


def judge_worlds(product: Product, options: argparse.Namespace) -> None:
    worlds = [world for world in WORLDS if re.search(options.worlds, world.name)]
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    print(table_row(*COLUMNS), f"\n|---|{'---:|' * (len(COLUMNS) - 1)}", flush=True)
    uploads = {
        world.name: [upload(product, world, seed) for seed in seeds] for world in worlds
    }
    for world in worlds:
        judged = [read(product, world, *one) for one in uploads[world.name]]
        print(table_row(world.name, *summarize_world(judged).columns), flush=True)
        if options.reasons:
            for what in ("reasons", "flags"):
                found = Counter(
                    name
                    for one in judged
                    for names in getattr(one, what)
                    for name in names
                )
                if found:
                    print(f"    {what}: {dict(found.most_common())}")


def judge_pools(product: Product, options: argparse.Namespace) -> None:
    pools = [
        (world, seed, upload_pool(product, world, seed))
        for world in POOL_WORLDS
        for seed in range(options.first_seed, options.first_seed + options.seeds)
        if re.search(options.worlds, world.name)
    ]
    copies = {
        name: upload_copies(product, name)
        for name in (*DOCTORINGS, ALIKE)
        if re.search(options.worlds, f"copies {name}")
    }
    for world, seed, studies in pools:
        result, found = read_pool(product, world, seed, studies)
        print(
            f"| {world.name} | {100 * result.mean:.0f} | {100 * result.predicted:.1f} "
            f"| {result.half_width:.3f} | {dict(found)} |",
            flush=True,
        )
    for name, studies in copies.items():
        for study in studies:
            product.wait(study)
        pool = product.evidence(f"Judge {name}")["pool"]
        print(
            f"| copies {name} | {pool['machine_count']} machines (wanted 3) "
            f"| {pool['lab_count']} labs |"
        )


if __name__ == "__main__":
    main()
