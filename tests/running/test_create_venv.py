"""Creating .venv on a new machine, and repairing it on a used one."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from running import create_venv
from running.create_venv import BootstrapError, Venv

HERE = tuple(sys.version_info[:2])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A clone that needs no packages."""
    for name in ("requirements.txt", "requirements-dev.txt"):
        (tmp_path / name).write_text("# nothing\n")
    return tmp_path


@pytest.fixture
def venv(root: Path) -> Venv:
    """An environment without pip: quick to create, and sufficient for these tests."""
    command = [sys.executable, "-m", "venv", "--without-pip", root / ".venv"]
    subprocess.run(command, check=True)
    return Venv(root / ".venv")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Record commands instead of running them."""
    commands: list[list[str]] = []
    monkeypatch.setattr(
        Venv, "_show", lambda self, command, what: commands.append(command)
    )
    return commands


def test_bare_clone_gets_environment_and_packages(root, capsys):
    assert create_venv.main(["--root", str(root)]) == 0

    python = root / ".venv" / "bin" / "python"
    subprocess.run([python, "-c", "import pip"], check=True)
    assert "creating .venv" in capsys.readouterr().out
    assert create_venv.main(["--root", str(root), "--dev"]) == 0
    assert "creating .venv" not in capsys.readouterr().out


@pytest.mark.parametrize("version", [(3, 6), (3, 7), (3, 10)])
def test_old_pythons_can_parse_the_script(version):
    source = Path(create_venv.__file__).read_text()

    ast.parse(source, feature_version=version)
    with pytest.raises(
        BootstrapError, match=r"3.11 or newer; found 3\.\d+ at /usr/bin/py.*="
    ):
        create_venv.require_python(version, "/usr/bin/python3")


def test_annotations_are_not_evaluated_by_old_pythons():
    tree = ast.parse(Path(create_venv.__file__).read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    annotations = [
        annotation
        for function in functions
        for annotation in [
            function.returns,
            *(argument.annotation for argument in function.args.args),
        ]
        if annotation is not None
    ]

    assert annotations
    assert not [
        annotation
        for annotation in annotations
        if isinstance(annotation, ast.Subscript | ast.BinOp)
    ]


def test_missing_venv_module_is_explained(root, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    assert create_venv.main(["--root", str(root)]) == 1
    assert "apt install python3-venv" in capsys.readouterr().err
    assert not (root / ".venv").exists()


def test_installed_packages_are_not_reinstalled(root, venv, quick):
    create_venv.create_environment(root, dev=True, exact=False)
    create_venv.create_environment(root, dev=True, exact=False)

    assert [command[-1] for command in quick] == [
        str(root / "requirements.txt"),
        str(root / "requirements-dev.txt"),
    ]
    assert all("--require-hashes" in command for command in quick)


def test_changed_requirements_are_installed(root, venv, quick):
    create_venv.create_environment(root, dev=False, exact=False)
    (root / "requirements.txt").write_text("# something\n")
    create_venv.create_environment(root, dev=False, exact=False)

    assert len(quick) == 2


def test_moved_clone_keeps_its_environment(root, venv, quick):
    create_venv.create_environment(root, dev=False, exact=False)
    moved = root.rename(root.with_name("moved"))
    create_venv.create_environment(moved, dev=False, exact=False)

    assert len(quick) == 1


def test_interrupted_installation_starts_again(venv, quick):
    venv.note.write_text('{"installing": "requirements.txt"}')
    leftover = venv.path / "leftover"
    leftover.write_text("")

    assert not venv.is_usable(exact=False)
    venv.create()

    assert not leftover.exists()


def test_environment_without_python_is_recreated(venv):
    venv.python.unlink()

    assert not venv.is_usable(exact=False)


def test_environment_of_another_python_stays_unless_exact(venv, monkeypatch):
    monkeypatch.setattr("sys.version_info", (HERE[0], HERE[1] + 1, 0))

    assert venv.is_usable(exact=False)
    assert not venv.is_usable(exact=True)


def test_unrelated_folder_is_not_removed(root, quick):
    thesis = root / ".venv" / "thesis.tex"
    thesis.parent.mkdir()
    thesis.write_text("Do not lose me.")

    with pytest.raises(BootstrapError, match="Move it elsewhere"):
        create_venv.create_environment(root, dev=False, exact=False)
    assert thesis.exists()


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: No matching distribution found for numpy", "PYTHON=python3.12"),
        ("NewConnectionError: Connection refused", "Check network"),
        ("something else", "run the command again"),
    ],
)
def test_failed_installation_shows_reason_and_remedy(output, words):
    message = create_venv.failure_message("installing", output)

    assert words in message
    assert message.endswith(output)


def test_failed_command_leaves_the_mark_for_a_new_start(root, venv, capsys):
    """This environment has no pip."""
    assert create_venv.main(["--root", str(root)]) == 1
    assert "No module named pip" in capsys.readouterr().err
    assert not venv.is_usable(exact=False)


def test_roots_environment_is_readable_by_others(root, venv, quick):
    previous = os.umask(0o077)
    try:
        create_venv.create_environment(root, dev=False, exact=False)
        mask = os.umask(previous)
    finally:
        os.umask(previous)

    assert mask == (0o022 if os.geteuid() == 0 else 0o077)
