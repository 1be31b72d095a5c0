"""The Python versions with which the tests passed, and the sentence in README.md.

``python -m tests.pythons run ARGUMENTS`` (`make test-pythons`) runs pytest with these
arguments on every Python of this machine, then records the passing versions in
docs/pythons.md and README.md; ``newest`` runs only the newest and records nothing.
``passed`` (`make test`) notes that all tests passed with our own Python, which then
need not run again; ``check`` (`make docs-check`) compares the files.
"""

import os
import platform
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from running.create_venv import MIN_PYTHON

ROOT = Path(__file__).resolve().parents[1]
# A virtual environment for each version.
VENVS = ROOT / ".pythons"
NOTE = Path(sys.prefix) / "virtlab-passed"
PAGE, README = ROOT / "docs" / "pythons.md", ROOT / "README.md"
PAGE_TEXT = """\
# Which Pythons were tried

`make test-pythons` writes this page. It tries every Python of the machine on which it
runs. `README.md` quotes the sentence below, and `make docs-check` compares the two.

{}
"""
SENTENCE = re.compile(r"^Tried on .+?\.$(?=\n\n|\n?\Z)", re.MULTILINE | re.DOTALL)

_NAME = re.compile(r"python3\.(\d+)")
# Required for creating an environment.
_VERSION = "import ensurepip, platform, venv; print(platform.python_version())"


def folders() -> Iterator[Path]:
    """Return the folders that are searched: the path, and pyenv's versions."""
    for folder in os.get_exec_path():
        yield Path(folder)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from pyenv.glob("versions/*/bin")


def pythons(folders: Iterable[Path]) -> dict[str, Path]:
    """Return each version that is new enough and complete, oldest first."""
    found: dict[str, Path] = {}
    for folder in folders:
        for path in folder.glob("python3.*"):
            name = _NAME.fullmatch(path.name)
            if (
                name
                and (3, int(name[1])) >= MIN_PYTHON
                and (version := version_of(path))
            ):
                found.setdefault(version, path)
    return dict(sorted(found.items(), key=lambda item: _order(item[0])))


def version_of(python: Path) -> str:
    """Return a Python's version; empty if it is broken or lacks ensurepip."""
    try:
        completed = subprocess.run(
            [python, "-I", "-c", _VERSION], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return completed.stdout.strip() if completed.returncode == 0 else ""


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def sentence(full: str, pure: Iterable[str]) -> str:
    """Return the sentence of README.md: versions with all tests, and with the pure
    tests.
    """
    few = "the tests that need no server and no browser"
    tried = [f"every test with Python {full}"] if full else []
    if versions := list(pure):
        tried.append(f"{few} with {'' if full else 'Python '}{_listed(versions)}")
    return f"Tried on {platform.system()} ({platform.machine()}): {'; '.join(tried)}."


def _listed(versions: list[str]) -> str:
    *others, last = versions
    return f"{', '.join(others)} and {last}" if others else last


def with_sentence(readme: str, page: str) -> str:
    """Return README.md with the sentence of docs/pythons.md."""
    new = SENTENCE.search(page)
    if new is None or not SENTENCE.search(readme):
        raise SystemExit(f"{PAGE.name} or {README.name} names no Python: Tried on ...")
    return SENTENCE.sub(lambda _: new[0], readme, count=1)


def run(arguments: list[str], *, is_newest_alone: bool = False) -> None:
    """Test the versions one after another; record them only if all pass.

    The newest alone shows soonest what Python has removed; nothing is recorded.
    """
    full = NOTE.read_text() if NOTE.exists() else ""
    tried = {
        version: path for version, path in pythons(folders()).items() if version != full
    }
    if is_newest_alone:
        tried = dict(list(tried.items())[-1:])
    for version, path in tried.items():
        print(f"\nPython {version} ({path})", flush=True)
        venv = VENVS / version
        _call(path, "running/create_venv.py", "--dev", "--exact", "--venv", venv)
        _call(venv / "bin" / "python", "-m", "pytest", *arguments)
    if is_newest_alone:
        return
    page = PAGE_TEXT.format(textwrap.fill(sentence(full, tried), 88))
    PAGE.write_text(page)
    README.write_text(with_sentence(README.read_text(), page))
    print(f"\nwritten: {PAGE.relative_to(ROOT)} and its sentence in {README.name}")


def _call(*command: str | Path) -> None:
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        raise SystemExit(code)


def check() -> None:
    """Fail if README.md differs from docs/pythons.md."""
    readme = README.read_text()
    if with_sentence(readme, PAGE.read_text()) != readme:
        raise SystemExit("README.md does not quote docs/pythons.md: make test-pythons")


def main() -> None:
    command, *arguments = sys.argv[1:]
    if command == "passed":
        NOTE.write_text(platform.python_version())
    elif command == "check":
        check()
    else:
        run(arguments, is_newest_alone=command == "newest")


if __name__ == "__main__":
    main()
