"""/events/: what happened in studies, for whoever asks from time to time."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import Choice
from api.kit.queries import ListQuery, study_parameter
from api.kit.views import ApiView
from benchmarks.models import Event
from benchmarks.together.events import visible_events


class EventSerializer(serializers.Serializer[Any]):
    """Something that happened; ``content`` says how many, and names the first."""

    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=Event.Kind.values)
    lab = serializers.CharField(source="study.lab.slug")
    study = serializers.CharField(source="study.slug")
    sentence = serializers.CharField()
    content = serializers.DictField()
    at = serializers.DateTimeField()


class EventQuery(ListQuery):
    study = study_parameter()
    kind = Choice(choices=Event.Kind.values, required=False)


class EventsView(ApiView):
    """Events of everything that may be seen, oldest first."""

    query_class = EventQuery

    @extend_schema(
        summary="List what happened in studies",
        operation_id="events_list",
        responses=EventSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        filters = self.looked_up_in_study({"kind": "kind"})
        events = visible_events(self.viewer, **filters)
        return self.page_of(events, EventSerializer)
