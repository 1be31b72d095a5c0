"""Previews and storage of uploaded files; only one is in memory at a time."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import islice
from time import monotonic
from typing import Any
from zlib import crc32

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from benchmarks import tools
from benchmarks.custom_tools.lookup import DeclaredTool, declared_tools, require_tool
from benchmarks.custom_tools.table_columns import number_columns
from benchmarks.errors import BenchmarksError, shorten
from benchmarks.fingerprints import display_parameters
from benchmarks.models import Agent, Lab
from benchmarks.parsing import run_extraction, system_from_folder_name
from benchmarks.parsing.archives import ArchiveMember, read_members
from benchmarks.parsing.parser_toolkit import LineError
from benchmarks.parsing.run_extraction import MAX_PART, ExtractedRun
from benchmarks.parsing.system_from_folder_name import (
    SystemGuess,
    add_file_facts,
    system_folder,
)
from benchmarks.parsing.tool import Parameter
from benchmarks.uploads.archive_upload import (
    ArchiveRequest,
    FileTimes,
    read_member,
    read_system_description,
    submit_file,
)
from dashboard import wording

RESULTS_SHOWN = 20
SAMPLES_SHOWN = 20
MAX_LINE_CHARACTERS = 300
MAX_FOLDED_SAMPLES = 500
"""Maximum number of samples of a result that "show all" reveals."""
MAX_ANSWER_SAMPLES = 4_000
"""Maximum number of samples in a response; further samples are only counted."""
READ_TIME_LIMIT_S = 10
"""After this time, the browser requests the previews of the remaining files."""
MAX_NAME_CHARACTERS = 500
MAX_LEFT_OUT = 5
MAX_TALLIED = 500
LEFT_OUT_CODES = {"left_out", "not_measured"}
PART_FACTS = {"system layer", "os"}
"""Facts of a part's runs that describe its system."""

# All locales with a decimal comma are parsed alike. Users choose one that they know.
LOCALES = {
    "cs_CZ": "čeština",
    "da_DK": "dansk",
    "de_DE": "Deutsch",
    "es_ES": "español",
    "fr_FR": "français",
    "it_IT": "italiano",
    "nl_NL": "Nederlands",
    "pl_PL": "polski",
    "pt_BR": "português",
    "ru_RU": "русский",
    "sv_SE": "svenska",
    "tr_TR": "Türkçe",
}

# Built-in tools with a parser. Others accept only numbers through the API.
READABLE_TOOLS = {slug: tool.title for slug, tool in tools.TOOLS.items() if tool.parse}


@dataclass(frozen=True)
class FileHints:
    """Facts that the user states about a file; empty ones are detected."""

    tool: str = ""
    locale: str = ""


@dataclass(frozen=True)
class ReadProblem:
    """Why a file or run was not parsed, and the line, counted from 1."""

    reason: str
    line: int | None = None
    text: str = ""

    @classmethod
    def from_error(cls, error: BenchmarksError) -> "ReadProblem":
        # The sentence of a LineError would repeat the number and text of the line.
        if not isinstance(error, LineError):
            return cls(wording.translate_text(error.sentence))
        line = shorten(error.text.strip(), MAX_LINE_CHARACTERS)
        # Do not show lines that are mostly binary.
        is_text = line.count("\\x") <= len(line) / 20
        return cls(
            wording.translate_text(error.why), error.line, line if is_text else ""
        )


@dataclass
class SampleBudget:
    """Number of samples that still fit into a response."""

    remaining: int

    def take(self, samples: Iterator[dict[str, Any]], limit: int) -> list[Any]:
        taken = list(islice(samples, min(limit, self.remaining)))
        self.remaining -= len(taken)
        return taken


def readable_tools(lab: Lab) -> dict[str, str]:
    lab_tools = declared_tools(lab.slug).values()
    in_use = {tool.name: tool.tool.title for tool in lab_tools if not tool.is_retired}
    return in_use | READABLE_TOOLS


def preview_files(request: HttpRequest, lab: Lab) -> Iterator[dict[str, Any]]:
    custom_tools = declared_tools(lab.slug)
    budget, end = SampleBudget(MAX_ANSWER_SAMPLES), monotonic() + READ_TIME_LIMIT_S
    for member, hints in _members(request):
        # The browser requests the previews of these files again, one by one.
        if monotonic() > end:
            yield _preview(member, hints, state="later", is_later=True)
        else:
            preview = preview_file(member, hints, budget, custom_tools)
            yield preview | {"declare_url": _declare_url(lab, preview)}


