"""The reference files as they were printed: one row, one number of a study's table."""

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
class Row:
    """One line of a reference file; ``data/README.md`` explains the columns."""

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
        """``params`` taken apart: ``key=value;...``, where a value may hold ``=``."""
        pairs = (pair.partition("=") for pair in self.params.split(";") if pair)
        return {key.strip(): value.strip() for key, _, value in pairs}


def read_rows(study: str) -> list[Row]:
    """Every number of a study, in the file's order."""
    columns = [column.name for column in fields(Row)]
    with (DATA / f"{study}.csv").open(encoding="utf-8", newline="") as file:
        lines = csv.DictReader(file)
        if lines.fieldnames != columns:
            raise ValueError(f"{file.name} has other columns than {', '.join(columns)}")
        return [Row(**line) for line in lines]


@cache
def studies() -> Mapping[str, Any]:
    """What the rows cannot hold: ``machines`` and ``studies`` by their slugs."""
    text = (DATA / "studies.json").read_text(encoding="utf-8")
    content: Mapping[str, Any] = json.loads(text)
    return content
