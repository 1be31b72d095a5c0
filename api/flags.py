"""/flags/: what is doubtful in a study, and what people decided about it."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response

from api.kit.fields import Choice, Slug, Text
from api.kit.outputs import OutputSerializer
from api.kit.queries import ListQuery, WholeParameter, study_parameter
from api.kit.shapes import StrictSerializer
from api.kit.views import AddressedRow, Fields, ListView, ReadView, operation
from benchmarks.models import Decision, Flag
from benchmarks.plausibility.findings import SEVERITIES
from benchmarks.plausibility.rules import RULES
from benchmarks.studies import flags

EXAMPLE = (
    "It is a mistake",
    {"status": "confirmed", "note": "The authors read the wrong column."},
)


class FlagSubjectSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=["cell", "run", "system", "study"])
    id = serializers.CharField()


class DecisionSerializer(OutputSerializer):
    row_type = Decision
    columns = "status note who at"

    status = serializers.ChoiceField(choices=Flag.Status.values)


class FlagSerializer(AddressedRow):
    """A doubt with its evidence: the values it rests on, and why they cannot be.

    Open and confirmed flags keep the verdict from the `cells` they are about, unless
    their severity is only a check. ``title`` and ``documentation`` are of the rule.
    """

    address = "api:flag"

    row_type = Flag
    columns = """
        study=study.slug rule title documentation severity sentence subjects evidence
        status decisions found_at
    """

    title = serializers.SerializerMethodField()
    documentation = serializers.SerializerMethodField()
    severity = serializers.ChoiceField(choices=SEVERITIES)
    subjects = FlagSubjectSerializer(many=True)
    status = serializers.ChoiceField(choices=Flag.Status.values)
    decisions = DecisionSerializer(many=True)

    def get_title(self, flag: Flag) -> str:
        return RULES[flag.rule].title if flag.rule in RULES else flag.rule

    @extend_schema_field(serializers.CharField())
    def get_documentation(self, flag: Flag) -> str:
        return RULES[flag.rule].documentation if flag.rule in RULES else ""


class FlagQuery(ListQuery):
    study = study_parameter()
    rule = Slug(required=False, help_text="A rule's id (docs/flags.md).")
    severity = Choice(choices=SEVERITIES, required=False)
    status = Choice(choices=Flag.Status.values, required=False)
    cell = WholeParameter(required=False, source="cells", help_text="A cell's id.")


class FlagsView(ListView):
    """Everything that the last checks doubted."""

    query_class = FlagQuery
    summary = "List flags with their evidence"
    serializer_class = FlagSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return flags.visible_flags(self.viewer)


class DecisionInput(StrictSerializer):
    status = Choice(choices=Flag.Status.values)
    note = Text(
        multiline=True,
        max_length=10_000,
        help_text="Why: others must be able to follow it.",
    )


class FlagView(ReadView):
    """One flag; who owns it decides about it."""

    summary = "Read a flag"
    serializer_class = FlagSerializer

    def get_object(self) -> Any:
        return flags.find_flag(self.viewer, self.kwargs["pk"])

    @operation(
        "Confirm, dismiss or reopen a flag of the token's lab", DecisionInput, EXAMPLE
    )
    def patch(self, decision: Fields, pk: int) -> Response:
        flag = flags.find_flag(self.lab_viewer, pk)
        self.require_own(flag, "flag", pk)
        flags.decide_flag(flag=flag, who=self.agent.name, **decision)
        # Read again: the decisions fetched before lack this one.
        decided = flags.find_flag(self.lab_viewer, pk)
        return Response(self.shown(FlagSerializer, decided))
