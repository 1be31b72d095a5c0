from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from benchmarks.models import Lab, Membership, Study
from benchmarks.studies.lookup import find_study, page_annotations
from benchmarks.viewer import ANYONE, Viewer

Params = ParamSpec("Params")
# Session key for the ID of the invitation whose code the user has entered.
INVITATION_SESSION_KEY = "invitation"
RequestView = Callable[Concatenate[HttpRequest, Params], HttpResponse]


def viewer_of(request: HttpRequest) -> Viewer:
    return viewer_for(signed_in_user(request))


def viewer_for(user: User | None) -> Viewer:
    if user is None:
        return ANYONE
    labs = Membership.objects.filter(user=user).values_list("lab_id", flat=True)
    return Viewer(frozenset(labs))


def signed_in_user(request: HttpRequest) -> User | None:
    return request.user if request.user.is_authenticated else None


def required_user(request: HttpRequest) -> User:
    return cast(User, request.user)


def is_editor(request: HttpRequest, lab_id: int) -> bool:
    return _editor_memberships(request).filter(lab=lab_id).exists()


def edits_any_lab(request: HttpRequest) -> bool:
    return _editor_memberships(request).exists()


def user_labs(request: HttpRequest, *, editable_only: bool = False) -> list[Lab]:
    memberships = (
        _editor_memberships(request)
        if editable_only
        else Membership.objects.filter(user=request.user.pk)
    )
    return list(Lab.objects.filter(memberships__in=memberships).order_by("name"))


def _editor_memberships(request: HttpRequest) -> QuerySet[Membership]:
    if not request.user.is_authenticated:
        return Membership.objects.none()
    roles = Membership.EDITORS
    return Membership.objects.filter(user=request.user, role__in=roles)


def editor_or_404(request: HttpRequest, lab_id: int) -> None:
    if not is_editor(request, lab_id):
        raise Http404("Not found, or you do not have permission to change it.")


def query_params(request: HttpRequest) -> dict[str, str]:
    """Return the parameters without null characters, which PostgreSQL rejects."""
    return {
        name: str(text).replace("\0", "\ufffd") for name, text in request.GET.items()
    }


def study_or_404(viewer: Viewer, lab: str, slug: str) -> Study:
    """Return a visible study, annotated with which of its pages have content."""
    return find_study(viewer, f"{lab}/{slug}", **page_annotations())


def editable_study_or_404(request: HttpRequest, lab: str, slug: str) -> Study:
    study = study_or_404(viewer_of(request), lab, slug)
    editor_or_404(request, study.lab_id)
    return study


def sign_in_required(view: RequestView[Params]) -> RequestView[Params]:
    @wraps(view)
    def checked(
        request: HttpRequest, *args: Params.args, **kwargs: Params.kwargs
    ) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)
        # Redirect the whole page, even if htmx requested a fragment.
        response = redirect_to_login(current_page_url(request))
        if "HX-Request" in request.headers:
            return HttpResponseClientRedirect(response.url)
        return response

    return checked


def current_page_url(request: HttpRequest) -> str:
    """Return the current URL; for a POST, that of the page with the form."""
    if request.method in ("GET", "HEAD"):
        return request.get_full_path()
    referer = urlsplit(request.headers.get("Referer", ""))
    # Never redirect to another site after signing in.
    if referer.netloc != request.get_host():
        return reverse("dashboard:home")
    return referer._replace(scheme="", netloc="").geturl()
