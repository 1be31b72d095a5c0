from datetime import datetime, timedelta

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from benchmarks import agent_signatures
from benchmarks.labs.lab_queries import lab_agents
from benchmarks.labs.tokens import issue_agent_token, revoke_token
from benchmarks.models import Token
from dashboard.exports.citation import site_url
from dashboard.kit.forms import submit_form
from dashboard.kit.viewers import required_user
from dashboard.pages.labs.lab_of_request import editable_lab_or_404

PACKAGE_KINDS = ("deb", "rpm")
PIP_COMMAND = "pip install --index-url {index} virtlab-agent"
# With "-" the agent asks for the token. Process lists and histories do not contain it.
ENROLL_COMMAND = "python3 virtlab-agent.pyz enroll --server {server} --token -"


class TokenForm(forms.Form):
    agent = forms.SlugField(
        label=gettext_lazy("Agent"),
        max_length=100,
        help_text=gettext_lazy(
            "The machine or script that will use the token: letters, digits, - and "
            "_. If the agent already exists, it gets an additional token."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "list": "agents"}),
        error_messages={
            "invalid": gettext_lazy(
                "Use only letters, digits, - and _, such as rack-7."
            )
        },
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Permissions"),
        choices=[
            (
                "upload",
                gettext_lazy("upload: send results and execute plans, for agents"),
            ),
            ("read", gettext_lazy("read: read this lab's private data")),
            (
                "manage",
                gettext_lazy("manage: change studies, webhooks and all other data"),
            ),
        ],
        initial=["upload"],
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": gettext_lazy(
                "Choose at least one permission of the token: upload, read or manage."
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
def manage_tokens(request: HttpRequest, lab: str) -> HttpResponse:
    access = editable_lab_or_404(request, lab)
    form, status, issued = TokenForm(), 200, None

    def issue(agent: str, scopes: list[str], days: str) -> tuple[Token, str]:
        expires_at: datetime | None = None
        if days:
            expires_at = timezone.now() + timedelta(days=int(days))
        return issue_agent_token(
            lab=access.lab,
            person=required_user(request),
            agent=agent,
            scopes=frozenset(scopes),
            expires_at=expires_at,
        )

    if request.method == "POST":
        form = TokenForm(request.POST)
        issued, status = submit_form(form, issue)
        if issued:
            form, status = TokenForm(), 201
    context = {
        "agent_key": agent_signatures.public_key(),
        "package_kinds": PACKAGE_KINDS,
        "pip_command": PIP_COMMAND.format(
            index=request.build_absolute_uri("/agent/simple/")
        ),
        "access": access,
        "form": form,
        "agents": lab_agents(access.lab),
        "command": ENROLL_COMMAND.format(server=site_url(request)),
    }
    if issued:
        context["token"], context["secret"] = issued
    return render(request, "labs/tokens.html", context, status=status)


def revoke_token_view(request: HttpRequest, lab: str, prefix: str) -> HttpResponse:
    access = editable_lab_or_404(request, lab)
    tokens = Token.objects.select_related("agent", "lab").filter(lab=access.lab)
    token = get_object_or_404(tokens, prefix=prefix)
    revoke_token(token=token, person=required_user(request))
    messages.success(request, _("The token %(token)s was revoked.") % {"token": token})
    return redirect("dashboard:tokens", access.lab.slug)
