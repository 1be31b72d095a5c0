"""Create .venv with the pinned packages: `python3 running/create_venv.py [--dev]`.

Only the standard library is available. Old versions of Python must be able to parse
this file to report the required version. Therefore its types are quoted.
"""

import argparse
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

MIN_PYTHON = (3, 11)
ROOT = Path(__file__).resolve().parent.parent
VERSION_SCRIPT = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
STEP_S = 0.2


class BootstrapError(Exception):
    """A reason why .venv cannot be created; the message has the remedy."""


def main(arguments: "list[str] | None" = None) -> int:
    parser = argparse.ArgumentParser(
        description="Create .venv with the pinned packages."
    )
    parser.add_argument("--dev", action="store_true", help="add packages for tests")
    parser.add_argument("--exact", action="store_true", help="require this Python")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    parser.add_argument("--venv", type=Path, help="folder instead of .venv")
    options = parser.parse_args(arguments)
    try:
        require_python(sys.version_info[:2], sys.executable)
        create_environment(options.root, options.dev, options.exact, options.venv)
    except BootstrapError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def require_python(version: "tuple[int, ...]", executable: str) -> None:
    if version < MIN_PYTHON:
        text = ".".join(str(part) for part in version)
        raise BootstrapError(
            f"Virtlab needs Python 3.11 or newer; found {text} at {executable}. "
            "Install one (on Debian: apt install python3 python3-venv), or name "
            "another one: make run PYTHON=python3.12"
        )


def create_environment(
    root: Path, dev: bool, exact: bool, folder: "Path | None" = None
) -> None:
    """Create .venv if needed; install the packages of changed requirement files."""
    if os.geteuid() == 0:
        os.umask(0o022)  # PostgreSQL's account must be able to read root's .venv
    venv = Venv(folder or root / ".venv")
    names = ["requirements.txt"] + (["requirements-dev.txt"] if dev else [])
    # This file is used as the lock, because it exists before anything is created.
    with open(__file__) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if not venv.is_usable(exact):
                venv.create()
            for name in names:
                venv.install(root / name)
        except OSError as error:
            raise BootstrapError(f"{venv.path} cannot be created: {error}.") from error


class Venv:
    """A virtual environment, and a file that notes completely installed packages."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.python = path / "bin" / "python"
        self.note = path / "virtlab.json"

    def is_usable(self, exact: bool) -> bool:
        """Return whether the environment can be kept.

        Any Python that is new enough is accepted, unless ``exact``.
        """
        version = self._version()
        if version < MIN_PYTHON or "installing" in self._notes():
            return False
        return not exact or version == tuple(sys.version_info[:3])

    def _version(self) -> "tuple[int, ...]":
        try:
            command = [str(self.python), "-I", "-S", "-c", VERSION_SCRIPT]
            text = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return ()
        return tuple(int(part) for part in text.split(b"."))

    def _notes(self) -> "dict[str, str]":
        try:
            return dict(json.loads(self.note.read_text()))
        except (OSError, ValueError):
            return {}

    def create(self) -> None:
        if importlib.util.find_spec("ensurepip") is None:
            raise BootstrapError(self._missing_venv_message())
        # The base Python, because this may run in the .venv that is replaced.
        python = getattr(sys, "_base_executable", sys.executable)
        self._remove()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._show([python, "-m", "venv", str(self.path)], f"creating {self.path.name}")

    def _missing_venv_message(self) -> str:
        version = ".".join(str(part) for part in sys.version_info[:2])
        return (
            f"{sys.executable} has no venv module. On Debian or Ubuntu: "
            f"apt install python3-venv (or python{version}-venv). Or name another "
            "Python: make run PYTHON=python3.12"
        )

    def _remove(self) -> None:
        if not self.path.exists() and not self.path.is_symlink():
            return
        is_venv = (self.path / "pyvenv.cfg").exists() or self.note.exists()
        if self.path.is_symlink() or not (is_venv or not any(self.path.iterdir())):
            raise BootstrapError(
                f"{self.path} is not a Python environment that Virtlab may replace. "
                "Move it elsewhere and try again."
            )
        shutil.rmtree(str(self.path))

    def install(self, requirements: Path) -> None:
        digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
        notes = self._notes()
        if notes.get(requirements.name) == digest:
            return
        # If this process is killed, "installing" makes the next start create the
        # environment again.
        self._write(dict(notes, installing=requirements.name))
        command = [str(self.python), "-m", "pip", "install", "--require-hashes"]
        # Wheels only: users may have no compiler.
        command += ["--disable-pip-version-check", "--no-input", "--only-binary=:all:"]
        command += ["--no-compile"]  # saves 15 s
        command += ["--requirement", str(requirements)]
        self._show(command, f"installing {requirements.name} into {self.path.name}")
        # Without "installing", which is not in `notes`.
        self._write(dict(notes, **{requirements.name: digest}))

    def _write(self, notes: "dict[str, str]") -> None:
        temporary = self.note.with_name("virtlab.json.new")
        temporary.write_text(json.dumps(notes))
        temporary.replace(self.note)

    def _show(self, command: "list[str]", title: str) -> None:
        progress, started = Progress(title), time.monotonic()
        # A file, because a pipe would fill up.
        with open(str(self.path) + ".log", "wb") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
            try:
                while process.poll() is None:
                    progress.show(time.monotonic() - started)
                    time.sleep(STEP_S)
            finally:
                process.kill()
                process.wait()
        progress.end(time.monotonic() - started)
        output = Path(log.name).read_text(errors="replace")
        os.unlink(log.name)
        if process.returncode != 0:
            raise BootstrapError(failure_message(title, output))


class Progress:
    """A line of progress, updated on a terminal; a file gets only the final line."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.is_terminal = sys.stdout.isatty()

    def show(self, seconds: float) -> None:
        if self.is_terminal:
            sys.stdout.write(f"\r{self.title} ... {seconds:.0f} s")
            sys.stdout.flush()

    def end(self, seconds: float) -> None:
        sys.stdout.write(
            # Before Python 3.12 a backslash inside braces is a syntax error.
            f"{chr(13) if self.is_terminal else ''}{self.title} ... {seconds:.0f} s\n"
        )
        sys.stdout.flush()


def failure_message(title: str, output: str) -> str:
    end = "\n".join("  " + line for line in output.strip().splitlines()[-8:])
    advice = "Fix the problem below and run the command again."
    if "No space left on device" in output:
        advice = "The disk is full. Free about 700 MB and run the command again."
    elif "No matching distribution" in output:
        advice = (
            "A package has no wheel for this Python or machine. Try another Python: "
            "make run PYTHON=python3.12"
        )
    elif "Connection" in output or "Temporary failure" in output:
        advice = (
            "The package index cannot be reached. Check network, proxy and pip.conf."
        )
    return f"{title} failed. {advice}\n{end}"


if __name__ == "__main__":
    sys.exit(main())
