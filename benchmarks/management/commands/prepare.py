"""`manage.py prepare`: make an installation ready to serve; twice changes nothing."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from benchmarks.labs.making import install
from benchmarks.row_security import as_owner, secure
from benchmarks.unattended import queue
from benchmarks.unattended.holding import held
from benchmarks.uploads import processing  # noqa: F401  # registers uploads
from benchmarks.uploads.efficiencies import renew_efficiencies


class Command(BaseCommand):
    """Migrates, lays down who sees which rows, collects static files, makes the first
    lab and its secrets."""

    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        # One machine after the other; each role has a session, and so a lock, of its
        # own.
        with as_owner(), held("prepare", wait=True):
            self._migrate()
            secure()
        with held("prepare", wait=True):
            self._collect_static()
            # The files come before the commit, or nobody would know the secrets.
            with transaction.atomic():
                if secrets := install():
                    sign_in = (
                        f"user: {secrets.username}\npassword: {secrets.password}\n"
                    )
                    self._write("first-sign-in", sign_in)
                    self._write("upload-token", secrets.upload_token + "\n")
                    self._write("read-token", secrets.read_token + "\n")
            renew_efficiencies()
            # What another version could not process this one perhaps can.
            queue.retry_after_upgrade()

    def _migrate(self) -> None:
        executor = MigrationExecutor(connection)
        loader = executor.loader
        unknown = {
            name
            for app, name in loader.applied_migrations or ()
            if app == "benchmarks" and (app, name) not in loader.disk_migrations
        }
        if unknown:
            raise CommandError(
                "This database was made by a version before 27 November 2026, whose "
                "tables differ. Nothing was changed. docs/operations.md (Upgrade) says "
                "how to carry its data over."
            )
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", interactive=False, verbosity=0)

    def _collect_static(self) -> None:
        """Collect only when a file changed: compressing Plotly takes seconds."""
        files = sorted(
            (path, os.stat(storage.path(path)))
            for finder in get_finders()
            for path, storage in finder.list([])
        )
        lines = [f"{path} {stat.st_size} {stat.st_mtime_ns}" for path, stat in files]
        digest = sha256("\n".join(lines).encode()).hexdigest()
        stamp = Path(settings.STATIC_ROOT) / ".collected"
        if stamp.exists() and stamp.read_text() == digest:
            return
        call_command(
            "collectstatic",
            interactive=False,
            clear=True,
            verbosity=0,
            # A copy: Django adds its own to it.
            ignore_patterns=[*settings.STATICFILES_LEFT_OUT],
        )
        # Last, so that a collection that was cut off is done again.
        stamp.write_text(digest)

    def _write(self, name: str, text: str) -> None:
        """Write a file that only its owner can read, from the first byte on."""
        path = settings.VAR / name
        # An older file would keep its mode, whoever may read it.
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
