import tarfile

from lab.jobs import write_disk, write_job


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


def test_a_token_can_be_read_by_nobody_else(tmp_path):
    folder = write_job(tmp_path / "qemu", "", {}, {"token": "t\n"})

    assert folder.stat().st_mode & 0o077 == 0
    assert write_disk(folder).stat().st_mode & 0o077 == 0


def test_nothing_is_left_of_an_earlier_job(tmp_path):
    write_job(tmp_path / "qemu", "", {}, {"old": ""})

    folder = write_job(tmp_path / "qemu", "", {}, {})

    assert [path.name for path in folder.iterdir()] == ["start"]
