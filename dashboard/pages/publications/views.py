"""Versions: publish, show, sign; files and withdrawal of all publications."""

from functools import partial
from typing import Final

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect

from benchmarks.errors import BenchmarksError, InvalidError
from benchmarks.evidence.replication import reproduced_by
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
from benchmarks.publishing.versions import (
    check_settled,
    request_version,
    set_doi,
    sign_version,
    study_assessment,
    unfinished_publishing_job,
)
from benchmarks.tasks import send
from benchmarks.unattended.queue import Kind
from dashboard import wording
from dashboard.exports import MEDIA_TYPES
from dashboard.exports.citation import site_of, version_script, with_doi
from dashboard.kit.addresses import STUDY
from dashboard.kit.forms import outcome_message
from dashboard.kit.routes import HIDDEN, KEEP, action, form_page, member_page, page
from dashboard.kit.viewers import (
    keeper_or_404,
    keeps,
    kept_study_or_404,
    own_labs,
    signed_in_person,
    viewer_of,
)
from dashboard.kit.waiting import progress_of, wait_a_moment
from dashboard.pages.publications import reviews

FORMATS: Final = {"tex": "LaTeX", "bib": "BibTeX"}


def make_version(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show the form for a new version; request one."""
    study = kept_study_or_404(request, lab, slug)
    if request.method == "POST":
        return _begin(request, study)
    if begun := unfinished_publishing_job(study):
        return redirect("dashboard:publishing", begun.pk)
    try:
        check_settled(study)
    except InvalidError as error:
        return _version_form(request, study, problem=wording.said(error.sentence))
    return _version_form(request, study)


def show_publishing(request: HttpRequest, job_id: int) -> HttpResponse:
    """Show the progress of a requested version; the page refreshes itself."""
    publishing_jobs = PublishingJob.objects.select_related("study__lab", "person")
    job = get_object_or_404(publishing_jobs, pk=job_id)
    keeper_or_404(request, job.study.lab_id)
    if job.version_id:
        return _lead_to_version(request, job)
    context = {"study": job.study, "job": job, "progress": progress_of(job)}
    return render(request, "publications/publishing.html", context)


def _begin(request: HttpRequest, study: Study) -> HttpResponse:
    try:
        job, is_new = request_version(
            study=study,
            person=signed_in_person(request),
            site=site_of(request),
            licence=request.POST.get("licence", ""),
            licence_note=request.POST.get("licence_note", ""),
        )
    except BenchmarksError as error:
        problem = wording.said(error.sentence)
        return _version_form(request, study, problem=problem, status=422)
    if is_new:
        transaction.on_commit(partial(send, Kind.PUBLISHING, job.pk))
    wait_a_moment(job, "version")
    if job.version_id:
        return _lead_to_version(request, job)
    return redirect("dashboard:publishing", job.pk)


def _lead_to_version(request: HttpRequest, job: PublishingJob) -> HttpResponse:
    """Redirect to the published version, also from an htmx request."""
    place = reverse("dashboard:version", args=[job.version_id])
    is_part = "HX-Request" in request.headers
    if is_part or request.method == "POST":
        messages.success(
            request, _("The version is published. Its address is permanent.")
        )
    return HttpResponseClientRedirect(place) if is_part else redirect(place)


def _version_form(
    request: HttpRequest, study: Study, problem: str = "", status: int = 200
) -> HttpResponse:
    jobs = PublishingJob.objects.filter(study=study, person=signed_in_person(request))
    last = jobs.order_by("pk").last()
    # Fill in the answers of a failed request.
    failed = last if last and last.stage == PublishingJob.Stage.FAILED else None
    context = {
        "study": study,
        "assessment": study_assessment(study).reproduced(reproduced_by(study)),
        "versions": visible_publications(Version, viewer_of(request)).filter(
            study=study
        ),
        "problem": problem,
        "answers": request.POST or failed,
    }
    return render(request, "publications/new_version.html", context, status=status)


def show_version(request: HttpRequest, version_id: int) -> HttpResponse:
    """Show a version: its files, citation and signatures."""
    version = find_publication(Version, viewer_of(request), version_id)
    signed = {version.lab_id}
    signed |= {signature.lab_id for signature in version.signatures.all()}
    viewer = viewer_of(request)
    is_own = version.lab_id in viewer.lab_ids
    labs = [] if version.withdrawn_at or is_own else own_labs(request, kept=True)
    context = {
        "publication": version,
        "version": version,
        "study": version.study,
        "files": [
            (
                FORMATS.get(file.name, file.name.upper()),
                reverse("dashboard:version-file", args=[version.pk, file.name]),
                file,
            )
            for file in version.files.all()
        ],
        "citation": with_doi(
            bytes(version.files.get(name="bib").content).decode(), version.doi
        ),
        "dataset": version_script(request, version)
        if version.study.is_public and not version.withdrawn_at
        else "",
        "may_enter_doi": _is_admin(request, version.lab_id),
        "may_withdraw": not version.withdrawn_at and keeps(request, version.lab_id),
        # The labs for which the reader may still sign.
        "reviewing": [lab for lab in labs if lab.pk not in signed],
    }
    return render(request, "publications/version.html", context)


def enter_doi(request: HttpRequest, version_id: int) -> HttpResponse:
    """Store the DOI under which a version was registered elsewhere."""
    version = find_publication(Version, viewer_of(request), version_id)
    keeper_or_404(request, version.lab_id)
    if not _is_admin(request, version.lab_id):
        messages.error(request, _("Only an admin of the lab enters a DOI."))
        return redirect("dashboard:version", version.pk)
    person, doi = signed_in_person(request), request.POST.get("doi", "")
    with outcome_message(request, _("The DOI is stored.")):
        set_doi(version=version, doi=doi, person=person)
    return redirect("dashboard:version", version.pk)


def _is_admin(request: HttpRequest, lab_id: int) -> bool:
    mine = Membership.objects.filter(user=request.user.pk, lab=lab_id)
    return mine.filter(role=Membership.Role.ADMIN).exists()


def add_signature(request: HttpRequest, version_id: int) -> HttpResponse:
    """Sign another lab's version."""
    version = find_publication(Version, viewer_of(request), version_id)
    slug = request.POST.get("lab", "")
    lab = next((lab for lab in own_labs(request, kept=True) if lab.slug == slug), None)
    if lab is None:
        raise Http404("There is no such lab, or it is not yours to sign for.")
    person, note = signed_in_person(request), request.POST.get("note", "")
    with outcome_message(request, _("Your signature is stored.")):
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
    form_page(f"{STUDY}publish/", make_version, "publish"),
    member_page(
        "publishing/<int:job_id>/",
        show_publishing,
        "publishing",
        walked=("/publishing/{publishing}/", "/publishing/{failed}/"),
        own=KEEP,
    ),
    page("versions/<int:version_id>/", show_version, "version"),
    page(
        "versions/<int:version_id>.<slug:form>",
        download_version,
        "version-file",
        kind="file",
    ),
    action("versions/<int:version_id>/withdraw/", withdraw_version, "withdraw-version"),
    action("versions/<int:version_id>/doi/", enter_doi, "enter-doi"),
    # The signer belongs to another lab and names it.
    action(
        "versions/<int:version_id>/sign/", add_signature, "sign-version", own=HIDDEN
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
