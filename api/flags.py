from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response

from api.kit.composite_fields import StrictSerializer
from api.kit.fields import Choice, Slug, Text
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import IntegerParameter, ListQuery, study_parameter
from api.kit.views import (
    ListView,
    ReadView,
    ResourceSerializer,
    ValidatedData,
    operation,
)
from benchmarks.models import Flag, FlagDecision
from benchmarks.plausibility.findings import SEVERITIES
from benchmarks.plausibility.rules import RULES
from benchmarks.studies import flags

EXAMPLE = (
    "Confirm a flag",
    {"status": "confirmed", "note": "The authors read the wrong column."},
)


class FlagSubjectSerializer(serializers.Serializer[Any]):
    """An object that a flag is about."""

    kind = serializers.ChoiceField(
        choices=["cell", "run", "system", "study"], help_text="The type of object."
    )
    id = serializers.CharField(help_text="The id of the object.")


class DecisionSerializer(OutputSerializer):
    """A decision about a flag."""

    row_type = FlagDecision
    columns = "status note decided_by decided_at"
    descriptions = {
        "note": "The reason for the decision.",
        "decided_by": "The name of the person or agent that decided.",
        "decided_at": "When it was decided.",
    }

    status = serializers.ChoiceField(
        choices=Flag.Status.values, help_text="The status that was decided."
    )


class FlagSerializer(ResourceSerializer):
    """A data-quality finding with its evidence.

    An open or confirmed flag withholds the verdicts of its results unless its severity
    is `check`.
    """

    url_name = "api:flag"

    row_type = Flag
    columns = """
        study=study.slug rule title documentation severity message subjects evidence
        status decisions detected_at
    """
    descriptions = {
        "rule": "The id of the rule (`docs/flags.md`).",
        "message": "The finding in words.",
        "evidence": "The values that support the finding.",
        "detected_at": "When the finding was first detected.",
    }

    title = serializers.SerializerMethodField(help_text="The title of the rule.")
    documentation = serializers.SerializerMethodField(
        help_text="The explanation of the rule."
    )
    severity = serializers.ChoiceField(
        choices=SEVERITIES,
        help_text="How serious the finding is: `check` does not withhold verdicts.",
    )
    subjects = FlagSubjectSerializer(
        many=True,
        help_text="The results, runs, systems or the study that the flag is about.",
    )
    status = serializers.ChoiceField(
        choices=Flag.Status.values,
        help_text="Whether the flag is open, confirmed or dismissed.",
    )
    decisions = DecisionSerializer(many=True, help_text="The decisions, oldest first.")

    def get_title(self, flag: Flag) -> str:
        return RULES[flag.rule].title if flag.rule in RULES else flag.rule

    @extend_schema_field(serializers.CharField())
    def get_documentation(self, flag: Flag) -> str:
        return RULES[flag.rule].documentation if flag.rule in RULES else ""


class FlagQuery(ListQuery):
    study = study_parameter()
    rule = Slug(required=False, help_text="The id of a rule (`docs/flags.md`).")
    severity = Choice(
        choices=SEVERITIES, required=False, help_text="The severity of the finding."
    )
    status = Choice(
        choices=Flag.Status.values,
        required=False,
        help_text="Whether flags are open, confirmed or dismissed.",
    )
    cell = IntegerParameter(
        required=False, source="cells", help_text="The id of a result."
    )


class FlagsView(ListView):
    """Lists the flags that the latest checks of visible studies found."""

    query_class = FlagQuery
    summary = "List flags with their evidence"
    serializer_class = FlagSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return flags.visible_flags(self.viewer)


class DecisionInput(StrictSerializer):
    """A decision about a flag."""

    status = Choice(
        choices=Flag.Status.values,
        help_text="The decision; `open` withdraws an earlier one.",
    )
    note = Text(
        multiline=True,
        max_length=10_000,
        help_text="The reason for the decision, so that others can follow it.",
    )


class FlagView(ReadView):
    """Returns a flag with its evidence and the decisions about it."""

    summary = "Read a flag"
    serializer_class = FlagSerializer

    def get_object(self) -> Any:
        return flags.find_flag(self.viewer, self.kwargs["pk"])

    @operation("Confirm, dismiss or reopen a flag", DecisionInput, EXAMPLE)
    def patch(self, body: ValidatedData, pk: int) -> Response:
        """Confirm, dismiss or reopen a flag, with a token of the study's lab."""
        flag = flags.find_flag(self.lab_viewer, pk)
        self.require_same_lab(flag, "flag", pk)
        flags.decide_flag(flag=flag, actor=self.agent.name, **body)
        # Read the flag again, because its prefetched decisions lack the new one.
        decided = flags.find_flag(self.lab_viewer, pk)
        return Response(self.serialize(FlagSerializer, decided))
