"""`make drill`: restore a backup, recover to a point in time, upgrade an old version.

Each product must then hold exactly the runs, samples and results that were uploaded,
and answer its pages. ``--control`` deletes one run from each: that must be found.
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

from benchmarks.reference.documents import reference_study
from devtools.product import (
    arguments,
    ask,
    command,
    database,
    own_folder,
    running_product,
    verdict,
    wait_until,
)
from running.archive import base_backup, recover
from running.embedded import Services, services
from running.folders import VarFolder
from running.load_reference import declare
from running.processes import ROOT
from running.product import Product, wait_until_processed

# The oldest version that is upgraded in one step; see docs/operations.md.
OLDEST: Final = "4fd2ed8f"
STUDY: Final = "lmu-2010-xen"
PART: Final = 40
"""So many runs are uploaded before each step."""
PAGES = ("/", f"/studies/first-lab/{STUDY}/", f"/studies/first-lab/{STUDY}/compare/")
ARCHIVED_S: Final = 60.0
MOST_TOLD: Final = 5
Cells = list[tuple[int, float]]
"""Of a system and a case, by scenario and slot: how many runs, and their mean."""


@dataclass(frozen=True)
class Holdings:
    """What a database holds: runs by key with status and samples, and its cells."""

    runs: dict[str, list[tuple[Any, ...]]]
    cells: dict[tuple[str, str], Cells]

    @classmethod
    def of(cls, connection: "psycopg.Connection[Any]") -> "Holdings":
        runs: dict[str, list[tuple[Any, ...]]] = {}
        for key, *rest in connection.execute(
            "SELECT run.key::text, run.status, run.digest, (SELECT"
            " array_agg(sample.value ORDER BY sample.sequence) FROM benchmarks_sample"
            " AS sample WHERE sample.run_id = run.id) FROM benchmarks_run AS run"
            " ORDER BY run.id"
        ):
            runs.setdefault(key, []).append(tuple(rest))
        cells: dict[tuple[str, str], Cells] = {}
        # An old version has other names for scenarios: their cells are told by value.
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
class Outcome:
    """The result of one drill."""

    name: str
    runs: int
    lost: int
    doubled: int
    differs: tuple[str, ...]
    """What is there and is other than it was, with both."""
    unanswered: int

    @classmethod
    def of(
        cls, name: str, wanted: Holdings, found: Holdings, answers: list[int]
    ) -> "Outcome":
        both = wanted.runs.keys() & found.runs.keys()
        cells = wanted.cells.keys() | found.cells.keys()
        return cls(
            name=name,
            runs=len(found.runs),
            lost=len(wanted.runs.keys() - both),
            doubled=sum(len(rows) - 1 for rows in found.runs.values())
            + len(found.runs.keys() - both),
            differs=(
                *(
                    f"run {key}: {wanted.runs[key]}, now {found.runs[key]}"
                    for key in sorted(both)
                    if wanted.runs[key] != found.runs[key]
                ),
                *(
                    f"cell {key}: {wanted.cells.get(key)}, now {found.cells.get(key)}"
                    for key in sorted(cells)
                    if not _is_same(wanted.cells.get(key), found.cells.get(key))
                ),
            ),
            unanswered=sum(status != 200 for status in answers),
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
        return "\n    ".join((counts, *self.differs[:MOST_TOLD]))


def _is_same(wanted: Cells | None, found: Cells | None) -> bool:
    """Whether cells are the same, but for the last digits of a sum."""
    if wanted is None or found is None or len(wanted) != len(found):
        return False
    return all(
        one[0] == other[0] and math.isclose(one[1], other[1], rel_tol=1e-12)
        for one, other in zip(wanted, found, strict=True)
    )


class Drill:
    def __init__(self, folder: Path, *, sabotage: bool) -> None:
        self.folder, self.sabotage = folder, sabotage
        self.runs = iter(reference_study(STUDY).runs)

    def upload(self, running: Product) -> None:
        """Upload the next runs of a published study, and wait for their results."""
        client = running.client()
        list(client.upload(list(islice(self.runs, PART))))
        wait_until_processed(client)

    def keep(self) -> Iterator[Outcome]:
        """Fill a product; bring it back by its backup, and by its archive."""
        var, archive, dump = (self.folder / it for it in ("var", "archive", "dump"))
        with running_product(var, ARCHIVE=str(archive)) as running:
            declare(running.client(), reference_study(STUDY))
            self.upload(running)
            base_backup(VarFolder(var), archive)
            self.upload(running)
            between = holdings(var)
            time.sleep(1.1)
            moment = datetime.now(UTC)
            time.sleep(1.1)
            self.upload(running)
            command(var, "pg_dump", "--format=custom", "--no-owner", f"--file={dump}")
            whole = holdings(var)
            _archive_all(var, archive)
        restored = self.folder / "restored"
        command(
            restored,
            *("--alone", "pg_restore", "--clean", "--if-exists", "--no-owner"),
            *("--exit-on-error", "--single-transaction", "--dbname=virtlab", str(dump)),
        )
        yield self._looked_at("backup", restored, whole)
        recovered = self.folder / "recovered"
        recover(VarFolder(recovered), archive, moment)
        yield self._looked_at("back to a second", recovered, between)

    def upgrade(self) -> Iterator[Outcome]:
        """Let an old version take uploads, and this one go on with them."""
        self.runs = iter(reference_study(STUDY).runs)
        var = self.folder / "upgraded"
        tree = old_version(self.folder / "old")
        with running_product(var, tree=tree) as running:
            declare(running.client(), reference_study(STUDY))
            self.upload(running)
            before = holdings(var)
        yield self._looked_at(f"upgrade from {OLDEST}", var, before)

    def _looked_at(self, name: str, var: Path, wanted: Holdings) -> Outcome:
        """Start a restored product, and compare."""
        if self.sabotage:
            # Delete a run, as if the backup were incomplete.
            with (
                services(var) as running,
                running.postgres.connect("postgres", "virtlab") as connection,
            ):
                connection.execute("SET session_replication_role = replica")
                runs = "(SELECT min(id) FROM benchmarks_run)"
                connection.execute(f"DELETE FROM benchmarks_run WHERE id = {runs}")
        with running_product(var) as started:
            answers = [ask(started.port, page).status for page in PAGES]
            return Outcome.of(name, wanted, holdings(var), answers)


def holdings(var: Path) -> Holdings:
    with database(var) as connection:
        return Holdings.of(connection)


def _archive_all(var: Path, archive: Path) -> None:
    """Wait until the log of all that was committed is in the archive."""
    with Services(VarFolder(var)).postgres.connect(user="postgres") as connection:
        [last] = connection.execute(
            "SELECT pg_walfile_name(pg_switch_wal())"
        ).fetchone() or ("",)
    archived = archive / "wal" / str(last)
    if not wait_until(archived.exists, ARCHIVED_S):
        raise RuntimeError(f"{last} is not archived")


def old_version(folder: Path) -> Path:
    """Unpack the oldest supported version, without its loading of studies."""
    folder.mkdir()
    packed = folder.with_suffix(".tar")
    git = ["git", "-C", str(ROOT), "archive", f"--output={packed}", OLDEST]
    if subprocess.run(git, check=False).returncode != 0:
        raise RuntimeError(
            f"The history of this clone does not reach {OLDEST}: git fetch --unshallow"
        )
    # Of Debian's Python 3.11.2 shutil has no `filter`, and newer ones warn without it.
    subprocess.run(["tar", "-xf", str(packed), "-C", str(folder)], check=True)
    (folder / "running" / "load_reference.py").write_text("")
    return folder


def main() -> int:
    given = arguments(__doc__, "must find a saboteur")
    os.umask(0o022)
    with own_folder("drill") as folder:
        drill = Drill(folder, sabotage=given.control)
        outcomes = []
        for outcome in chain(drill.keep(), drill.upgrade()):
            print(f"  {outcome.line()}", flush=True)
            outcomes.append(outcome)
    print(
        f"drill: {len(outcomes)} of 3 done, {sum(it.runs for it in outcomes)} runs, "
        f"{sum(it.lost for it in outcomes)} lost, "
        f"{sum(it.doubled for it in outcomes)} doubled, "
        f"{sum(it.wrong for it in outcomes)} wrong, "
        f"{sum(it.unanswered for it in outcomes)} pages unanswered"
    )
    return verdict(
        is_good=all(outcome.is_good for outcome in outcomes),
        control=given.control,
        is_found=all(outcome.lost == 1 for outcome in outcomes),
    )


if __name__ == "__main__":
    sys.exit(main())
