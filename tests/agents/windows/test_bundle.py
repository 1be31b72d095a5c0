"""The archive for Windows: what is in it, and that the same parts make the same one."""

import io
import zipfile
from pathlib import Path

import pytest

from agents import build
from agents.build import CannotBundleError, build_windows, python_of

PARTS = ("python.exe", "python313.dll", "_ctypes.pyd", "_ssl.pyd", "python313._pth")
SPARED = ("_wmi.pyd", "sqlite3.dll", "_sqlite3.pyd", "pythonw.exe", "_asyncio.pyd")
MADE = {
    "virtlab-probe-windows-i686.exe": b"probe",
    "linpack-windows-x86_64.exe": b"linpack",
}


def embeddable(*names):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("cp313/", b"")
        for name in names:
            opened.writestr("cp313/" + name, name)
    return archive.getvalue()


def test_what_the_agent_never_loads_is_left_out():
    files = python_of(embeddable(*PARTS, *SPARED, "LICENSE.txt"))

    assert set(files) == {*PARTS, "LICENSE.txt"}


def test_a_package_without_python_is_refused():
    with pytest.raises(CannotBundleError, match=r"python\.exe"):
        python_of(embeddable("LICENSE.txt"))


def test_agent_kernels_and_probes_have_their_places():
    python = dict.fromkeys(PARTS, b"")

    content = build_windows(python, MADE)

    assert content == build_windows(dict(reversed(python.items())), MADE)
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        names = opened.namelist()
        agent = zipfile.ZipFile(
            io.BytesIO(opened.read(build.WINDOWS_TOP + "virtlab-agent.pyz"))
        )
    assert names == sorted(names)
    assert build.WINDOWS_TOP + "virtlab-agent.cmd" in names
    assert build.WINDOWS_TOP + "python/python.exe" in names
    assert build.WINDOWS_TOP + "probe/virtlab-probe-windows-i686.exe" in names
    assert agent.read("agents/kernels/prebuilt/linpack-windows-x86_64") == b"linpack"
    assert "agents/build.py" not in agent.namelist()


def test_pins_are_exact_and_have_checksums():
    for _, pin, _ in build.EDITIONS:
        text = (Path(build.PINS) / pin).read_text()
        [line] = [line for line in text.splitlines() if not line.startswith("#")]
        assert "==" in line
        assert "--hash=sha256:" in line


def test_what_is_missing_is_said(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("shutil.which", lambda name: None)

    code = build.main(["--windows", str(tmp_path)])

    said = capsys.readouterr().err
    assert code == 1
    assert "apt install gcc-mingw-w64-x86-64-win32" in said
