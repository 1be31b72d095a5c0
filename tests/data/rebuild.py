"""Writes the numbers beside the saved outputs anew: look at ``git diff`` afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.errors import ParseError
from benchmarks.parsing import reading

DATA = Path(__file__).parent


def outputs(slug: str = "*") -> list[Path]:
    """The saved outputs of a tool, or of all."""
    return sorted(DATA.glob(f"{slug}/*.txt"))


def numbers(output: bytes | str, **options: str) -> Any:
    """What is read from an output, as the ``.json`` beside it holds it."""
    try:
        runs = reading.read(output, **options)
    except ParseError as error:
        return {"refused": str(error)}
    return [_run(run) for run in runs]


def _run(run: reading.ReadRun) -> dict[str, Any]:
    found: dict[str, Any] = {"tool": run.tool, "version": run.tool_version}
    if run.problem:
        return found | {"refused": str(run.problem)}
    if run.warnings:
        found["warnings"] = sorted({mark.code for mark in run.warnings})
    found["readings"] = [
        [each.metric, dict(each.parameters), each.value, each.unit, each.repetition]
        for each in run.readings
    ]
    return found


def as_text(found: Any) -> str:
    """JSON with one line for each reading."""
    if isinstance(found, dict):
        return json.dumps(found, indent=1) + "\n"
    runs = []
    for run in found:
        rows = ",\n  ".join(json.dumps(each) for each in run.get("readings", ()))
        head = json.dumps({key: run[key] for key in run if key != "readings"})
        listed = f', "readings": [\n  {rows}\n ]' if rows else ""
        runs.append(f"{head[:-1]}{listed}}}")
    return "[" + ",\n ".join(runs) + "]\n"


def main() -> None:
    for path in outputs():
        path.with_suffix(".json").write_text(as_text(numbers(path.read_bytes())))


if __name__ == "__main__":
    main()