def _declare_url(lab: Lab, preview: Mapping[str, Any]) -> str:
    """Return the URL that declares the columns of an unknown table; "" without any."""
    columns = preview.get("columns", ())
    query = urlencode(
        [
            *(("metric", column.name) for column in columns),
            *(("unit", column.unit) for column in columns),
        ]
    )
    page = reverse("dashboard:new-custom-tool", args=[lab.slug])
    return f"{page}?{query}" if columns else ""


def preview_file(
    member: ArchiveMember,
    hints: FileHints,
    budget: SampleBudget,
    custom_tools: Mapping[str, DeclaredTool],
) -> dict[str, Any]:
    common: dict[str, Any] = {"modified": member.modified}
    if refusal := member.refusal:
        problem = ReadProblem.from_error(refusal)
        return _preview(member, hints, **common, problem=problem, status=refusal.status)
    try:
        # This raises only problems with the whole file; a run has its own problem.
        runs = read_member(member, hints.tool, hints.locale, custom_tools)
    except BenchmarksError as error:
        # The file may describe the system (such as the output of ``lscpu``).
        describes_system = bool(read_system_description(member.data))
        problem = ReadProblem.from_error(error)
        is_unknown = not hints.tool and not describes_system
        return _preview(
            member,
            hints,
            **common,
            problem=problem,
            describes_system=describes_system,
            columns=number_columns(member.data) if is_unknown else (),
        )
    parts = list(_parts(runs))
    if parts:
        # Each part is assigned to a system before it is stored.
        runs = tuple(
            replace(run, problem=None if run.readings else run.problem) for run in runs
        )
    printed = [run.printed_start for run in runs if run.printed_start]
    results = list(_results(runs[:RESULTS_SHOWN], budget))
    count = sum(len(run.readings) for run in runs if not run.problem)
    left_out = list(dict.fromkeys(_left_out(runs)))
    return _preview(
        member,
        hints,
        **common,
        state=("partly" if left_out else "read") if count else "unread",
        is_read=count > 0,
        parts=parts,
        left_out=left_out[:MAX_LEFT_OUT] if count else [],
        left_out_more=max(len(left_out) - MAX_LEFT_OUT, 0) if count else 0,
        tally=json.dumps(list(_tally(runs, bool(parts)))),
        starts=len(printed),
        clocks=sum(moment.tzinfo is None for moment in printed),
        results=results,
        result_count=len(runs),
        results_left_out=len(runs) - len(results),
        sample_count=count,
    )


def _parts(runs: Sequence[ExtractedRun]) -> Iterator[dict[str, Any]]:
    names = dict.fromkeys(run.part for run in runs if run.part and run.readings)
    for name in names if len(names) > 1 else ():
        own = [run for run in runs if run.part == name]
        facts = {
            key: str(own[0].facts[key]) for key in PART_FACTS & own[0].facts.keys()
        }
        yield {"name": name, "facts": facts}


def _left_out(runs: Iterable[ExtractedRun]) -> Iterator[ReadProblem]:
    for run in runs:
        if run.problem:
            yield ReadProblem.from_error(run.problem)
        for mark in run.warnings:
            if mark.code in LEFT_OUT_CODES:
                yield ReadProblem(wording.translate_text(mark.message))


def _tally(
    runs: Iterable[ExtractedRun], has_parts: bool
) -> Iterator[tuple[str, str, dict[str, int]]]:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for run in runs:
        if run.problem:
            continue
        tests = {repr(sorted(row.parameters.items())) for row in run.readings}
        key = (run.part if has_parts else "", require_tool(run.tool).title)
        for test in sorted(tests)[:MAX_TALLIED]:
            counts[key][f"{crc32(test.encode()):x}"] += 1
    for (part, tool), benchmarks in counts.items():
        yield part, tool, dict(benchmarks.most_common(MAX_TALLIED))


def _preview(
    member: ArchiveMember,
    hints: FileHints,
    *,
    status: int = HTTPStatus.OK,
    state: str = "unread",
    **values: Any,
) -> dict[str, Any]:
    size = len(member.data)
    return {
        "index": member.index,
        "name": member.name,
        "folder": system_folder(member.name),
        "size_bytes": size,
        # Files that were not parsed can be stored, too: later parsers may read them.
        "is_storable": status == HTTPStatus.OK and size > 0,
        "hints": hints,
        "status": status,
        "state": state,
        "starts": 0,
        "clocks": 0,
        "result_count": 0,
        **values,
    }


