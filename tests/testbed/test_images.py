import lzma
import tarfile

import pytest

from testbed import TestbedError, images
from testbed.images import (
    GUEST,
    NESTED_HOST,
    Image,
    build_image,
    image_key,
    own_sources,
    write_disk,
    write_job,
    write_raw_disk,
)


@pytest.fixture
def sources(tmp_path):
    path = tmp_path / "debian.sources"
    path.write_text("Types: deb\n")
    return path


def test_changed_ingredients_give_another_image(sources):
    before = image_key(GUEST, sources)

    assert image_key(GUEST, sources) == before
    assert image_key(NESTED_HOST, sources) != before
    sources.write_text("Types: deb\nSuites: other\n")
    assert image_key(GUEST, sources) != before


def test_existing_image_is_not_rebuilt(tmp_path, sources):
    existing = Image(tmp_path / f"guest-{image_key(GUEST, sources)}")
    existing.folder.mkdir()
    existing.disk.touch()

    assert build_image(GUEST, tmp_path, sources, pytest.fail).folder == existing.folder


def test_failure_shows_the_end_of_the_log(tmp_path, sources, monkeypatch):
    def fail(recipe, image, path, log):
        images._run(["sh", "-c", "echo no mirror; exit 3"], log, {})

    monkeypatch.setattr(images, "_fill", fail)

    with pytest.raises(TestbedError, match=r"sh failed; .*guest.log:\n  no mirror"):
        build_image(GUEST, tmp_path, sources, print)


def test_debian_sources_are_those_of_the_machine(tmp_path):
    with pytest.raises(TestbedError, match="APT_SOURCES=FILE"):
        own_sources(tmp_path)
    (tmp_path / "sources.list").write_text("deb ...\n")

    assert own_sources(tmp_path) == tmp_path / "sources.list"


def test_job_is_a_tar_of_whole_sectors(tmp_path):
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


def test_raw_disk_is_a_new_complete_file_system(tmp_path):
    path = write_raw_disk(tmp_path / "raw" / "qemu.img")
    path.write_bytes(b"spoilt")

    assert write_raw_disk(path).stat().st_size == images.RAW_MIB * 1024 * 1024
    # The file system fills the disk, and is ext4 (by its magic number).
    assert path.stat().st_blocks * 512 >= path.stat().st_size
    assert path.read_bytes()[1080:1082] == b"\x53\xef"


def test_token_is_private(tmp_path):
    folder = write_job(tmp_path / "qemu", "", {}, {"token": "t\n"})

    assert folder.stat().st_mode & 0o077 == 0
    assert write_disk(folder).stat().st_mode & 0o077 == 0


def test_earlier_job_is_removed(tmp_path):
    write_job(tmp_path / "qemu", "", {}, {"old": ""})

    folder = write_job(tmp_path / "qemu", "", {}, {})

    assert [path.name for path in folder.iterdir()] == ["start"]


@pytest.mark.parametrize("suffix", [b"", b"the end of the loader"])
def test_xz_kernel_is_unpacked(suffix):
    kernel = b"\x7fELF" + bytes(10_000)

    assert (
        images.unpacked_kernel(b"MZ loader" + lzma.compress(kernel) + suffix) == kernel
    )


def test_other_kernel_is_unchanged():
    assert images.unpacked_kernel(b"MZ loader, and lz4") == b"MZ loader, and lz4"
