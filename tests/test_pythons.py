"""README.md names exactly the Python versions that `make test-pythons` has recorded."""

import pytest

from tests import pythons
from tests.pythons import PAGE_TEXT, sentence, with_sentence


def add_program(path, script):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def machine(tmp_path):
    """Folders of programs that are named like Pythons."""
    usr, own = tmp_path / "usr", tmp_path / "own"
    add_program(usr / "python3.11", "echo 3.11.2")
    add_program(usr / "python3.9", "echo 3.9.1")
    add_program(usr / "python3.11-config", "echo 3.11.3")
    add_program(usr / "python3.12", "exit 1")
    add_program(own / "python3.11", "echo 3.11.2")
    add_program(own / "python3.13", "echo 3.13.0")
    add_program(own / "python3.12", "echo 3.12.10")
    return [usr, own, tmp_path / "none"]


def test_each_suitable_version_is_found_once_oldest_first(machine):
    found = pythons.pythons(machine)

    assert list(found) == ["3.11.2", "3.12.10", "3.13.0"]
    assert found["3.11.2"].parent.name == "usr"


@pytest.mark.parametrize(
    ("full", "pure", "text"),
    [
        ("3.11.2", [], "every test with Python 3.11.2."),
        ("3.11.2", ["3.13.0"], "every test with Python 3.11.2; {few} with 3.13.0."),
        ("", ["3.11.2", "3.12.1"], "{few} with Python 3.11.2 and 3.12.1."),
        ("", ["3.11", "3.12", "3.13"], "{few} with Python 3.11, 3.12 and 3.13."),
    ],
)
def test_results_are_listed_by_version(full, pure, text):
    text = text.format(few="the tests that need no server and no browser")
    assert sentence(full, pure).partition(": ")[2] == text


def page(text):
    return PAGE_TEXT.format(text)


def test_readme_contains_the_pages_sentence():
    before = "One.\n\nTried on Linux: 3.11.2\nand 3.12.\n\nTwo.\n"

    assert with_sentence(before, page("Tried on Linux: 3.13.\n")) == (
        "One.\n\nTried on Linux: 3.13.\n\nTwo.\n"
    )


def test_readme_without_the_sentence_is_refused():
    with pytest.raises(SystemExit, match="names no Python"):
        with_sentence("One.\n", page("Tried on Linux: 3.13."))


@pytest.fixture
def clone(tmp_path, monkeypatch, machine):
    """A clone with environments of those Pythons, in which all tests pass."""
    monkeypatch.setattr(pythons, "folders", lambda: machine)
    monkeypatch.setattr(pythons, "ROOT", tmp_path)
    monkeypatch.setattr(pythons, "VENVS", tmp_path / "venvs")
    monkeypatch.setattr(pythons, "NOTE", tmp_path / "note")
    for name in ("PAGE", "README"):
        copy = tmp_path / name
        copy.write_text(page("Tried on Linux: nothing."))
        monkeypatch.setattr(pythons, name, copy)
    for version in pythons.pythons(machine):
        add_program(tmp_path / "venvs" / version / "bin" / "python", "echo $0 $*")
    return tmp_path


def test_passed_versions_are_written_to_both(clone, capfd):
    pythons.run(["-q"])

    few = "the tests that need no server and no browser with Python"
    for path in (pythons.PAGE, pythons.README):
        text = " ".join(path.read_text().split())
        assert text.endswith(f": {few} 3.11.2, 3.12.10 and 3.13.0.")
    assert capfd.readouterr().out.count("/bin/python -m pytest -q\n") == 3
    pythons.check()


def test_version_with_all_tests_passed_is_not_repeated(clone, capfd):
    pythons.NOTE.write_text("3.11.2")

    pythons.run(["-q"])

    assert "every test with Python 3.11.2; the tests" in pythons.PAGE.read_text()
    assert capfd.readouterr().out.count("/bin/python -m pytest -q\n") == 2


def test_newest_alone_writes_nothing(clone, capfd):
    pythons.run(["-q"], is_newest_alone=True)

    assert "3.13.0/bin/python -m pytest -q\n" in (printed := capfd.readouterr().out)
    assert printed.count(" -m pytest ") == 1
    assert "nothing" in pythons.PAGE.read_text()


def test_failure_writes_nothing(clone):
    add_program(clone / "venvs" / "3.13.0" / "bin" / "python", "exit 2")

    with pytest.raises(SystemExit, match="2"):
        pythons.run(["-q"])
    assert "nothing" in pythons.PAGE.read_text()


def test_check_detects_an_outdated_readme(clone):
    pythons.check()
    pythons.README.write_text("Tried on Linux: everything.\n")

    with pytest.raises(SystemExit, match="does not quote"):
        pythons.check()
