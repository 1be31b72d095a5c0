"""Reviews: those there are, one of them, its files; publish one, withdraw it."""

from functools import partial

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from benchmarks.errors import BenchmarksError
from benchmarks.evidence.reading import Question
from benchmarks.models import Lab, Membership, Review
from benchmarks.publishing.reviews import (
    changes_since,
    find_review,
    find_review_file,
    publish_review,
    reviewable_questions,
    visible_reviews,
    withdraw_review,
)
from dashboard import wording
from dashboard.exports import MEDIA_TYPES
from dashboard.exports.citation import bibtex, site_of
from dashboard.exports.review import review_citation
from dashboard.kit.routes import action, form_page, page
from dashboard.kit.viewers import (
    keeper_or_404,
    keeps,
    query_of,
    signed_in_person,
    viewer_of,
)
from dashboard.kit.waiting import send, wait_a_moment
from dashboard.pages.reviews.page import (
    answer_lines,
    changed_lines,
    choices,
    study_lines,
)
from dashboard.tasks import write_review

MOST_LISTED = 500


def show_reviews(request: HttpRequest) -> HttpResponse:
    """List what was published, newest first."""
    reviews = visible_reviews(viewer_of(request))[:MOST_LISTED]
    return render(request, "reviews/reviews.html", {"reviews": reviews})


def publish(request: HttpRequest) -> HttpResponse:
    """Ask what a review is called and of what it is, and publish it."""
    labs = _labs_of(request)
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
        transaction.on_commit(partial(send, write_review, review.pk))
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
    return render(request, "reviews/new.html", context, status=status)


def show(request: HttpRequest, review_id: int) -> HttpResponse:
    """Show a review: its answers, studies and files, and what is different now."""
    review = _review_or_404(request, review_id)
    context = {
        "review": review,
        "answers": list(answer_lines(review)),
        "studies": list(study_lines(review)),
        "changes": changed_lines(review, changes_since(review)),
        "citation": bibtex(review_citation(review)),
        "may_withdraw": not review.withdrawn_at and keeps(request, review.lab_id),
    }
    return render(request, "reviews/review.html", context)


def download(request: HttpRequest, review_id: int, name: str) -> HttpResponse:
    """Hand out a file of a review: the same bytes every time."""
    file = find_review_file(viewer_of(request), review_id, name)
    headers = {
        "Content-Disposition": f'attachment; filename="review-{review_id}-{name}"',
        "Cache-Control": "private, no-cache",
        "ETag": f'"{file.digest}"',
    }
    kind = MEDIA_TYPES[name.rpartition(".")[2]]
    return HttpResponse(bytes(file.content), content_type=kind, headers=headers)


def withdraw(request: HttpRequest, review_id: int) -> HttpResponse:
    """Withdraw a review with a reason."""
    review = _review_or_404(request, review_id)
    keeper_or_404(request, review.lab_id)
    who, reason = request.user.get_username(), request.POST.get("reason", "")
    try:
        withdraw_review(review=review, who=who, reason=reason)
        messages.success(request, _("The review is withdrawn."))
    except BenchmarksError as error:
        messages.error(request, wording.said(error.sentence))
    return redirect("dashboard:review", review.pk)


def _review_or_404(request: HttpRequest, review_id: int) -> Review:
    return find_review(viewer_of(request), review_id)


def _labs_of(request: HttpRequest) -> list[Lab]:
    mine = Membership.objects.filter(user=signed_in_person(request))
    mine = mine.select_related("lab").order_by("lab__name")
    return [membership.lab for membership in mine]


urlpatterns = [
    page("reviews/", show_reviews, "reviews", counted=("/reviews/",)),
    form_page("reviews/new/", publish, "new-review"),
    page("reviews/<int:review_id>/", show, "review"),
    page(
        "reviews/<int:review_id>/files/<str:name>",
        download,
        "review-file",
        kind="file",
    ),
    action("reviews/<int:review_id>/withdraw/", withdraw, "withdraw-review"),
]
