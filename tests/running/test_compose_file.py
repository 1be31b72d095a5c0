"""The production setup, as far as it can be checked without a container engine.

With an engine: tests/product/test_compose.py.

Every option is passed to its program, or looked up there.
"""

import importlib
import os
import re
import subprocess
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import psycopg
import pytest
import yaml
from celery.bin.worker import worker
from gunicorn.config import KNOWN_SETTINGS

from running import embedded_servers, supervisor
from running.embedded_servers import EmbeddedServers
from running.processes import ROOT, Child, Program
from tests.compose_stack import Stack
from tests.running.process_checks import wait_until

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
LASTING = ("web", "worker", "sweeper", "postgres", "redis", "proxy")
PRODUCT = ("web", "worker", "sweeper", "prepare", "reference")
SECRETS = {
    *("SECRET_KEY", "POSTGRES_PASSWORD"),
    *("DATABASE_PASSWORD", "OWNER_DATABASE_PASSWORD"),
}
GUNICORN = {option for setting in KNOWN_SETTINGS for option in setting.cli or ()}
CELERY = {option for parameter in worker.params for option in parameter.opts}


def options(words: Any) -> set[str]:
    return {str(word) for word in words if str(word).startswith("--")}


def image_command() -> list[str]:
    instruction = DOCKERFILE[DOCKERFILE.rindex("\nCMD") :]
    return re.findall(r'"([^"]+)"', instruction)


def test_every_process_and_server_has_a_service():
    assert set(SERVICES) == {*PRODUCT, "postgres", "redis", "proxy"}
    assert SERVICES["postgres"]["image"] == "postgres:18"
    assert SERVICES["redis"]["image"].startswith("redis:")
    assert SERVICES["proxy"]["image"].startswith("caddy:")


@pytest.mark.parametrize("name", LASTING)
def test_permanent_services_have_health_checks_and_restarts(name):
    service = SERVICES[name]

    assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert {"interval", "timeout"} < service["healthcheck"].keys()
    assert service["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_has_least_rights(name):
    service = SERVICES[name]

    assert service["cap_drop"] == ["ALL"]
    assert service["mem_limit"] == "${MEMORY_LIMIT:-3g}"
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service.get("read_only", False) is (name in {*PRODUCT, "proxy"})
    assert "privileged" not in service


def test_data_are_in_volumes_at_the_images_paths():
    mounted = {
        volume.split(":")[0]: (name, volume.split(":")[1])
        for name in ("postgres", "redis", "prepare", "proxy", "web")
        for volume in SERVICES[name]["volumes"]
        if not volume.startswith(".")
    }

    assert mounted == {
        "postgres": ("postgres", "/var/lib/postgresql"),
        "redis": ("redis", "/data"),
        "proxy": ("proxy", "/data"),
        "var": ("web", "/var/lib/virtlab"),
        "exports": ("web", COMPOSE["x-product"]["environment"]["EXPORT_FOLDER"]),
    }
    assert set(mounted) == set(COMPOSE["volumes"])
    assert "var:/var/lib/virtlab:ro" in SERVICES["web"]["volumes"]
    assert SERVICES["prepare"]["volumes"] == ["var:/var/lib/virtlab"]
    assert "VOLUME /var/lib/virtlab" in DOCKERFILE
    assert "/var/lib/virtlab /var/lib/virtlab-exports" in DOCKERFILE


def test_only_the_proxy_is_reachable_and_by_default_only_locally():
    assert [name for name in SERVICES if "ports" in SERVICES[name]] == ["proxy"]
    assert SERVICES["proxy"]["ports"][0].startswith("${BIND:-127.0.0.1}:")
    outside = [name for name in SERVICES if "outside" in SERVICES[name]["networks"]]
    assert outside == ["proxy"]
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert COMPOSE["networks"]["front"]["internal"] is True
    front = [name for name in SERVICES if "front" in SERVICES[name]["networks"]]
    assert front == ["web", "proxy"]
    # Only the proxy sets the client address that web trusts.
    subnet = COMPOSE["networks"]["front"]["ipam"]["config"][0]["subnet"]
    trusted = COMPOSE["x-product"]["environment"]["TRUSTED_PROXIES"]
    assert trusted.startswith(f"{subnet},")
    for name in ("postgres", "redis"):
        assert SERVICES[name]["networks"] == ["inside"]


def test_secrets_are_required_and_never_written_down():
    texts = [DOCKERFILE, (ROOT / "docker-compose.yml").read_text()]
    uses = re.findall(r"\$\{?(\w+)(:[?-])?", "".join(texts))

    assert {suffix for name, suffix in uses if name in SECRETS} == {":?"}
    assert {name for name, _ in uses} >= SECRETS
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            is_secret = re.search("KEY|PASSWORD|SECRET|TOKEN", name)
            assert not is_secret or re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), name
    assert not re.search(
        r"(?i)(ENV|ARG)\s[^\n]*(key|password|secret|token)", DOCKERFILE
    )
    kept_out = set((ROOT / ".dockerignore").read_text().split())
    assert {".env", "settings.env", "certificates", "var*", ".git"} <= kept_out
    never_committed = set((ROOT / ".gitignore").read_text().split())
    assert {"/.env", "/settings.env", "/certificates/"} <= never_committed


def test_make_up_generates_every_secret():
    recipe = (ROOT / "Makefile").read_text().split("\n.env:\n")[1]

    assert all(name in recipe for name in SECRETS)
    assert "umask 077" in recipe
    assert "/.env" in (ROOT / ".gitignore").read_text()


