"""Files that a person sent: previews of what is read in them, and storing them.

One file is in memory at a time, and an answer holds no more than a page can show.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import islice
from time import monotonic
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from benchmarks import tools
from benchmarks.errors import BenchmarksError, shorten
from benchmarks.fingerprints import display_parameters
from benchmarks.models import Agent, Lab
from benchmarks.own_tools.lookup import DeclaredTool, declared_tools, known_tool
from benchmarks.parsing import folders, reading
from benchmarks.parsing.archives import Member, members
from benchmarks.parsing.contract import Parameter
from benchmarks.parsing.folders import Guess, folder_of, with_files
from benchmarks.parsing.reading import ReadRun
from benchmarks.parsing.scanning import LineError
from benchmarks.uploads.folders import (
    Asked,
    Times,
    read_member,
    submit_file,
    system_text,
)
from dashboard import wording

RESULTS_SHOWN = 20
SAMPLES_SHOWN = 20
LINE_SHOWN = 300
SAMPLES_FOLDED = 500
"""So many samples of a result stand behind "show all"."""
ROWS_SHOWN = 4_000
"""So many samples one answer holds, whatever a zip holds; the rest is only counted."""
READING_S = 10
"""After so long an answer begins with what was read; the rest is asked for again."""
NAME_LIMIT = 500

# Any locale that writes a decimal comma reads the same: these are to be recognised.
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

# A tool without a parser takes its samples as numbers only; one that a lab declared
# itself takes a table of them.
READERS = {slug: tool.title for slug, tool in tools.TOOLS.items() if tool.parse}


@dataclass(frozen=True)
class Named:
    """What a person says about a file; empty: the file says it itself."""

    tool: str = ""
    locale: str = ""


@dataclass(frozen=True)
class Trouble:
    """Why something was not read, and the line that was not understood (from 1)."""

    why: str
    line: int | None = None
    text: str = ""

    @classmethod
    def of(cls, error: BenchmarksError) -> "Trouble":
        # A LineError's own sentence repeats number and text of the line, which are
        # shown apart here.
        if not isinstance(error, LineError):
            return cls(wording.said(error.sentence))
        line = shorten(error.text.strip(), LINE_SHOWN)
        # Of a line that is mostly no text, nothing is shown.
        is_text = line.count("\\x") <= len(line) / 20
        return cls(wording.said(error.why), error.line, line if is_text else "")


@dataclass
class Room:
    """The number of samples that still fit into an answer."""

    rows: int

    def take(self, samples: Iterator[dict[str, Any]], most: int) -> list[Any]:
        """Return the next samples, as many as are wanted and fit."""
        taken = list(islice(samples, min(most, self.rows)))
        self.rows -= len(taken)
        return taken


def readers(lab: Lab) -> dict[str, str]:
    """Return whose files a lab may upload: the title of each tool by its name."""
    own = declared_tools(lab.slug).values()
    in_use = {it.name: it.tool.title for it in own if not it.is_retired}
    return in_use | READERS


def previews(request: HttpRequest, lab: Lab) -> Iterator[dict[str, Any]]:
    """Yield what is read in each file of a request, one file in memory at a time."""
    own = declared_tools(lab.slug)
    room, end = Room(ROWS_SHOWN), monotonic() + READING_S
    for member, named in _members(request):
        # The browser requests late files again, one by one; without name and size a
        # file would be missing from the list.
        if monotonic() > end:
            yield _preview(member, named, state="later", is_later=True)
        else:
            yield preview(member, named, room, own)


def preview(
    member: Member, named: Named, room: Room, own: Mapping[str, DeclaredTool]
) -> dict[str, Any]:
    """Read a file without storing anything; ``own`` are the tools of its lab."""
    shown: dict[str, Any] = {"modified": member.modified}
    if refusal := member.refusal:
        trouble = Trouble.of(refusal)
        return _preview(member, named, **shown, trouble=trouble, status=refusal.status)
    try:
        # Each run has its own trouble; only trouble with the whole file is raised.
        runs = read_member(member, named.tool, named.locale, own)
    except BenchmarksError as error:
        # No result, but perhaps a description of its system (``lscpu``).
        is_told = bool(system_text(member.data))
        trouble = Trouble.of(error)
        return _preview(member, named, **shown, trouble=trouble, tells_system=is_told)
    printed = [run.printed_start for run in runs if run.printed_start]
    results = list(_results(runs[:RESULTS_SHOWN], room))
    count = sum(len(run.readings) for run in runs)
    is_partly = any(result["trouble"] for result in results)
    return _preview(
        member,
        named,
        **shown,
        state=("partly" if is_partly else "read") if count else "unread",
        is_read=count > 0,
        # Results that print when they began, and those of them without a time zone.
        starts=len(printed),
        clocks=sum(moment.tzinfo is None for moment in printed),
        results=results,
        result_count=len(runs),
        results_left_out=len(runs) - len(results),
        sample_count=count,
    )


def _preview(
    member: Member,
    named: Named,
    *,
    status: int = HTTPStatus.OK,
    state: str = "unread",
    **shown: Any,
) -> dict[str, Any]:
    size = len(member.data)
    return {
        "index": member.index,
        "name": member.name,
        "folder": folder_of(member.name),
        "size_bytes": size,
        # A text that was not read may be stored for a later version of a parser.
        "is_storable": status == HTTPStatus.OK and size > 0,
        "named": named,
        "status": status,
        "state": state,
        "starts": 0,
        "clocks": 0,
        "result_count": 0,
        **shown,
    }


def guess(request: HttpRequest, folder: str) -> Guess:
    """Return what a folder's name, and the files that came with it, say of a system."""
    files = [member for member, _named in _members(request)]
    texts = [text for file in files if (text := system_text(file.data))]
    return with_files(folders.named(folder.rpartition("/")[2]), texts)


