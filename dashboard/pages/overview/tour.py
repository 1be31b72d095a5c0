"""The guided first visit: a few questions, answered by pages of the real studies.

Where the reader is stands in the address (`?tour=3`), so it needs no cookie and no
script. A step whose study is not there is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise, SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from benchmarks.studies.rollups import Examples, visible_examples
from dashboard.kit.viewers import viewer_of

PARAMETER = "tour"
ANCHOR = "tour"


@dataclass(frozen=True)
class Lesson:
    example: str
    page: str
    question: Promise
    sentence: Promise
    query: str = ""
    anchor: str = ""


LESSONS = (
    Lesson(
        "memory",
        "compare",
        _("What does Xen cost in memory?"),
        _(
            "Each row is a measurement, each column a system, and the figure is the "
            "VM's speed divided by the bare machine's: 1 is native speed, orange is "
            "slower, blue is faster, and a flag marks what may be a mistake."
        ),
        query="component=memory&scenario=single",
        anchor="comparison",
    ),
    Lesson(
        "single_run",
        "cell",
        _("Why is this result not assessed?"),
        _(
            "It looks like a loss, but one run on each side cannot tell a difference "
            "from chance: so the page shows the ratio and where it comes from, gives "
            "no verdict, and says how many runs would allow one."
        ),
    ),
    Lesson(
        "settings",
        "factor-effects",
        _("Which settings moved the network?"),
        _(
            "Parameters are ranked by how much they changed relative performance under "
            "VMware ESXi, each with its margin and whether chance could have done it; "
            "the line for the network says what helped, and in which combination."
        ),
        query="component=network",
    ),
    Lesson(
        "mistake",
        "flags",
        _("Would you have seen this mistake?"),
        _(
            "The study prints a memory bandwidth about a thousand times too high: the "
            "server found it without help, leaves the number as it was printed, and "
            "withholds the verdict until a person has decided."
        ),
        query="status=all",
        anchor="flag-{}",
    ),
    Lesson(
        "bimodal",
        "cell",
        _("What if a disk has two speeds?"),
        _(
            "The same disk read at two speeds, in turns: a mean would describe "
            "neither, so the page shows every sample and both speeds, and gives no "
            "single figure."
        ),
    ),
    Lesson(
        "report",
        "report",
        _("How do I export the results?"),
        _(
            "The report is the whole study on paper, with method, tables, findings "
            "and flags, also as a PDF; every comparison can be had as CSV, JSON and "
            "LaTeX, and every study cited with BibTeX."
        ),
    ),
)


@dataclass(frozen=True)
class Step:
    question: str
    sentence: str
    path: str
    query: str = ""
    anchor: str = ""
    """Where on the page the answer stands, if not at its top."""

    def address(self, number: int) -> str:
        """Return where the step is shown; the # puts the keyboard at the strip."""
        kept = f"{self.query}&" if self.query else ""
        return f"{self.path}?{kept}{PARAMETER}={number}#{ANCHOR}"

    @property
    def own_address(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path


def tour_links(examples: Examples) -> list[tuple[str, str]]:
    return [
        (step.question, step.address(number))
        for number, step in enumerate(tour_steps(examples), start=1)
    ]


def tour_strip(
    steps: Sequence[Step], *, path: str, query: str
) -> dict[str, Any] | None:
    """Return the strip of the step that a query names; None if not of this page."""
    number = int(query) if query.isascii() and query.isdigit() else 0
    if not 0 < number <= len(steps) or steps[number - 1].path != path:
        return None
    last = number == len(steps)
    return {
        "step": steps[number - 1],
        "number": number,
        "total": len(steps),
        "previous": steps[number - 2].address(number - 1) if number > 1 else "",
        "next": "" if last else steps[number].address(number + 1),
    }


def tour(request: HttpRequest) -> dict[str, Any]:
    """Give every page its strip, for the few requests that ask for one."""
    query = request.GET.get(PARAMETER, "")[:3]
    if not query:
        return {}

    def find() -> dict[str, Any] | None:
        steps = tour_steps(visible_examples(viewer_of(request)))
        return tour_strip(steps, path=request.path, query=query)

    # Lazy: only the frame shows it, and what is rendered without one makes no query.
    return {"tour": SimpleLazyObject(find)}


def tour_steps(examples: Examples) -> list[Step]:
    steps = []
    for lesson in LESSONS:
        if lesson.example not in examples:
            continue
        study, pk = examples[lesson.example]
        place = [pk] if lesson.page == "cell" else []
        step = Step(
            question=str(lesson.question),
            sentence=str(lesson.sentence),
            path=reverse(
                f"dashboard:{lesson.page}", args=[study.lab.slug, study.slug, *place]
            ),
            query=lesson.query,
            anchor=lesson.anchor.format(pk),
        )
        steps.append(step)
    return steps
