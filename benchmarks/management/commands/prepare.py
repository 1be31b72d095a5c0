"""Prepare an installation: migrate, and create what is missing. Repeatable."""

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

from benchmarks.jobs import queue
from benchmarks.jobs.advisory_locks import advisory_lock
from benchmarks.labs.creation import create_first_lab
from benchmarks.management.commands.upgrade_tables import is_outdated
from benchmarks.rls_policies import as_owner, install_policies
from benchmarks.uploads.efficiencies import recompute_outdated


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        # Only one machine at a time. Connecting as another role ends the first lock.
        with as_owner(), advisory_lock("prepare", wait=True):
            self._migrate()
            install_policies()
        with advisory_lock("prepare", wait=True):
            self._collect_static()
            # Written before the commit, because secrets are not stored elsewhere.
            with transaction.atomic():
                if secrets := create_first_lab():
                    sign_in = (
                        f"user: {secrets.username}\npassword: {secrets.password}\n"
                    )
                    self._write("first-sign-in", sign_in)
                    self._write("upload-token", secrets.upload_token + "\n")
                    self._write("read-token", secrets.read_token + "\n")
            recompute_outdated()
            # This version may be able to process jobs that failed before.
            queue.retry_after_upgrade()

    def _migrate(self) -> None:
        executor = MigrationExecutor(connection)
        loader = executor.loader
        unknown = {
            name
            for app, name in loader.applied_migrations or ()
            if app == "benchmarks" and (app, name) not in loader.disk_migrations
        }
        if unknown or is_outdated():
            raise CommandError(
                "This database was created by a version before 28 November 2026, whose "
                "tables differ. Nothing was changed. See docs/operations.md (Upgrade) "
                "for how to migrate its data."
            )
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", interactive=False, verbosity=0)

    def _collect_static(self) -> None:
        """Collect static files after changes only: compressing Plotly takes seconds."""
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
            # A copy, because Django appends to the list.
            ignore_patterns=[*settings.STATICFILES_EXCLUDED],
        )
        # Written last, so that an interrupted collection is repeated.
        stamp.write_text(digest)

    def _write(self, name: str, text: str) -> None:
        """Write a file that only its owner can ever read."""
        path = settings.VAR_DIR / name
        # Removed first, because an existing file would keep its mode.
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
