"""/sessions/: which runs were done in one sitting, and what people correct of that."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.response import Response

from api.kit.fields import Choice, Slug, Text, WholeNumber
from api.kit.outputs import OutputSerializer
from api.kit.queries import ListQuery, study_parameter
from api.kit.shapes import ListOf, StrictSerializer
from api.kit.views import Fields, ListView, operation
from benchmarks.models import Session
from benchmarks.studies.lookup import find_study
from benchmarks.studies.session_corrections import MOST_LETTERS, correct_sessions
from benchmarks.studies.sessions import visible_sessions

MOST_RUNS = 10_000
EXAMPLE = (
    "These runs were another day",
    {
        "study": "my-study",
        "name": "second day",
        "runs": [17, 18, 19],
        "note": "The clock of the host was a day late.",
    },
)


class SessionSerializer(OutputSerializer):
    """Runs of one sitting. ``reason`` says why it begins, or who put it together."""

    row_type = Session
    columns = "id study=study.slug name origin reason"

    origin = serializers.ChoiceField(
        choices=Session.Origin.values,
        help_text="Named by the uploader or a plan, derived from starts, or corrected.",
    )
    host = serializers.CharField(source="host.slug", default="")
    runs = serializers.IntegerField(source="run_count")
    first_at = serializers.DateTimeField(allow_null=True)
    last_at = serializers.DateTimeField(allow_null=True)


class CorrectionSerializer(serializers.Serializer[Any]):
    """The session that the runs count in now; null where none was named."""

    session = SessionSerializer(allow_null=True)


class SessionQuery(ListQuery):
    study = study_parameter()
    origin = Choice(choices=Session.Origin.values, required=False)


class CorrectionInput(StrictSerializer):
    """Runs that were one sitting. A correction is kept for good."""

    study = Slug(help_text="The slug of a study of the lab.")
    name = Text(
        allow_blank=True,
        max_length=MOST_LETTERS,
        help_text="The session's name, new or known. Empty: by name or start again.",
    )
    runs = ListOf(
        child=WholeNumber(min_value=1),
        required=False,
        max_length=MOST_RUNS,
        help_text="Ids of runs.",
    )
    sessions = ListOf(
        child=WholeNumber(min_value=1),
        required=False,
        max_length=MOST_RUNS,
        help_text="Ids of sessions: all their runs.",
    )
    note = Text(required=False, allow_blank=True, max_length=MOST_LETTERS)


class SessionsView(ListView):
    """Sessions that runs count in."""

    query_class = SessionQuery
    summary = "List sessions"
    serializer_class = SessionSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return visible_sessions(self.viewer)

    @operation(
        "Say which runs were one sitting, in a study of the token's lab",
        CorrectionInput,
        EXAMPLE,
        answers=CorrectionSerializer,
    )
    def post(self, said: Fields) -> Response:
        slug = said.pop("study")
        study = find_study(self.lab_viewer, slug)
        self.require_own(study, "study", slug)
        session = correct_sessions(study=study, who=self.agent.name, **said)
        shown = session and visible_sessions(self.lab_viewer, pk=session.pk).get()
        return Response(self.shown(CorrectionSerializer, {"session": shown}))
