"""What is read in a file that a person sent, as the upload page shows it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from itertools import islice
from typing import Any

from benchmarks import tools
from benchmarks.errors import BenchmarksError, shorten
from benchmarks.fingerprints import display_parameters
from benchmarks.parsing import reading
from benchmarks.parsing.drafts import Parameter, Reading
from benchmarks.parsing.reading import ReadRun
from benchmarks.parsing.scanning import LineError
from dashboard import wording
from dashboard.pages.upload.archives import Member

RESULTS_SHOWN = 20
SAMPLES_SHOWN = 20
LINE_SHOWN = 300
SAMPLES_FOLDED = 500
"""So many samples of a result stand behind "show all"."""
ROWS_SHOWN = 4_000
"""So many samples one answer holds, whatever a zip holds; the rest is only counted."""

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
READERS = {slug: tool.title for slug, tool in tools.TOOLS.items() if tool.parser}


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
        if isinstance(error, LineError):
            return cls(
                wording.said(error.why),
                error.line,
                _readable(shorten(error.text.strip(), LINE_SHOWN)),
            )
        return cls(wording.said(error.sentence))


def _readable(line: str) -> str:
    """Return a line as it may be shown; nothing of one that is mostly no text."""
    return "" if line.count("\\x") > len(line) / 20 else line


Parameters = Mapping[str, Parameter]


@dataclass
class Room:
    """How many samples still fit into an answer."""

    rows: int

    def take(self, samples: Iterator["ShownSample"], most: int) -> tuple[Any, ...]:
        """Return the next samples, as many as are wanted and fit."""
        taken = tuple(islice(samples, min(most, self.rows)))
        self.rows -= len(taken)
        return taken


@dataclass(frozen=True)
class ShownSample:
    """One number as it was printed, with the parameters it has for itself."""

    metric: str
    parameters: Parameters
    value: float
    unit: str
    repetition: int


@dataclass(frozen=True)
class Result:
    """One run found in a file; ``folded`` samples stand behind "show all"."""

    run: ReadRun
    title: str
    count: int
    shared: Parameters
    is_repeated: bool
    samples: tuple[ShownSample, ...]
    folded: tuple[ShownSample, ...]
    trouble: Trouble | None

    @property
    def left_out(self) -> int:
        return self.count - len(self.samples) - len(self.folded)


@dataclass(frozen=True)
class Preview:
    """A file with everything that was read in it, or the trouble with all of it."""

    index: int
    name: str
    size_bytes: int
    named: Named
    results: tuple[Result, ...] = ()
    result_count: int = 0
    sample_count: int = 0
    trouble: Trouble | None = None
    status: int = HTTPStatus.OK
    is_later: bool = False

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
        return "partly" if any(each.trouble for each in self.results) else "read"

    @property
    def results_left_out(self) -> int:
        return self.result_count - len(self.results)


def preview(member: Member, named: Named, room: Room) -> Preview:
    """Read a file without storing anything of it."""
    blank = Preview(member.index, member.name, len(member.data), named)
    if refusal := member.refusal:
        return replace(blank, trouble=Trouble.of(refusal), status=refusal.status)
    try:
        runs = reading.read(member.data, named.tool or None, named.locale or None)
    except BenchmarksError as error:
        return replace(blank, trouble=Trouble.of(error))
    return replace(
        blank,
        results=tuple(_results(runs[:RESULTS_SHOWN], room)),
        result_count=len(runs),
        sample_count=sum(len(run.readings) for run in runs),
    )


def later(member: Member, named: Named) -> Preview:
    """Return a file of a zip that holds too much to be read in one go."""
    return Preview(member.index, member.name, len(member.data), named, is_later=True)


def _results(runs: Iterable[ReadRun], room: Room) -> Iterator[Result]:
    for run in runs:
        tool, shared = tools.get(run.tool), _shared(run.readings)
        shown = (_shown(tool, each, shared) for each in run.readings)
        yield Result(
            run=run,
            title=tool.title,
            count=len(run.readings),
            shared=display_parameters(shared),
            is_repeated=any(each.repetition > 1 for each in run.readings),
            samples=room.take(shown, SAMPLES_SHOWN),
            folded=room.take(shown, SAMPLES_FOLDED),
            trouble=Trouble.of(run.problem) if run.problem else None,
        )


def _shared(readings: Sequence[Reading]) -> Parameters:
    """Return the parameters that all numbers of a run have: they are said once."""
    if not readings:
        return {}
    first = dict(readings[0].parameters)
    for each in readings[1:]:
        first = {k: v for k, v in first.items() if each.parameters.get(k) == v}
    return first


def _shown(tool: tools.Tool, sample: Reading, shared: Parameters) -> ShownSample:
    own = {k: v for k, v in sample.parameters.items() if k not in shared}
    return ShownSample(
        metric=tool.metric(sample.metric).title,
        parameters=display_parameters(own),
        value=sample.value,
        unit=sample.unit,
        repetition=sample.repetition,
    )
