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
from benchmarks.evidence.json_records import Record, ReviewChanges
from benchmarks.evidence.queries import Question
from benchmarks.jobs.queue import JobKind
from benchmarks.models import Lab, Review
from benchmarks.publishing.publications import find_publication, visible_publications
from benchmarks.publishing.published_reviews import (
    changes_since,
    publish_review,
    review_questions,
    reviewable_questions,
)
from benchmarks.tasks import dispatch_jobs
from dashboard import wording
from dashboard.exports.citation import bibtex, site_url
from dashboard.exports.evidence_files import question_name
from dashboard.exports.version_and_review_files import plot_file_name, review_citation
from dashboard.kit import formatting
from dashboard.kit.evidence_matrix import question_url
from dashboard.kit.generation_progress import wait_briefly
from dashboard.kit.viewers import (
    is_editor,
    query_params,
    required_user,
    user_labs,
    viewer_of,
)
from dashboard.wording import DASH, Text, evidence

MAX_REVIEWS = 500
REVIEW_STRENGTHS: Final[Mapping[str, Text]] = {
    strength.slug: words for strength, words in evidence.EVIDENCE_STRENGTHS.items()
}
SUBGROUP_PARTS: Final[Mapping[str, Text]] = {
    "pool": "",
    "single_runs": gettext_lazy("single runs"),
}


def show_reviews(request: HttpRequest) -> HttpResponse:
    reviews = visible_publications(Review, viewer_of(request))[:MAX_REVIEWS]
    return render(request, "publications/reviews.html", {"reviews": reviews})


def publish_review_view(request: HttpRequest) -> HttpResponse:
    labs = user_labs(request, editable_only=True)
    if not labs:
        raise Http404(_("Only maintainers and admins of a lab can publish reviews."))
    if request.method != "POST":
        query = query_params(request)
        chosen = None
        if "hypervisor" in query:
            chosen = [Question(query["hypervisor"], query.get("work", ""))]
        without_doubtful = query.get("doubtful") == "exclude"
        return _form(
            request, labs, chosen, {"doubtful": "exclude" if without_doubtful else ""}
        )
    chosen = [
        Question(hypervisor, work)
        for hypervisor, _slash, work in (
            value.rpartition("/") for value in request.POST.getlist("question")
        )
    ]
    lab = next(
        (own_lab for own_lab in labs if own_lab.slug == request.POST.get("lab", "")),
        None,
    )
    if lab is None:
        raise Http404(_("Lab not found, or you are not a maintainer of it."))
    person = required_user(request)
    try:
        review, is_new = publish_review(
            lab=lab,
            viewer=viewer_of(request),
            actor=person.get_username(),
            person=person,
            site_url=site_url(request),
            title=request.POST.get("title", ""),
            authors=request.POST.get("authors", ""),
            note=request.POST.get("note", ""),
            without_doubtful=request.POST.get("doubtful") == "exclude",
            questions=set(chosen),
        )
    except BenchmarksError as error:
        problem = wording.translate_text(error.sentence)
        return _form(request, labs, chosen, request.POST.dict(), problem, status=422)
    if is_new:
        transaction.on_commit(partial(dispatch_jobs, JobKind.REVIEW, review.pk))
        messages.success(request, _("Review published. Its URL is permanent."))
    wait_briefly(review, "digest")
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
        "groups": question_choices(reviewable_questions(viewer_of(request)), chosen),
        "answers": answers,
        "problem": problem,
    }
    return render(request, "publications/new_review.html", context, status=status)


