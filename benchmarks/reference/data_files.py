"""Files of the reference studies: their rows, and their descriptions. PURE.

A study is a CSV in ``data``, described in ``data/studies.json``, or a *data set*: a
folder with both files, which keeps them together with their licence.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Final

DATA: Final = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceRow:
    """One line of a reference file (columns: ``data/README.md``)."""

    document: str
    table: str
    machine: str
    hypervisor: str
    hypervisor_version: str
    virtualization: str
    guest_os: str
    guest_bits: str
    hw_virt: str
    guest_tools: str
    scenario: str
    vms: str
    vm: str
    tool: str
    metric: str
    operation: str
    access: str
    params: str
    clock: str
    value: str
    unit: str
    note: str

    @property
    def parameters(self) -> dict[str, str]:
        """Parse ``params`` (``key=value;...``); values may contain ``=``."""
        pairs = (pair.partition("=") for pair in self.params.split(";") if pair)
        return {key.strip(): value.strip() for key, _, value in pairs}


def read_rows(study: str) -> list[ReferenceRow]:
    columns = [column.name for column in fields(ReferenceRow)]
    with _csv_path(study).open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        if lines.fieldnames != columns:
            raise ValueError(f"{file.name} has other columns than {', '.join(columns)}")
        return [ReferenceRow(**line) for line in lines]


def _csv_path(study: str) -> Path:
    name = f"{study}.csv"
    return DATA / study / name if (DATA / study).is_dir() else DATA / name


@cache
def published_studies() -> Mapping[str, Any]:
    """Return the machines and studies of the files that are not data sets."""
    return _read_json(DATA / "studies.json")


@cache
def data_set_names() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in DATA.glob("*/studies.json")))


def study_description(slug: str) -> Mapping[str, Any]:
    description: Mapping[str, Any] = _content_of(slug)["studies"][slug]
    return description


@cache
def _sources() -> Mapping[str, Any]:
    return _read_json(DATA / "sources.json")


def study_sources(slug: str) -> list[dict[str, Any]]:
    sources: list[dict[str, Any]] = _sources().get(slug, [])
    return sources


def machine_description(study: str, machine: str) -> Mapping[str, Any]:
    """Return an empty mapping without published facts."""
    facts: Mapping[str, Any] = _content_of(study)["machines"].get(machine, {})
    return facts


def _content_of(study: str) -> Mapping[str, Any]:
    return _data_set(study) if study in data_set_names() else published_studies()


@cache
def _data_set(name: str) -> Mapping[str, Any]:
    return _read_json(DATA / name / "studies.json")


def _read_json(path: Path) -> Mapping[str, Any]:
    content: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content
