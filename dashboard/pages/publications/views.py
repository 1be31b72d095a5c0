from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from benchmarks.errors import BenchmarksError, InvalidError
from benchmarks.evidence.replication import reproduced_by
from benchmarks.jobs.queue import JobKind
from benchmarks.models import (
    Membership,
    Publication,
    PublishingJob,
    Review,
    Study,
    Version,
)
from benchmarks.publishing.publications import (
    find_file,
    find_publication,
    visible_publications,
    withdraw,
)
from benchmarks.publishing.study_level import assess_study
from benchmarks.publishing.versions import (
    check_is_processed,
    request_version,
    set_doi,
    sign_version,
    unfinished_publishing_job,
)
from benchmarks.tasks import dispatch_jobs
from dashboard import wording
from dashboard.exports import MEDIA_TYPES
from dashboard.exports.citation import add_doi, site_url, version_script
from dashboard.kit.forms import outcome_message
from dashboard.kit.generation_progress import progress_context, wait_briefly
from dashboard.kit.routes import (
    EDITORS_ONLY,
    HIDDEN,
    action,
    form_page,
    member_page,
    page,
)
from dashboard.kit.url_parts import STUDY_PATH
from dashboard.kit.viewers import (
    editable_study_or_404,
    editor_or_404,
    is_editor,
    required_user,
    user_labs,
    viewer_of,
)
from dashboard.pages.publications import reviews

VERSION_FORMATS: Final = {"tex": "LaTeX", "bib": "BibTeX"}


