"""The guided first visit: a few questions, answered by pages of the real studies.

Where the reader is stands in the address (`?tour=3`), so it needs no cookie and no
script. A step whose study is not there is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from benchmarks.models import Study
from benchmarks.studies.examples import Examples, Place, visible_examples
from dashboard.kit.viewers import viewer_of

PARAMETER = "tour"
ANCHOR = "tour"


@dataclass(frozen=True)
class Step:
    """A question, the page that answers it, and how to read that page."""

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
        """Return the page without the tour."""
        return f"{self.path}?{self.query}" if self.query else self.path


@dataclass(frozen=True)
class Link:
    """A step as the overview lists it."""

    question: str
    address: str


@dataclass(frozen=True)
class Strip:
    """What stands at the top of a page while the tour is on."""

    step: Step
    number: int
    total: int
    previous: str
    next: str


def tour_links(found: Examples) -> tuple[Link, ...]:
    """Return every step with its address."""
    steps = list(_steps(found))
    return tuple(
        Link(step.question, step.address(number))
        for number, step in enumerate(steps, start=1)
    )


def tour_strip(steps: Sequence[Step], *, path: str, asked: str) -> Strip | None:
    """Return the strip of the step asked for; None if this is not its page."""
    number = int(asked) if asked.isascii() and asked.isdigit() else 0
    if not 0 < number <= len(steps) or steps[number - 1].path != path:
        return None
    last = number == len(steps)
    return Strip(
        step=steps[number - 1],
        number=number,
        total=len(steps),
        previous=steps[number - 2].address(number - 1) if number > 1 else "",
        next="" if last else steps[number].address(number + 1),
    )


def tour(request: HttpRequest) -> dict[str, Any]:
    """Give every page its strip, for the few requests that ask for one."""
    asked = request.GET.get(PARAMETER, "")[:3]
    if not asked:
        return {}

    def find() -> Strip | None:
        steps = list(_steps(visible_examples(viewer_of(request))))
        return tour_strip(steps, path=request.path, asked=asked)

    return {"tour": SimpleLazyObject(find)}


def _steps(found: Examples) -> Iterator[Step]:
    """Yield the steps there are data for, in their order."""
    if found.memory:
        yield _memory(found.memory)
    if found.single_run:
        yield _single_run(found.single_run)
    if found.settings:
        yield _settings(found.settings)
    if found.mistake:
        yield _mistake(found.mistake)
    if found.bimodal:
        yield _bimodal(found.bimodal)
    if found.report:
        yield _report(found.report)


def _memory(study: Study) -> Step:
    return Step(
        _("What does Xen cost in memory?"),
        _(
            "Each row is a measurement, each column a system, and the figure is the "
            "VM's speed divided by the bare machine's: 1 is native speed, orange is "
            "slower, blue is faster, and a flag marks what may be a mistake."
        ),
        _page("compare", study),
        "component=memory&scenario=single",
        "comparison",
    )


def _single_run(cell: Place) -> Step:
    return Step(
        _("Why is there no verdict?"),
        _(
            "It looks like a loss, but one run on each side cannot tell a difference "
            "from chance: so the page shows the ratio and where it comes from, refuses "
            "the verdict, and says how many runs would allow one."
        ),
        _page("cell", cell.study, cell.pk),
    )


def _settings(study: Study) -> Step:
    return Step(
        _("Which settings moved the network?"),
        _(
            "Parameters are ranked by how much they changed the efficiency under "
            "VMware ESXi, each with its margin and whether chance could have done it; "
            "the line for the network says what helped, and in which company."
        ),
        _page("factor-effects", study),
        "component=network",
    )


def _mistake(flag: Place) -> Step:
    return Step(
        _("Would you have seen this mistake?"),
        _(
            "The study prints a memory bandwidth about a thousand times too high: the "
            "server found it without help, leaves the number as it was printed, and "
            "withholds the verdict until a person has decided."
        ),
        _page("flags", flag.study),
        "status=all",
        f"flag-{flag.pk}",
    )


def _bimodal(cell: Place) -> Step:
    return Step(
        _("What if a disk has two speeds?"),
        _(
            "The same disk read at two speeds, in turns: a mean would describe "
            "neither, so the page shows every sample and both speeds, and gives no "
            "single figure."
        ),
        _page("cell", cell.study, cell.pk),
    )


def _report(study: Study) -> Step:
    return Step(
        _("How do I take it along?"),
        _(
            "The report is the whole study on paper, with method, tables, findings "
            "and doubts, also as a PDF; every comparison can be had as CSV, JSON and "
            "LaTeX, and every study cited with BibTeX."
        ),
        _page("report", study),
    )


def _page(name: str, study: Study, *rest: int) -> str:
    return reverse(f"dashboard:{name}", args=[study.lab.slug, study.slug, *rest])
