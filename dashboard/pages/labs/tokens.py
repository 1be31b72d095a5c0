"""The tokens of a lab's agents: made here, shown once, revoked at once."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from benchmarks.errors import BenchmarksError
from benchmarks.labs.pages import lab_agents
from benchmarks.labs.tokens import hand_out_token, revoke_token
from benchmarks.models import Token
from dashboard import wording
from dashboard.kit.viewers import signed_in_person
from dashboard.pages.labs.forms import TokenForm
from dashboard.pages.labs.places import LabPlace, kept_lab_or_404

# The token is pasted, so that it stands in no list of processes and no history.
ENROL = "python3 virtlab-agent.pyz enroll --server {server} --token -"


@never_cache
def keep_tokens(request: HttpRequest, lab: str) -> HttpResponse:
    """Show the agents and their tokens; make a token and show its secret this once."""
    place = kept_lab_or_404(request, lab)
    if request.method != "POST":
        return _page(request, place, TokenForm(), 200)
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, place, form, 422)
    try:
        token, secret = hand_out_token(
            lab=place.lab,
            person=signed_in_person(request),
            agent=form.cleaned_data["agent"],
            scopes=frozenset(form.cleaned_data["scopes"]),
            expires_at=form.expires_at(),
        )
    except BenchmarksError as error:
        form.add_error(None, wording.said(error.sentence))
        return _page(request, place, form, error.status)
    return _page(request, place, TokenForm(), 201, token=token, secret=secret)


def _page(
    request: HttpRequest, place: LabPlace, form: TokenForm, status: int, **made: Any
) -> HttpResponse:
    context = {
        "place": place,
        "form": form,
        "agents": lab_agents(place.lab),
        "command": ENROL.format(server=request.build_absolute_uri("/").rstrip("/")),
        **made,
    }
    return render(request, "labs/tokens.html", context, status=status)


def revoke(request: HttpRequest, lab: str, prefix: str) -> HttpResponse:
    """Make a token useless from the next request on."""
    place = kept_lab_or_404(request, lab)
    tokens = Token.objects.select_related("agent", "lab").filter(lab=place.lab)
    token = get_object_or_404(tokens, prefix=prefix)
    revoke_token(token=token, person=signed_in_person(request))
    messages.success(request, _("The token %(token)s is revoked.") % {"token": token})
    return redirect("dashboard:tokens", place.lab.slug)
