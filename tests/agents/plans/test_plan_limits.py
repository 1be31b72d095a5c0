"""Limits that a machine sets to plans: tools, folders, devices, peers, numbers."""

import os

import pytest

from agents.errors import UsageError
from agents.plan_limits import default_limits, limits_path, load_limits, refusal


@pytest.fixture(autouse=True)
def working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIRTLAB_ALLOW", raising=False)
    monkeypatch.setattr("agents.plan_limits.os.cpu_count", lambda: 4)


@pytest.fixture
def allow(tmp_path, monkeypatch):
    """Write the file of limits and read it."""

    def write(text):
        path = tmp_path / "allow.conf"
        path.write_text(text)
        monkeypatch.setenv("VIRTLAB_ALLOW", str(path))
        return load_limits()

    return write


@pytest.mark.parametrize(
    ("tool", "options"),
    [
        ("sysbench", {}),
        ("sysbench", {"threads": 8, "seconds": 3600}),
        ("fio", {"folder": "."}),
        ("fio", {"folder": "below/here", "file_mib": 65536}),
    ],
)
def test_work_in_the_working_directory_is_allowed(tool, options):
    assert refusal(tool, options, default_limits("allow.conf")) == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"folder": "/etc"}, "files in /etc"),
        ({"folder": ".."}, "files in .."),
        ({"folder": "below/../../other"}, "files in below/../../other"),
        ({"device": "/dev/sda"}, "device /dev/sda"),
        ({"peer": "192.168.1.7"}, "load to 192.168.1.7"),
        ({"threads": 9}, "8 threads (9)"),
        ({"threads": "many"}, "8 threads (many)"),
        ({"seconds": 3601}, "3600 seconds"),
        ({"budget_s": 10**9}, "3600 seconds"),
        ({"array_mib": 10**9}, "65536 file-mib"),
    ],
)
def test_other_work_is_refused_with_the_file_to_change(options, words):
    sentence = refusal("fio", options, default_limits("/etc/allow.conf"))

    assert words in sentence
    assert "/etc/allow.conf" in sentence


def test_link_out_of_an_allowed_folder_is_refused(tmp_path):
    (tmp_path / "link").symlink_to("/etc")

    assert refusal("fio", {"folder": "link"}, default_limits("allow.conf"))


def test_listed_work_is_allowed_and_the_rest_refused(allow, tmp_path):
    other = tmp_path.parent
    limits = allow(
        f"[plans]\ntools = fio iperf3\nfolders = {other}\ndevices = /dev/vdb\n"
        "peers = beta 10.0.0.0/8 fd00::1\nthreads = 64\n"
    )

    fine = [
        {"folder": str(other / "new")},
        {"device": "/dev/vdb", "threads": 64},
        *({"peer": peer} for peer in ("beta", "beta:5201", "10.9.8.7", "10.9.8.7:80")),
        {"peer": "[fd00::1]:5201"},
    ]
    assert [refusal("fio", options, limits) for options in fine] == [""] * len(fine)
    wrong = [{"peer": p} for p in ("gamma", "11.0.0.1", "10.evil.example", "fd00::2")]
    wrong += [{"threads": 65}, {"device": "/dev/vda"}, {"folder": f"{other}x"}]
    assert all(refusal("fio", options, limits) for options in wrong)
    assert "the tool sysbench" in refusal("sysbench", {}, limits)


@pytest.mark.parametrize(
    "text", ["threads = 1", "[plans]\nthreads = -1", "[plans]\ntool = fio", "\0[", "[p"]
)
def test_wrong_file_is_named_and_allows_nothing(allow, text):
    with pytest.raises(UsageError, match=r"allow\.conf"):
        allow(text)


def test_unreadable_encoding_is_named(tmp_path, monkeypatch):
    (tmp_path / "allow.conf").write_bytes(b"[plans]\nfolders = /caf\xe9\n")
    monkeypatch.setenv("VIRTLAB_ALLOW", str(tmp_path / "allow.conf"))

    with pytest.raises(UsageError, match=r"allow\.conf"):
        load_limits()


def test_machine_has_precedence_over_its_users(home, monkeypatch):
    machine = "/etc/virtlab-agent/allow.conf"
    monkeypatch.setattr("agents.plan_limits.os.path.exists", lambda path: False)
    assert limits_path() == str(home / "allow.conf")

    monkeypatch.setattr("agents.plan_limits.os.path.exists", lambda p: p == machine)
    assert limits_path() == os.path.join("/etc", "virtlab-agent", "allow.conf")