def show_review(request: HttpRequest, review_id: int) -> HttpResponse:
    review = find_publication(Review, viewer_of(request), review_id)
    studies = []
    for study in review.content["studies"]:
        version, version_url = study["version"], ""
        if version:
            version_url = reverse("dashboard:version", args=[version["id"]])
        byline = (study["author"], study["institution"], study["published"])
        studies.append(
            {
                "title": study["title"],
                "address": reverse("dashboard:study", args=study["study"].split("/")),
                "by": ", ".join(filter(None, byline)),
                "version": _("Version %(number)s") % version if version else "",
                "version_address": version_url,
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
        "answers": list(result_lines(review)),
        "studies": studies,
        "changes": change_sentences(review, changes_since(review)),
        "citation": bibtex(review_citation(review)),
        "can_withdraw": not review.withdrawn_at and is_editor(request, review.lab_id),
    }
    return render(request, "publications/review.html", context)


def question_choices(
    questions: Collection[Question], chosen: Collection[Question] | None
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the questions by hypervisor; if ``chosen`` is None, all are chosen."""
    return [
        (
            hypervisor,
            [
                {
                    "value": f"{question.hypervisor}/{question.work_class}",
                    "work": evidence.work_name(question.work_class),
                    "is_chosen": chosen is None or question in chosen,
                }
                for question in members
            ],
        )
        for hypervisor, members in groupby(
            questions, key=lambda question: question.hypervisor
        )
    ]


def result_lines(review: Review) -> Iterator[dict[str, Any]]:
    names = {file.name for file in review.files.all()}
    for record in review_questions(review):
        parts = [part for part in SUBGROUP_PARTS if record[part]["machines"]] or [
            "pool"
        ]
        for part in parts:
            pool, is_first = record[part], part == parts[0]
            tau2, i2 = pool["tau2"], pool["i2"]
            machines = evidence.machines_text(pool["machines"])
            plots = [
                f"{plot_file_name(record)}.{form}" for form in ("svg", "pdf", "png")
            ]
            yield {
                "name": ", ".join(
                    filter(None, (question_name(record), str(SUBGROUP_PARTS[part])))
                ),
                "address": question_url(
                    Question(record["hypervisor"], record["work_class"])
                ),
                "ratio": evidence.pooled_ratio(pool["mean"], pool["interval"]),
                "interval": evidence.pooled_interval(pool["interval"]),
                "predicted": evidence.pooled_interval(pool["predicted"]),
                "tau": DASH if tau2 is None else formatting.number(tau2**0.5, ".2g"),
                "i2": DASH if i2 is None else formatting.percent(i2),
                "counted": f"{machines}, {evidence.labs_text(pool['labs'])}",
                "strength": str(REVIEW_STRENGTHS[record["strength"]])
                if is_first
                else "",
                "left_out": _exclusions_text(record) if is_first else "",
                "plots": [
                    (
                        name.rpartition(".")[2].upper(),
                        reverse("dashboard:review-file", args=[review.pk, name]),
                    )
                    for name in plots
                    if name in names and is_first
                ],
            }


def change_sentences(review: Review, differences: ReviewChanges) -> list[str]:
    titles = {study["study"]: study["title"] for study in review.content["studies"]}
    lines = []
    if differences.added:
        template = ngettext(
            "One study was added to the evidence: %(names)s.",
            "%(n)s studies were added to the evidence: %(names)s.",
            len(differences.added),
        )
        lines.append(
            template
            % {"n": len(differences.added), "names": ", ".join(differences.added)}
        )
    if differences.removed:
        template = ngettext(
            "One study no longer contributes evidence: %(names)s.",
            "%(n)s studies no longer contribute evidence: %(names)s.",
            len(differences.removed),
        )
        names = ", ".join(titles.get(name, name) for name in differences.removed)
        lines.append(template % {"n": len(differences.removed), "names": names})
    if differences.changed:
        template = ngettext(
            "One study has different results: %(names)s.",
            "%(n)s studies have different results: %(names)s.",
            len(differences.changed),
        )
        names = ", ".join(titles.get(name, name) for name in differences.changed)
        lines.append(template % {"n": len(differences.changed), "names": names})
    for answer in differences.changed_answers:
        lines.append(
            _("%(question)s: the result was %(then)s and is now %(now)s.")
            % {
                "question": question_name(answer.before),
                "then": _pool_text(answer.before),
                "now": _pool_text(answer.after),
            }
        )
    return lines


def _pool_text(record: Record) -> str:
    pool = record["pool"] if record["pool"]["machines"] else record["single_runs"]
    if not pool["machines"]:
        return _("no results to pool")
    machines = evidence.machines_text(pool["machines"])
    if pool["mean"] is None:
        return machines
    ratio = evidence.pooled_ratio(pool["mean"], pool["interval"])
    if pool["predicted"] is None:
        return f"{ratio}, {machines}"
    prediction = evidence.pooled_interval(pool["predicted"])
    return _("%(ratio)s (predicted %(prediction)s), %(machines)s") % {
        "ratio": ratio,
        "prediction": prediction,
        "machines": machines,
    }


def _exclusions_text(record: Record) -> str:
    reasons = (
        f"{evidence.EXCLUSION_TEXTS[reason]}: {count}"
        for reason, count in record["screened"].items()
    )
    return "; ".join(reasons)
