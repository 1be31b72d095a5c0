"""Slices of `make chaos RUNS=`, which continue with the database of the last slice."""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from devtools import chaos
from devtools.temporary_product import database, running_product, temporary_folder

Slice = dict[str, Any]
RECORD, KEPT = "slices.jsonl", "var"
SUMMED = ("acknowledged", "faults", "seconds", *chaos.FAILURE_COUNTS)
LINE = (
    "chaos: {acknowledged:,} of {wanted:,} uploads acknowledged in {slices} slices "
    "({seconds:.0f} s), {faults} faults of {kinds} kinds, {lost} lost, {doubled} "
    "doubled, {unprocessed} without result, {wrong} cells wrong, {quarantined} "
    "quarantined wrongly, {refused} refused, {errors} x 500, {changed} earlier slices "
    "changed, acknowledging again within {slowest_s:.1f} s"
)
DIGESTS_SQL = """
    SELECT study.slug,
        md5(string_agg(run.key::text || run.status, ',' ORDER BY run.key)) || (
            SELECT md5(string_agg(concat_ws(' ', system_id, n, mean), ','
                ORDER BY system_id))
            FROM benchmarks_cell WHERE study_id = study.id)
    FROM benchmarks_study AS study JOIN benchmarks_run AS run ON run.study_id = study.id
    WHERE study.slug LIKE 'chaos-%' GROUP BY study.id, study.slug
"""


def read_slices(folder: Path) -> list[Slice]:
    record = folder / RECORD
    lines = record.read_text().splitlines() if record.exists() else []
    return [json.loads(line) for line in lines]


def totals(slices: list[Slice], wanted: int) -> dict[str, Any]:
    """Return the values for `LINE`."""
    return {
        "wanted": wanted,
        "slices": len(slices),
        "kinds": max((item["kinds"] for item in slices), default=0),
        "slowest_s": max((item["slowest_s"] for item in slices), default=0.0),
        "changed": changed_studies(slices),
        **{name: sum(item[name] for item in slices) for name in SUMMED},
    }


def changed_studies(slices: list[Slice]) -> int:
    """Return how many studies differ in a later slice from the end of their own."""
    changed = set()
    for number, first in enumerate(slices):
        own = first["digests"].get(first["study"])
        later = (item["digests"].get(first["study"]) for item in slices[number:])
        if own is None or any(digest != own for digest in later):
            changed.add(first["study"])
    return len(changed)


def run_slice(folder: Path, seed: int, seconds: float, wanted: int) -> list[Slice]:
    """Run until the time is over or enough is acknowledged; return all slices."""
    folder.mkdir(parents=True, exist_ok=True)
    slices = read_slices(folder)
    missing = wanted - sum(item["acknowledged"] for item in slices)
    if missing <= 0:
        return slices
    study = f"chaos-{len(slices) + 1}"
    with (
        temporary_folder("chaos") as temporary,
        chaos.mounted_disk(temporary, chaos.DISK) as has_disk,
    ):
        var = temporary / "var"
        if (folder / KEPT).exists():
            _copy(folder / KEPT, var)
        with running_product(var) as product:
            figures = chaos.run_faults(
                chaos.ProductUnderTest(product, study),
                seed,
                seconds,
                has_disk=has_disk,
                most_runs=missing,
                bulk_share=chaos.BULK_SHARE,
            )
            with database(var) as connection:
                digests = dict(connection.execute(DIGESTS_SQL).fetchall())
        # An interrupted slice does not count, and the next one starts before it.
        new = folder / f"{KEPT}.new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        _copy(var, new)
        shutil.rmtree(folder / KEPT, ignore_errors=True)
        new.rename(folder / KEPT)
    slices.append({**figures, "study": study, "digests": digests})
    with (folder / RECORD).open("a") as record:
        record.write(json.dumps(slices[-1]) + "\n")
    return slices


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", f"{source}/.", str(target)], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    slices = run_slice(options.folder, options.seed, options.seconds, options.runs)
    figures = totals(slices, options.runs)
    print(chaos.LINE.format(**slices[-1]))
    print(LINE.format(**figures))
    return int(any(figures[name] for name in (*chaos.FAILURE_COUNTS, "changed")))


if __name__ == "__main__":
    sys.exit(main())
