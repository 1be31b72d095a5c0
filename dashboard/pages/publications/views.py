"""Versions of studies and reviews: their addresses, files, and withdrawal."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from benchmarks.models import Publication, Review, Version
from benchmarks.publishing.publications import find_file, find_publication, withdraw
from dashboard.exports import MEDIA_TYPES
from dashboard.kit.addresses import STUDY
from dashboard.kit.forms import outcome_message
from dashboard.kit.routes import HIDDEN, KEEP, action, form_page, member_page, page
from dashboard.kit.viewers import keeper_or_404, viewer_of
from dashboard.pages.publications import reviews, versions


def download_version(request: HttpRequest, version_id: int, form: str) -> HttpResponse:
    return _download(request, Version, version_id, form)


def download_review(request: HttpRequest, review_id: int, name: str) -> HttpResponse:
    return _download(request, Review, review_id, name)


def _download(
    request: HttpRequest, model: type[Publication], pk: int, name: str
) -> HttpResponse:
    publication, file = find_file(model, viewer_of(request), pk, name)
    headers = {
        "Content-Disposition": f'attachment; filename="{publication.file_name(name)}"',
        "Cache-Control": "private, no-cache",
        "ETag": f'"{file.digest}"',
    }
    kind = MEDIA_TYPES[name.rpartition(".")[2]]
    return HttpResponse(bytes(file.content), content_type=kind, headers=headers)


def withdraw_version(request: HttpRequest, version_id: int) -> HttpResponse:
    return _withdraw(request, Version, version_id, _("The version is withdrawn."))


def withdraw_review(request: HttpRequest, review_id: int) -> HttpResponse:
    return _withdraw(request, Review, review_id, _("The review is withdrawn."))


def _withdraw(
    request: HttpRequest, model: type[Publication], pk: int, done: str
) -> HttpResponse:
    publication = find_publication(model, viewer_of(request), pk)
    keeper_or_404(request, publication.lab_id)
    who, reason = request.user.get_username(), request.POST.get("reason", "")
    with outcome_message(request, done):
        withdraw(publication, who=who, reason=reason)
    return redirect(f"dashboard:{model.KIND}", pk)


urlpatterns = [
    form_page(f"{STUDY}publish/", versions.publish, "publish"),
    member_page(
        "publishing/<int:job_id>/",
        versions.show_publishing,
        "publishing",
        walked=("/publishing/{publishing}/", "/publishing/{failed}/"),
        own=KEEP,
    ),
    page("versions/<int:version_id>/", versions.show, "version"),
    page(
        "versions/<int:version_id>.<slug:form>",
        download_version,
        "version-file",
        kind="file",
    ),
    action("versions/<int:version_id>/withdraw/", withdraw_version, "withdraw-version"),
    action("versions/<int:version_id>/doi/", versions.enter_doi, "enter-doi"),
    # The signer belongs to another lab and names it.
    action(
        "versions/<int:version_id>/sign/", versions.sign, "sign-version", own=HIDDEN
    ),
    page("reviews/", reviews.show_reviews, "reviews", counted=("/reviews/",)),
    form_page("reviews/new/", reviews.publish, "new-review"),
    page("reviews/<int:review_id>/", reviews.show, "review"),
    page(
        "reviews/<int:review_id>/files/<str:name>",
        download_review,
        "review-file",
        kind="file",
    ),
    action("reviews/<int:review_id>/withdraw/", withdraw_review, "withdraw-review"),
]
