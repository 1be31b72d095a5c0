"""The guided tour; `?tour=3` is its third step.

Steps of missing studies are omitted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise, SimpleLazyObject
from django.utils.translation import gettext_lazy as _

from benchmarks.studies.study_rollups import TourExamples, visible_tour_examples
from dashboard.kit.viewers import viewer_of

TOUR_PARAMETER = "tour"
TOUR_ANCHOR = "tour"


@dataclass(frozen=True)
class TourLesson:
    example: str
    page: str
    question: Promise
    sentence: Promise
    query: str = ""
    anchor: str = ""


LESSONS = (
    TourLesson(
        "memory",
        "compare",
        _("How does Xen affect memory performance?"),
        _(
            "Each row is a benchmark and each column is a system. The number is "
            "the VM's speed divided by the speed of bare metal: 1 is native speed, "
            "orange is slower, blue is faster. A flag marks a possible error."
        ),
        query="component=memory&scenario=single",
        anchor="comparison",
    ),
    TourLesson(
        "single_run",
        "cell",
        _("Why is this result not assessed?"),
        _(
            "The result looks like a loss, but with one run on each side a "
            "difference cannot be distinguished from chance. The page shows the "
            "ratio and its source, gives no verdict, and shows how many runs a "
            "verdict needs."
        ),
    ),
    TourLesson(
        "settings",
        "factor-effects",
        _("Which settings affected network speed?"),
        _(
            "Parameters are ranked by how much they changed relative performance "
            "under VMware ESXi, each with its margin and whether the change may be "
            "due to chance. The network line shows which settings helped, and in "
            "which combination."
        ),
        query="component=network",
    ),
    TourLesson(
        "mistake",
        "flags",
        _("Would you have noticed this error?"),
        _(
            "The study reports a memory bandwidth that is about a thousand times "
            "too high. The server detected this automatically. It does not change "
            "the reported number, and it gives no verdict until someone dismisses "
            "the flag."
        ),
        query="status=all",
        anchor="flag-{}",
    ),
    TourLesson(
        "bimodal",
        "cell",
        _("What if a disk has two speeds?"),
        _(
            "The same disk was read at two alternating speeds. A mean would "
            "describe neither of them, so the page shows every sample and both "
            "speeds, and does not give a single value."
        ),
    ),
    TourLesson(
        "report",
        "report",
        _("How do I export the results?"),
        _(
            "The report contains the whole study in printable form, with methods, "
            "tables, findings and flags, and is also available as a PDF. You can "
            "export every comparison as CSV, JSON or LaTeX, and cite every study "
            "with BibTeX."
        ),
    ),
)


@dataclass(frozen=True)
class TourStep:
    question: str
    sentence: str
    path: str
    query: str = ""
    anchor: str = ""

    def url(self, number: int) -> str:
        """Return the URL of the step; its fragment moves the focus to the strip."""
        prefix = f"{self.query}&" if self.query else ""
        return f"{self.path}?{prefix}{TOUR_PARAMETER}={number}#{TOUR_ANCHOR}"

    @property
    def page_url(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path


def tour_links(examples: TourExamples) -> list[tuple[str, str]]:
    return [
        (step.question, step.url(number))
        for number, step in enumerate(tour_steps(examples), start=1)
    ]


def tour_strip(
    steps: Sequence[TourStep], *, path: str, query: str
) -> dict[str, Any] | None:
    """Return the tour strip for a page; None if ``query`` is a step of another page."""
    number = int(query) if query.isascii() and query.isdigit() else 0
    if not 0 < number <= len(steps) or steps[number - 1].path != path:
        return None
    last = number == len(steps)
    return {
        "step": steps[number - 1],
        "number": number,
        "total": len(steps),
        "previous": steps[number - 2].url(number - 1) if number > 1 else "",
        "next": "" if last else steps[number].url(number + 1),
    }


def tour_context(request: HttpRequest) -> dict[str, Any]:
    query = request.GET.get(TOUR_PARAMETER, "")[:3]
    if not query:
        return {}

    def find() -> dict[str, Any] | None:
        steps = tour_steps(visible_tour_examples(viewer_of(request)))
        return tour_strip(steps, path=request.path, query=query)

    # The strip is lazy, because fragments without the base template do not need it.
    return {"tour": SimpleLazyObject(find)}


def tour_steps(examples: TourExamples) -> list[TourStep]:
    steps = []
    for lesson in LESSONS:
        if lesson.example not in examples:
            continue
        study, pk = examples[lesson.example]
        url_args = [pk] if lesson.page == "cell" else []
        step = TourStep(
            question=str(lesson.question),
            sentence=str(lesson.sentence),
            path=reverse(
                f"dashboard:{lesson.page}", args=[study.lab.slug, study.slug, *url_args]
            ),
            query=lesson.query,
            anchor=lesson.anchor.format(pk),
        )
        steps.append(step)
    return steps
