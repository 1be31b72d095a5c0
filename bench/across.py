"""How long pages over many studies take, beside the bare query below each.

`python -m bench.across` starts a product of its own and prints the rows.

`/compare/`: 50 studies of ten machines, 200 systems with 400 benchmarks each, which is
80,000 cells with their efficiencies and effects. `/evidence/`: 1,000 further studies,
each of a machine of its own. All stored as a check leaves them; nothing was uploaded.
The limit is the one query that has to look at every effect, on the same database.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from math import exp, log
from pathlib import Path
from typing import Any, Final

from bench.pages import Pages
from running.product import Product, start

STUDIES: Final = 50
SYSTEMS: Final = 4
CASES: Final = 400
HOSTS: Final = 10
WORKS: Final = ("memory-read", "memory-write", "cpu-integer", "disk-random-write")
WORK: Final = WORKS[0]
ACROSS: Final = ("/compare/", "/compare/?host=all", f"/compare/?host=all&work={WORK}")
LABS: Final = 1000
"""Studies that say something of each question of the second part."""
BENCHMARKS: Final = 2
FOREST: Final = f"/evidence/forest/?hypervisor=KVM&work={WORK}"
EVIDENCE: Final = ("/evidence/", FOREST)
REPEATS: Final = 11
ANEW_MS: Final = 100
KEPT_MS: Final = 20
PLATFORMS: Final = ("KVM", "Xen", "VMware ESXi", "Hyper-V")


def bench_across(product: Product) -> Iterator[tuple[str, ...]]:
    """Store the studies, then yield a row for each address."""
    cells = f"{STUDIES * SYSTEMS} systems x {CASES}"
    yield from _rows(product, "compare", ACROSS, cells)
    yield from _rows(product, "evidence", EVIDENCE, f"{LABS} studies")


def _rows(
    product: Product, part: str, addresses: tuple[str, ...], size: str
) -> Iterator[tuple[str, ...]]:
    command = [sys.executable, "-m", "running.command", sys.executable]
    answer = subprocess.run(
        [*command, "-m", "bench.across", part],
        env={**os.environ, "VAR": str(product.var)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    bare_ms = float(answer.stdout.split()[-1])
    with closing(Pages(product)) as pages:
        for address in addresses:
            found = pages.timing(address)
            speed = f"{found.anew_ms:.1f} ms, CPU {found.cpu_ms:.1f} ms"
            speed += f"; again {found.again_ms:.1f} ms"
            anew, again = found.anew_ms / ANEW_MS, found.again_ms / KEPT_MS
            ratio = f"{found.anew_ms / bare_ms:.1f} x"
            shares = f"of {ANEW_MS} ms: {anew:.2f}, again of {KEPT_MS} ms: {again:.2f}"
            limit = f"bare query {bare_ms:.1f} ms"
            yield f"{address}, {size}", speed, limit, f"{ratio}; {shares}"


def store_compared() -> None:
    """Store what checks would have left of systems of many studies."""
    # Models can be imported only now.
    from benchmarks.evidence.effects import store_summaries
    from benchmarks.models import Host, Lab, Study

    lab = Lab.objects.create(slug="bench-across", name="Bench")
    hosts = [Host.objects.create(lab=lab, slug=f"host-{n}") for n in range(HOSTS)]
    cases = _cases(CASES)
    for number in range(STUDIES):
        study = Study.objects.create(
            lab=lab,
            slug=f"bench-{number}",
            title=f"Bench {number}",
            visibility="public",
            published="2026",
        )
        for at, platform in enumerate(PLATFORMS[:SYSTEMS]):
            host = hosts[number % HOSTS]
            _measured(study, host, platform, f"{number}-{at}", cases, -at / 100)
        store_summaries(study, study.effects.all())


def store_evidence() -> None:
    """Store studies of a machine each, and what all of them say together."""
    from django.db import transaction

    from benchmarks.evidence.effects import store_summaries
    from benchmarks.evidence.pools import questions_of, renew_pools
    from benchmarks.models import Case, Host, Lab, Study

    lab = Lab.objects.create(slug="bench-evidence", name="Bench")
    cases = list(Case.objects.filter(fingerprint__startswith="bench-across-"))
    cases = cases[: BENCHMARKS * len(WORKS)]
    study = None
    for number in range(LABS):
        study = Study.objects.create(
            lab=lab,
            slug=f"evidence-{number}",
            title=f"Evidence {number}",
            institution=f"Institute {number // 3}",
            visibility="public",
            published=str(1990 + number % 37),
        )
        host = Host.objects.create(lab=lab, slug=f"machine-{number}")
        platform = PLATFORMS[0]
        step = (number % 11 - 5) / 100
        _measured(study, host, platform, f"evidence-{number}", cases, step)
        store_summaries(study, study.effects.all())
    assert study
    with transaction.atomic():
        renew_pools(questions_of(study))


def _cases(count: int) -> list[Any]:
    from benchmarks.models import Case

    return Case.objects.bulk_create(
        Case(
            tool="ramspeed",
            metric="bandwidth",
            parameters={"operation": "read", "block_size": f"{n + 1} KiB"},
            unit="MB/s",
            better="higher",
            component="memory",
            label=f"Bandwidth, read, {n + 1} KiB",
            fingerprint=f"bench-across-{n}",
        )
        for n in range(count)
    )


def _measured(
    study: Any, host: Any, platform: str, name: str, cases: list[Any], step: float
) -> None:
    """Store a system of a study with a cell, its efficiency and effect for each case.

    ``step``: how far (ln) its ratios are from 0.9 of native.
    """
    from benchmarks.analysis.verdicts import Verdict
    from benchmarks.models import Cell, Effect, Efficiency, System

    lab, ratio = study.lab, 0.9 * exp(step)
    system = System.objects.create(
        lab=lab,
        host=host,
        hypervisor=platform,
        hypervisor_version=str(study.pk % 3),
        guest_os="Debian 12",
        guest_bits=64,
        fingerprint=f"bench-across-{name}",
    )
    cells = Cell.objects.bulk_create(
        Cell(
            lab=lab,
            study=study,
            system=system,
            case=case,
            scenario="single",
            n=5,
            mean=1000 * ratio,
            m2=4.0,
            minimum=990 * ratio,
            maximum=1010 * ratio,
        )
        for case in cases
    )
    Efficiency.objects.bulk_create(
        Efficiency(
            cell=cell,
            lab=lab,
            state=Efficiency.State.PAIRED,
            ratio=ratio,
            baseline_mean=1000.0,
            baseline_n=5,
        )
        for cell in cells
    )
    Effect.objects.bulk_create(
        Effect(
            cell=cell,
            lab=lab,
            study=study,
            host=host,
            system=system,
            case_id=cell.case_id,
            hypervisor=platform,
            work=WORKS[at % len(WORKS)],
            log_ratio=log(ratio),
            log_low=log(ratio) - 0.02,
            log_high=log(ratio) + 0.02,
            variance=0.0001,
            n=5,
            verdict=int(Verdict.SLOWER),
        )
        for at, cell in enumerate(cells)
    )


def bare_ms(part: str) -> float:
    """Return how long the one query takes that looks at every effect of a part."""
    from django.db import connection

    from benchmarks.models import Effect

    question = f"WHERE hypervisor = 'KVM' AND work = '{WORK}'"
    query = f"""
        SELECT study_id, system_id, work, count(*), min(log_ratio), max(log_ratio)
        FROM {Effect._meta.db_table} {question if part == "evidence" else ""}
        GROUP BY study_id, system_id, work
    """
    times = []
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        for _ in range(REPEATS):
            begun = time.perf_counter()
            cursor.execute(query)
            cursor.fetchall()
            times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1000


def main() -> None:
    """Print the rows, of a product that is started for it."""
    with tempfile.TemporaryDirectory(prefix="virtlab-bench-") as folder:
        product = start(Path(folder))
        try:
            product.wait_until_ready()
            for row in bench_across(product):
                print(" | ".join(row), flush=True)
        finally:
            product.stop()


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        import django

        django.setup()
        stored = {"compare": store_compared, "evidence": store_evidence}
        stored[sys.argv[1]]()
        print(f"{bare_ms(sys.argv[1]):.1f}")
