"""Rewrite the parsed numbers of the saved outputs; check ``git diff`` afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.errors import ParseError
from benchmarks.parsing import run_extraction

DATA = Path(__file__).parent


def outputs(slug: str = "*") -> list[Path]:
    """Return the saved outputs of one tool, or of all."""
    return sorted(DATA.glob(f"{slug}/*.txt"))


def numbers(output: bytes | str, **options: str) -> Any:
    """Return the parsed values of an output, as stored in the ``.json`` beside it."""
    try:
        runs = run_extraction.extract_runs(output, **options)
    except ParseError as error:
        return {"refused": str(error)}
    return [_run(run) for run in runs]


def _run(run: run_extraction.ExtractedRun) -> dict[str, Any]:
    values: dict[str, Any] = {"tool": run.tool, "version": run.tool_version}
    if run.part:
        values["part"] = run.part
    if run.problem and not run.readings:
        return values | {"refused": str(run.problem)}
    if run.problem:
        values["refused"] = str(run.problem)
    if run.warnings:
        values["warnings"] = sorted({warning.code for warning in run.warnings})
    values["readings"] = [
        [
            reading.metric,
            dict(reading.parameters),
            reading.value,
            reading.unit,
            reading.repetition,
        ]
        for reading in run.readings
    ]
    return values


def as_text(values: Any) -> str:
    """Return JSON with one line per reading."""
    if isinstance(values, dict):
        return json.dumps(values, indent=1) + "\n"
    runs = []
    for run in values:
        rows = ",\n  ".join(json.dumps(reading) for reading in run.get("readings", ()))
        head = json.dumps({key: run[key] for key in run if key != "readings"})
        listed = f', "readings": [\n  {rows}\n ]' if rows else ""
        runs.append(f"{head[:-1]}{listed}}}")
    return "[" + ",\n ".join(runs) + "]\n"


def main() -> None:
    for path in outputs():
        path.with_suffix(".json").write_text(as_text(numbers(path.read_bytes())))


if __name__ == "__main__":
    main()