def create_version(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    study = editable_study_or_404(request, lab, slug)
    if request.method == "POST":
        return _request_version(request, study)
    if job := unfinished_publishing_job(study):
        return redirect("dashboard:publishing-progress", job.pk)
    try:
        check_is_processed(study)
    except InvalidError as error:
        return _version_form(
            request, study, problem=wording.translate_text(error.sentence)
        )
    return _version_form(request, study)


def show_publishing(request: HttpRequest, job_id: int) -> HttpResponse:
    publishing_jobs = PublishingJob.objects.select_related("study__lab", "person")
    job = get_object_or_404(publishing_jobs, pk=job_id)
    editor_or_404(request, job.study.lab_id)
    if job.version_id:
        return _redirect_to_version(request, job)
    context = {"study": job.study, "job": job, "progress": progress_context(job)}
    return render(request, "publications/publishing.html", context)


def _request_version(request: HttpRequest, study: Study) -> HttpResponse:
    try:
        job, is_new = request_version(
            study=study,
            person=required_user(request),
            site_url=site_url(request),
            publishing_permission=request.POST.get("publishing_permission", ""),
            permission_note=request.POST.get("permission_note", ""),
        )
    except BenchmarksError as error:
        problem = wording.translate_text(error.sentence)
        return _version_form(request, study, problem=problem, status=422)
    if is_new:
        transaction.on_commit(partial(dispatch_jobs, JobKind.PUBLISHING, job.pk))
    wait_briefly(job, "version")
    if job.version_id:
        return _redirect_to_version(request, job)
    return redirect("dashboard:publishing-progress", job.pk)


def _redirect_to_version(request: HttpRequest, job: PublishingJob) -> HttpResponse:
    url = reverse("dashboard:version", args=[job.version_id])
    is_fragment = "HX-Request" in request.headers
    if is_fragment or request.method == "POST":
        messages.success(request, _("Version published. Its URL is permanent."))
    return HttpResponseClientRedirect(url) if is_fragment else redirect(url)


def _version_form(
    request: HttpRequest, study: Study, problem: str = "", status: int = 200
) -> HttpResponse:
    jobs = PublishingJob.objects.filter(study=study, person=required_user(request))
    last_job = jobs.order_by("pk").last()
    # After a failed attempt, the form contains the answers given then.
    failed = (
        last_job if last_job and last_job.stage == PublishingJob.Stage.FAILED else None
    )
    answers: Mapping[str, Any] = request.POST
    if failed and not answers:
        answers = {
            "publishing_permission": failed.publishing_permission,
            "permission_note": failed.permission_note,
        }
    context = {
        "study": study,
        "assessment": assess_study(study).with_reproducing_labs(reproduced_by(study)),
        "versions": visible_publications(Version, viewer_of(request)).filter(
            study=study
        ),
        "problem": problem,
        "answers": answers,
    }
    return render(request, "publications/new_version.html", context, status=status)


def show_version(request: HttpRequest, version_id: int) -> HttpResponse:
    version = find_publication(Version, viewer_of(request), version_id)
    signing_lab_ids = {version.lab_id}
    signing_lab_ids |= {signature.lab_id for signature in version.signatures.all()}
    viewer = viewer_of(request)
    is_own = version.lab_id in viewer.lab_ids
    labs = (
        [] if version.withdrawn_at or is_own else user_labs(request, editable_only=True)
    )
    context = {
        "publication": version,
        "version": version,
        "study": version.study,
        "files": [
            (
                VERSION_FORMATS.get(file.name, file.name.upper()),
                reverse("dashboard:version-file", args=[version.pk, file.name]),
                file,
            )
            for file in version.files.all()
        ],
        "citation": add_doi(
            bytes(version.files.get(name="bib").content).decode(), version.doi
        ),
        "dataset": version_script(request, version)
        if version.study.is_public and not version.withdrawn_at
        else "",
        "can_enter_doi": _is_admin(request, version.lab_id),
        "can_withdraw": not version.withdrawn_at and is_editor(request, version.lab_id),
        "reviewing": [lab for lab in labs if lab.pk not in signing_lab_ids],
    }
    return render(request, "publications/version.html", context)


def save_doi(request: HttpRequest, version_id: int) -> HttpResponse:
    version = find_publication(Version, viewer_of(request), version_id)
    editor_or_404(request, version.lab_id)
    if not _is_admin(request, version.lab_id):
        messages.error(request, _("Only an admin of the lab can set the DOI."))
        return redirect("dashboard:version", version.pk)
    person, doi = required_user(request), request.POST.get("doi", "")
    with outcome_message(request, _("DOI saved.")):
        set_doi(version=version, doi=doi, person=person)
    return redirect("dashboard:version", version.pk)


def _is_admin(request: HttpRequest, lab_id: int) -> bool:
    memberships = Membership.objects.filter(user=request.user.pk, lab=lab_id)
    return memberships.filter(role=Membership.Role.ADMIN).exists()


def add_signature(request: HttpRequest, version_id: int) -> HttpResponse:
    version = find_publication(Version, viewer_of(request), version_id)
    slug = request.POST.get("lab", "")
    lab = next(
        (lab for lab in user_labs(request, editable_only=True) if lab.slug == slug),
        None,
    )
    if lab is None:
        raise Http404("Lab not found, or you do not have permission to sign for it.")
    person, note = required_user(request), request.POST.get("note", "")
    with outcome_message(request, _("Signature saved.")):
        sign_version(version=version, lab=lab, person=person, note=note)
    return redirect("dashboard:version", version.pk)


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
    content_type = MEDIA_TYPES[name.rpartition(".")[2]]
    return HttpResponse(bytes(file.content), content_type=content_type, headers=headers)


def withdraw_version(request: HttpRequest, version_id: int) -> HttpResponse:
    return _withdraw(request, Version, version_id, _("Version withdrawn."))


def withdraw_review(request: HttpRequest, review_id: int) -> HttpResponse:
    return _withdraw(request, Review, review_id, _("Review withdrawn."))


def _withdraw(
    request: HttpRequest, model: type[Publication], pk: int, success: str
) -> HttpResponse:
    publication = find_publication(model, viewer_of(request), pk)
    editor_or_404(request, publication.lab_id)
    username, reason = request.user.get_username(), request.POST.get("reason", "")
    with outcome_message(request, success):
        withdraw(publication, actor=username, reason=reason)
    return redirect(f"dashboard:{model.KIND_LABEL}", pk)


urlpatterns = [
    form_page(f"{STUDY_PATH}publish/", create_version, "publish"),
    member_page(
        "publishing/<int:job_id>/",
        show_publishing,
        "publishing-progress",
        example_urls=("/publishing/{publishing}/", "/publishing/{failed}/"),
        member_statuses=EDITORS_ONLY,
    ),
    page("versions/<int:version_id>/", show_version, "version"),
    page(
        "versions/<int:version_id>.<slug:form>",
        download_version,
        "version-file",
        kind="file",
    ),
    action("versions/<int:version_id>/withdraw/", withdraw_version, "withdraw-version"),
    action("versions/<int:version_id>/doi/", save_doi, "enter-doi"),
    # The form contains the lab that signs. Without a lab, the response is 404.
    action(
        "versions/<int:version_id>/sign/",
        add_signature,
        "sign-version",
        member_statuses=HIDDEN,
    ),
    page("reviews/", reviews.show_reviews, "reviews", query_count_urls=("/reviews/",)),
    form_page(
        "reviews/new/",
        reviews.publish_review_view,
        "new-review",
        member_statuses=EDITORS_ONLY,
    ),
    page("reviews/<int:review_id>/", reviews.show_review, "review"),
    page(
        "reviews/<int:review_id>/files/<str:name>",
        download_review,
        "review-file",
        kind="file",
    ),
    action("reviews/<int:review_id>/withdraw/", withdraw_review, "withdraw-review"),
]
