"""Packages in a new Debian (make test-packages): install, use, remove, purge.

The rpm is installed there by Debian's rpm, without its dependencies: Debian's packages
are not in its database.
"""

import os
import shutil
import subprocess
import sys

import pytest

from agents import build
from agents.packages import contents, wheel
from agents.packages.build import main
from benchmarks import agent_signatures

pytestmark = pytest.mark.packages

PACKAGES = "python3,passwd,rpm,systemd,systemd-sysv,dbus,procps,openssh-server"
UNITS = [
    "virtlab-agent.service",
    "virtlab-agent-plan@.service",
    "virtlab-agent-plan@.timer",
]
RUN_AS_AGENT = ("runuser", "-u", "virtlab-agent", "--")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    main(str(folder))
    return folder


def debian_root(tmp_path_factory):
    """Return a root folder of Debian, from mmdebstrap or $DEBIAN_ROOT."""
    root = os.environ.get("DEBIAN_ROOT")
    if not root:
        root = str(tmp_path_factory.mktemp("debian") / "root")
        include = f"--include={PACKAGES}"
        run("mmdebstrap", "--variant=minbase", include, "bookworm", root, timeout=900)
        os.environ["DEBIAN_ROOT"] = root
    return root


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return debian_root(tmp_path_factory)


@pytest.fixture
def root(base, folder, tmp_path):
    """Return a copy of the root folder, with the packages in it."""
    root = tmp_path / "root"
    shutil.copytree(
        base,
        root,
        symlinks=True,
        ignore=lambda path, names: [name for name in names if path == f"{base}/dev"],
    )
    os.mknod(root / "dev/null", 0o20666, os.makedev(1, 3))
    os.chmod(root / "dev/null", 0o666)
    shutil.copytree(folder, root / "dist")
    return root


def run(*argv, check=True, timeout=120, **options):
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=timeout, **options
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def inside(root, *argv, check=True):
    return run("chroot", str(root), *argv, check=check)


def ours(root):
    """Return the paths of the agent that exist in the root folder."""
    output = run(
        *("find", str(root), "-name", "*virtlab*", "-not", "-path", f"{root}/dist/*"),
    ).stdout
    paths = [path.removeprefix(str(root)) for path in output.split()]
    return {path for path in paths if not path.startswith("/var/lib/dpkg")}


def enable_units(root):
    units = ("virtlab-agent.service", "virtlab-agent-plan@7.timer")
    inside(root, "systemctl", "enable", *units)
    assert any("wants/virtlab-agent-plan@7" in path for path in ours(root))


def use_as_service_user(root):
    """Save a run in the folder of the service, as its user."""
    home = "HOME=" + contents.HOME
    version = inside(root, *RUN_AS_AGENT, "virtlab-agent", "--version").stdout
    assert version.startswith("virtlab-agent ")
    inside(root, *RUN_AS_AGENT, "env", home, "virtlab-agent", "spool", "list")
    data = root / contents.HOME[1:] / ".virtlab-agent/spool"
    assert data.is_dir()
    return data


def test_deb_is_installed_removed_and_purged(root):
    inside(root, "dpkg", "--install", f"/dist/{contents.DEB_NAME}")
    assert inside(root, "dpkg", "--verify", "virtlab-agent").stdout == ""
    enable_units(root)
    data = use_as_service_user(root)

    inside(root, "dpkg", "--remove", "virtlab-agent")

    assert data.is_dir()
    assert ours(root) == {
        *("/etc/virtlab-agent", contents.HOME),
        contents.HOME + "/.virtlab-agent",
    }

    inside(root, "dpkg", "--purge", "virtlab-agent")

    assert ours(root) == set()
    assert "virtlab" not in (root / "etc/passwd").read_text()
    assert "virtlab" not in (root / "etc/group").read_text()


def test_deb_upgrade_keeps_changed_limits_and_enabled_units(root):
    inside(root, "dpkg", "--install", f"/dist/{contents.DEB_NAME}")
    enable_units(root)
    limits = root / contents.CONFIGURATION[1:]
    limits.write_text("[plans]\nthreads = 1\n")

    inside(root, "dpkg", "--install", "--force-confdef", f"/dist/{contents.DEB_NAME}")

    assert limits.read_text() == "[plans]\nthreads = 1\n"
    assert any("wants/virtlab-agent-plan@7" in path for path in ours(root))


def test_rpm_is_installed_and_removed(root):
    package = f"/dist/{contents.RPM_NAME}"
    inside(root, "rpm", "--initdb")
    inside(root, "rpm", "--install", "--nodeps", "--force-debian", package)
    verified = inside(root, "rpm", "--verify", "--nodeps", "virtlab-agent")
    assert verified.stdout == ""
    enable_units(root)
    data = use_as_service_user(root)

    inside(root, "rpm", "--erase", "--nodeps", "--force-debian", "virtlab-agent")

    assert data.is_dir()
    assert ours(root) == {contents.HOME, contents.HOME + "/.virtlab-agent"}
    assert "virtlab-agent" in (root / "etc/passwd").read_text()


def test_units_are_valid_and_expose_little(root):
    inside(root, "dpkg", "--install", f"/dist/{contents.DEB_NAME}")
    units = root / "usr/lib/systemd/system"
    for unit, most in zip(UNITS[:2], (1.5, 4.0), strict=True):
        path = str(units / unit.replace("@", "@7"))
        if "@" in unit:
            shutil.copy(units / unit, path)
        words = ("security", "--offline=true", f"--threshold={int(most * 10)}")
        rated = run("systemd-analyze", *words, path)
        assert "exposure level" in rated.stdout


def test_minisign_tools_verify_a_download(folder, settings):
    key = folder / "server.pub"
    key.write_text(agent_signatures.public_key_file())
    for name in (build.NAME, contents.DEB_NAME, contents.RPM_NAME):
        path = folder / name
        signature = agent_signatures.signature_file(name, path.read_bytes())
        path.with_name(f"{name}.minisig").write_text(signature)
        said = run("minisign", "-Vm", str(path), "-p", str(key)).stdout
        assert f"file:{name} " in said


# The short form: -k tools


def test_debian_tools_read_the_deb(folder):
    path = str(folder / contents.DEB_NAME)

    assert run("dpkg-deb", "--field", path, "Package").stdout == "virtlab-agent\n"
    listed = run("dpkg-deb", "--contents", path).stdout
    assert "/usr/bin/virtlab-agent -> /usr/share/virtlab-agent/" in listed


def test_rpm_tools_read_the_rpm(folder):
    path = str(folder / contents.RPM_NAME)

    assert "NOT OK" not in run("rpm", "--checksig", "--verbose", path).stdout
    files = run("rpm", "--query", "--package", "--list", path).stdout.split()
    assert set(files) > set(contents.package_files())
    scripts = run("rpm", "--query", "--package", "--scripts", path).stdout
    assert contents.CREATE_USER in scripts


def test_pip_tools_install_the_wheel(folder, tmp_path):
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"))
    pip = [str(tmp_path / "venv/bin/pip"), "install", "--no-index", "--quiet"]
    run(*pip, str(folder / wheel.agent_wheel_name()))

    version = run(str(tmp_path / "venv/bin/virtlab-agent"), "--version").stdout

    digest = (folder / f"{build.NAME}.sha256").read_text().split()[0]
    assert digest in version