def guess_system(request: HttpRequest, folder: str) -> SystemGuess:
    files = [member for member, _named in _members(request)]
    texts = [text for file in files if (text := read_system_description(file.data))]
    guess = system_from_folder_name.guess_from_name(folder.rpartition("/")[2])
    layer = request.POST.get("system layer", "")[:MAX_NAME_CHARACTERS]
    if layer and not guess.hypervisor:
        guess = system_from_folder_name.guess_from_name(layer)
    guest_os = request.POST.get("os", "")[:MAX_NAME_CHARACTERS]
    if guest_os and not guess.guest_os:
        sources = {**guess.sources, "guest_os": "file"}
        guess = replace(guess, guest_os=guest_os, sources=sources)
    return add_file_facts(guess, texts)


def _results(
    runs: Iterable[ExtractedRun], budget: SampleBudget
) -> Iterator[dict[str, Any]]:
    for run in runs:
        tool, readings = require_tool(run.tool), run.readings
        shared: dict[str, Parameter] = dict(readings[0].parameters) if readings else {}
        for sample in readings[1:]:
            parameters = sample.parameters
            shared = {k: v for k, v in shared.items() if parameters.get(k) == v}
        rows = (
            {
                "metric": tool.metric(sample.metric).title,
                "parameters": display_parameters(
                    {k: v for k, v in sample.parameters.items() if k not in shared}
                ),
                "value": sample.value,
                "unit": sample.unit,
                "repetition": sample.repetition,
            }
            for sample in readings
        )
        samples = budget.take(rows, SAMPLES_SHOWN)
        folded = budget.take(rows, MAX_FOLDED_SAMPLES)
        yield {
            "run": run,
            "title": tool.title,
            "count": len(readings),
            # This prefix was removed from the start of each line.
            "prefix": str(run.facts.get(run_extraction.PREFIX, "")),
            "shared": display_parameters(shared),
            "is_repeated": any(sample.repetition > 1 for sample in readings),
            "samples": samples,
            "folded": folded,
            "left_out": len(readings) - len(samples) - len(folded),
            "problem": ReadProblem.from_error(run.problem) if run.problem else None,
        }


def store_files(
    request: HttpRequest, agent: Agent, target: dict[str, Any], times: FileTimes
) -> Iterator[dict[str, Any]]:
    modified_text, modified = request.POST.get("modified", ""), None
    with suppress(OverflowError, OSError, ValueError):
        if modified_text.isascii() and modified_text.isdigit():
            modified = datetime.fromtimestamp(int(modified_text[:16]) / 1000, UTC)
    for member, hints in _members(request):
        file = replace(member, modified=member.modified or modified)
        archive_request = ArchiveRequest(
            "", times=times, tool=hints.tool, locale=hints.locale
        )
        part = request.POST.get("part", "").replace("\0", "")[:MAX_PART]
        outcome: dict[str, Any] = {
            "index": file.index,
            "name": file.name,
            "part": part,
        }
        try:
            submissions = submit_file(agent, file, target, archive_request, part)
        except BenchmarksError as error:
            problem = wording.translate_text(error.sentence)
            yield {**outcome, "problem": problem, "status": error.status}
        else:
            repeated = any(submission.repeated for submission in submissions)
            outcome |= {"submissions": submissions, "is_repeated": repeated}
            yield {**outcome, "status": 200}


def _members(request: HttpRequest) -> Iterator[tuple[ArchiveMember, FileHints]]:
    data = request.POST
    # The indexes of the files in a zip to use. The browser always sends the whole zip.
    included = set(data.getlist("include"))
    for file in request.FILES.getlist("file"):
        # The page's script sends the name with its folder.
        name = (data.get("name") or file.name or "")[:MAX_NAME_CHARACTERS]
        for member in read_members(
            name,
            file,
            settings.UPLOAD_LIMIT_BYTES,
            lambda index: not included or str(index) in included,
        ):
            tool, locale = (
                data.get(f"{field}-{member.index}", data.get(field, "")).replace(
                    "\0", ""
                )
                for field in ("tool", "locale")
            )
            yield member, FileHints(tool=tool, locale=locale)
