"""What an agent that follows a plan asks: its slot, the next step, start and end."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response

from api.kit.fields import Choice, Number, Text, UUIDText, WholeNumber
from api.kit.shapes import ListOf, StrictSerializer
from api.kit.views import ApiView, Fields, operation
from api.plans import PlanSlotSerializer
from api.systems import SystemField
from benchmarks.models import PlanPart
from benchmarks.plans import barriers, turns

OUTCOMES = ("done", "failed", "missed", "hopeless")
WORK_DONE = {
    "attempt": 1,
    "outcome": "done",
    "began_us": 93127446021,
    "ended_us": 93129471045,
    "bound_us": 640,
    "keys": ["6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b"],
}
ARRIVED = {
    "attempt": 1,
    "limit_s": 90,
    "clock": "9c2b7a01d4e5f607",
    "now_us": 93124446021,
}
STATES = ("run", "wait", "over", "start", "stop", "released", "keep", "discard", "held")


class JoinInput(StrictSerializer):
    name = Text(max_length=100, help_text="What the guest is called, the same always.")
    system = SystemField()
    instance = Text(
        required=False,
        max_length=64,
        help_text="Tells guests of one name apart; the same until a guest boots again.",
    )


class NextInput(StrictSerializer):
    slot = WholeNumber(min_value=1)


class MeetInput(StrictSerializer):
    attempt = WholeNumber(min_value=1)
    limit_s = Number(
        required=False, min_value=0, max_value=1e7, help_text="The program's limit."
    )
    clock = Text(required=False, allow_blank=True, max_length=64)
    now_us = WholeNumber(
        required=False, help_text="What the time server's clock shows now."
    )


class FinishInput(StrictSerializer):
    """How a slot ended; ``began_us`` and ``ended_us`` by the time server's clock."""

    attempt = WholeNumber(min_value=1)
    outcome = Choice(choices=OUTCOMES)
    reason = Text(required=False, allow_blank=True, multiline=True, max_length=2_000)
    began_us = WholeNumber(required=False, allow_null=True)
    ended_us = WholeNumber(required=False, allow_null=True)
    bound_us = WholeNumber(required=False, allow_null=True, min_value=0)
    rounds = WholeNumber(required=False, allow_null=True, min_value=0)
    keys = ListOf(child=UUIDText(), required=False, max_length=100)


class WorkSerializer(serializers.Serializer[Any]):
    """A part of a step, with all that its run's upload says of it."""

    id = serializers.IntegerField()
    attempt = serializers.IntegerField(source="step.attempt")
    step = serializers.IntegerField(source="step.pk")
    position = serializers.IntegerField(source="step.position")
    sequence = serializers.IntegerField(source="step.sequence")
    repetition = serializers.IntegerField(source="step.repetition")
    repetitions = serializers.IntegerField(source="step.plan.repetitions")
    is_warm_up = serializers.BooleanField(source="step.is_warm_up")
    role = serializers.CharField()
    tool = serializers.CharField()
    program = serializers.CharField()
    options = serializers.DictField()
    scenario = serializers.CharField(source="step.scenario")
    vms = serializers.IntegerField(source="step.vms")
    slot = serializers.CharField(source="slot.number")
    load = serializers.CharField(source="step.load")
    corun = serializers.CharField(source="step.corun")
    session = serializers.CharField(source="step.plan.session")
    system = serializers.IntegerField(source="slot.system_id")


class AnswerSerializer(serializers.Serializer[Any]):
    """What to do now; after ``wait_s`` seconds ask again."""

    state = serializers.ChoiceField(choices=STATES)
    sentence = serializers.CharField()
    wait_s = serializers.FloatField()
    starts_at_us = serializers.IntegerField(allow_null=True)
    part = serializers.SerializerMethodField()

    @extend_schema_field(WorkSerializer(allow_null=True))
    def get_part(self, answer: turns.Answer) -> Any:
        return WorkSerializer(answer.part).data if answer.part else None


class JoinedSerializer(PlanSlotSerializer):
    """A guest's slot, and the tools that its steps will need."""

    study = serializers.CharField(source="plan.study.slug")
    work = serializers.SerializerMethodField()

    @extend_schema_field(serializers.ListField(child=serializers.DictField()))
    def get_work(self, slot: Any) -> list[dict[str, Any]]:
        parts = PlanPart.objects.filter(slot=slot, step__plan=slot.plan_id)
        rows = parts.order_by("tool").values("tool", "options").distinct()
        return [dict(row) for row in rows]


class PlanSlotsView(ApiView):
    """A guest takes its slot; the same one whenever it asks again."""

    @operation(
        "Take a slot of a plan",
        JoinInput,
        ("A guest", {"name": "vm-a", "system": 17}),
        answers=JoinedSerializer,
    )
    def post(self, fields: Fields, pk: int) -> Response:
        slot = turns.join_plan(plan_id=pk, agent=self.agent, **fields)
        return Response(self.shown(JoinedSerializer, slot))


class PlanNextView(ApiView):
    """The next step of a slot."""

    @operation(
        "Ask for a slot's next step",
        NextInput,
        ("Slot 3", {"slot": 3}),
        answers=AnswerSerializer,
    )
    def post(self, fields: Fields, pk: int) -> Response:
        answer = turns.next_part(lab=self.lab, plan_id=pk, slot_id=fields["slot"])
        return Response(self.shown(AnswerSerializer, answer))


class PartMeetView(ApiView):
    """The barrier of a step."""

    @operation(
        "Arrive at a step's barrier, and learn when to start",
        MeetInput,
        ("Here we are", ARRIVED),
        answers=AnswerSerializer,
    )
    def post(self, fields: Fields, pk: int) -> Response:
        answer = barriers.meet(lab=self.lab, part_id=pk, **fields)
        return Response(self.shown(AnswerSerializer, answer))


class PartFinishView(ApiView):
    """The end of a slot's part."""

    @operation(
        "Report how a slot's part ended, and learn whether to keep it",
        FinishInput,
        ("It is done", WORK_DONE),
        answers=AnswerSerializer,
    )
    def post(self, report: Fields, pk: int) -> Response:
        attempt, outcome = report.pop("attempt"), report.pop("outcome")
        answer = barriers.finish(
            lab=self.lab, part_id=pk, attempt=attempt, outcome=outcome, report=report
        )
        return Response(self.shown(AnswerSerializer, answer))
