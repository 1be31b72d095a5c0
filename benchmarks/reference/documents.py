"""The reference studies as the documents that the REST API takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.reference.rows import Row, read_rows, studies
from benchmarks.reference.runs import run_documents, system_document

HOST_TITLES: Final = {
    "lmu-athlon64-x2-4800": "LMU Munich: AMD Athlon 64 X2 4800+",
    "heidelberg-xeon-2ghz": "Heidelberg: 2 x Intel Xeon 2 GHz",
    "uoc-4core-4gib": "UOC: 4 cores, 4 GiB",
    "inqbus-server-a": "inqbus server A (3ware RAID 5)",
    "inqbus-server-b": "inqbus server B (Dell RAID 1)",
    "inqbus-server": "inqbus server",
    "inqbus-lan": "inqbus: two machines in a LAN",
    "inqbus-wan": "inqbus: two data centres",
}


@dataclass(frozen=True, slots=True)
class ReferenceStudy:
    """One study: upload its ``document``, then ``hosts``, then ``runs``, in this order.

    ``reference_system`` describes the system that stands in for a native baseline where
    the study has none; it is among the systems of the runs.
    """

    document: dict[str, Any]
    hosts: tuple[dict[str, Any], ...]
    runs: tuple[dict[str, Any], ...]
    reference_system: dict[str, Any] | None


def reference_studies() -> Iterator[ReferenceStudy]:
    """All studies, in the order of ``studies.json``."""
    return map(reference_study, studies()["studies"])


def reference_study(slug: str) -> ReferenceStudy:
    """One study by its slug."""
    rows = read_rows(slug)
    return ReferenceStudy(
        document=study_document(slug),
        hosts=tuple(map(host_document, dict.fromkeys(row.machine for row in rows))),
        runs=tuple(run_documents(slug, rows)),
        reference_system=reference_system(slug, rows),
    )


def study_document(slug: str) -> dict[str, Any]:
    """Who published the study, when and what was varied."""
    study = studies()["studies"][slug]
    kept = ("title", "author", "institution", "language", "note", "factors")
    return {
        "slug": slug,
        **{key: study[key] for key in kept if key in study},
        "published": study["date"],
        "visibility": "public",
    }


def host_document(slug: str) -> dict[str, Any]:
    """A machine with its published facts; one without facts has only its title."""
    facts = studies()["machines"].get(slug, {})
    return {"slug": slug, "title": HOST_TITLES[slug], "facts": facts}


def reference_system(slug: str, rows: list[Row]) -> dict[str, Any] | None:
    """The UOC study compares with HDD and swap on HDD; the others have native runs.

    The Heidelberg study has neither: nothing there says what to compare with.
    """
    if slug != "uoc-2012-kvm":
        return None
    systems = (system_document(slug, row) for row in rows)
    reference = {"storage": "HDD", "swap": "HDD"}
    return next(each for each in systems if each["options"] == reference)
