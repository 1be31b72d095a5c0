import pytest

from testbed import TestbedError
from testbed.__main__ import PACKAGES, check_machine, missing_packages


def everything(_):
    return "/usr/bin/it"


def test_missing_packages_are_named():
    def which(name):
        return None if name in {"qemu-system-x86_64", "gcc"} else "/usr/bin/it"

    assert missing_packages(which) == ["qemu-system-x86", "gcc", "libc6-dev"]
    with pytest.raises(TestbedError, match=r"apt-get install .* qemu-system-x86 gcc"):
        check_machine(which, lambda: 0, lambda: True)


def test_root_is_required():
    with pytest.raises(TestbedError, match="sudo make testbed"):
        check_machine(everything, lambda: 1000, lambda: True)

    check_machine(everything, lambda: 0, lambda: True)


def test_mounting_is_required():
    with pytest.raises(TestbedError, match="privileged"):
        check_machine(everything, lambda: 0, lambda: False)


def test_document_names_every_package(repository):
    text = (repository / "docs" / "testbed.md").read_text()

    for packages in PACKAGES.values():
        assert all(package in text for package in packages.split())
