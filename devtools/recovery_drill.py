"""`make recovery-drill`: restore a backup, recover to a time, upgrade an old version.

See docs/reliability.md, Other commands.
"""

import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

import psycopg

from benchmarks.reference.study_documents import reference_study
from devtools.temporary_product import (
    arguments,
    command,
    database,
    exit_code_for,
    running_product,
    send_request,
    temporary_folder,
    wait_until,
)
from running.embedded_servers import EmbeddedServers, embedded_servers
from running.load_reference import create_reference_study
from running.processes import ROOT
from running.product_launcher import Product, wait_until_processed
from running.var_folder import VarFolder
from running.wal_archive import base_backup, recover

# The oldest upgradable version (docs/operations.md).
OLDEST_VERSION: Final = "40c40625"
STUDY: Final = "lmu-2010-xen"
STEP_RUNS: Final = 40
"""The number of runs to upload before each step."""
PAGES = ("/", f"/studies/first-lab/{STUDY}/", f"/studies/first-lab/{STUDY}/compare/")
ARCHIVE_TIMEOUT_S: Final = 60.0
MAX_LISTED: Final = 5
Cells = list[tuple[int, float]]
"""Number of runs and mean of each cell of a system and case, sorted."""


@dataclass(frozen=True)
class DatabaseContents:
    """Runs by key, and cells by fingerprints of system and case.

    A run has a status, a digest and its samples.
    """

    runs: dict[str, list[tuple[Any, ...]]]
    cells: dict[tuple[str, str], Cells]

    @classmethod
    def of(cls, connection: "psycopg.Connection[Any]") -> "DatabaseContents":
        runs: dict[str, list[tuple[Any, ...]]] = {}
        for key, *rest in connection.execute(
            "SELECT run.key::text, run.status, run.digest, (SELECT"
            " array_agg(sample.value ORDER BY sample.sequence) FROM benchmarks_sample"
            " AS sample WHERE sample.run_id = run.id) FROM benchmarks_run AS run"
            " ORDER BY run.id"
        ):
            runs.setdefault(key, []).append(tuple(rest))
        cells: dict[tuple[str, str], Cells] = {}
        # Not by scenario and slot, which old versions name differently.
        for system, case, n, mean in connection.execute(
            "SELECT system.fingerprint, kase.fingerprint, cell.n, cell.mean"
            " FROM benchmarks_cell AS cell"
            " JOIN benchmarks_system AS system ON system.id = cell.system_id"
            " JOIN benchmarks_case AS kase ON kase.id = cell.case_id"
            " WHERE cell.n > 0 ORDER BY cell.n, cell.mean"
        ):
            cells.setdefault((system, case), []).append((n, mean))
        return cls(runs, cells)


@dataclass(frozen=True)
class DrillResult:
    name: str
    runs: int
    lost: int
    doubled: int
    differs: tuple[str, ...]
    """Sentences about runs and cells that differ, with both values."""
    unanswered: int

    @classmethod
    def of(
        cls,
        name: str,
        expected: DatabaseContents,
        actual: DatabaseContents,
        statuses: list[int],
    ) -> "DrillResult":
        both = expected.runs.keys() & actual.runs.keys()
        cells = expected.cells.keys() | actual.cells.keys()
        return cls(
            name=name,
            runs=len(actual.runs),
            lost=len(expected.runs.keys() - both),
            doubled=sum(len(rows) - 1 for rows in actual.runs.values())
            + len(actual.runs.keys() - both),
            differs=(
                *(
                    f"run {key}: {expected.runs[key]}, now {actual.runs[key]}"
                    for key in sorted(both)
                    if expected.runs[key] != actual.runs[key]
                ),
                *(
                    f"cell {key}: {expected.cells.get(key)}, "
                    f"now {actual.cells.get(key)}"
                    for key in sorted(cells)
                    if not _is_same(expected.cells.get(key), actual.cells.get(key))
                ),
            ),
            unanswered=sum(status != 200 for status in statuses),
        )

    @property
    def wrong(self) -> int:
        return len(self.differs)

    @property
    def is_good(self) -> bool:
        failures = (self.lost, self.doubled, self.wrong, self.unanswered)
        return self.runs > 0 and not any(failures)

    def line(self) -> str:
        counts = (
            f"{self.name}: {self.runs} runs, {self.lost} lost, {self.doubled} doubled "
            f"or too many, {self.wrong} wrong, {self.unanswered} pages unanswered"
        )
        return "\n    ".join((counts, *self.differs[:MAX_LISTED]))


def _is_same(expected: Cells | None, actual: Cells | None) -> bool:
    if expected is None or actual is None or len(expected) != len(actual):
        return False
    return all(
        n == actual_n and math.isclose(mean, actual_mean, rel_tol=1e-12)
        for (n, mean), (actual_n, actual_mean) in zip(expected, actual, strict=True)
    )


