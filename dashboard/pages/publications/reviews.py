"""Reviews: list them, show one, publish one."""

from collections.abc import Collection, Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import Any, Final

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from benchmarks.errors import BenchmarksError
from benchmarks.evidence.reading import Question
from benchmarks.evidence.records import Changes, Record
from benchmarks.models import Lab, Review
from benchmarks.publishing.publications import find_publication, visible_publications
from benchmarks.publishing.reviews import (
    changes_since,
    publish_review,
    questions_of,
    reviewable_questions,
)
from benchmarks.tasks import send
from benchmarks.unattended.queue import Kind
from dashboard import wording
from dashboard.exports.citation import bibtex, site_of
from dashboard.exports.evidence import question_name
from dashboard.exports.publications import plot_name, review_citation
from dashboard.kit import figures
from dashboard.kit.evidence_matrix import question_address
from dashboard.kit.viewers import (
    keeps,
    own_labs,
    query_of,
    signed_in_person,
    viewer_of,
)
from dashboard.kit.waiting import wait_a_moment
from dashboard.wording import NONE, Text, evidence

MOST_LISTED = 500
STRENGTHS: Final[Mapping[str, Text]] = {
    strength.slug: words for strength, words in evidence.STRENGTHS.items()
}
PARTS: Final[Mapping[str, Text]] = {
    "pool": "",
    "single_runs": gettext_lazy("single runs"),
}


def show_reviews(request: HttpRequest) -> HttpResponse:
    reviews = visible_publications(Review, viewer_of(request))[:MOST_LISTED]
    return render(request, "publications/reviews.html", {"reviews": reviews})


def publish(request: HttpRequest) -> HttpResponse:
    """Show the form for a new review; publish one."""
    labs = own_labs(request)
    if not labs:
        raise Http404(_("A review is published by a member of a lab."))
    if request.method != "POST":
        query = query_of(request)
        chosen = None
        if "hypervisor" in query:
            chosen = [Question(query["hypervisor"], query.get("work", ""))]
        is_flagged = query.get("flagged") == "with"
        return _form(request, labs, chosen, {"flagged": "with" if is_flagged else ""})
    chosen = [
        Question(hypervisor, work)
        for hypervisor, _slash, work in (
            value.rpartition("/") for value in request.POST.getlist("question")
        )
    ]
    lab = next((it for it in labs if it.slug == request.POST.get("lab", "")), None)
    if lab is None:
        raise Http404(_("There is no such lab, or you are not a member of it."))
    person = signed_in_person(request)
    try:
        review, is_new = publish_review(
            lab=lab,
            viewer=viewer_of(request),
            who=person.get_username(),
            person=person,
            site=site_of(request),
            title=request.POST.get("title", ""),
            authors=request.POST.get("authors", ""),
            note=request.POST.get("note", ""),
            with_flagged=request.POST.get("flagged") == "with",
            questions=set(chosen),
        )
    except BenchmarksError as error:
        problem = wording.said(error.sentence)
        return _form(request, labs, chosen, request.POST.dict(), problem, status=422)
    if is_new:
        transaction.on_commit(partial(send, Kind.REVIEW, review.pk))
        messages.success(
            request, _("The review is published. Its address is permanent.")
        )
    wait_a_moment(review, "digest")
    return redirect("dashboard:review", review.pk)


def _form(
    request: HttpRequest,
    labs: list[Lab],
    chosen: list[Question] | None,
    answers: dict[str, str],
    problem: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "labs": labs,
        "groups": choices(reviewable_questions(viewer_of(request)), chosen),
        "answers": answers,
        "problem": problem,
    }
    return render(request, "publications/new_review.html", context, status=status)


def show(request: HttpRequest, review_id: int) -> HttpResponse:
    """Show a review: its numbers, studies, files and the differences to now."""
    review = find_publication(Review, viewer_of(request), review_id)
    studies = []
    for study in review.content["studies"]:
        version, address = study["version"], ""
        if version:
            address = reverse("dashboard:version", args=[version["id"]])
        by = (study["author"], study["institution"], study["published"])
        studies.append(
            {
                "title": study["title"],
                "address": reverse("dashboard:study", args=study["study"].split("/")),
                "by": ", ".join(filter(None, by)),
                "version": _("Version %(number)s") % version if version else "",
                "version_address": address,
            }
        )
    context = {
        "publication": review,
        "review": review,
        "files": [
            (
                file.name,
                reverse("dashboard:review-file", args=[review.pk, file.name]),
                file,
            )
            for file in review.files.all()
        ],
        "answers": list(answer_lines(review)),
        "studies": studies,
        "changes": changed_lines(review, changes_since(review)),
        "citation": bibtex(review_citation(review)),
        "may_withdraw": not review.withdrawn_at and keeps(request, review.lab_id),
    }
    return render(request, "publications/review.html", context)


