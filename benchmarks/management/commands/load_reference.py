"""`manage.py load_reference`: upload the reference campaigns like any lab would."""

import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from agents.client import Client, RefusedError, UnreachableError
from benchmarks.reference.documents import ReferenceCampaign, reference_campaigns

LOOK_EVERY_S = 0.2


class Command(BaseCommand):
    """Speaks to a running server through its public API, and only through it."""

    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", required=True, help="http://127.0.0.1:8000/")
        parser.add_argument("--token-file", required=True, type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            token = options["token_file"].read_text().strip()
            self._load(Client(options["url"], token))
        except (OSError, RefusedError, UnreachableError) as error:
            raise CommandError(
                f"The reference campaigns could not be loaded: {error}"
            ) from error

    def _load(self, client: Client) -> None:
        known = {each["slug"]: each["runs"] for each in client.get_all("campaigns/")}
        missing = [
            study
            for study in reference_campaigns()
            if known.get(study.campaign["slug"], 0) < len(study.runs)
        ]
        if not missing:
            return
        with _progress() as progress:
            for study in missing:
                self._upload(client, study, progress)
            self._await_processing(client, progress)

    def _upload(
        self, client: Client, study: ReferenceCampaign, progress: Progress
    ) -> None:
        slug = study.campaign["slug"]
        bar = progress.add_task(f"uploading {slug}", total=len(study.runs))
        client.create_campaign(study.campaign)
        for host in study.hosts:
            client.register_host(host)
        # Runs come last: a campaign that has them all needs nothing more.
        if study.reference_system:
            system = client.register_system(study.reference_system)
            client.update_campaign(slug, {"reference_system": system["id"]})
        for stored in client.upload(study.runs):
            progress.update(bar, completed=stored)

    def _await_processing(self, client: Client, progress: Progress) -> None:
        waiting = client.get("health/")["outbox"]["waiting"]
        bar = progress.add_task("comparing with native", total=waiting)
        while waiting:
            time.sleep(LOOK_EVERY_S)
            left = client.get("health/")["outbox"]["waiting"]
            progress.advance(bar, max(waiting - left, 0))
            waiting = left


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:<30}"), BarColumn(), MofNCompleteColumn()
    )
