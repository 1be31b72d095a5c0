"""The spool: saving, limits, rejection and retries."""

import json
import os
import resource
import stat
import subprocess
import sys
import textwrap
import time
import uuid
from pathlib import Path

import pytest

from agents.errors import SpoolFullError
from agents.spool import Spool

ROOT = Path(__file__).parents[2]


def run(**changes):
    return {"key": str(uuid.uuid4()), "output": "Triad: 1 2 3\n", **changes}


def test_saved_body_is_unchanged(spool):
    document = run(note="ä\u2028")

    key = spool.save(document)

    assert spool.waiting() == [key] == [document["key"]]
    assert json.loads(spool.read(key)) == document
    names = {path.name for path in Path(spool.folder).iterdir()}
    assert names == {"rejected", "new", "held", f"{key}.json"}


def test_saved_run_is_private(spool):
    key = spool.save(run())

    assert stat.S_IMODE(os.stat(spool.path(key)).st_mode) == 0o600


def test_oldest_run_comes_first(spool):
    keys = [spool.save(run()) for _ in range(3)]
    for age, key in enumerate(keys):
        os.utime(spool.path(key), (time.time() - age * 100,) * 2)

    assert spool.waiting() == keys[::-1]


def test_clock_jump_loses_nothing(spool):
    keys = {spool.save(run()) for _ in range(4)}
    for key, days in zip(keys, (-400, -1, 1, 400), strict=True):
        os.utime(spool.path(key), (time.time() + days * 86400,) * 2)

    assert set(Spool(spool.folder).waiting()) == keys


def test_full_spool_refuses_and_keeps_old_runs(spool):
    key = spool.save(run())
    full = Spool(spool.folder, most_bytes=spool.size_bytes() + 10)

    with pytest.raises(SpoolFullError, match=r"full: .* The run was NOT saved"):
        full.save(run())

    assert full.waiting() == [key]


def test_rejected_runs_count_in_the_size(spool):
    key = spool.save(run(output="x" * 10_000))
    size = spool.size_bytes()

    spool.reject(key, "because")

    assert spool.size_bytes() > size


def test_rejected_run_keeps_its_reason_and_can_be_retried(spool):
    key = spool.save(run())
    spool.reject(key, "unknown_study (HTTP 422): no such study\n")

    assert spool.waiting() == []
    assert spool.rejected() == {key: "unknown_study (HTTP 422): no such study"}

    spool.retry(key)
    assert (spool.waiting(), spool.rejected()) == ([key], {})


def test_partial_file_is_never_sent_and_removed_when_old(spool):
    key = str(uuid.uuid4())
    young = Path(spool.folder) / "new" / f"{key}.json.12.part"
    old = Path(spool.folder) / "new" / f"{key}.json.13.part"
    for path in (young, old):
        path.write_text('{"key": "')
    os.utime(old, (time.time() - 7200,) * 2)

    reopened = Spool(spool.folder)

    assert reopened.waiting() == []
    assert (young.exists(), old.exists()) == (True, False)


def test_foreign_files_are_ignored(spool):
    foreign_file = Path(spool.folder) / "notes.json"
    foreign_file.write_text("{}")

    assert Spool(spool.folder).waiting() == []
    assert foreign_file.exists()


def test_partial_files_of_older_agents_are_removed(spool):
    old = Path(spool.folder) / f"{uuid.uuid4()}.json.13.part"
    old.write_text('{"key": "')
    os.utime(old, (time.time() - 7200,) * 2)

    spool.size_bytes()

    assert not old.exists()


def test_size_is_updated_by_each_save(spool):
    keys = [spool.save(run(output="x" * size)) for size in (10, 1000, 100_000)]
    spool.remove(keys[1:2])
    spool.reject(keys[0], "because")

    assert spool.fullness() * spool.most_bytes == pytest.approx(spool.size_bytes())


@pytest.mark.parametrize("text", [b"", b"half", b"99999999999999999999"])
def test_wrong_stored_size_refuses_nothing(spool, text):
    spool.save(run())
    (Path(spool.folder) / "held").write_bytes(text)

    spool.save(run())

    assert len(spool.waiting()) == 2
    assert spool.fullness() * spool.most_bytes == pytest.approx(spool.size_bytes())


def aged(spool, number):
    """Save this many runs, each older than the previous one."""
    keys = [spool.save(run()) for _ in range(number)]
    for age, key in enumerate(keys):
        os.utime(spool.path(key), (time.time() - age * 100,) * 2)
    return keys


def test_peek_returns_the_oldest(spool):
    keys = aged(spool, 5)

    assert [key for key, _ in spool.peek(5)[0]] == keys[::-1]


def test_peek_limits_keys_but_counts_all(spool):
    keys = aged(spool, 5)

    oldest, number = spool.peek(2)

    found_keys = [key for key, _ in oldest]
    assert found_keys == [key for key in keys[::-1] if key in found_keys]
    assert (len(found_keys), number, spool.count()) == (2, 5, 5)
    assert not spool.is_empty()


DISK_FULL = """
    import resource, sys, uuid
    from agents.errors import SpoolFullError
    from agents.spool import Spool

    spool = Spool(sys.argv[1])
    kept = spool.save({"key": str(uuid.uuid4()), "output": "small"})
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    try:
        spool.save({"key": str(uuid.uuid4()), "output": "x" * 100000})
    except SpoolFullError as error:
        print(error.exit_code, spool.waiting() == [kept], error)
"""


def test_full_disk_saves_nothing_and_is_reported(tmp_path):
    program = [sys.executable, "-c", textwrap.dedent(DISK_FULL), str(tmp_path)]

    output = subprocess.check_output(program, cwd=ROOT, text=True)

    assert output.startswith("6 True The run was NOT saved:")
    assert "File too large" in output
    assert list(tmp_path.rglob("*.part")) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
