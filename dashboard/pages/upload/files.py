"""Files that a person sent: what is read in each, and each stored once.

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
from benchmarks.parsing.folders import Guess, folder_of, with_files
from benchmarks.parsing.reading import ReadRun
from benchmarks.parsing.scanning import LineError, Parameter
from benchmarks.uploads.folders import (
    Asked,
    Times,
    read_member,
    submit_file,
    system_text,
)
from benchmarks.uploads.intake import Submission
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
READERS = {slug: tool.title for slug, tool in tools.TOOLS.items() if tool.parser}

Parameters = Mapping[str, Parameter]


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
    """How many samples still fit into an answer."""

    rows: int

    def take(self, samples: Iterator["PreviewSample"], most: int) -> tuple[Any, ...]:
        """Return the next samples, as many as are wanted and fit."""
        taken = tuple(islice(samples, min(most, self.rows)))
        self.rows -= len(taken)
        return taken


@dataclass(frozen=True)
class PreviewSample:
    """One number as it was printed, with the parameters it has for itself."""

    metric: str
    parameters: Parameters
    value: float
    unit: str
    repetition: int


@dataclass(frozen=True)
class PreviewResult:
    """One run found in a file; ``folded`` samples stand behind "show all"."""

    run: ReadRun
    title: str
    count: int
    shared: Parameters
    is_repeated: bool
    samples: tuple[PreviewSample, ...]
    folded: tuple[PreviewSample, ...]
    trouble: Trouble | None

    @property
    def prefix(self) -> str:
        """What stood before each of its lines, and was taken off."""
        return str(self.run.facts.get(reading.PREFIX, ""))

    @property
    def left_out(self) -> int:
        return self.count - len(self.samples) - len(self.folded)


@dataclass(frozen=True)
class Preview:
    """A file with everything that was read in it, or the trouble with all of it.

    ``tells_system``: it is no result, but says what its system is (``lscpu``).
    ``starts`` of its results print when they began, ``clocks`` of these without a time
    zone.
    """

    index: int
    name: str
    size_bytes: int
    named: Named
    results: tuple[PreviewResult, ...] = ()
    result_count: int = 0
    sample_count: int = 0
    trouble: Trouble | None = None
    status: int = HTTPStatus.OK
    is_later: bool = False
    modified: datetime | None = None
    tells_system: bool = False
    starts: int = 0
    clocks: int = 0

    @property
    def folder(self) -> str:
        """The folder that stands for its system; empty for a file of none."""
        return folder_of(self.name)

    @property
    def is_read(self) -> bool:
        """Something of it was read: it can be stored."""
        return self.sample_count > 0

    @property
    def is_storable(self) -> bool:
        """A text that was not read may be stored all the same, for a better reader."""
        return self.status == HTTPStatus.OK and self.size_bytes > 0

    @property
    def state(self) -> str:
        """``read``, ``partly`` if one of its results was refused, ``unread``, or
        ``later`` if there was no time."""
        if self.is_later:
            return "later"
        if not self.is_read:
            return "unread"
        return "partly" if any(result.trouble for result in self.results) else "read"

    @property
    def results_left_out(self) -> int:
        return self.result_count - len(self.results)


@dataclass(frozen=True)
class Outcome:
    """What became of one file: its runs, or why there are none."""

    index: int
    name: str
    submissions: tuple[Submission, ...] = ()
    problem: str = ""
    status: int = 200

    @property
    def is_repeated(self) -> bool:
        """It was stored before: nothing was doubled."""
        return any(submission.repeated for submission in self.submissions)


def readers(lab: Lab) -> dict[str, str]:
    """Return whose files a lab may upload: the title of each tool by its name."""
    own = declared_tools(lab.slug).values()
    in_use = {it.name: it.tool.title for it in own if not it.is_retired}
    return in_use | READERS


def previews(request: HttpRequest, lab: Lab) -> Iterator[Preview]:
    """Yield what is read in each file that came, one file in memory at a time."""
    own = declared_tools(lab.slug)
    room, end = Room(ROWS_SHOWN), monotonic() + READING_S
    for member, named in _members(request):
        # The browser asks for these again, one by one; without its name and size a file
        # would be missing from the list.
        if monotonic() > end:
            size = len(member.data)
            yield Preview(member.index, member.name, size, named, is_later=True)
        else:
            yield preview(member, named, room, own)


def preview(
    member: Member, named: Named, room: Room, own: Mapping[str, DeclaredTool]
) -> Preview:
    """Read a file without storing anything of it; ``own`` are its lab's own tools."""
    blank = Preview(
        member.index, member.name, len(member.data), named, modified=member.modified
    )
    if refusal := member.refusal:
        return replace(blank, trouble=Trouble.of(refusal), status=refusal.status)
    try:
        # Each run keeps its own trouble; only trouble with the whole file is raised.
        runs = read_member(member, named.tool, named.locale, own)
    except BenchmarksError as error:
        is_told = bool(system_text(member.data))
        return replace(blank, trouble=Trouble.of(error), tells_system=is_told)
    printed = [run.printed_start for run in runs if run.printed_start]
    return replace(
        blank,
        starts=len(printed),
        clocks=sum(moment.tzinfo is None for moment in printed),
        results=tuple(_results(runs[:RESULTS_SHOWN], room)),
        result_count=len(runs),
        sample_count=sum(len(run.readings) for run in runs),
    )


