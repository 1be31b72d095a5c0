import pytest

from lab import LabError
from lab.__main__ import PACKAGES, check_machine, missing_packages


def everything(_):
    return "/usr/bin/it"


def test_it_names_the_packages_of_programs_that_are_missing():
    def which(name):
        return None if name in {"qemu-system-x86_64", "gcc"} else "/usr/bin/it"

    assert missing_packages(which) == ["qemu-system-x86", "gcc", "libc6-dev"]
    with pytest.raises(LabError, match=r"apt-get install .* qemu-system-x86 gcc"):
        check_machine(which, lambda: 0, lambda: True)


def test_it_wants_root():
    with pytest.raises(LabError, match="sudo make lab"):
        check_machine(everything, lambda: 1000, lambda: True)

    check_machine(everything, lambda: 0, lambda: True)


def test_it_wants_to_mount():
    with pytest.raises(LabError, match="privileged"):
        check_machine(everything, lambda: 0, lambda: False)


def test_its_document_names_every_package(repository):
    text = (repository / "docs" / "lab.md").read_text()

    for packages in PACKAGES.values():
        assert all(package in text for package in packages.split())
