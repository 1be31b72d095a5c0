"""Upload the reference studies as a lab would: `python -m running.load_reference`.

With ``--data-sets``, upload the large studies, which load while the product runs. This
module uses only the public API of a running server. It does not load Django, which
would delay each start, although the studies are usually there already.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from typing import Any

from agents.client import Client, RefusedError, UnreachableError
from benchmarks.reference.data_files import data_set_names, study_sources
from benchmarks.reference.study_documents import (
    ReferenceStudy,
    recorded_studies,
    reference_studies,
    reference_study,
)

POLL_S = 0.2
LOADING_NOTE = "The runs of this study are being loaded."


def load_studies(client: Client) -> None:
    studies = list(chain(reference_studies(), recorded_studies()))
    add_sources(client, [study.document["slug"] for study in studies])
    missing = [
        study
        for study in studies
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
            for stored in _upload(client, study):
                progress.update(bar, completed=stored)
        waiting = client.get("health/")["outbox"]["waiting"]
        bar = progress.add_task("comparing with native", total=waiting)
        while waiting:
            time.sleep(POLL_S)
            remaining = client.get("health/")["outbox"]["waiting"]
            # The number can grow: other clients may upload.
            progress.advance(bar, max(waiting - remaining, 0))
            waiting = remaining


def add_sources(client: Client, slugs: Iterable[str]) -> None:
    """Add the sources of studies that an earlier version loaded without them."""
    for slug in slugs:
        stored = _stored_study(client, slug)
        if stored and stored.get("sources") == [] and (sources := study_sources(slug)):
            client.update_study(slug, {"sources": sources})


def load_data_sets(client: Client) -> None:
    """Load the large studies one after the other, with one printed line for each.

    All are listed at once, as incomplete.
    """
    add_sources(client, data_set_names())
    # Reading the rows of complete studies would take seconds at each start.
    missing = [
        reference_study(slug)
        for slug in data_set_names()
        if not _is_data_set_loaded(client, slug)
    ]
    notes = [study.document["note"] for study in missing]
    for study in missing:
        study.document["note"] = f"{LOADING_NOTE}\n\n{study.document['note']}"
        client.create_study(study.document)
    for number, (study, note) in enumerate(zip(missing, notes, strict=True), start=1):
        slug, runs = study.document["slug"], len(study.runs)
        _print(f"loading {slug}: {runs:,} runs (study {number} of {len(missing)})")
        for _ in _upload(client, study):
            pass
        client.update_study(slug, {"note": note})
    if missing:
        _print("all reference studies are loaded")


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _upload(client: Client, study: ReferenceStudy) -> Iterator[int]:
    """Yield the number of stored runs.

    Runs come last, so a study with all its runs is complete.
    """
    create_reference_study(client, study)
    if study.reference_system:

        def id_of(system: dict[str, Any]) -> int:
            return int(client.register_system(system)["id"])

        references = {
            "reference_system": id_of(study.reference_system),
            "system_references": {
                str(id_of(system)): id_of(reference)
                for system, reference in study.system_references
            },
        }
        client.update_study(study.document["slug"], references)
    yield from client.upload(study.runs)


def create_reference_study(client: Client, study: ReferenceStudy) -> None:
    client.create_study(study.document)
    for tool in study.own_tools:
        client.declare_tool(tool)
    for host in study.hosts:
        client.register_host(host)


def _is_data_set_loaded(client: Client, slug: str) -> bool:
    stored = _stored_study(client, slug)
    return stored is not None and not stored["note"].startswith(LOADING_NOTE)


def _stored_runs(client: Client, slug: str) -> int:
    stored = _stored_study(client, slug)
    return stored["counts"]["runs"] if stored else 0


def _stored_study(client: Client, slug: str) -> dict[str, Any] | None:
    try:
        study: dict[str, Any] = client.get(f"studies/{slug}/")
    except RefusedError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return None
    return study


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="http://127.0.0.1:8000")
    parser.add_argument("--token-file", required=True, type=Path)
    parser.add_argument("--data-sets", action="store_true")
    options = parser.parse_args()
    try:
        client = Client(options.url, options.token_file.read_text().strip())
        if options.data_sets:
            load_data_sets(client)
        else:
            load_studies(client)
    except (OSError, RefusedError, UnreachableError) as error:
        sys.stderr.write(f"The reference studies could not be loaded: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
