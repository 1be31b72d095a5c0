"""/events/: what happened in studies, for whoever asks from time to time."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers

from api.kit.fields import Choice
from api.kit.queries import ListQuery, study_parameter
from api.kit.views import ListView
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


class EventsView(ListView):
    """Events of everything that may be seen, oldest first."""

    query_class = EventQuery
    summary = "List what happened in studies"
    serializer_class = EventSerializer
    lookups = {"study": "study", "kind": "kind"}

    def get_queryset(self) -> QuerySet[Any]:
        return visible_events(self.viewer)
