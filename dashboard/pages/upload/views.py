from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import (
    RequestDataTooBig,
    TooManyFieldsSent,
    TooManyFilesSent,
)
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST

from benchmarks.comparison.verdict_requirements import verdict_progress
from benchmarks.errors import BenchmarksError, RateLimitError
from benchmarks.labs.members import person_agent
from benchmarks.labs.quotas import admit_lab_previews
from benchmarks.models import Study
from benchmarks.parsing.archives import MAX_TOTAL_BYTES, MIB
from benchmarks.studies.saving import save_study
from benchmarks.studies.systems import register_system
from dashboard import wording
from dashboard.kit.forms import cleaned_data_or_error
from dashboard.kit.routes import UPLOADER_ACTION, UPLOADERS_ONLY, route
from dashboard.kit.url_parts import parse_id
from dashboard.kit.viewers import query_params, required_user, sign_in_required
from dashboard.pages.upload.files import (
    MAX_NAME_CHARACTERS,
    guess_system,
    preview_files,
    store_files,
)
from dashboard.pages.upload.page import (
    NewStudyForm,
    UploadLab,
    find_upload_lab,
    folder_form,
    open_studies,
    read_file_times,
    read_system_form,
    upload_page,
    upload_system_choices,
    upload_target,
)

View = Callable[[HttpRequest], HttpResponse]
UploadLabView = Callable[[HttpRequest, UploadLab], HttpResponse]

FORM_OVERHEAD_BYTES = MIB
MAX_PROGRESS_SYSTEMS = 50


def limit_request_size(view: View) -> View:
    """Wrap a view so that large requests get 413, if possible early."""

    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        # Django reads no more than Content-Length, and nothing without the header.
        text = request.META.get("CONTENT_LENGTH") or "0"
        is_number = text.isascii() and text.isdigit()
        # int() is slow for thousands of digits.
        if is_number and (
            len(text) > 18 or int(text) > MAX_TOTAL_BYTES + FORM_OVERHEAD_BYTES
        ):
            return _too_large(request)
        try:
            return view(request)
        except (RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent):
            return _too_large(request)

    return checked


def _too_large(request: HttpRequest) -> HttpResponse:
    problem = _(
        "The upload is too large: at most %(total)s MiB and %(files)s files per "
        "upload. Send fewer files."
    ) % {
        "total": MAX_TOTAL_BYTES // MIB,
        "files": settings.DATA_UPLOAD_MAX_NUMBER_FILES,
    }
    name = "_response" if is_from_script(request) else "refused"
    return render(request, f"upload/{name}.html", {"problem": problem}, status=413)


def is_from_script(request: HttpRequest) -> bool:
    return request.headers.get("X-Requested-With") == "XMLHttpRequest"


def answer_401_to_scripts(view: View) -> View:
    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated or not is_from_script(request):
            return view(request)
        return fragment_response(
            request,
            401,
            problem=_("The request was not processed: you are signed out."),
        )

    return checked


def fragment_response(
    request: HttpRequest, status: int, **context: Any
) -> HttpResponse:
    return render(request, "upload/_response.html", context, status=status)


def uploader_required(view: UploadLabView) -> Callable[[HttpRequest], HttpResponse]:
    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponse:
        upload_lab = find_upload_lab(request.user, query_params(request).get("lab", ""))
        if upload_lab is not None and upload_lab.may_upload:
            return view(request, upload_lab)
        context = {"upload_lab": upload_lab}
        return render(request, "upload/refused.html", context, status=403)

    return checked


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
# This decorator is before `sign_in_required`, which would redirect scripts.
@answer_401_to_scripts
@sign_in_required
@limit_request_size
@csrf_protect
@uploader_required
def upload_view(request: HttpRequest, upload_lab: UploadLab) -> HttpResponse:
    if request.method != "POST":
        return _upload_response(request, upload_lab, 200)
    if request.POST.get("do") == "progress":
        return _verdict_progress(request, upload_lab)
    if request.POST.get("do") != "store":
        files = request.FILES.getlist("file")
        size = sum(file.size or 0 for file in files)
        try:
            admit_lab_previews(upload_lab.lab.pk, files=len(files), size=size)
        except RateLimitError as error:
            return _rate_limited_response(request, upload_lab, error)
        if request.POST.get("do") == "folder":
            return _folder(request, upload_lab)
        previews = list(preview_files(request, upload_lab.lab))
        # One readable file is a success; the page shows the result of each file.
        status = min((preview["status"] for preview in previews), default=200)
        return _upload_response(request, upload_lab, status, previews=previews)
    try:
        target = upload_target(upload_lab.lab, request.POST.dict())
        file_times = read_file_times(request.POST.dict())
    except BenchmarksError as error:
        problem = wording.translate_text(error.sentence)
        return _upload_response(request, upload_lab, error.status, problem=problem)
    agent = person_agent(lab=upload_lab.lab, user=required_user(request))
    outcomes = list(store_files(request, agent, target, file_times))
    status = min((outcome["status"] for outcome in outcomes), default=200)
    return _upload_response(request, upload_lab, status, outcomes=outcomes)


