"""Upload the reference studies as a lab would: `python -m running.load_reference`.

This uses only the public API of a running server. It does not load Django, which would
delay each start, although the studies are usually there already.
"""

import argparse
import sys
import time
from http import HTTPStatus
from itertools import chain
from pathlib import Path

from agents.client import Client, RefusedError, UnreachableError
from benchmarks.reference.study_documents import (
    ReferenceStudy,
    recorded_studies,
    reference_studies,
)

POLL_S = 0.2


def load_studies(client: Client) -> None:
    missing = [
        study
        for study in chain(reference_studies(), recorded_studies())
        if _stored_runs(client, study.document["slug"]) < len(study.runs)
    ]
    if not missing:
        return
    # Imported late, because most starts have no progress to show.
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description:<30}"),
        BarColumn(),
        MofNCompleteColumn(),
    )
    with Progress(*columns) as progress:
        for study in missing:
            slug = study.document["slug"]
            bar = progress.add_task(f"uploading {slug}", total=len(study.runs))
            create_reference_study(client, study)
            # Runs come last, so a study with all its runs is complete.
            if study.reference_system:
                system = client.register_system(study.reference_system)
                client.update_study(slug, {"reference_system": system["id"]})
            for stored in client.upload(study.runs):
                progress.update(bar, completed=stored)
        waiting = client.get("health/")["outbox"]["waiting"]
        bar = progress.add_task("comparing with native", total=waiting)
        while waiting:
            time.sleep(POLL_S)
            remaining = client.get("health/")["outbox"]["waiting"]
            # The number can grow: other clients may upload.
            progress.advance(bar, max(waiting - remaining, 0))
            waiting = remaining


def create_reference_study(client: Client, study: ReferenceStudy) -> None:
    client.create_study(study.document)
    for tool in study.own_tools:
        client.declare_tool(tool)
    for host in study.hosts:
        client.register_host(host)


def _stored_runs(client: Client, slug: str) -> int:
    try:
        counts: dict[str, int] = client.get(f"studies/{slug}/")["counts"]
    except RefusedError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return 0
    return counts["runs"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="http://127.0.0.1:8000")
    parser.add_argument("--token-file", required=True, type=Path)
    options = parser.parse_args()
    try:
        load_studies(Client(options.url, options.token_file.read_text().strip()))
    except (OSError, RefusedError, UnreachableError) as error:
        sys.stderr.write(f"The reference studies could not be loaded: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
