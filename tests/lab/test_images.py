import lzma
import tarfile

import pytest

from lab import LabError, images
from lab.images import (
    GUEST,
    TOWER,
    Image,
    image_of,
    key_of,
    own_sources,
    write_disk,
    write_job,
    write_raw,
)


@pytest.fixture
def sources(tmp_path):
    path = tmp_path / "debian.sources"
    path.write_text("Types: deb\n")
    return path


def test_other_ingredients_make_another_image(sources):
    before = key_of(GUEST, sources)

    assert key_of(GUEST, sources) == before
    assert key_of(TOWER, sources) != before
    sources.write_text("Types: deb\nSuites: other\n")
    assert key_of(GUEST, sources) != before


def test_an_image_that_is_there_is_not_built_again(tmp_path, sources):
    there = Image(tmp_path / f"guest-{key_of(GUEST, sources)}")
    there.folder.mkdir()
    there.disk.touch()

    assert image_of(GUEST, tmp_path, sources, pytest.fail).folder == there.folder


def test_what_fails_says_how_its_log_ends(tmp_path, sources, monkeypatch):
    def fail(recipe, image, given, log):
        images._run(["sh", "-c", "echo no mirror; exit 3"], log, {})

    monkeypatch.setattr(images, "_fill", fail)

    with pytest.raises(
        LabError, match=r"sh failed; .*guest.log ends with:\n  no mirror"
    ):
        image_of(GUEST, tmp_path, sources, print)


def test_debian_comes_from_where_the_machine_gets_it(tmp_path):
    with pytest.raises(LabError, match="APT_SOURCES=FILE"):
        own_sources(tmp_path)
    (tmp_path / "sources.list").write_text("deb ...\n")

    assert own_sources(tmp_path) == tmp_path / "sources.list"


def test_a_job_is_a_tar_of_whole_sectors(tmp_path):
    (tmp_path / "agent").write_text("agent")
    folder = write_job(
        *(tmp_path / "qemu", "echo up\n"),
        *({"virtlab-agent.pyz": tmp_path / "agent"}, {"token": "t\n"}),
    )

    disk = write_disk(folder)

    assert disk.name == "qemu.tar"
    assert disk.stat().st_size % 512 == 0
    with tarfile.open(disk) as archive:
        assert archive.getnames() == ["start", "token", "virtlab-agent.pyz"]


def test_a_raw_disk_is_a_whole_file_system_made_anew(tmp_path):
    path = write_raw(tmp_path / "raw" / "qemu.img")
    path.write_bytes(b"spoilt")

    assert write_raw(path).stat().st_size == images.RAW_MIB * 1024 * 1024
    # All of it is on the disk, and what stands there is ext4 (its magic number).
    assert path.stat().st_blocks * 512 >= path.stat().st_size
    assert path.read_bytes()[1080:1082] == b"\x53\xef"


def test_a_token_can_be_read_by_nobody_else(tmp_path):
    folder = write_job(tmp_path / "qemu", "", {}, {"token": "t\n"})

    assert folder.stat().st_mode & 0o077 == 0
    assert write_disk(folder).stat().st_mode & 0o077 == 0


def test_nothing_is_left_of_an_earlier_job(tmp_path):
    write_job(tmp_path / "qemu", "", {}, {"old": ""})

    folder = write_job(tmp_path / "qemu", "", {}, {})

    assert [path.name for path in folder.iterdir()] == ["start"]


@pytest.mark.parametrize("rest", [b"", b"the end of the loader"])
def test_a_kernel_that_came_as_xz_is_unpacked(rest):
    kernel = b"\x7fELF" + bytes(10_000)

    assert images.unpacked_kernel(b"MZ loader" + lzma.compress(kernel) + rest) == kernel


def test_a_kernel_that_came_otherwise_stays_as_it_is():
    assert images.unpacked_kernel(b"MZ loader, and lz4") == b"MZ loader, and lz4"
