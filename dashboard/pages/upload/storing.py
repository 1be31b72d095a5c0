"""Store the files that a person chose to keep, each of them once."""

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid5

import orjson

from benchmarks.errors import BatchRefusedError, BenchmarksError
from benchmarks.models import Agent
from benchmarks.parsing.decoding import decode
from benchmarks.uploads.intake import Submission, submit_runs
from dashboard import wording
from dashboard.pages.upload.archives import Member
from dashboard.pages.upload.previews import Named

UPLOADS = UUID("c252e1a7-7ede-4e53-a0df-450ce392b6d9")


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
        return any(each.repeated for each in self.submissions)


def store(
    *, agent: Agent, member: Member, named: Named, target: dict[str, Any]
) -> Outcome:
    """Keep one file as runs of a target; the same for the same is stored once."""
    blank = Outcome(member.index, member.name)
    try:
        if member.refusal:
            raise member.refusal
        document = _document(member, named, target)
        submissions = submit_runs(agent=agent, documents=[document])
    except BatchRefusedError as error:
        problem = next(iter(error.problems.values()))
        return replace(
            blank, problem=wording.said(problem.sentence), status=problem.status
        )
    except BenchmarksError as error:
        return replace(blank, problem=wording.said(error.sentence), status=error.status)
    return replace(blank, submissions=tuple(submissions))


def _document(member: Member, named: Named, target: dict[str, Any]) -> dict[str, Any]:
    """Return the upload of a file. Its key follows from everything in it.

    So a repeated click, a lost answer and a page loaded again find the run that is
    already there, while the same file for another system is another run.
    """
    said = {"tool": named.tool, "locale": named.locale}
    document = {
        **target,
        **{name: text for name, text in said.items() if text},
        "output": decode(member.data),
        "note": member.name,
    }
    content = orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    return {"key": str(uuid5(UPLOADS, content.decode())), **document}
