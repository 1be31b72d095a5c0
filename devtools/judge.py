"""`make judge`: upload simulated worlds to a running product and count its verdicts.

Each world of `tests.benchmarks.analysis.worlds` becomes one study per seed. The program
uploads the runs in bulk, waits for the checks, and reads verdicts and flags through the
API, as an agent would.
"""

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.analysis.verdicts import Verdict
from devtools.judge_pools import judge_pools
from devtools.judged_product import PAGE, Product, generator_of, run_document, slugify
from tests.benchmarks.analysis.world_verdicts import (
    COLUMNS,
    TRUTHS,
    Judged,
    summarize_world,
)
from tests.benchmarks.analysis.worlds import WORLDS, Drawn, World

WORDS: Final = {
    verdict.slug: verdict
    for verdict in (Verdict.SLOWER, Verdict.FASTER, Verdict.EQUIVALENT)
}
FIRST_SIZE: Final = 1000


def documents(world: World, drawn: Drawn, study: str) -> Iterator[dict[str, Any]]:
    """Yield one run per start of a side, with a sample of each cell."""
    for hypervisor, side in (("native", drawn.native), ("KVM", drawn.guest)):
        for run in range(side.values.shape[1]):
            document = run_document(
                study,
                study,
                hypervisor,
                run,
                None if side.minutes is None else float(side.minutes[run]),
                dict(enumerate(side.values[:, run].tolist(), start=FIRST_SIZE)),
                is_time=world.better == "lower",
            )
            if side.sessions:
                document["session"] = side.sessions[run]
            yield document


def upload(product: Product, world: World, seed: int) -> tuple[str, Drawn]:
    study = f"judge-{slugify(world.name)}-{seed}"
    drawn = world.draw(generator_of(world.name, seed), TRUTHS)
    product.add_host(study)
    product.add_study(study, f"{world.name}, seed {seed}")
    product.upload(documents(world, drawn, study))
    return study, drawn


def read(product: Product, world: World, study: str, drawn: Drawn) -> Judged:
    product.wait(study)
    row_by_cell: dict[int, int] = {}
    guests: dict[int, dict[str, Any]] = {}
    for result in product.comparisons(study):
        (size,) = result["parameters"].values()
        row = int(size) - FIRST_SIZE
        row_by_cell[result["id"]] = row
        if result["hypervisor"] != "native":
            guests[row] = result
    results = [guests[row] for row in range(len(TRUTHS))]
    flags: list[set[str]] = [set() for _ in TRUTHS]
    for flag in product.rows(f"flags/?study={study}&page_size={PAGE}"):
        for subject in flag["subjects"]:
            row = row_by_cell.get(int(subject["id"]), -1)
            if subject["kind"] == "cell" and row >= 0:
                flags[row].add(f"{flag['rule']} ({flag['severity']})")
    low, high = (
        np.array([result[end] or np.nan for result in results], dtype=float)
        for end in ("low", "high")
    )
    return Judged(
        world,
        drawn.truth,
        np.array([WORDS.get(result["verdict"], 0) for result in results]),
        np.array([result["verdict"] == "not_assessed" for result in results]),
        np.array([bool(result["is_weak"]) for result in results]),
        drawn.decided() & world.sees_noise,
        np.where(np.isnan(low), np.nan, (low <= drawn.truth) & (drawn.truth <= high)),
        tuple(tuple(result["reason_codes"]) for result in results),
        tuple(tuple(sorted(names)) for names in flags),
    )


def judge_worlds(
    product: Product, pattern: str, seeds: range, *, with_reasons: bool
) -> None:
    worlds = [world for world in WORLDS if re.search(pattern, world.name)]
    print(f"| {' | '.join(COLUMNS)} |\n|---{'|---:' * (len(COLUMNS) - 1)}|", flush=True)
    uploads = {
        world.name: [upload(product, world, seed) for seed in seeds] for world in worlds
    }
    for world in worlds:
        judged = [read(product, world, *one) for one in uploads[world.name]]
        columns = (world.name, *summarize_world(judged).columns)
        print(f"| {' | '.join(columns)} |", flush=True)
        for what in ("reasons", "flags") if with_reasons else ():
            by_cell = (codes for one in judged for codes in getattr(one, what))
            found = Counter(code for codes in by_cell for code in codes)
            print(f"    {what}: {dict(found.most_common())}")
    print(f"verdicts that changed after the check: {product.changed_words.total()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("token_file", type=Path)
    parser.add_argument("--read-token-file", type=Path)
    parser.add_argument("--worlds", default="", help="only worlds whose name matches")
    parser.add_argument("--pools", action="store_true", help="labs instead of cells")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--reasons", action="store_true", help="count codes and flags")
    options = parser.parse_args()
    files = filter(None, (options.token_file, options.read_token_file))
    product = Product(options.url, *(file.read_text().strip() for file in files))
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    if options.pools:
        judge_pools(product, options.worlds, seeds)
    else:
        judge_worlds(product, options.worlds, seeds, with_reasons=options.reasons)


if __name__ == "__main__":
    main()
