from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import (
    HTTP_201_CREATED,
    HTTP_202_ACCEPTED,
    HTTP_204_NO_CONTENT,
)

from api.kit.composite_fields import ListOf, StrictSerializer
from api.kit.fields import Choice, Text
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import study_parameter
from api.kit.schema import ErrorSerializer
from api.kit.scopes import required_scope
from api.kit.views import (
    ApiView,
    ListView,
    ResourceSerializer,
    ValidatedData,
    operation,
)
from benchmarks import rls
from benchmarks.collaboration.webhooks import (
    create_webhook,
    delete_webhook,
    find_webhook,
    send_test,
    update_webhook,
    webhook_deliveries,
    webhook_secret,
    webhooks_of_labs,
)
from benchmarks.models import Delivery, Event, Membership, Study, Token, Webhook
from benchmarks.studies.lookup import find_study

MAX_URL_LENGTH = 1_000
EXAMPLE = (
    "Changed verdicts and new flags",
    {"target_url": "https://example.org/hook", "kinds": ["verdicts", "flags"]},
)
EXAMPLE_CHANGE = ("Another URL", {"target_url": "https://example.org/other"})


class WebhookInput(StrictSerializer):
    """A new webhook."""

    target_url = Text(
        max_length=MAX_URL_LENGTH,
        help_text="The URL to which events are sent; it must be a public address.",
    )
    kinds = ListOf(
        child=Choice(Event.Kind.values),
        min_length=1,
        max_length=10,
        help_text="The kinds of events to send.",
    )
    study = study_parameter()


class WebhookChange(StrictSerializer):
    """Changes of a webhook."""

    target_url = Text(
        max_length=MAX_URL_LENGTH,
        required=False,
        help_text="The new URL to which events are sent; it must be a public address.",
    )
    kinds = ListOf(
        child=Choice(Event.Kind.values),
        min_length=1,
        max_length=10,
        required=False,
        help_text="The new kinds of events.",
    )
    study = Text(
        max_length=151,
        required=False,
        allow_blank=True,
        help_text="The new study; an empty text means all studies of the lab.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError(
                "Send at least one of target_url, kinds and study."
            )
        return attrs


class WebhookSerializer(ResourceSerializer):
    """A URL to which events are sent."""

    url_name = "api:webhook"

    row_type = Webhook
    columns = "target_url kinds lab=lab.slug study created_by created_at"
    descriptions = {
        "created_by": "The name of the person or agent that created the webhook.",
    }

    target_url = serializers.CharField(help_text="The URL to which events are sent.")
    kinds = serializers.ListField(
        child=serializers.ChoiceField(choices=Event.Kind.values),
        help_text="The kinds of events that are sent.",
    )
    study = serializers.SerializerMethodField(
        help_text=(
            "The study whose events are sent (`lab/slug`); null for all studies of "
            "the lab."
        )
    )

    def get_study(self, webhook: Webhook) -> str | None:
        study = webhook.study
        return f"{study.lab.slug}/{study.slug}" if study else None


class NewWebhookSerializer(WebhookSerializer):
    """A new webhook with its secret."""

    secret = serializers.SerializerMethodField(
        help_text=(
            "The secret that signs deliveries; it is shown only in this response."
        )
    )

    def get_secret(self, webhook: Webhook) -> str:
        return webhook_secret(webhook)


class DeliverySerializer(OutputSerializer):
    """A delivery of an event to a webhook."""

    row_type = Delivery
    columns = """
        id event=event_id state attempts created_at attempted_at next_attempt_at
        http_status problem duration_ms
    """
    descriptions = {
        "event": "The id of the event; null for a test.",
        "attempts": "The number of attempts so far.",
        "attempted_at": "When the last attempt was made; null before the first.",
        "next_attempt_at": "When the next attempt is due; null if none is planned.",
        "http_status": "The HTTP status of the last response; null without a response.",
        "problem": "Why the last attempt failed; empty if it did not.",
        "duration_ms": "The duration of the last attempt in milliseconds.",
    }

    state = serializers.ChoiceField(
        choices=Delivery.State.values,
        help_text="Whether the delivery is waiting, done or failed.",
    )


