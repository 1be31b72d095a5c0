"""Make .venv with the pinned packages: `python3 running/bootstrap.py [--dev]`.

Runs before anything is installed: standard library only, and old Pythons must read
this file far enough to say which Python is needed (hence the quoted types).
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

NEEDED = (3, 11)
ROOT = Path(__file__).resolve().parent.parent
WHICH = "import sys; print('%d.%d.%d' % sys.version_info[:3])"
STEP_S = 0.2


class Obstacle(Exception):  # noqa: N818 - its text is a sentence for the reader
    """The environment cannot be made; the text says what to do."""


def main(arguments: "list[str] | None" = None) -> int:
    parser = argparse.ArgumentParser(description="Make .venv with the pinned packages.")
    parser.add_argument("--dev", action="store_true", help="with what tests need")
    parser.add_argument("--exact", action="store_true", help="insist on this Python")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    parser.add_argument("--venv", type=Path, help="where, instead of .venv")
    options = parser.parse_args(arguments)
    try:
        require_python(sys.version_info[:2], sys.executable)
        prepare(options.root, options.dev, options.exact, options.venv)
    except Obstacle as obstacle:
        sys.stderr.write(f"{obstacle}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def require_python(version: "tuple[int, ...]", executable: str) -> None:
    """Refuse a Python that is too old."""
    if version < NEEDED:
        text = ".".join(str(part) for part in version)
        raise Obstacle(
            f"Virtlab needs Python 3.11 or newer; found {text} at {executable}. "
            "Install one (on Debian: apt install python3 python3-venv), or name one "
            "that is there: make run PYTHON=python3.12"
        )


def prepare(root: Path, dev: bool, exact: bool, folder: "Path | None" = None) -> None:
    """Make .venv if needed and install what changed; one start at a time."""
    if os.geteuid() == 0:
        os.umask(0o022)  # root's PostgreSQL runs as an account that must read .venv
    venv = Venv(folder or root / ".venv")
    names = ["requirements.txt"] + (["requirements-dev.txt"] if dev else [])
    # Our own source: a file that is there before anything was made.
    with open(__file__) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            if not venv.is_usable(exact):
                venv.make()
            for name in names:
                venv.install(root / name)
        except OSError as error:
            raise Obstacle(f"{venv.path} cannot be made: {error}.") from error


class Venv:
    """The environment, and a note of the packages that are installed completely."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.python = path / "bin" / "python"
        self.note = path / "virtlab.json"

    def is_usable(self, exact: bool) -> bool:
        """Whether it is whole and of a suitable Python.

        One made by another Python that is new enough stays, unless ``exact``.
        """
        version = self._version()
        if version < NEEDED or "installing" in self._notes():
            return False
        return not exact or version == tuple(sys.version_info[:3])

    def _version(self) -> "tuple[int, ...]":
        try:
            command = [str(self.python), "-I", "-S", "-c", WHICH]
            text = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return ()
        return tuple(int(part) for part in text.split(b"."))

    def _notes(self) -> "dict[str, str]":
        try:
            return dict(json.loads(self.note.read_text()))
        except (OSError, ValueError):
            return {}

    def make(self) -> None:
        if importlib.util.find_spec("ensurepip") is None:
            raise Obstacle(self._venv_module_is_missing())
        # We may be run by the very .venv to be replaced: then by the Python behind it.
        python = getattr(sys, "_base_executable", sys.executable)
        self._remove()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._show([python, "-m", "venv", str(self.path)], f"making {self.path.name}")

    def _venv_module_is_missing(self) -> str:
        exact = ".".join(str(part) for part in sys.version_info[:2])
        return (
            f"{sys.executable} comes without its venv module. On Debian or Ubuntu: "
            f"apt install python3-venv (or python{exact}-venv); or name another "
            "Python: make run PYTHON=python3.12"
        )

    def _remove(self) -> None:
        """Remove a half-made or outdated one, but no folder of something else."""
        if not self.path.exists() and not self.path.is_symlink():
            return
        is_venv = (self.path / "pyvenv.cfg").exists() or self.note.exists()
        if self.path.is_symlink() or not (is_venv or not any(self.path.iterdir())):
            raise Obstacle(
                f"{self.path} is no Python environment that Virtlab may replace. "
                "Move it away, then try again."
            )
        shutil.rmtree(str(self.path))

    def install(self, requirements: Path) -> None:
        """Install pinned packages, unless exactly these are installed already."""
        wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
        notes = self._notes()
        if notes.get(requirements.name) == wanted:
            return
        # Stays if we are killed meanwhile: then the environment is made anew.
        self._write(dict(notes, installing=requirements.name))
        command = [str(self.python), "-m", "pip", "install", "--require-hashes"]
        # Wheels only: nothing is compiled on the reader's machine.
        command += ["--disable-pip-version-check", "--no-input", "--only-binary=:all:"]
        command += ["--no-compile"]  # what is imported is compiled then: 15 s saved
        command += ["--requirement", str(requirements)]
        self._show(command, f"installing {requirements.name} into {self.path.name}")
        # These notes are older than that mark, which goes with them.
        self._write(dict(notes, **{requirements.name: wanted}))

    def _write(self, notes: "dict[str, str]") -> None:
        draft = self.note.with_name("virtlab.json.new")
        draft.write_text(json.dumps(notes))
        draft.replace(self.note)

    def _show(self, command: "list[str]", what: str) -> None:
        """Run a command behind one line that shows the seconds."""
        progress, begun = Progress(what), time.monotonic()
        # A file, not a pipe, which would fill up: nobody reads while the seconds count.
        with open(str(self.path) + ".log", "wb") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
            try:
                while process.poll() is None:
                    progress.show(time.monotonic() - begun)
                    time.sleep(STEP_S)
            finally:
                process.kill()
                process.wait()
        progress.end(time.monotonic() - begun)
        output = Path(log.name).read_text(errors="replace")
        os.unlink(log.name)
        if process.returncode != 0:
            raise Obstacle(why_it_failed(what, output))


class Progress:
    """One line on the terminal; in a file, one line at the end."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.live = sys.stdout.isatty()

    def show(self, seconds: float) -> None:
        if self.live:
            sys.stdout.write(f"\r{self.what} ... {seconds:.0f} s")
            sys.stdout.flush()

    def end(self, seconds: float) -> None:
        sys.stdout.write(
            # No \r: Python reads a backslash within braces from 3.12 on.
            f"{chr(13) if self.live else ''}{self.what} ... {seconds:.0f} s\n"
        )
        sys.stdout.flush()


def why_it_failed(what: str, output: str) -> str:
    """Return advice, then the end of the output."""
    end = "\n".join("  " + line for line in output.strip().splitlines()[-8:])
    advice = "The reason is below; run the command again when it is gone."
    if "No space left on device" in output:
        advice = "The disk is full: make room (about 700 MB) and run it again."
    elif "No matching distribution" in output:
        advice = (
            "A package has no wheel for this Python or machine: try another Python, "
            "make run PYTHON=python3.12"
        )
    elif "Connection" in output or "Temporary failure" in output:
        advice = "The package index cannot be reached: check network, proxy, pip.conf."
    return f"{what} failed. {advice}\n{end}"


if __name__ == "__main__":
    sys.exit(main())
