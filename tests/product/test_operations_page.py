"""The commands of docs/operations.md work, with both kinds of servers."""

import re
import subprocess
from pathlib import Path

import pytest

from agents.commands.bundle import write_bundles
from agents.spool import Spool
from running.embedded_servers import embedded_servers
from running.postgres import OWNER
from running.processes import ROOT
from running.product_launcher import (
    launch_product,
    product_environment,
    wait_until_processed,
)
from tests.upload_documents import network_run

pytestmark = [pytest.mark.slow, pytest.mark.product, pytest.mark.timeout(900)]

PAGE = (ROOT / "docs" / "operations.md").read_text()
INDENTED = re.compile(r"^(?:    )?((?:[A-Z]+=\S+ )?(?:make|git) .*?)(?: +#.*)?$", re.M)
INLINE = re.compile(r"`(make [^`]*)`")
NOT_EXECUTED = re.compile(r"(^| )make (run|up|down|test|export-site)\b")
NEEDS_OWN_SERVERS = re.compile(r"make (base-backup|recover)\b")
SHORTENED = {"make restore", "make restore FILE=..."}
# For installations of another version: `make recovery-drill`.
UPGRADE = "make manage ARGS=upgrade_tables"


def documented():
    """Return the page's commands in its order, without those of NOT_EXECUTED."""
    found = INDENTED.findall(PAGE) + INLINE.findall(PAGE)
    return [
        command
        for command in dict.fromkeys(found)
        if not NOT_EXECUTED.search(command) and command not in {*SHORTENED, UPGRADE}
    ]


class Installation:
    """An installation with a study and two runs, and the page's names for them."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.var = folder, folder / "var"
        self.environment = {
            **environment,
            "LOAD_REFERENCE": "off",
            "ARCHIVE": str(folder / "archive"),
        }
        self.names: dict[str, str] = {}

    def start(self):
        self.product = launch_product(self.var, **self.environment)
        self.product.wait_until_ready()

    def fill(self):
        client = self.product.client()
        client.request("POST", "studies/", {"slug": "tests", "title": "Tests"})
        client.request("POST", "hosts/", {"slug": "rack-7", "facts": {"cores": 2}})
        documents = [network_run(study="tests", host="rack-7") for _ in range(3)]
        runs = [
            client.request("POST", "runs/", document)["id"]
            for document in documents[:2]
        ]
        spool = Spool(str(self.folder / "spool"))
        spool.save(documents[2])
        [bundle] = write_bundles(spool, str(self.folder), client.token, None)
        wait_until_processed(client)
        self.names = {
            "17 18": " ".join(map(str, runs)),
            "/media/stick/rack-7.virtlab": bundle,
            "0a1b2c3d4e": self.product.client("read-token").token.split("_")[1],
            "my-lab/study": "first-lab/tests",
            "FILE=virtlab.dump": f"FILE={self.folder / 'virtlab.dump'}",
            "VAR=fresh": f"VAR={self.folder / 'fresh'}",
            "VAR=recovered": f"VAR={self.folder / 'recovered'}",
            "/backups/virtlab": str(self.folder / "archive"),
        }

    def run(self, command: str) -> "subprocess.CompletedProcess[str]":
        # Without a moment, `recover` restores the archive to its end.
        command = re.sub(r' TO="[^"]*"', "", command)
        for printed, own in self.names.items():
            command = command.replace(printed, own)
        # `make backup` without FILE would write into this clone.
        if command == "make backup":
            command += f" FILE={self.folder / 'virtlab.dump'}"
        return subprocess.run(
            ["sh", "-c", command],
            cwd=ROOT,
            env={**product_environment(), **self.environment, "VAR": str(self.var)},
            input="select count(*) from benchmarks_run;\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )


def failures(installation, commands):
    ended = ((command, installation.run(command)) for command in commands)
    return [f"{command}: {done.stdout}" for command, done in ended if done.returncode]


def test_commands_work_while_the_product_runs(tmp_path):
    installation = Installation(tmp_path, {})
    installation.start()
    try:
        installation.fill()

        assert failures(installation, documented()) == []
    finally:
        installation.product.stop()


def test_commands_work_with_external_servers(tmp_path):
    with embedded_servers(tmp_path / "servers") as services:
        urls = {
            "DATABASE_URL": services.postgres.url(),
            "OWNER_DATABASE_URL": services.postgres.url(OWNER),
            "REDIS_URL": services.valkey.url(),
            "PGDATABASE": "postgres",
        }
        installation = Installation(tmp_path, urls)
        installation.start()
        try:
            installation.fill()
        finally:
            installation.product.stop()
        commands = [
            command for command in documented() if not NEEDS_OWN_SERVERS.search(command)
        ]

        assert failures(installation, commands) == []


def test_the_page_has_commands_of_each_chapter():
    commands = " ".join(documented())

    for name in ("create_token", "backup", "recover", "delete", "reparse", "doctor"):
        assert name in commands