def choices(
    asked: Collection[Question], chosen: Collection[Question] | None
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the questions of each hypervisor; ``chosen`` None: all are chosen."""
    return [
        (
            hypervisor,
            [
                {
                    "value": f"{question.hypervisor}/{question.work}",
                    "work": evidence.work_name(question.work),
                    "is_chosen": chosen is None or question in chosen,
                }
                for question in members
            ],
        )
        for hypervisor, members in groupby(asked, key=lambda it: it.hypervisor)
    ]


def answer_lines(review: Review) -> Iterator[dict[str, Any]]:
    """Yield a line for each pool of each question."""
    names = {file.name for file in review.files.all()}
    for record in questions_of(review):
        parts = [part for part in PARTS if record[part]["machines"]] or ["pool"]
        for part in parts:
            pool, is_first = record[part], part == parts[0]
            tau2, i2 = pool["tau2"], pool["i2"]
            machines = evidence.machines_text(pool["machines"])
            plots = [f"{plot_name(record)}.{form}" for form in ("svg", "pdf", "png")]
            yield {
                "name": ", ".join(
                    filter(None, (question_name(record), str(PARTS[part])))
                ),
                "address": question_address(
                    Question(record["hypervisor"], record["work_class"])
                ),
                "ratio": evidence.pooled_ratio(pool["mean"], pool["interval"]),
                "interval": evidence.pooled_interval(pool["interval"]),
                "predicted": evidence.pooled_interval(pool["predicted"]),
                "tau": NONE if tau2 is None else figures.number(tau2**0.5, ".2g"),
                "i2": NONE if i2 is None else figures.percent(i2),
                "counted": f"{machines}, {evidence.labs_text(pool['labs'])}",
                "strength": str(STRENGTHS[record["strength"]]) if is_first else "",
                "left_out": _left_out(record) if is_first else "",
                "plots": [
                    (
                        name.rpartition(".")[2].upper(),
                        reverse("dashboard:review-file", args=[review.pk, name]),
                    )
                    for name in plots
                    if name in names and is_first
                ],
            }


def changed_lines(review: Review, found: Changes) -> list[str]:
    """Return sentences about what is different now."""
    titles = {it["study"]: it["title"] for it in review.content["studies"]}
    lines = []
    if found.new:
        words = ngettext(
            "One study more says something of it: %(names)s.",
            "%(n)s studies more say something of it: %(names)s.",
            len(found.new),
        )
        lines.append(words % {"n": len(found.new), "names": ", ".join(found.new)})
    if found.gone:
        words = ngettext(
            "One study says nothing about it any more: %(names)s.",
            "%(n)s studies say nothing about it any more: %(names)s.",
            len(found.gone),
        )
        names = ", ".join(titles.get(name, name) for name in found.gone)
        lines.append(words % {"n": len(found.gone), "names": names})
    if found.changed:
        words = ngettext(
            "One study has other results: %(names)s.",
            "%(n)s studies have other results: %(names)s.",
            len(found.changed),
        )
        names = ", ".join(titles.get(name, name) for name in found.changed)
        lines.append(words % {"n": len(found.changed), "names": names})
    for answer in found.answers:
        lines.append(
            _("%(question)s: then %(then)s, now %(now)s.")
            % {
                "question": question_name(answer.then),
                "then": _in_short(answer.then),
                "now": _in_short(answer.now),
            }
        )
    return lines


def _in_short(record: Record) -> str:
    pool = record["pool"] if record["pool"]["machines"] else record["single_runs"]
    if not pool["machines"]:
        return _("nothing that can be pooled")
    words = evidence.machines_text(pool["machines"])
    if pool["mean"] is None:
        return words
    beside = evidence.pooled_interval(pool["predicted"] or pool["interval"])
    return (
        f"{evidence.pooled_ratio(pool['mean'], pool['interval'])} ({beside}), {words}"
    )


def _left_out(record: Record) -> str:
    reasons = (
        f"{evidence.OBSTACLES[reason]}: {count}"
        for reason, count in record["screened"].items()
    )
    return "; ".join(reasons)
