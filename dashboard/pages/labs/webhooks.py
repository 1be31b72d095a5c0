"""The webhooks of a lab."""

from typing import Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from benchmarks.models import Delivery, Event, Webhook
from benchmarks.studies.lookup import find_study
from benchmarks.together.webhooks import (
    delete_webhook,
    find_webhook,
    make_webhook,
    secret_of,
    send_test,
)
from benchmarks.viewer import Viewer
from dashboard.kit.forms import UNPROCESSABLE, submit
from dashboard.kit.viewers import signed_in_person
from dashboard.pages.labs.places import kept_lab_or_404

LOGGED: Final = 50
KINDS: Final[dict[str, str | Promise]] = {
    Event.Kind.RUNS: gettext_lazy("new runs, summed"),
    Event.Kind.FLAGS: gettext_lazy("new flags"),
    Event.Kind.VERDICTS: gettext_lazy("changed verdicts"),
    Event.Kind.PUBLISHED: gettext_lazy("a version is published"),
    Event.Kind.WITHDRAWN: gettext_lazy("a version is withdrawn"),
}


class WebhookForm(forms.Form):
    url = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=1_000,
        help_text=gettext_lazy(
            "It is sent a POST. Addresses of private networks and redirects are not "
            "followed."
        ),
    )
    kinds = forms.MultipleChoiceField(
        label=gettext_lazy("Events it receives"),
        choices=list(KINDS.items()),
        widget=forms.CheckboxSelectMultiple,
        initial=list(KINDS),
    )
    study = forms.CharField(
        label=gettext_lazy("Study"),
        required=False,
        max_length=151,
        help_text=gettext_lazy(
            "Its short name, or lab/study of another lab. Left empty: all studies of "
            "this lab."
        ),
    )


@never_cache
def keep_webhooks(request: HttpRequest, lab: str) -> HttpResponse:
    """Show the webhooks and the log of their deliveries; make one."""
    place = kept_lab_or_404(request, lab)
    form, status, made = WebhookForm(), 200, None

    def make(url: str, kinds: list[str], study: str) -> Webhook:
        # What the lab sees, not what this person sees in other labs.
        viewer = Viewer(frozenset({place.lab.pk}))
        return make_webhook(
            lab=place.lab,
            person=signed_in_person(request),
            url=url,
            kinds=kinds,
            site=request.build_absolute_uri("/").rstrip("/"),
            study=find_study(viewer, study) if study else None,
        )

    if request.method == "POST":
        form = WebhookForm(request.POST)
        made, status = submit(form, make)
        if made:
            form, status = WebhookForm(), 201
        else:
            status = UNPROCESSABLE
    webhooks = Webhook.objects.filter(lab=place.lab).select_related("study__lab")
    log = Delivery.objects.filter(webhook__lab=place.lab)
    context = {
        "place": place,
        "form": form,
        "webhooks": [
            (webhook, [KINDS[kind] for kind in KINDS if kind in webhook.kinds])
            for webhook in webhooks.order_by("pk")
        ],
        "log": log.select_related("webhook", "event__study").order_by("-pk")[:LOGGED],
    }
    if made:
        context |= {"made": made, "secret": secret_of(made)}
    return render(request, "labs/webhooks.html", context, status=status)


def test(request: HttpRequest, lab: str, webhook_id: int) -> HttpResponse:
    place = kept_lab_or_404(request, lab)
    send_test(find_webhook([place.lab.pk], webhook_id))
    messages.success(
        request, _("A test is on its way. The log shows what comes of it.")
    )
    return redirect("dashboard:webhooks", place.lab.slug)


def delete(request: HttpRequest, lab: str, webhook_id: int) -> HttpResponse:
    place = kept_lab_or_404(request, lab)
    webhook = find_webhook([place.lab.pk], webhook_id)
    delete_webhook(webhook=webhook, person=signed_in_person(request))
    messages.success(request, _("The webhook is deleted."))
    return redirect("dashboard:webhooks", place.lab.slug)
