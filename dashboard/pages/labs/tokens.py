"""Tokens of a lab's agents, and bundles of agents without a network."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from benchmarks.errors import BenchmarksError
from benchmarks.labs.pages import lab_agents
from benchmarks.labs.tokens import hand_out_token, revoke_token
from benchmarks.models import Token
from benchmarks.uploads.bundles import import_bundle
from dashboard import wording
from dashboard.kit.forms import submit
from dashboard.kit.viewers import signed_in_person
from dashboard.pages.labs.places import kept_lab_or_404

# The token is pasted, so that it is in no process list and no shell history.
ENROL = "python3 virtlab-agent.pyz enroll --server {server} --token -"
COMMANDS = """\
virtlab-agent.pyz enroll --offline --server {server} --token -
virtlab-agent.pyz push --later --study my-study --host athlon *.txt
virtlab-agent.pyz bundle write /media/stick"""


class TokenForm(forms.Form):
    agent = forms.SlugField(
        label=gettext_lazy("Agent"),
        max_length=100,
        help_text=gettext_lazy(
            "The machine or script that will use it: letters, digits, - and _. "
            "If the agent exists, a second token is added."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "list": "agents"}),
        error_messages={
            "invalid": gettext_lazy("Use letters, digits, - and _ only, like rack-7.")
        },
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Permissions"),
        choices=[
            (
                "upload",
                gettext_lazy("upload: writes to this lab, reads only what is public"),
            ),
            ("read", gettext_lazy("read: sees what this lab keeps private")),
        ],
        initial=["upload"],
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": gettext_lazy(
                "Choose what the token may do: upload, read, or both."
            )
        },
    )
    days = forms.ChoiceField(
        label=gettext_lazy("Expires"),
        choices=[
            ("30", gettext_lazy("in 30 days")),
            ("90", gettext_lazy("in 90 days")),
            ("365", gettext_lazy("in a year")),
            ("", gettext_lazy("never (until revoked)")),
        ],
        initial="365",
        required=False,
    )


@never_cache
def keep_tokens(request: HttpRequest, lab: str) -> HttpResponse:
    """Show the agents and their tokens; make a token and show its secret once."""
    place = kept_lab_or_404(request, lab)
    form, status, made = TokenForm(), 200, None

    def make(agent: str, scopes: list[str], days: str) -> tuple[Token, str]:
        expires_at: datetime | None = None
        if days:
            expires_at = timezone.now() + timedelta(days=int(days))
        return hand_out_token(
            lab=place.lab,
            person=signed_in_person(request),
            agent=agent,
            scopes=frozenset(scopes),
            expires_at=expires_at,
        )

    if request.method == "POST":
        form = TokenForm(request.POST)
        made, status = submit(form, make)
        if made:
            form, status = TokenForm(), 201
    context = {
        "place": place,
        "form": form,
        "agents": lab_agents(place.lab),
        "command": ENROL.format(server=request.build_absolute_uri("/").rstrip("/")),
    }
    if made:
        context["token"], context["secret"] = made
    return render(request, "labs/tokens.html", context, status=status)


def revoke(request: HttpRequest, lab: str, prefix: str) -> HttpResponse:
    place = kept_lab_or_404(request, lab)
    tokens = Token.objects.select_related("agent", "lab").filter(lab=place.lab)
    token = get_object_or_404(tokens, prefix=prefix)
    revoke_token(token=token, person=signed_in_person(request))
    messages.success(request, _("The token %(token)s is revoked.") % {"token": token})
    return redirect("dashboard:tokens", place.lab.slug)


@never_cache
def import_bundles(request: HttpRequest, lab: str) -> HttpResponse:
    """Explain bundles; import each of the chosen ones."""
    place = kept_lab_or_404(request, lab)
    server = request.build_absolute_uri("/").rstrip("/")
    context: dict[str, Any] = {
        "place": place,
        "commands": COMMANDS.format(server=server),
    }
    if request.method != "POST":
        return render(request, "labs/bundles.html", context)
    files = request.FILES.getlist("bundles")
    lines: list[dict[str, Any]] = []
    for file in files:
        try:
            person = signed_in_person(request)
            done = import_bundle(packed=file.read(), lab=place.lab, person=person)
            lines.append({"name": file.name, "done": done})
        except BenchmarksError as error:
            # Nothing of the bundle was stored.
            problem = wording.said(error.sentence)
            lines.append({"name": file.name, "problem": problem})
    context["lines"] = lines
    context["problem"] = "" if files else _("Choose at least one bundle.")
    is_good = bool(lines) and all("done" in line for line in lines)
    return render(request, "labs/bundles.html", context, status=201 if is_good else 422)