def _folder(request: HttpRequest, upload_lab: UploadLab) -> HttpResponse:
    name = request.POST.get("name", "").replace("\0", "")[:MAX_NAME_CHARACTERS]
    number, study = request.POST.get("number", ""), request.POST.get("study", "")
    form = folder_form(upload_lab.lab, name, number, study, guess_system(request, name))
    form["is_part"] = "is_part" in request.POST
    return render(request, "upload/_folder.html", {"folder": form})


def _verdict_progress(request: HttpRequest, upload_lab: UploadLab) -> HttpResponse:
    study = Study.objects.filter(
        lab=upload_lab.lab, slug=request.POST.get("study", ""), deleted_at=None
    ).first()
    if study is None:
        raise Http404("Study not found.")
    ids = [
        parse_id(text)
        for text in request.POST.getlist("systems")[:MAX_PROGRESS_SYSTEMS]
    ]
    context = {"study": study, "verdict_progress": verdict_progress(study, ids)}
    return render(request, "upload/_verdict_progress.html", context)


def _rate_limited_response(
    request: HttpRequest, upload_lab: UploadLab, error: RateLimitError
) -> HttpResponse:
    response = _upload_response(
        request,
        upload_lab,
        error.status,
        problem=wording.translate_text(error.sentence),
    )
    response["Retry-After"] = str(error.retry_after_s)
    return response


def _upload_response(
    request: HttpRequest, upload_lab: UploadLab, status: int, **context: Any
) -> HttpResponse:
    if is_from_script(request):
        return fragment_response(request, status, **context)
    chosen = query_params(request) | request.POST.dict()
    page = upload_page(upload_lab.lab, chosen)
    context |= {"upload_lab": upload_lab, "page": page, "chosen": chosen}
    return render(request, "upload/upload.html", context, status=status)


@require_POST
@answer_401_to_scripts
@sign_in_required
@uploader_required
def add_system(request: HttpRequest, upload_lab: UploadLab) -> HttpResponse:
    try:
        description = read_system_form(upload_lab.lab, request.POST.dict())
        system, _is_new = register_system(lab=upload_lab.lab, description=description)
    except BenchmarksError as error:
        return _error_response(request, upload_lab, error)
    if not is_from_script(request):
        return redirect(upload_lab.upload_url(system=str(system.pk)))
    hosts = upload_system_choices(upload_lab.lab)
    context = {"hosts": hosts, "chosen": str(system.pk)}
    return render(request, "upload/_systems.html", context)


@require_POST
@answer_401_to_scripts
@sign_in_required
@uploader_required
def add_study(request: HttpRequest, upload_lab: UploadLab) -> HttpResponse:
    lab = upload_lab.lab
    try:
        fields = cleaned_data_or_error(NewStudyForm(request.POST))
        slug = slugify(fields["title"])[:100].strip("-") or "study"
        study, _is_new = save_study(lab=lab, slug=slug, title=fields["title"])
    except BenchmarksError as error:
        return _error_response(request, upload_lab, error)
    if not is_from_script(request):
        return redirect(upload_lab.upload_url(study=study.slug))
    context = {"studies": open_studies(lab), "chosen": study.slug, "lab": lab}
    return render(request, "upload/_studies.html", context)


def _error_response(
    request: HttpRequest, upload_lab: UploadLab, error: BenchmarksError
) -> HttpResponse:
    problem = wording.translate_text(error.sentence)
    if is_from_script(request):
        return fragment_response(request, error.status, problem=problem)
    messages.error(request, problem)
    return redirect(upload_lab.upload_url())


urlpatterns = [
    route(
        "upload/studies/",
        add_study,
        "upload-study",
        kind="action",
        member_statuses=UPLOADER_ACTION,
        anonymous_status=302,
        is_private=True,
    ),
    route(
        "upload/",
        upload_view,
        "upload",
        member_statuses=UPLOADERS_ONLY,
        anonymous_status=302,
        is_private=True,
    ),
    route(
        "upload/systems/",
        add_system,
        "new-system",
        kind="action",
        member_statuses=UPLOADER_ACTION,
        anonymous_status=302,
        is_private=True,
    ),
]
