"""The archive for Windows: its content and reproducibility."""

import io
import zipfile
from pathlib import Path

import pytest

from agents import build
from agents.build import BuildError, build_windows, python_files

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


def test_unused_parts_of_python_are_excluded():
    files = python_files(embeddable(*PARTS, *SPARED, "LICENSE.txt"))

    assert set(files) == {*PARTS, "LICENSE.txt"}


def test_package_without_python_is_refused():
    with pytest.raises(BuildError, match=r"python\.exe"):
        python_files(embeddable("LICENSE.txt"))


def test_archive_has_agent_kernels_and_probes():
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


def test_pins_are_exact_with_checksums():
    for _, pin, _ in build.WINDOWS_EDITIONS:
        text = (Path(build.PINS_FOLDER) / pin).read_text()
        [line] = [line for line in text.splitlines() if not line.startswith("#")]
        assert "==" in line
        assert "--hash=sha256:" in line


def test_missing_parts_are_reported(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("shutil.which", lambda name: None)

    code = build.main(["--windows", str(tmp_path)])

    err = capsys.readouterr().err
    assert code == 1
    assert "apt install gcc-mingw-w64-x86-64-win32" in err
