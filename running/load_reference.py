"""Upload the reference studies as a lab would: `python -m running.load_reference`.

Speaks to a running server through its public API, and only through it. Without Django,
because a second start waits for it to find that nothing is missing.
"""

import argparse
import sys
import time
from http import HTTPStatus
from itertools import chain
from pathlib import Path

from agents.client import Client, RefusedError, UnreachableError
from benchmarks.reference.documents import (
    ReferenceStudy,
    recorded_studies,
    reference_studies,
)

LOOK_EVERY_S = 0.2


def load(client: Client) -> None:
    """Upload the studies of which runs are missing, and wait until all are compared."""
    missing = [
        study
        for study in chain(reference_studies(), recorded_studies())
        if _stored_runs(client, study.document["slug"]) < len(study.runs)
    ]
    if not missing:
        return
    # Imported where it is needed: most starts have nothing to show.
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
            declare(client, study)
            # Runs come last: a study that has them all needs nothing more.
            if study.reference_system:
                system = client.register_system(study.reference_system)
                client.update_study(slug, {"reference_system": system["id"]})
            for stored in client.upload(study.runs):
                progress.update(bar, completed=stored)
        waiting = client.get("health/")["outbox"]["waiting"]
        bar = progress.add_task("comparing with native", total=waiting)
        while waiting:
            time.sleep(LOOK_EVERY_S)
            left = client.get("health/")["outbox"]["waiting"]
            # Others may upload meanwhile: then more is waiting than before.
            progress.advance(bar, max(waiting - left, 0))
            waiting = left


def declare(client: Client, study: ReferenceStudy) -> None:
    """Create a study with its own tools and its hosts."""
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
        load(Client(options.url, options.token_file.read_text().strip()))
    except (OSError, RefusedError, UnreachableError) as error:
        sys.stderr.write(f"The reference studies could not be loaded: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
