"""The write-ahead log archive: restores a database to a chosen second."""

import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from running.embedded_servers import embedded_servers
from running.errors import StartError
from running.var_folder import VarFolder
from running.wal_archive import base_backup, recover
from tests.running.process_checks import wait_until

pytestmark = pytest.mark.timeout(300)


def now(connection) -> datetime:
    return connection.execute("select clock_timestamp()").fetchone()[0]


@pytest.fixture(scope="module")
def archived(tmp_path_factory) -> tuple[Path, dict[str, datetime]]:
    """An archive of three commits, and the times between them."""
    folder = tmp_path_factory.mktemp("archived")
    archive, moments = folder / "archive", {}
    with embedded_servers(folder / "var", archive=archive) as running:
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
    with embedded_servers(var) as running, running.postgres.connect() as connection:
        return [text for (text,) in connection.execute("select text from line")]


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("first", ["before the base backup", "first"]),
        ("second", ["before the base backup", "first", "second"]),
        (None, ["before the base backup", "first", "second", "a mistake"]),
    ],
)
def test_recovery_stops_at_a_second(archived, tmp_path, moment, expected):
    archive, moments = archived

    recover(VarFolder(tmp_path / "var"), archive, moments.get(moment))

    assert lines(tmp_path / "var") == expected


def test_time_beyond_the_archive_is_refused(archived, tmp_path):
    archive, _ = archived
    tomorrow = datetime.now(UTC) + timedelta(days=1)

    with pytest.raises(StartError, match="ends before that time"):
        recover(VarFolder(tmp_path / "var"), archive, tomorrow)

    assert not (tmp_path / "var" / "pgdata").exists()


def test_time_before_the_first_base_backup_is_refused(archived, tmp_path):
    archive, _ = archived

    with pytest.raises(StartError, match="no base backup"):
        recover(VarFolder(tmp_path / "v"), archive, datetime(2020, 1, 1, tzinfo=UTC))


def test_truncated_base_backup_is_refused(archived, tmp_path):
    archive, _ = archived
    shutil.copytree(archive, tmp_path / "archive")
    [packed] = (tmp_path / "archive" / "base").glob("*/base.tar.gz")
    packed.write_bytes(packed.read_bytes()[:100_000])

    with pytest.raises(StartError, match="could not be unpacked"):
        recover(VarFolder(tmp_path / "var"), tmp_path / "archive", None)

    assert not (tmp_path / "var" / "pgdata").exists()


def test_existing_data_are_never_replaced(archived, tmp_path):
    archive, _ = archived
    (tmp_path / "var" / "pgdata").mkdir(parents=True)
    (tmp_path / "var" / "pgdata" / "PG_VERSION").write_text("18")

    with pytest.raises(StartError, match="already contains data"):
        recover(VarFolder(tmp_path / "var"), archive, None)


def test_archived_segment_is_never_replaced(archived):
    archive, _ = archived
    names = [path.name for path in (archive / "wal").iterdir()]

    assert len(names) >= 2
    assert not [name for name in names if name.endswith(".new")]