def guess(request: HttpRequest, folder: str) -> Guess:
    """Return what a folder's name, and the files that came with it, say of a system."""
    files = [member for member, _named in _members(request)]
    texts = [text for file in files if (text := system_text(file.data))]
    return with_files(folders.named(folder.rpartition("/")[2]), texts)


def _results(runs: Iterable[ReadRun], room: Room) -> Iterator[PreviewResult]:
    for run in runs:
        tool, readings = known_tool(run.tool), run.readings
        # The parameters that all numbers of a run have are said once.
        shared: dict[str, Parameter] = dict(readings[0].parameters) if readings else {}
        for sample in readings[1:]:
            own = sample.parameters
            shared = {k: v for k, v in shared.items() if own.get(k) == v}
        # Lazy, and one iterator for both: what is folded begins where what is shown
        # ends, and a long run costs no more than its rows on the page.
        shown = (
            PreviewSample(
                metric=tool.metric(sample.metric).title,
                parameters=display_parameters(
                    {k: v for k, v in sample.parameters.items() if k not in shared}
                ),
                value=sample.value,
                unit=sample.unit,
                repetition=sample.repetition,
            )
            for sample in readings
        )
        yield PreviewResult(
            run=run,
            title=tool.title,
            count=len(readings),
            shared=display_parameters(shared),
            is_repeated=any(sample.repetition > 1 for sample in readings),
            samples=room.take(shown, SAMPLES_SHOWN),
            folded=room.take(shown, SAMPLES_FOLDED),
            trouble=Trouble.of(run.problem) if run.problem else None,
        )


def stored(
    request: HttpRequest, agent: Agent, target: dict[str, Any], times: Times
) -> Iterator[Outcome]:
    """Store each file that came, and yield what became of it."""
    written = _written(request.POST.get("modified", ""))
    for member, named in _members(request):
        yield store(
            agent=agent,
            member=replace(member, modified=member.modified or written),
            named=named,
            target=target,
            times=times,
        )


def _written(milliseconds: str) -> datetime | None:
    """Return a file's date as a browser tells it; None where it tells none."""
    with suppress(OverflowError, OSError, ValueError):
        if milliseconds.isascii() and milliseconds.isdigit():
            return datetime.fromtimestamp(int(milliseconds[:16]) / 1000, UTC)
    return None


def store(
    *,
    agent: Agent,
    member: Member,
    named: Named,
    target: dict[str, Any],
    times: Times,
) -> Outcome:
    """Keep one file as runs of a target; say what became of it."""
    blank = Outcome(member.index, member.name)
    asked = Asked("", times=times, tool=named.tool, locale=named.locale)
    try:
        submissions = submit_file(agent, member, target, asked)
    except BenchmarksError as error:
        return replace(blank, problem=wording.said(error.sentence), status=error.status)
    return replace(blank, submissions=submissions)


def _members(request: HttpRequest) -> Iterator[tuple[Member, Named]]:
    """Yield the files, of a zip only those that were picked if any were, each with
    what was said about it, or about all of them."""
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
