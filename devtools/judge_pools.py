"""Pools of simulated labs, uploaded to a running product (`make judge`)."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.random import Generator

from devtools.judged_product import Product, generator_of, run_document, slugify
from tests.benchmarks.analysis.simulation import PoolCoverage, coverage_of_pools
from tests.benchmarks.analysis.worlds import (
    POOL_WORLDS,
    STEP_MIN,
    Floats,
    PoolWorld,
    draw_machines,
)

POOLS: Final = 12
RUNS: Final = 10
NATIVE: Final = "native"
SIZE: Final = 1000


def interleaved(
    study: str, host: str, readings: Mapping[str, Floats], *, first: float = 0.0
) -> Iterator[dict[str, Any]]:
    for place, (hypervisor, values) in enumerate(readings.items()):
        for run, value in enumerate(values.tolist()):
            minute = first + (run * len(readings) + place) * STEP_MIN
            sample = {SIZE: value}
            yield run_document(study, host, hypervisor, run, minute, sample)


def upload_pools(product: Product, world: PoolWorld, seed: int) -> list[str]:
    """Upload a study per lab; each of its hypervisors is one pool.

    The native side of a machine is the same in all pools.
    """
    generator = generator_of(world.name, seed)
    pools = [draw_machines(generator, world) for _ in range(POOLS)]
    studies = [
        f"judge-{slugify(world.name)}-{seed}-{lab}" for lab in range(len(world.labs))
    ]
    for lab, study in enumerate(studies):
        product.add_study(study, f"{world.name}, lab {lab}", institution=f"Lab {lab}")
    for index, machine in enumerate(pools[0]):
        study, level = studies[machine.lab], generator.uniform(2000, 6000)
        host = f"{study}-{machine.number}"
        product.add_host(host)

        def runs(log_ratio: float, error: float, level: float = level) -> Floats:
            noise = error * np.sqrt(world.runs / 2)
            drawn = generator.normal(log_ratio, noise, world.runs)
            return np.round(level * np.exp(drawn), 3)

        readings = {NATIVE: runs(0.0, machine.error)} | {
            _hypervisor(world, seed, pool): runs(
                machines[index].log_ratio, machine.error
            )
            for pool, machines in enumerate(pools)
        }
        product.upload(interleaved(study, host, readings))
    return studies


def _hypervisor(world: PoolWorld, seed: int, pool: int) -> str:
    return f"Judge {POOL_WORLDS.index(world)}.{seed}.{pool}"


def read_pools(
    product: Product, world: PoolWorld, seed: int, studies: Sequence[str]
) -> tuple[PoolCoverage, Counter[str]]:
    for study in studies:
        product.wait(study)
    answers = [
        product.evidence(_hypervisor(world, seed, pool)) for pool in range(POOLS)
    ]
    intervals, predictions = (
        [
            ends and tuple(np.log(ends))
            for ends in (one["pool"][name] for one in answers)
        ]
        for name in ("confidence_interval", "prediction_interval")
    )
    found = Counter(f"{one['pool']['machine_count']} machines" for one in answers)
    found.update(one["strength"] for one in answers)
    return coverage_of_pools(world, intervals, predictions), found


COPIES: Final = 4
ORIGINALS: Final = 3
DOCTORINGS: Final[dict[str, Callable[[Generator, Floats], Floats]]] = {
    "copies, unchanged": lambda generator, values: values,
    "copies, rounded to 3 digits": lambda generator, values: np.round(values, -1),
    "copies, in another order": lambda generator, values: generator.permutation(values),
    "copies, each run changed by 0.01 %": lambda generator, values: np.round(
        values * (1 + 1e-4 * generator.normal(size=values.shape)), 3
    ),
    "copies, one run changed by 1 %": lambda generator, values: np.round(
        values * np.where(np.arange(len(values)) == 3, 1.01, 1), 3
    ),
    "copies, all runs 0.5 % faster": lambda generator, values: np.round(
        values * 1.005, 3
    ),
}


def upload_copies(product: Product, name: str) -> list[str]:
    """Upload three machines of three labs, and copies of the first under other hosts.

    Half of the copies are in labs of their own.
    """
    generator = generator_of(name, 0)
    readings = [
        {
            side: np.round(level * truth * (1 + 0.01 * generator.normal(size=RUNS)), 2)
            for side, truth in ((NATIVE, 1.0), (f"Judge {name}", 0.93 + 0.01 * number))
        }
        for number, level in enumerate(generator.uniform(2000, 6000, ORIGINALS))
    ]
    readings += [
        {
            side: DOCTORINGS[name](generator, values)
            for side, values in readings[0].items()
        }
        for _ in range(COPIES)
    ]
    labs = [
        number if number < 3 or number % 2 else 0 for number in range(len(readings))
    ]
    return upload_machines(product, name, readings, labs)


def upload_similar(product: Product, name: str) -> list[str]:
    """Upload machines of one model with quiet readings in steps of 1 %."""
    generator = generator_of(name, 0)
    readings = [
        {
            side: np.round(3000 * truth * (1 + 0.002 * generator.normal(size=RUNS)), -1)
            for side, truth in ((NATIVE, 1.0), (f"Judge {name}", 0.93))
        }
        for _ in range(ORIGINALS)
    ]
    return upload_machines(product, name, readings, range(ORIGINALS))


def upload_doubtful(product: Product, name: str) -> list[str]:
    """Upload machines with an earlier native result that is 6 % higher.

    The guest reaches 40 %, so this doubt must not remove it.
    """
    generator = generator_of(name, 0)
    studies = []
    for number in range(ORIGINALS):
        level = generator.uniform(2000, 6000)
        host = f"judge-{slugify(name)}-{number}"
        product.add_host(host)
        sides = ({NATIVE: 1.06}, {NATIVE: 1.0, f"Judge {name}": 0.4})
        for part, truths in enumerate(sides):
            study = f"{host}-{part}"
            product.add_study(study, f"{name}, {number}", institution=f"Lab {number}")
            readings = {
                side: np.round(
                    level * truth * (1 + 0.01 * generator.normal(size=RUNS)), 3
                )
                for side, truth in truths.items()
            }
            product.upload(interleaved(study, host, readings, first=1440.0 * part))
            studies.append(study)
    return studies


def upload_machines(
    product: Product,
    name: str,
    readings: Sequence[Mapping[str, Floats]],
    labs: Sequence[int],
) -> list[str]:
    studies = []
    for number, (of_machine, lab) in enumerate(zip(readings, labs, strict=True)):
        study = f"judge-{slugify(name)}-{number}"
        product.add_host(study)
        product.add_study(study, f"{name}, {number}", institution=f"Lab {lab}")
        product.upload(interleaved(study, study, of_machine, first=1000.0 * number))
        studies.append(study)
    return studies


# Each has three machines.
COUNTED: Final[dict[str, Callable[[Product, str], list[str]]]] = {
    **dict.fromkeys(DOCTORINGS, upload_copies),
    "machines of one model, steps of 1 %": upload_similar,
    "two native results 6 % apart": upload_doubtful,
}


def judge_pools(product: Product, pattern: str, seeds: range) -> None:
    pools = [
        (world, seed, upload_pools(product, world, seed))
        for world in POOL_WORLDS
        for seed in seeds
        if re.search(pattern, world.name)
    ]
    counted = {
        name: upload(product, name)
        for name, upload in COUNTED.items()
        if re.search(pattern, name)
    }
    for world, seed, studies in pools:
        result, found = read_pools(product, world, seed, studies)
        print(
            f"| {world.name} | {100 * result.mean:.0f} | {100 * result.predicted:.1f} "
            f"| {100 * result.half_width:.1f} | {dict(found)} |",
            flush=True,
        )
    for name, studies in counted.items():
        for study in studies:
            product.wait(study)
        evidence = product.evidence(f"Judge {name}")
        pool = evidence["pool"]
        print(
            f"| {name} | {pool['machine_count']} machines (wanted {ORIGINALS}) "
            f"| {pool['lab_count']} labs | {evidence['strength']} |"
        )
