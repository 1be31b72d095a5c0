"""With which Pythons the tests passed, and the sentence of README.md about it.

``python -m tests.pythons run ARGUMENTS`` (`make test-pythons`) gives pytest these
arguments with every Python of this machine, then writes what passed into
docs/pythons.md and README.md; ``newest`` tries but the newest and writes nothing.
``passed`` (`make test`) notes that every test did with our own, which need not be run
again; ``check`` (`make docs-check`) compares the files.
"""

import os
import platform
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from running.bootstrap import NEEDED

ROOT = Path(__file__).resolve().parents[1]
# An environment for each of them.
VENVS = ROOT / ".pythons"
NOTE = Path(sys.prefix) / "virtlab-passed"
PAGE, README = ROOT / "docs" / "pythons.md", ROOT / "README.md"
PAGE_TEXT = """\
# Which Pythons were tried

Written by `make test-pythons`: every Python of the machine on which it ran. `README.md`
quotes the sentence, and `make docs-check` compares the two.

{}
"""
SENTENCE = re.compile(r"^Tried on .+?\.$(?=\n\n|\n?\Z)", re.MULTILINE | re.DOTALL)

_NAME = re.compile(r"python3\.(\d+)")
# Without these two no environment can be made.
_VERSION = "import ensurepip, platform, venv; print(platform.python_version())"


def folders() -> Iterator[Path]:
    """Where Pythons are looked for: the path, and what pyenv has built."""
    for each in os.get_exec_path():
        yield Path(each)
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from pyenv.glob("versions/*/bin")


def pythons(folders: Iterable[Path]) -> dict[str, Path]:
    """Each version in them that is new enough and complete, oldest first."""
    found: dict[str, Path] = {}
    for folder in folders:
        for path in folder.glob("python3.*"):
            name = _NAME.fullmatch(path.name)
            if name and (3, int(name[1])) >= NEEDED and (version := version_of(path)):
                found.setdefault(version, path)
    return dict(sorted(found.items(), key=lambda item: _order(item[0])))


def version_of(python: Path) -> str:
    """What it calls itself; nothing of one that is broken or has no ensurepip."""
    try:
        told = subprocess.run(
            [python, "-I", "-c", _VERSION], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return told.stdout.strip() if told.returncode == 0 else ""


def _order(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def sentence(whole: str, pure: Iterable[str]) -> str:
    """What README.md says: with which every test passed, with which the pure ones."""
    few = "the tests that need no server and no browser"
    tried = [f"every test with Python {whole}"] if whole else []
    if versions := list(pure):
        tried.append(f"{few} with {'' if whole else 'Python '}{_listed(versions)}")
    return f"Tried on {platform.system()} ({platform.machine()}): {'; '.join(tried)}."


def _listed(versions: list[str]) -> str:
    *others, last = versions
    return f"{', '.join(others)} and {last}" if others else last


def with_sentence(readme: str, page: str) -> str:
    """README.md with the sentence of docs/pythons.md in place of its own."""
    new = SENTENCE.search(page)
    if new is None or not SENTENCE.search(readme):
        raise SystemExit(f"{PAGE.name} or {README.name} names no Python: Tried on ...")
    return SENTENCE.sub(lambda _: new[0], readme, count=1)


def run(arguments: list[str], *, is_newest_alone: bool = False) -> None:
    """Try them one after another; write what passed only if all did.

    The newest alone is soonest to show what Python no longer has; nothing is written.
    """
    whole = NOTE.read_text() if NOTE.exists() else ""
    tried = {
        version: path
        for version, path in pythons(folders()).items()
        if version != whole
    }
    if is_newest_alone:
        tried = dict(list(tried.items())[-1:])
    for version, path in tried.items():
        print(f"\nPython {version} ({path})", flush=True)
        venv = VENVS / version
        _call(path, "running/bootstrap.py", "--dev", "--exact", "--venv", venv)
        _call(venv / "bin" / "python", "-m", "pytest", *arguments)
    if is_newest_alone:
        return
    page = PAGE_TEXT.format(textwrap.fill(sentence(whole, tried), 88))
    PAGE.write_text(page)
    README.write_text(with_sentence(README.read_text(), page))
    print(f"\nwritten: {PAGE.relative_to(ROOT)} and its sentence in {README.name}")


def _call(*command: str | Path) -> None:
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        raise SystemExit(code)


def check() -> None:
    """Fail if README.md says anything else than docs/pythons.md."""
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
