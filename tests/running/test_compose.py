"""The production form, as far as it can be checked without a container engine.

With one: tests/product/test_compose.py.

Every option in it is given to the program it is meant for, or looked up there.
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

from running import embedded, supervisor
from running.embedded import Services
from running.processes import ROOT, Child, Program
from tests.running.watching import wait_until
from tests.stack import Stack

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


def test_it_has_every_process_and_both_servers():
    assert set(SERVICES) == {*PRODUCT, "postgres", "redis", "proxy"}
    assert SERVICES["postgres"]["image"] == "postgres:18"
    assert SERVICES["redis"]["image"].startswith("redis:")
    assert SERVICES["proxy"]["image"].startswith("caddy:")


@pytest.mark.parametrize("name", LASTING)
def test_what_lasts_is_checked_and_restarted(name):
    service = SERVICES[name]

    assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert {"interval", "timeout"} < service["healthcheck"].keys()
    assert service["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_has_the_least_rights(name):
    service = SERVICES[name]

    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service.get("read_only", False) is (name in {*PRODUCT, "proxy"})
    assert "privileged" not in service


def test_the_data_lie_in_volumes_where_the_images_keep_them():
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
        "exports": ("web", COMPOSE["x-product"]["environment"]["DATA_FOLDER"]),
    }
    assert set(mounted) == set(COMPOSE["volumes"])
    assert "var:/var/lib/virtlab:ro" in SERVICES["web"]["volumes"]
    assert SERVICES["prepare"]["volumes"] == ["var:/var/lib/virtlab"]
    assert "VOLUME /var/lib/virtlab" in DOCKERFILE
    assert "/var/lib/virtlab /var/lib/virtlab-exports" in DOCKERFILE


def test_only_the_proxy_is_reachable_and_only_from_this_machine_unless_told():
    assert [name for name in SERVICES if "ports" in SERVICES[name]] == ["proxy"]
    assert SERVICES["proxy"]["ports"][0].startswith("${BIND:-127.0.0.1}:")
    outside = [name for name in SERVICES if "outside" in SERVICES[name]["networks"]]
    assert outside == ["proxy"]
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert COMPOSE["networks"]["front"]["internal"] is True
    front = [name for name in SERVICES if "front" in SERVICES[name]["networks"]]
    assert front == ["web", "proxy"]
    # It alone says whom web is asked by.
    subnet = COMPOSE["networks"]["front"]["ipam"]["config"][0]["subnet"]
    trusted = COMPOSE["x-product"]["environment"]["TRUSTED_PROXIES"]
    assert trusted.startswith(f"{subnet},")
    for name in ("postgres", "redis"):
        assert SERVICES[name]["networks"] == ["inside"]


def test_nothing_secret_is_written_down_or_has_a_default():
    texts = [DOCKERFILE, (ROOT / "docker-compose.yml").read_text()]
    uses = re.findall(r"\$\{?(\w+)(:[?-])?", "".join(texts))

    assert {mark for name, mark in uses if name in SECRETS} == {":?"}
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


def test_make_up_draws_every_secret():
    recipe = (ROOT / "Makefile").read_text().split("\n.env:\n")[1]

    assert all(name in recipe for name in SECRETS)
    assert "umask 077" in recipe
    assert "/.env" in (ROOT / ".gitignore").read_text()


def test_everything_waits_for_what_it_needs():
    for name in ("web", "worker", "sweeper"):
        waits = SERVICES[name]["depends_on"]
        assert waits["prepare"]["condition"] == "service_completed_successfully"
    assert SERVICES["prepare"]["depends_on"] == {
        "postgres": {"condition": "service_healthy"},
        "redis": {"condition": "service_healthy"},
    }


@pytest.mark.parametrize("more", [(), ("compose/https.yml",)])
def test_no_word_of_it_is_left_out_where_it_is_started(more):
    """`make test-compose` knows each word, or says which one it does not."""
    variables = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text()))
    stack = Stack(Mock(), "test", dict.fromkeys(variables, "x"), *more)

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


def test_its_web_and_worker_run_as_under_make_run():
    image, own = image_command(), supervisor.web_command(3, Path("-"))

    assert options(image) <= GUNICORN
    assert options(own) <= GUNICORN
    assert options(own) - options(image) == set()
    assert "config/gunicorn.py" in {*image} & {*own}
    assert options(SERVICES["worker"]["command"]) <= CELERY
    assert options(supervisor.worker_command()) == options(
        SERVICES["worker"]["command"]
    )


def test_every_setting_of_the_web_server_is_one():
    module = importlib.import_module("config.gunicorn")
    known = {setting.name for setting in KNOWN_SETTINGS}
    imported = {"Any", "gc", "get_resolver"}
    ours = {name for name in vars(module) if not name.startswith("_")} - imported

    assert ours <= known
    assert {"preload_app", "timeout", "control_socket_disable"} <= ours


def test_the_image_is_pinned_unprivileged_and_checked():
    assert "--require-hashes" in DOCKERFILE
    assert re.search(r"^USER virtlab$", DOCKERFILE, re.MULTILINE)
    assert "HEALTHCHECK" in DOCKERFILE
    assert DOCKERFILE.index("USER virtlab") < DOCKERFILE.rindex("CMD")


def test_its_redis_options_make_a_broker_that_forgets_nothing(tmp_path):
    here = ["--dir", str(tmp_path), "--port", "0", "--unixsocket", str(tmp_path / "s")]
    words = [*SERVICES["redis"]["command"][1:], *here]
    log = tmp_path / "log"
    child = Child(Program("redis", [str(embedded.valkey_binary()), *words], log=log))
    child.start()
    wait_until(lambda: b"Ready to accept" in log.read_bytes() or child.poll())
    running = child.poll() is None
    child.stop()

    assert running, log.read_text()
    assert options(words) >= {"--maxmemory-policy", "--appendonly"}


def test_its_database_settings_are_the_ones_asserted_at_the_start():
    assert {"fsync=on", "full_page_writes=on", "synchronous_commit=on"} <= set(
        SERVICES["postgres"]["command"]
    )
    assert (
        "--data-checksums"
        in SERVICES["postgres"]["environment"]["POSTGRES_INITDB_ARGS"]
    )


@pytest.mark.parametrize("is_old", [False, True])
def test_its_roles_are_made_and_only_one_owns_the_tables(running: Services, is_old):
    """The script of the image's first start, run against a real server.

    Run again where an older version made one role, it hands that one's tables over.
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
