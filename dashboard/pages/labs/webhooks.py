from typing import Final

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache

from benchmarks.collaboration.webhooks import (
    create_webhook,
    delete_webhook,
    find_webhook,
    send_test,
    webhook_secret,
)
from benchmarks.models import Delivery, Event, Webhook
from benchmarks.studies.lookup import find_study
from benchmarks.viewer import Viewer
from dashboard.exports.citation import site_url
from dashboard.kit.forms import UNPROCESSABLE, SingleLineField, submit_form
from dashboard.kit.viewers import required_user
from dashboard.pages.labs.lab_of_request import editable_lab_or_404

MAX_LOG_ENTRIES: Final = 50
EVENT_NAMES: Final[dict[str, str | Promise]] = {
    Event.Kind.RUNS: gettext_lazy("new runs (summary)"),
    Event.Kind.FLAGS: gettext_lazy("new flags"),
    Event.Kind.VERDICTS: gettext_lazy("changed verdicts"),
    Event.Kind.PUBLISHED: gettext_lazy("version published"),
    Event.Kind.WITHDRAWN: gettext_lazy("version withdrawn"),
}


class WebhookForm(forms.Form):
    url = SingleLineField(
        label=gettext_lazy("URL"),
        max_length=1_000,
        help_text=gettext_lazy(
            "This URL receives POST requests. Requests are not sent to private "
            "network addresses, and redirects are not followed."
        ),
    )
    kinds = forms.MultipleChoiceField(
        label=gettext_lazy("Events"),
        choices=list(EVENT_NAMES.items()),
        widget=forms.CheckboxSelectMultiple,
        initial=list(EVENT_NAMES),
    )
    study = SingleLineField(
        label=gettext_lazy("Study"),
        required=False,
        max_length=151,
        help_text=gettext_lazy(
            "The short name of the study, or lab/study for a study of another lab. "
            "Leave empty for all studies of this lab."
        ),
    )


@never_cache
def manage_webhooks(request: HttpRequest, lab: str) -> HttpResponse:
    access = editable_lab_or_404(request, lab)
    form, status, created = WebhookForm(), 200, None

    def create(url: str, kinds: list[str], study: str) -> Webhook:
        # A webhook sees what the lab sees, not what this user sees in other labs.
        viewer = Viewer(frozenset({access.lab.pk}))
        return create_webhook(
            lab=access.lab,
            person=required_user(request),
            target_url=url,
            kinds=kinds,
            site_url=site_url(request),
            study=find_study(viewer, study) if study else None,
        )

    if request.method == "POST":
        form = WebhookForm(request.POST)
        created, status = submit_form(form, create)
        if created:
            form, status = WebhookForm(), 201
        else:
            status = UNPROCESSABLE
    webhooks = Webhook.objects.filter(lab=access.lab).select_related("study__lab")
    log = Delivery.objects.filter(webhook__lab=access.lab)
    context = {
        "access": access,
        "form": form,
        "webhooks": [
            (
                webhook,
                [EVENT_NAMES[kind] for kind in EVENT_NAMES if kind in webhook.kinds],
            )
            for webhook in webhooks.order_by("pk")
        ],
        "log": log.select_related("webhook", "event__study").order_by("-pk")[
            :MAX_LOG_ENTRIES
        ],
    }
    if created:
        context["secret"] = webhook_secret(created)
    return render(request, "labs/webhooks.html", context, status=status)


def send_test_event(request: HttpRequest, lab: str, webhook_id: int) -> HttpResponse:
    access = editable_lab_or_404(request, lab)
    send_test(find_webhook([access.lab.pk], webhook_id))
    messages.success(
        request, _("A test is being sent. The deliveries below show the result.")
    )
    return redirect("dashboard:webhooks", access.lab.slug)


def delete_webhook_view(
    request: HttpRequest, lab: str, webhook_id: int
) -> HttpResponse:
    access = editable_lab_or_404(request, lab)
    webhook = find_webhook([access.lab.pk], webhook_id)
    delete_webhook(webhook=webhook, person=required_user(request))
    messages.success(request, _("The webhook was deleted."))
    return redirect("dashboard:webhooks", access.lab.slug)
