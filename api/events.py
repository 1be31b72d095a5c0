"""/events/ and /webhooks/: what happened in studies, and who is told."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import (
    HTTP_201_CREATED,
    HTTP_202_ACCEPTED,
    HTTP_204_NO_CONTENT,
)

from api.kit.fields import Choice, Text
from api.kit.outputs import OutputSerializer
from api.kit.queries import ListQuery, study_parameter
from api.kit.schema import ErrorSerializer
from api.kit.shapes import ListOf, StrictSerializer
from api.kit.views import AddressedRow, ApiView, Fields, ListView, operation
from benchmarks import sight
from benchmarks.models import Delivery, Event, Membership, Study, Token, Webhook
from benchmarks.studies.lookup import find_study
from benchmarks.together.events import visible_events
from benchmarks.together.webhooks import (
    change_webhook,
    delete_webhook,
    deliveries_of,
    find_webhook,
    kept_webhooks,
    make_webhook,
    secret_of,
    send_test,
)


class EventSerializer(OutputSerializer):
    """Something that happened; ``content`` says how many, and names the first."""

    row_type = Event
    columns = "id kind lab=study.lab.slug study=study.slug sentence content at"

    kind = serializers.ChoiceField(choices=Event.Kind.values)


class EventQuery(ListQuery):
    study = study_parameter()
    kind = Choice(choices=Event.Kind.values, required=False)


class EventsView(ListView):
    """Events of everything that may be seen, oldest first."""

    query_class = EventQuery
    summary = "List what happened in studies"
    serializer_class = EventSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return visible_events(self.viewer)


URL_LETTERS = 1_000
EXAMPLE = (
    "Verdicts that change",
    {"url": "https://example.org/hook", "kinds": ["verdicts", "flags"]},
)
EXAMPLE_CHANGE = ("Another address", {"url": "https://example.org/other"})


class WebhookInput(StrictSerializer):
    """Where to, what of, and of which study; without one of all the lab's own."""

    url = Text(max_length=URL_LETTERS, help_text="An address of the open internet.")
    kinds = ListOf(child=Choice(Event.Kind.values), min_length=1, max_length=10)
    study = study_parameter()


class WebhookChange(StrictSerializer):
    """What is to be otherwise; a study of "" is all the lab's own."""

    url = Text(max_length=URL_LETTERS, required=False)
    kinds = ListOf(
        child=Choice(Event.Kind.values), min_length=1, max_length=10, required=False
    )
    study = Text(max_length=151, required=False, allow_blank=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("Send url, kinds or study.")
        return attrs


class WebhookSerializer(AddressedRow):
    """A webhook; ``study`` is null for all of the lab's own."""

    address = "api:webhook"

    row_type = Webhook
    columns = "target kinds lab=lab.slug study made_by created_at"

    target = serializers.CharField(source="url", help_text="Where it is told.")
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=Event.Kind.values)
    )
    study = serializers.SerializerMethodField()

    def get_study(self, webhook: Webhook) -> str | None:
        study = webhook.study
        return f"{study.lab.slug}/{study.slug}" if study else None


class MadeWebhookSerializer(WebhookSerializer):
    """A new one: its secret is shown this once."""

    secret = serializers.SerializerMethodField()

    def get_secret(self, webhook: Webhook) -> str:
        return secret_of(webhook)


class DeliverySerializer(OutputSerializer):
    """One telling: ``event`` is null for a test, ``status`` what was answered."""

    row_type = Delivery
    columns = """
        id event=event_id state attempts created_at tried_at next_at status problem
        took_ms
    """

    state = serializers.ChoiceField(choices=Delivery.State.values)


class KeptLabsView(ApiView):
    """A view of the webhooks of the labs that a token or a person may change."""

    @property
    def kept_labs(self) -> list[int]:
        """The labs whose webhooks may be seen: some addresses hold a secret."""
        token, user = self.request.auth, self.request.user
        if isinstance(token, Token):
            if not token.can_upload:
                return []
            # A token that may but upload sees nothing else of its lab.
            sight.see_labs(token.lab_id)
            return [token.lab_id]
        if not user.is_authenticated:
            return []
        kept = Membership.objects.filter(user=user, role__in=Membership.KEEPERS)
        return list(kept.values_list("lab_id", flat=True))

    def study_of(self, given: dict[str, Any]) -> Study | None:
        """The study that is named, if the token's lab sees it."""
        name = given.get("study")
        return find_study(self.lab_viewer, name) if name else None


class WebhookView(KeptLabsView):
    """One webhook: read, changed, deleted."""

    http_method_names = ["get", "patch", "delete", "head"]
    summary = "Read a webhook"
    serializer_class = WebhookSerializer

    def get(self, request: Request, pk: int) -> Response:
        webhook = find_webhook(self.kept_labs, pk)
        return Response(self.shown(WebhookSerializer, webhook))

    @operation("Change a webhook; its secret stays", WebhookChange, EXAMPLE_CHANGE)
    def patch(self, given: Fields, pk: int) -> Response:
        webhook = find_webhook([self.lab.pk], pk)
        study = self.study_of(given) if "study" in given else webhook.study
        changed = change_webhook(
            webhook=webhook,
            agent=self.agent.name,
            url=given.get("url", webhook.url),
            kinds=given.get("kinds", webhook.kinds),
            study=study,
        )
        return Response(self.shown(WebhookSerializer, changed))

    @extend_schema(summary="Delete a webhook with its log", responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        webhook = find_webhook([self.lab.pk], pk)
        delete_webhook(webhook=webhook, agent=self.agent.name)
        return Response(status=HTTP_204_NO_CONTENT)


class WebhooksView(ListView, KeptLabsView):
    """The webhooks of the labs that one keeps; ``POST`` makes one."""

    http_method_names = ["get", "post", "head"]
    summary = "List webhooks"
    serializer_class = WebhookSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return kept_webhooks(self.kept_labs)

    @operation(
        "Make a webhook of the token's lab",
        WebhookInput,
        EXAMPLE,
        answers={201: MadeWebhookSerializer, 404: ErrorSerializer},
    )
    def post(self, given: Fields) -> Response:
        webhook = make_webhook(
            lab=self.lab,
            agent=self.agent.name,
            url=given["url"],
            kinds=given["kinds"],
            site=self.request.build_absolute_uri("/").rstrip("/"),
            study=self.study_of(given),
        )
        shown = self.shown(MadeWebhookSerializer, webhook)
        headers = {"Location": shown["url"], "Cache-Control": "no-store"}
        return Response(shown, status=HTTP_201_CREATED, headers=headers)


class WebhookTestView(ApiView):
    """Have an address told that this is a test."""

    http_method_names = ["post"]

    @extend_schema(
        summary="Send a test",
        operation_id="webhooks_test",
        request=None,
        responses={202: DeliverySerializer},
    )
    def post(self, request: Request, pk: int) -> Response:
        delivery = send_test(find_webhook([self.lab.pk], pk))
        shown = self.shown(DeliverySerializer, delivery)
        return Response(shown, status=HTTP_202_ACCEPTED)


class DeliveriesView(ListView, KeptLabsView):
    """What became of each telling, newest first."""

    http_method_names = ["get", "head"]
    summary = "List the deliveries of a webhook"
    operation_id = "webhooks_deliveries"
    serializer_class = DeliverySerializer

    def get_queryset(self) -> QuerySet[Any]:
        webhook = find_webhook(self.kept_labs, self.kwargs["pk"])
        return deliveries_of(webhook)
