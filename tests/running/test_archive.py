"""The archive of the log: back to a second, and no further."""

import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from running.archive import base_backup, recover
from running.embedded import services
from running.errors import ServiceError
from running.folders import VarFolder
from tests.running.watching import wait_until

pytestmark = pytest.mark.timeout(300)


def now(connection) -> datetime:
    return connection.execute("select clock_timestamp()").fetchone()[0]


@pytest.fixture(scope="module")
def archived(tmp_path_factory) -> tuple[Path, dict[str, datetime]]:
    """An archive of three commits, and the moments between them."""
    folder = tmp_path_factory.mktemp("archived")
    archive, moments = folder / "archive", {}
    with services(folder / "var", archive=archive) as running:
        with running.postgres.connect() as connection:
            connection.execute("create table line (text text)")
            connection.execute("insert into line values ('before the base backup')")
            base_backup(VarFolder(folder / "var"), archive)
            for text in ("first", "second"):
                connection.execute("insert into line values (%s)", [text])
                time.sleep(1.1)
                moments[text] = now(connection)
                time.sleep(1.1)
            connection.execute("insert into line values ('a mistake')")
        with running.postgres.connect(user="postgres") as connection:
            [last] = connection.execute(
                "select pg_walfile_name(pg_switch_wal())"
            ).fetchone()
        wait_until(lambda: (archive / "wal" / last).exists())
    return archive, moments


def lines(var: Path) -> list[str]:
    with services(var) as running, running.postgres.connect() as connection:
        return [text for (text,) in connection.execute("select text from line")]


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("first", ["before the base backup", "first"]),
        ("second", ["before the base backup", "first", "second"]),
        (None, ["before the base backup", "first", "second", "a mistake"]),
    ],
)
def test_it_goes_back_to_a_second(archived, tmp_path, moment, expected):
    archive, moments = archived

    recover(VarFolder(tmp_path / "var"), archive, moments.get(moment))

    assert lines(tmp_path / "var") == expected


def test_a_moment_that_the_archive_does_not_reach_is_refused(archived, tmp_path):
    archive, _ = archived
    tomorrow = datetime.now(UTC) + timedelta(days=1)

    with pytest.raises(ServiceError, match="does not reach"):
        recover(VarFolder(tmp_path / "var"), archive, tomorrow)

    assert not (tmp_path / "var" / "pgdata").exists()


def test_a_moment_before_the_first_base_backup_is_refused(archived, tmp_path):
    archive, _ = archived

    with pytest.raises(ServiceError, match="no base backup"):
        recover(VarFolder(tmp_path / "v"), archive, datetime(2020, 1, 1, tzinfo=UTC))


def test_a_base_backup_that_was_cut_off_is_refused(archived, tmp_path):
    archive, _ = archived
    shutil.copytree(archive, tmp_path / "archive")
    [packed] = (tmp_path / "archive" / "base").glob("*/base.tar.gz")
    packed.write_bytes(packed.read_bytes()[:100_000])

    with pytest.raises(ServiceError, match="was not unpacked"):
        recover(VarFolder(tmp_path / "var"), tmp_path / "archive", None)

    assert not (tmp_path / "var" / "pgdata").exists()


def test_data_that_are_there_are_never_replaced(archived, tmp_path):
    archive, _ = archived
    (tmp_path / "var" / "pgdata").mkdir(parents=True)
    (tmp_path / "var" / "pgdata" / "PG_VERSION").write_text("18")

    with pytest.raises(ServiceError, match="holds data already"):
        recover(VarFolder(tmp_path / "var"), archive, None)


def test_a_part_that_is_archived_is_never_replaced_by_another(archived):
    archive, _ = archived
    names = [path.name for path in (archive / "wal").iterdir()]

    assert len(names) >= 2
    assert not [name for name in names if name.endswith(".new")]
