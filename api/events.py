from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from api.kit.fields import Choice
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import ListQuery, study_parameter
from api.kit.views import ListView
from benchmarks.collaboration.study_events import visible_events
from benchmarks.models import Event


class EventSerializer(OutputSerializer):
    """Something that happened in a study."""

    row_type = Event
    columns = "id kind lab=study.lab.slug study=study.slug message content occurred_at"
    descriptions = {
        "message": "What happened, in words.",
        "content": "Details of the event: counts and the first objects concerned.",
        "occurred_at": "When it happened.",
    }

    kind = serializers.ChoiceField(
        choices=Event.Kind.values, help_text="What happened."
    )


class EventQuery(ListQuery):
    study = study_parameter()
    kind = Choice(
        choices=Event.Kind.values, required=False, help_text="The kind of event."
    )


class EventsView(ListView):
    """Lists the events of visible studies, oldest first."""

    query_class = EventQuery
    summary = "List events of studies"
    serializer_class = EventSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return visible_events(self.viewer)
