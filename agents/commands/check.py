"""Show what the server would read of files; `-` reads standard input.

Nothing is sent or saved. The server offers its readers as virtlab-readers.pyz: save it
beside the agent, or run it alone. It needs Python 3.11 or newer. Exit code 7 means that
a file is not read, or only partly, or has results of several systems (see --part).

  virtlab-agent.pyz check results/*.txt composite.xml
  fio job.fio | virtlab-agent.pyz check --json -
  python3 virtlab-readers.pyz results/*.txt
"""

import argparse
import importlib
import json
import os
import sys
from typing import Any, Dict, Iterator, List

from agents import errors
from agents.argument_parsing import read_given_file
from agents.console import Console
from agents.errors import AgentError

Document = Dict[str, Any]
READERS = "virtlab-readers.pyz"
OLDEST = (3, 11)
MAX_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="- for standard input")
    parser.add_argument("--tool", help="tool that printed it, if not recognizable")
    parser.add_argument("--locale", help="de_DE: read decimal commas")
    parser.add_argument("--part", default="", help="only results of this system")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    extraction = _readers()
    files = [_checked(extraction, name, options) for name in options.files]
    console = Console()
    if options.json:
        console.print_result(json.dumps({"files": files}, indent=1))
    else:
        for file in files:
            console.print_result("\n".join(_lines(file)))
    is_read = all(file["state"] == "read" for file in files)
    return errors.DONE if is_read else errors.CHECK_FAILED


def _readers() -> Any:
    if sys.version_info < OLDEST:
        raise AgentError(
            "check needs Python 3.11 or newer; this is Python %d.%d. Check the files "
            "on another machine, or push them: the server says what it read."
            % sys.version_info[:2]
        )
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), READERS)
    if os.path.isfile(beside) and beside not in sys.path:
        sys.path.append(beside)
    try:
        return importlib.import_module("benchmarks.parsing.run_extraction")
    except ImportError:
        raise AgentError(
            "The readers are not in the agent. Save https://SERVER/agent/%s of your "
            "server in %s." % (READERS, os.path.dirname(beside))
        ) from None


def _checked(extraction: Any, name: str, options: argparse.Namespace) -> Document:
    content = _content(name)
    try:
        extracted = extraction.extract_runs(
            content, options.tool, options.locale, part=options.part
        )
    except importlib.import_module("benchmarks.errors").BenchmarksError as error:
        return {"name": name, "state": "rejected", "problem": str(error), "runs": []}
    runs = [_document(run) for run in extracted]
    rejected = [run for run in runs if run["problem"]]
    state = "partly" if rejected or any(map(_left_out, runs)) else "read"
    unassigned = [run for run in rejected if run["samples"]]
    if len(rejected) == len(runs):
        state = "unassigned" if unassigned else "rejected"
    problem = unassigned[0]["problem"] if unassigned else ""
    return {"name": name, "state": state, "problem": problem, "runs": runs}


def _left_out(run: Document) -> List[str]:
    codes = ("left_out", "not_measured")
    return [
        warning["message"] for warning in run["warnings"] if warning["code"] in codes
    ]


def _content(name: str) -> bytes:
    return sys.stdin.buffer.read() if name == "-" else read_given_file(name)


def _document(run: Any) -> Document:
    return {
        "tool": run.tool,
        "version": run.tool_version,
        "part": run.part,
        "status": run.status,
        "problem": str(run.problem or ""),
        "first_line": run.first_line,
        "last_line": run.last_line,
        "samples": [
            {
                "metric": reading.metric,
                "parameters": dict(reading.parameters),
                "value": reading.value,
                "unit": reading.unit,
                "repetition": reading.repetition,
            }
            for reading in run.readings
        ],
        "warnings": [
            {"code": warning.code, "message": str(warning.message)}
            for warning in run.warnings
        ],
        "facts": dict(run.facts),
    }


def _lines(file: Document) -> Iterator[str]:
    yield "%s: %s" % (file["name"], file["state"])
    if file["problem"]:
        yield "  " + file["problem"]
    groups: Dict[Any, List[Document]] = {}
    for run in file["runs"]:
        if run["samples"]:
            key = (run["part"], run["tool"], run["version"])
            groups.setdefault(key, []).append(run)
    for (part, tool, version), runs in groups.items():
        values = sum(len(run["samples"]) for run in runs)
        title = " ".join(filter(None, (tool, version)))
        where = 'part "%s": ' % part if part else ""
        yield "  %s%s: %d runs, %d values" % (where, title, len(runs), values)
    lines = ["left out: " + r["problem"] for r in file["runs"] if not r["samples"]]
    lines += [text for run in file["runs"] for text in _left_out(run)]
    warnings = [warning for run in file["runs"] for warning in run["warnings"]]
    texts = [warning["message"] for warning in warnings]
    lines += ["warning: " + text for text in texts if text not in lines]
    for line in list(dict.fromkeys(lines))[:MAX_SHOWN]:
        yield "  " + line
