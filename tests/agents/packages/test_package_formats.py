"""Packages of the agent: the same bytes each time, with the same program inside."""

import gzip
import io
import struct
import tarfile
import zipfile

import pytest

from agents import VERSION, build
from agents.packages import contents, deb, rpm, wheel
from agents.packages.build import BUILDERS, main


@pytest.fixture(scope="module")
def packages():
    return {name: build_package() for name, build_package in BUILDERS.items()}


def deb_members(package):
    """Return the members of an ar archive."""
    assert package.startswith(b"!<arch>\n")
    members, position = {}, 8
    while position < len(package):
        head = package[position : position + 60].decode()
        size = int(head[48:58])
        start = position + 60
        members[head[:16].strip()] = package[start : start + size]
        position = start + size + size % 2
    return members


def files_of(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return {
            entry.name: opened.extractfile(entry).read() if entry.isfile() else b""
            for entry in opened
        }


def rpm_headers(package):
    """Return signature and header of an rpm (values by tag), and its payload."""
    headers, position = [], 96
    for _ in range(2):
        assert package[position : position + 4] == b"\x8e\xad\xe8\x01"
        count, size = struct.unpack_from(">II", package, position + 8)
        index, data = position + 16, position + 16 + 16 * count
        entries = {}
        for number in range(count):
            tag, kind, offset, amount = struct.unpack_from(
                ">IIII", package, index + 16 * number
            )
            at = data + offset
            if kind in (rpm.TEXT, rpm.TEXTS, rpm.TRANSLATED):
                texts = package[at:].split(b"\0", amount)[:amount]
                entries[tag] = [text.decode() for text in texts]
            elif kind == rpm.INT32:
                entries[tag] = list(struct.unpack_from(f">{amount}I", package, at))
        headers.append(entries)
        position = data + size
        if len(headers) == 1:
            position += -position % 8
    return headers[0], headers[1], package[position:]


def test_two_builds_give_the_same_bytes(packages, tmp_path):
    main(str(tmp_path))

    for name, content in packages.items():
        assert (tmp_path / name).read_bytes() == content
        assert (
            build.checksum_line(content, name)
            == (tmp_path / f"{name}.sha256").read_text()
        )


def test_all_packages_contain_the_same_program(packages):
    program = packages[build.NAME]
    data = files_of(deb_members(packages[contents.DEB_NAME])["data.tar.gz"])
    with zipfile.ZipFile(io.BytesIO(packages[wheel.agent_wheel_name()])) as opened:
        in_wheel = opened.read(f"virtlab_agent/{build.NAME}")
    payload = gzip.decompress(rpm_headers(packages[contents.RPM_NAME])[2])

    assert data[f".{contents.PROGRAM}"] == in_wheel == program
    assert program in payload


def test_deb_and_rpm_install_the_same_files():
    in_deb = files_of(deb_members(deb.build_deb())["data.tar.gz"])
    header = rpm_headers(rpm.build_rpm())[1]
    folders, names, of = header[1118], header[1117], header[1116]
    in_rpm = {folders[i] + name for i, name in zip(of, names, strict=True)}

    assert in_rpm < {name[1:] for name in in_deb}
    assert set(contents.package_files()) < in_rpm


def test_deb_states_name_version_and_configuration():
    control = files_of(deb_members(deb.build_deb())["control.tar.gz"])

    assert f"Version: {VERSION}\n".encode() in control["./control"]
    assert control["./conffiles"] == b"/etc/virtlab-agent/allow.conf\n"
    assert set(control) > {"./postinst", "./prerm", "./postrm", "./md5sums"}


def test_rpm_states_sizes_digests_and_kept_configuration():
    package = rpm.build_rpm()
    signature, header, payload = rpm_headers(package)

    assert header[1000] == ["virtlab-agent"]
    assert header[1001] == [VERSION]
    assert signature[1007] == [len(gzip.decompress(payload))]
    paths = dict(zip(header[1117], header[1037], strict=True))
    assert paths["allow.conf"] == 0x11
    assert header[1028][header[1117].index(build.NAME)] == len(build.build_archive())


@pytest.mark.parametrize("unit", ["virtlab-agent", "virtlab-agent-plan@"])
def test_services_have_no_rights_of_root(unit):
    path = f"/usr/lib/systemd/system/{unit}.service"
    lines = contents.package_files()[path].content.decode().splitlines()

    assert {
        "User=virtlab-agent",
        "CapabilityBoundingSet=",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
    } <= set(lines)