def test_services_wait_for_their_dependencies():
    for name in ("web", "worker", "sweeper"):
        waits = SERVICES[name]["depends_on"]
        assert waits["prepare"]["condition"] == "service_completed_successfully"
    assert SERVICES["prepare"]["depends_on"] == {
        "postgres": {"condition": "service_healthy"},
        "redis": {"condition": "service_healthy"},
    }


@pytest.mark.parametrize("keys", [(), ("compose/https.yml",)])
def test_compose_test_supports_every_key(keys):
    """`make test-compose` supports every key, or names the one it does not."""
    variables = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text()))
    stack = Stack(Mock(), "test", dict.fromkeys(variables, "x"), *keys)

    for name in stack.services:
        assert f"--name=test-{name}-1" in stack.options(name)
    stack.services["web"]["privileged"] = True
    with pytest.raises(AssertionError, match="privileged"):
        stack.options("web")


@pytest.mark.parametrize("name", PRODUCT)
def test_every_command_exists(name):
    command = SERVICES[name].get("command") or image_command()
    words = command[2].split() if command[0] == "sh" else [str(w) for w in command]

    assert words[0] in {"gunicorn", "celery", "python"}
    for index, word in enumerate(words):
        if word == "manage.py":
            commands = ROOT / "benchmarks" / "management" / "commands"
            assert (commands / f"{words[index + 1]}.py").exists()
        if word == "-m":
            assert (ROOT / (words[index + 1].replace(".", "/") + ".py")).exists()


def test_web_and_worker_commands_match_make_run():
    image, own = image_command(), supervisor.web_command(3, Path("-"))

    assert options(image) <= GUNICORN
    assert options(own) <= GUNICORN
    assert options(own) - options(image) == set()
    assert "config/gunicorn.py" in {*image} & {*own}
    assert options(SERVICES["worker"]["command"]) <= CELERY
    assert options(supervisor.worker_command()) == options(
        SERVICES["worker"]["command"]
    )


def test_web_server_settings_exist():
    module = importlib.import_module("config.gunicorn")
    known_names = {setting.name for setting in KNOWN_SETTINGS}
    imported = {"Any", "django", "gc", "get_resolver", "os"}
    ours = {name for name in vars(module) if not name.startswith("_")} - imported

    assert ours <= known_names
    assert {"preload_app", "timeout", "control_socket_disable"} <= ours


def test_image_is_pinned_unprivileged_and_checked():
    assert "--require-hashes" in DOCKERFILE
    assert re.search(r"^USER virtlab$", DOCKERFILE, re.MULTILINE)
    assert "HEALTHCHECK" in DOCKERFILE
    assert DOCKERFILE.index("USER virtlab") < DOCKERFILE.rindex("CMD")


def test_redis_options_make_a_durable_broker(tmp_path):
    arguments = [
        "--dir",
        str(tmp_path),
        "--port",
        "0",
        "--unixsocket",
        str(tmp_path / "s"),
    ]
    words = [*SERVICES["redis"]["command"][1:], *arguments]
    log = tmp_path / "log"
    child = Child(
        Program("redis", [str(embedded_servers.valkey_binary()), *words], log=log)
    )
    child.start()
    wait_until(lambda: b"Ready to accept" in log.read_bytes() or child.poll())
    running = child.poll() is None
    child.stop()

    assert running, log.read_text()
    assert options(words) >= {"--maxmemory-policy", "--appendonly"}


def test_database_settings_are_those_checked_at_the_start():
    assert {"fsync=on", "full_page_writes=on", "synchronous_commit=on"} <= set(
        SERVICES["postgres"]["command"]
    )
    assert (
        "--data-checksums"
        in SERVICES["postgres"]["environment"]["POSTGRES_INITDB_ARGS"]
    )


@pytest.mark.parametrize("is_old", [False, True])
def test_roles_are_created_and_only_one_owns_the_tables(
    running: EmbeddedServers, is_old
):
    """The script of the image's first start, run against a real server.

    If an older version created one role, its tables change to the new owner.
    """
    postgres = running.postgres
    with postgres.connect("postgres", "postgres") as connection:
        connection.execute("drop database virtlab")
        connection.execute("drop role virtlab")
        connection.execute("drop role virtlab_owner")
        if is_old:
            connection.execute("create role virtlab login password 'old'")
            connection.execute("create database virtlab owner virtlab")
    if is_old:
        with psycopg.connect(
            host=str(postgres.socket_folder), user="virtlab", password="old"
        ) as connection:
            connection.execute("create table kept as select 1 as one")
    environment = {
        "PATH": f"{postgres.bin}:{os.environ['PATH']}",
        "PGHOST": str(postgres.socket_folder),
        "PGPASSWORD": postgres.password("postgres"),
        "DATABASE_PASSWORD": "it's drawn",
        "OWNER_DATABASE_PASSWORD": "drawn, too",
    }

    subprocess.run([ROOT / "compose/create-role.sh"], env=environment, check=True)

    query = """
        select rolsuper, rolcreatedb, rolbypassrls, (
            select pg_get_userbyid(datdba) from pg_database where datname = 'virtlab'
        ) from pg_roles where rolname = current_user
    """
    for user, password in [
        ("virtlab", "it's drawn"),
        ("virtlab_owner", "drawn, too"),
    ]:
        with psycopg.connect(
            host=environment["PGHOST"], user=user, password=password, dbname="virtlab"
        ) as connection:
            assert connection.execute(query).fetchone() == (
                *(False, False, False),
                "virtlab_owner",
            )
            if is_old:
                owner = "select tableowner from pg_tables where tablename = 'kept'"
                assert connection.execute(owner).fetchone() == ("virtlab_owner",)