class EditableLabsView(ApiView):
    """Base of views of webhooks.

    Only the editors of a lab and its tokens with the scope `manage` see its webhooks.
    """

    @property
    def editable_labs(self) -> list[int]:
        """The ids of the labs whose webhooks the client may see.

        Other clients must not see webhooks, because some target URLs contain a secret.
        """
        token, user = self.request.auth, self.request.user
        if isinstance(token, Token):
            if required_scope(self.request) not in token.scopes:
                return []
            # Tokens without read permission see webhooks, but no other private rows.
            rls.allow_labs(token.lab_id)
            return [token.lab_id]
        if not user.is_authenticated:
            return []
        memberships = Membership.objects.filter(user=user, role__in=Membership.EDITORS)
        return list(memberships.values_list("lab_id", flat=True))

    def study_from_body(self, body: dict[str, Any]) -> Study | None:
        """Return the study that the request names, if any.

        Raise NotFoundError if the lab of the token cannot see it.
        """
        name = body.get("study")
        return find_study(self.lab_viewer, name) if name else None


class WebhookView(EditableLabsView):
    """Returns a webhook of a lab that the client may edit."""

    http_method_names = ["get", "patch", "delete", "head"]
    summary = "Read a webhook"
    serializer_class = WebhookSerializer

    def get(self, request: Request, pk: int) -> Response:
        webhook = find_webhook(self.editable_labs, pk)
        return Response(self.serialize(WebhookSerializer, webhook))

    @operation("Change a webhook", WebhookChange, EXAMPLE_CHANGE)
    def patch(self, body: ValidatedData, pk: int) -> Response:
        """Change the URL, the kinds of events or the study of a webhook.

        Its secret remains the same.
        """
        webhook = find_webhook([self.lab.pk], pk)
        study = self.study_from_body(body) if "study" in body else webhook.study
        changed = update_webhook(
            webhook=webhook,
            agent=self.agent.name,
            target_url=body.get("target_url", webhook.target_url),
            kinds=body.get("kinds", webhook.kinds),
            study=study,
        )
        return Response(self.serialize(WebhookSerializer, changed))

    @extend_schema(
        summary="Delete a webhook and its delivery log", responses={204: None}
    )
    def delete(self, request: Request, pk: int) -> Response:
        """Delete a webhook of the token's lab, with the log of its deliveries."""
        webhook = find_webhook([self.lab.pk], pk)
        delete_webhook(webhook=webhook, agent=self.agent.name)
        return Response(status=HTTP_204_NO_CONTENT)


class WebhooksView(ListView, EditableLabsView):
    """Lists the webhooks of the labs that the client may edit."""

    http_method_names = ["get", "post", "head"]
    summary = "List webhooks"
    serializer_class = WebhookSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return webhooks_of_labs(self.editable_labs)

    @operation(
        "Create a webhook",
        WebhookInput,
        EXAMPLE,
        response_serializers={
            201: NewWebhookSerializer,
            404: OpenApiResponse(
                ErrorSerializer,
                "The study does not exist, or the lab of the token cannot see it.",
            ),
        },
    )
    def post(self, body: ValidatedData) -> Response:
        """Create a webhook of the token's lab; only this response has its secret."""
        webhook = create_webhook(
            lab=self.lab,
            agent=self.agent.name,
            target_url=body["target_url"],
            kinds=body["kinds"],
            site_url=self.request.build_absolute_uri("/").rstrip("/"),
            study=self.study_from_body(body),
        )
        content = self.serialize(NewWebhookSerializer, webhook)
        headers = {"Location": content["url"], "Cache-Control": "no-store"}
        return Response(content, status=HTTP_201_CREATED, headers=headers)


class WebhookTestView(ApiView):
    http_method_names = ["post"]

    @extend_schema(
        summary="Send a test",
        operation_id="webhooks_test",
        request=None,
        responses={202: DeliverySerializer},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Queue a delivery of a test message to a webhook of the token's lab."""
        delivery = send_test(find_webhook([self.lab.pk], pk))
        content = self.serialize(DeliverySerializer, delivery)
        return Response(content, status=HTTP_202_ACCEPTED)


class DeliveriesView(ListView, EditableLabsView):
    """Lists the deliveries of a webhook, oldest first."""

    http_method_names = ["get", "head"]
    summary = "List the deliveries of a webhook"
    operation_id = "webhooks_deliveries"
    serializer_class = DeliverySerializer

    def get_queryset(self) -> QuerySet[Any]:
        webhook = find_webhook(self.editable_labs, self.kwargs["pk"])
        return webhook_deliveries(webhook)