class RecoveryDrill:
    def __init__(self, folder: Path, *, sabotage: bool) -> None:
        self.folder, self.sabotage = folder, sabotage
        self.runs = iter(reference_study(STUDY).runs)

    def upload(self, product: Product) -> None:
        client = product.client()
        list(client.upload(list(islice(self.runs, STEP_RUNS))))
        wait_until_processed(client)

    def backup_and_recover(self) -> Iterator[DrillResult]:
        """Fill a product, restore its backup, and recover another from its archive."""
        var, archive, dump = (self.folder / name for name in ("var", "archive", "dump"))
        with running_product(var, ARCHIVE=str(archive)) as product:
            create_reference_study(product.client(), reference_study(STUDY))
            self.upload(product)
            base_backup(VarFolder(var), archive)
            self.upload(product)
            at_target = read_contents(var)
            time.sleep(1.1)
            target = datetime.now(UTC)
            time.sleep(1.1)
            self.upload(product)
            command(var, "pg_dump", "--format=custom", "--no-owner", f"--file={dump}")
            final = read_contents(var)
            _archive_all(var, archive)
        restored = self.folder / "restored"
        command(
            restored,
            *("--alone", "pg_restore", "--clean", "--if-exists", "--no-owner"),
            *("--exit-on-error", "--single-transaction", "--dbname=virtlab", str(dump)),
        )
        yield self._check("backup", restored, final)
        recovered = self.folder / "recovered"
        recover(VarFolder(recovered), archive, target)
        yield self._check("recovery to a time", recovered, at_target)

    def upgrade(self) -> Iterator[DrillResult]:
        self.runs = iter(reference_study(STUDY).runs)
        var = self.folder / "upgraded"
        tree = old_version(self.folder / "old")
        with running_product(var, tree=tree) as product:
            study = reference_study(STUDY)
            # The oldest version does not know sources.
            del study.document["sources"]
            create_reference_study(product.client(), study)
            self.upload(product)
            before = read_contents(var)
        yield self._check(f"upgrade from {OLDEST_VERSION}", var, before)

    def _check(self, name: str, var: Path, expected: DatabaseContents) -> DrillResult:
        if self.sabotage:
            # As if the backup were incomplete.
            with (
                embedded_servers(var) as servers,
                servers.postgres.connect("postgres", "virtlab") as connection,
            ):
                connection.execute("SET session_replication_role = replica")
                runs = "(SELECT min(id) FROM benchmarks_run)"
                connection.execute(f"DELETE FROM benchmarks_run WHERE id = {runs}")
        with running_product(var) as started:
            statuses = [send_request(started.port, page).status for page in PAGES]
            return DrillResult.of(name, expected, read_contents(var), statuses)


def read_contents(var: Path) -> DatabaseContents:
    with database(var) as connection:
        return DatabaseContents.of(connection)


def _archive_all(var: Path, archive: Path) -> None:
    with EmbeddedServers(VarFolder(var)).postgres.connect(
        user="postgres"
    ) as connection:
        [last] = connection.execute(
            "SELECT pg_walfile_name(pg_switch_wal())"
        ).fetchone() or ("",)
    archived = archive / "wal" / str(last)
    if not wait_until(archived.exists, ARCHIVE_TIMEOUT_S):
        raise RuntimeError(f"{last} is not archived")


def old_version(folder: Path) -> Path:
    """Unpack the oldest version; it does not load the reference studies."""
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    git = ["git", "-C", str(ROOT), "archive", f"--output={archive}", OLDEST_VERSION]
    if subprocess.run(git, check=False).returncode != 0:
        raise RuntimeError(
            f"The history of this clone does not contain {OLDEST_VERSION}. Run: "
            "git fetch --unshallow"
        )
    # Debian's Python 3.11.2 lacks shutil's `filter`.
    subprocess.run(["tar", "-xf", str(archive), "-C", str(folder)], check=True)
    (folder / "running" / "load_reference.py").write_text("")
    return folder


def main() -> int:
    options = arguments(__doc__, "delete runs to find")
    os.umask(0o022)
    with temporary_folder("drill") as folder:
        drill = RecoveryDrill(folder, sabotage=options.control)
        results = []
        for result in chain(drill.backup_and_recover(), drill.upgrade()):
            print(f"  {result.line()}", flush=True)
            results.append(result)
    print(
        f"drill: {len(results)} of 3 done, {sum(row.runs for row in results)} runs, "
        f"{sum(row.lost for row in results)} lost, "
        f"{sum(row.doubled for row in results)} doubled, "
        f"{sum(row.wrong for row in results)} wrong, "
        f"{sum(row.unanswered for row in results)} pages unanswered"
    )
    return exit_code_for(
        is_good=all(result.is_good for result in results),
        control=options.control,
        is_found=all(result.lost == 1 for result in results),
    )


if __name__ == "__main__":
    sys.exit(main())