def _results(runs: Iterable[ReadRun], room: Room) -> Iterator[dict[str, Any]]:
    """Yield the runs of a file; ``folded`` samples are shown on demand."""
    for run in runs:
        tool, readings = known_tool(run.tool), run.readings
        # Parameters that all numbers of a run have are shown once.
        shared: dict[str, Parameter] = dict(readings[0].parameters) if readings else {}
        for sample in readings[1:]:
            own = sample.parameters
            shared = {k: v for k, v in shared.items() if own.get(k) == v}
        # One lazy iterator for both: folded samples begin where shown ones end, and a
        # long run costs no more than its rows on the page.
        shown = (
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
        samples = room.take(shown, SAMPLES_SHOWN)
        folded = room.take(shown, SAMPLES_FOLDED)
        yield {
            "run": run,
            "title": tool.title,
            "count": len(readings),
            # Removed from the start of each of its lines.
            "prefix": str(run.facts.get(reading.PREFIX, "")),
            "shared": display_parameters(shared),
            "is_repeated": any(sample.repetition > 1 for sample in readings),
            "samples": samples,
            "folded": folded,
            "left_out": len(readings) - len(samples) - len(folded),
            "trouble": Trouble.of(run.problem) if run.problem else None,
        }


def stored(
    request: HttpRequest, agent: Agent, target: dict[str, Any], times: Times
) -> Iterator[dict[str, Any]]:
    """Store each file of a request, and yield its runs or the problem."""
    # The date of a file as a browser states it, in milliseconds.
    stated, written = request.POST.get("modified", ""), None
    with suppress(OverflowError, OSError, ValueError):
        if stated.isascii() and stated.isdigit():
            written = datetime.fromtimestamp(int(stated[:16]) / 1000, UTC)
    for member, named in _members(request):
        file = replace(member, modified=member.modified or written)
        asked = Asked("", times=times, tool=named.tool, locale=named.locale)
        outcome: dict[str, Any] = {"index": file.index, "name": file.name}
        try:
            submissions = submit_file(agent, file, target, asked)
        except BenchmarksError as error:
            problem = wording.said(error.sentence)
            yield {**outcome, "problem": problem, "status": error.status}
        else:
            repeated = any(submission.repeated for submission in submissions)
            outcome |= {"submissions": submissions, "is_repeated": repeated}
            yield {**outcome, "status": 200}


def _members(request: HttpRequest) -> Iterator[tuple[Member, Named]]:
    """Yield the picked files with what was said of each."""
    sent = request.POST
    # A zip is sent whole each time, even to read or store one file of it.
    picked = set(sent.getlist("pick"))
    for file in request.FILES.getlist("file"):
        # A script can tell the folder, too.
        name = (sent.get("name") or file.name or "")[:NAME_LIMIT]
        for member in members(
            name,
            file,
            settings.UPLOAD_LIMIT_BYTES,
            lambda index: not picked or str(index) in picked,
        ):
            tool, locale = (
                sent.get(f"{what}-{member.index}", sent.get(what, "")).replace("\0", "")
                for what in ("tool", "locale")
            )
            yield member, Named(tool=tool, locale=locale)
