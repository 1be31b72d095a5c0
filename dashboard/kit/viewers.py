"""Who is looking at a page, what they ask for, and what of it they may see."""

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
from benchmarks.studies.lookup import find_study, has_pages
from benchmarks.viewer import ANYONE, Viewer

Given = ParamSpec("Given")
# Of a session: which invitation's code it has shown.
PROVED_INVITATION = "invitation"
View = Callable[Concatenate[HttpRequest, Given], HttpResponse]


def viewer_of(request: HttpRequest) -> Viewer:
    """Return the viewer: a signed-in person sees the labs they belong to."""
    return viewer_named(person_of(request))


def viewer_named(person: User | None) -> Viewer:
    """Return a person as a viewer; nobody sees what anybody sees."""
    if person is None:
        return ANYONE
    labs = Membership.objects.filter(user=person).values_list("lab_id", flat=True)
    return Viewer(frozenset(labs))


def person_of(request: HttpRequest) -> User | None:
    """Return who is signed in."""
    return request.user if request.user.is_authenticated else None


def signed_in_person(request: HttpRequest) -> User:
    """Return who has signed in; the view has made sure that somebody has."""
    return cast(User, request.user)


def keeps(request: HttpRequest, lab_id: int) -> bool:
    """Return whether the user may change what this lab has."""
    return _kept(request).filter(lab=lab_id).exists()


def keeps_any(request: HttpRequest) -> bool:
    """Return whether the user may change what some lab has."""
    return _kept(request).exists()


def own_labs(request: HttpRequest, *, kept: bool = False) -> list[Lab]:
    """Return the labs that the user belongs to, or those that they may change."""
    mine = _kept(request) if kept else Membership.objects.filter(user=request.user.pk)
    return list(Lab.objects.filter(memberships__in=mine).order_by("name"))


def _kept(request: HttpRequest) -> QuerySet[Membership]:
    # Without a query for anonymous users.
    if not request.user.is_authenticated:
        return Membership.objects.none()
    roles = Membership.KEEPERS
    return Membership.objects.filter(user=request.user, role__in=roles)


def keeper_or_404(request: HttpRequest, lab_id: int) -> None:
    """Refuse whoever may not change what this lab has, as if it were not there."""
    if not keeps(request, lab_id):
        raise Http404("There is no such thing, or it is not yours to change.")


def query_of(request: HttpRequest) -> dict[str, str]:
    """Return the query of an address, without what PostgreSQL takes for an error."""
    return {
        name: str(text).replace("\0", "\ufffd") for name, text in request.GET.items()
    }


def study_or_404(viewer: Viewer, lab: str, slug: str) -> Study:
    """Return a visible study, annotated with the pages it has content for."""
    return find_study(viewer, f"{lab}/{slug}", **has_pages())


def kept_study_or_404(request: HttpRequest, lab: str, slug: str) -> Study:
    """Return a study that the user may change."""
    study = study_or_404(viewer_of(request), lab, slug)
    keeper_or_404(request, study.lab_id)
    return study


def signed_in(view: View[Given]) -> View[Given]:
    """Let through who has signed in; lead others to the sign-in page."""

    @wraps(view)
    def checked(
        request: HttpRequest, *args: Given.args, **named: Given.kwargs
    ) -> HttpResponse:
        if request.user.is_authenticated:
            return view(request, *args, **named)
        # Lead the whole page there, also if a script asked for a part of it.
        answer = redirect_to_login(page_of(request))
        if "HX-Request" in request.headers:
            return HttpResponseClientRedirect(answer.url)
        return answer

    return checked


def page_of(request: HttpRequest) -> str:
    """Return the page that the reader sees; for a form sent, the page it is on."""
    if request.method in ("GET", "HEAD"):
        return request.get_full_path()
    referer = urlsplit(request.headers.get("Referer", ""))
    # Of another site, or told by no browser: there is no page to come back to.
    if referer.netloc != request.get_host():
        return reverse("dashboard:overview")
    return referer._replace(scheme="", netloc="").geturl()
