"""The spool: saved is saved, full is loud, rejected can be tried again."""

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


def run(**more):
    return {"key": str(uuid.uuid4()), "output": "Triad: 1 2 3\n", **more}


def test_what_was_saved_waits_byte_for_byte(spool):
    document = run(note="ä\u2028")

    key = spool.save(document)

    assert spool.waiting() == [key] == [document["key"]]
    assert json.loads(spool.read(key)) == document
    names = {path.name for path in Path(spool.folder).iterdir()}
    assert names == {"rejected", "new", "held", f"{key}.json"}


def test_a_run_is_readable_by_its_owner_only(spool):
    key = spool.save(run())

    assert stat.S_IMODE(os.stat(spool.path(key)).st_mode) == 0o600


def test_the_oldest_comes_first(spool):
    keys = [spool.save(run()) for _ in range(3)]
    for age, key in enumerate(keys):
        os.utime(spool.path(key), (time.time() - age * 100,) * 2)

    assert spool.waiting() == keys[::-1]


def test_a_clock_that_jumped_a_day_loses_nothing(spool):
    keys = {spool.save(run()) for _ in range(4)}
    for key, days in zip(keys, (-400, -1, 1, 400), strict=True):
        os.utime(spool.path(key), (time.time() + days * 86400,) * 2)

    assert set(Spool(spool.folder).waiting()) == keys


def test_a_full_spool_says_so_and_keeps_what_it_has(spool):
    key = spool.save(run())
    full = Spool(spool.folder, most_bytes=spool.bytes_held() + 10)

    with pytest.raises(SpoolFullError, match=r"full: .* The run was NOT saved"):
        full.save(run())

    assert full.waiting() == [key]


def test_rejected_runs_count_as_held(spool):
    key = spool.save(run(output="x" * 10_000))
    held = spool.bytes_held()

    spool.reject(key, "because")

    assert spool.bytes_held() > held


def test_a_rejected_run_keeps_its_reason_and_can_wait_again(spool):
    key = spool.save(run())
    spool.reject(key, "unknown_study (HTTP 422): no such study\n")

    assert spool.waiting() == []
    assert spool.rejected() == {key: "unknown_study (HTTP 422): no such study"}

    spool.retry(key)
    assert (spool.waiting(), spool.rejected()) == ([key], {})


def test_half_a_file_is_never_sent_and_forgotten_when_it_is_old(spool):
    key = str(uuid.uuid4())
    young = Path(spool.folder) / "new" / f"{key}.json.12.part"
    old = Path(spool.folder) / "new" / f"{key}.json.13.part"
    for path in (young, old):
        path.write_text('{"key": "')
    os.utime(old, (time.time() - 7200,) * 2)

    again = Spool(spool.folder)

    assert again.waiting() == []
    assert (young.exists(), old.exists()) == (True, False)


def test_files_of_others_are_left_alone(spool):
    other = Path(spool.folder) / "notes.json"
    other.write_text("{}")

    assert Spool(spool.folder).waiting() == []
    assert other.exists()


def test_halves_of_an_older_agent_are_forgotten_too(spool):
    old = Path(spool.folder) / f"{uuid.uuid4()}.json.13.part"
    old.write_text('{"key": "')
    os.utime(old, (time.time() - 7200,) * 2)

    spool.bytes_held()

    assert not old.exists()


def test_what_is_held_is_counted_on_from_save_to_save(spool):
    keys = [spool.save(run(output="x" * size)) for size in (10, 1000, 100_000)]
    spool.remove(keys[1:2])
    spool.reject(keys[0], "because")

    assert spool.fullness() * spool.most_bytes == pytest.approx(spool.bytes_held())


@pytest.mark.parametrize("text", [b"", b"half", b"99999999999999999999"])
def test_a_wrong_count_refuses_nothing(spool, text):
    spool.save(run())
    (Path(spool.folder) / "held").write_bytes(text)

    spool.save(run())

    assert len(spool.waiting()) == 2
    assert spool.fullness() * spool.most_bytes == pytest.approx(spool.bytes_held())


def aged(spool, number):
    """Save so many runs; each is older than the one before."""
    keys = [spool.save(run()) for _ in range(number)]
    for age, key in enumerate(keys):
        os.utime(spool.path(key), (time.time() - age * 100,) * 2)
    return keys


def test_the_oldest_go_first(spool):
    keys = aged(spool, 5)

    assert [key for key, _ in spool.look(5)[0]] == keys[::-1]


def test_of_more_than_can_be_looked_up_some_go_first_and_all_are_counted(spool):
    keys = aged(spool, 5)

    oldest, number = spool.look(2)

    found = [key for key, _ in oldest]
    assert found == [key for key in keys[::-1] if key in found]
    assert (len(found), number, spool.number()) == (2, 5, 5)
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


def test_a_full_disk_saves_nothing_by_half_and_says_so(tmp_path):
    program = [sys.executable, "-c", textwrap.dedent(DISK_FULL), str(tmp_path)]

    said = subprocess.check_output(program, cwd=ROOT, text=True)

    assert said.startswith("6 True The run was NOT saved:")
    assert "File too large" in said
    assert list(tmp_path.rglob("*.part")) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
