from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.response import Response

from api.kit.composite_fields import ListOf, StrictSerializer
from api.kit.fields import Choice, Slug, Text, WholeNumber
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import ListQuery, study_parameter
from api.kit.views import ListView, ValidatedData, operation
from benchmarks.models import Session
from benchmarks.studies.lookup import find_study
from benchmarks.studies.session_corrections import MAX_LENGTH, correct_sessions
from benchmarks.studies.sessions import visible_sessions

MAX_RUNS = 10_000
EXAMPLE = (
    "Assign runs to another session",
    {
        "study": "my-study",
        "name": "second day",
        "run_ids": [17, 18, 19],
        "note": "The clock of the host was a day late.",
    },
)


class SessionSerializer(OutputSerializer):
    """Runs that were made together."""

    row_type = Session
    columns = "id study=study.slug name origin reason counted_with_id counted_reason"
    descriptions = {
        "name": (
            "The name of the session; a derived session is named by its first start "
            "in UTC."
        ),
        "reason": "Why the session begins, or who corrected it.",
        "counted_with_id": (
            "The id of the session as part of which statistics count this one; null if "
            "it counts by itself."
        ),
        "counted_reason": "Why it does not count by itself.",
    }

    origin = serializers.ChoiceField(
        choices=Session.Origin.values,
        help_text=(
            "Whether the session was named by the uploader or a plan, derived from "
            "start times, or corrected by a person."
        ),
    )
    host = serializers.CharField(
        source="host.slug",
        default="",
        help_text="The slug of the host of a derived session; empty otherwise.",
    )
    run_count = serializers.IntegerField(help_text="The number of runs.")
    first_at = serializers.DateTimeField(
        allow_null=True, help_text="When the first run started; null if unknown."
    )
    last_at = serializers.DateTimeField(
        allow_null=True, help_text="When the last run started; null if unknown."
    )


class SessionCorrectionSerializer(serializers.Serializer[Any]):
    """The session to which corrected runs now belong."""

    session = SessionSerializer(
        allow_null=True,
        help_text=(
            "The session to which the runs now belong; null if no name was given."
        ),
    )


class SessionQuery(ListQuery):
    study = study_parameter()
    origin = Choice(
        choices=Session.Origin.values,
        required=False,
        help_text="How the sessions were determined.",
    )


class SessionCorrectionInput(StrictSerializer):
    """The runs that belong to one session.

    The correction remains when sessions are derived again.
    """

    study = Slug(help_text="The slug of a study of the lab.")
    name = Text(
        allow_blank=True,
        max_length=MAX_LENGTH,
        help_text=(
            "The name of a new or an existing session. An empty name undoes earlier "
            "corrections of these runs."
        ),
    )
    run_ids = ListOf(
        source="runs",
        child=WholeNumber(min_value=1),
        required=False,
        max_length=MAX_RUNS,
        help_text="The ids of the runs that are assigned to the session.",
    )
    session_ids = ListOf(
        source="sessions",
        child=WholeNumber(min_value=1),
        required=False,
        max_length=MAX_RUNS,
        help_text="The ids of sessions whose runs are all assigned to the session.",
    )
    note = Text(
        required=False,
        allow_blank=True,
        max_length=MAX_LENGTH,
        help_text="Why the sessions are corrected.",
    )


class SessionsView(ListView):
    """Lists the sessions of visible studies."""

    query_class = SessionQuery
    summary = "List sessions"
    serializer_class = SessionSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return visible_sessions(self.viewer)

    @operation(
        "Correct sessions",
        SessionCorrectionInput,
        EXAMPLE,
        response_serializers=SessionCorrectionSerializer,
    )
    def post(self, body: ValidatedData) -> Response:
        """State which runs of a study of the token's lab belong to one session."""
        slug = body.pop("study")
        study = find_study(self.lab_viewer, slug)
        self.require_same_lab(study, "study", slug)
        session = correct_sessions(study=study, actor=self.agent.name, **body)
        corrected = session and visible_sessions(self.lab_viewer, pk=session.pk).get()
        return Response(
            self.serialize(SessionCorrectionSerializer, {"session": corrected})
        )
