"""Turn one upload's words into what they mean in the lab that sent it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from benchmarks import tools
from benchmarks.errors import (
    UnknownStudyError,
    UnknownSystemError,
)
from benchmarks.models import Host, Lab, Study, System
from benchmarks.parsing.reading import writes_comma
from benchmarks.studies.systems import describe_system, hosts_by_slug
from benchmarks.uploads.samples import read_samples

COPIED = ("tool_version", "load", "clock", "document", "table", "note")


@dataclass(frozen=True)
class Draft:
    """A run that could be stored: everything it names exists or can be made."""

    study: Study
    system: System
    session: str
    corun: str
    fields: dict[str, Any]


@dataclass(frozen=True)
class Resolver:
    """A lab's studies, machines and systems that a batch of documents names."""

    lab: Lab
    studies: dict[str, Study]
    hosts: dict[str, Host]
    systems: dict[int, System]

    @classmethod
    def of(cls, lab: Lab, documents: Sequence[dict[str, Any]]) -> "Resolver":
        """Look up all names of a batch, in one query a kind."""
        slugs = {document["study"] for document in documents}
        described = [document["system"] for document in documents]
        ids = [system for system in described if isinstance(system, int)]
        hosts = {system["host"] for system in described if isinstance(system, dict)}
        studies = Study.objects.filter(lab=lab, slug__in=slugs)
        return cls(
            lab=lab,
            studies={study.slug: study for study in studies},
            hosts=hosts_by_slug(lab, hosts),
            systems=System.objects.filter(lab=lab).in_bulk(ids),
        )

    def draft(self, document: dict[str, Any]) -> Draft:
        """Return what a document means, or raise the error that says what is wrong."""
        study = self.studies.get(document["study"])
        if study is None:
            raise UnknownStudyError(document["study"])
        tool = _checked_tool(document)
        return Draft(
            study=study,
            system=self._system(document["system"]),
            session=document.get("session", ""),
            corun=document.get("corun", ""),
            fields={"tool": tool, **_run_fields(document)},
        )

    def _system(self, described: int | dict[str, Any]) -> System:
        if isinstance(described, dict):
            return describe_system(self.lab, self.hosts, described)
        if described not in self.systems:
            raise UnknownSystemError(described)
        return self.systems[described]


def _checked_tool(document: dict[str, Any]) -> str:
    """Return the slug of the upload's tool, once what it brings can be understood.

    Raw output is read after it was kept, for it must not get lost: here only the names
    beside it are looked at. Its tool may still be unknown ("").
    """
    if "output" not in document:
        read_samples(document["tool"], document["samples"])
        return tools.get(document["tool"]).slug
    writes_comma(document.get("locale"))
    return tools.get(document["tool"]).slug if "tool" in document else ""


def _run_fields(document: dict[str, Any]) -> dict[str, Any]:
    scenario = document.get("scenario", "single")
    # One VM alone is slot 1 of 1, whether the upload says so or not.
    alone = scenario == "single"
    started_at = document.get("started_at")
    return {
        "scenario": scenario,
        "vms": document.get("vms", 1 if alone else None),
        "slot": document.get("slot", "1" if alone else ""),
        "started_at": started_at and datetime.fromisoformat(started_at),
        "facts": document.get("facts", {}),
        **{name: document.get(name, "") for name in COPIED},
    }
