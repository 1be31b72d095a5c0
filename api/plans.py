"""/plans/ and /plan-parts/: what is measured in which order, by which guests."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response

from api.kit.fields import Choice, Number, Slug, Text, UUIDText, WholeNumber
from api.kit.outputs import OutputSerializer
from api.kit.queries import ListQuery, study_parameter
from api.kit.shapes import ListOf, SmallMap, StrictSerializer
from api.kit.views import (
    AddressedRow,
    ApiView,
    Fields,
    ListView,
    ReadView,
    operation,
)
from api.systems import SystemField
from benchmarks.analysis.planning import KINDS, ORDERS
from benchmarks.errors import UnknownNameError
from benchmarks.models import Plan, PlanPart, PlanSlot, PlanStep, Study
from benchmarks.plans import planning, turns

MAX_SYSTEMS = 100
MAX_SLOTS = 100
MAX_TOOLS = 50
MAX_REPETITIONS = 200
YEAR_S = 366 * 86_400

DESIGN = ("systems", "tools", "scenarios", "repetitions", "warm_up", "order")

EXAMPLE = (
    "Three guests, alone and together",
    {
        "study": "my-study",
        "title": "hackbench, alone and three at once",
        "systems": [{"system": 17, "slots": 3}],
        "tools": [{"tool": "hackbench", "options": {"threads": 2}}],
        "scenarios": [
            {"kind": "single"},
            {"kind": "parallel", "vms": 3},
            {"kind": "under load", "vms": 3, "load": {"tool": "virtlab-linpack"}},
        ],
        "repetitions": 5,
        "order": "random",
        "budget_s": 3600,
    },
)


EXAMPLE_STOP = ("Stop it", {"status": "stopped"})


class PlanSystemInput(StrictSerializer):
    """A system, and how many of its guests take part."""

    system = SystemField()
    slots = WholeNumber(required=False, min_value=1, max_value=MAX_SLOTS)


class WorkInput(StrictSerializer):
    """A tool as agents run it (docs/agents.md)."""

    tool = Slug()
    programs = ListOf(
        child=Text(max_length=100),
        required=False,
        max_length=MAX_TOOLS,
        help_text="Those of its programs that are run; all unless told.",
    )
    options = SmallMap(
        required=False,
        help_text="seconds, threads, file_mib, budget_s, bits, folder, peer, device, "
        "sizes, blocks_kib, array_mib, iterations: what `run` takes.",
    )


class ScenarioInput(StrictSerializer):
    """What runs at once: ``vms`` slots, slots beside a load, or each its own tool."""

    kind = Choice(choices=KINDS)
    vms = WholeNumber(required=False, min_value=1, max_value=MAX_SLOTS)
    load = WorkInput(required=False)
    tools = ListOf(child=WorkInput(), required=False, max_length=MAX_SLOTS)


class PlanInput(StrictSerializer):
    """What is to be measured, in which order, and when to stop."""

    study = Slug(help_text="The slug of a study of the lab.")
    title = Text(max_length=200)
    systems = ListOf(child=PlanSystemInput(), min_length=1, max_length=MAX_SYSTEMS)
    tools = ListOf(child=WorkInput(), required=False, max_length=MAX_TOOLS)
    scenarios = ListOf(
        child=ScenarioInput(), required=False, min_length=1, max_length=MAX_TOOLS
    )
    repetitions = WholeNumber(
        required=False,
        min_value=1,
        max_value=MAX_REPETITIONS,
        help_text="5 unless told",
    )
    warm_up = WholeNumber(
        required=False, min_value=0, max_value=10, help_text="Rounds not kept: 1."
    )
    order = Choice(
        choices=ORDERS,
        required=False,
        help_text="Of each round: random, there and back again (abba), or as listed.",
    )
    seed = WholeNumber(required=False, min_value=0, max_value=2**32 - 1)
    budget_s = WholeNumber(
        min_value=1,
        max_value=YEAR_S,
        help_text="From the first step on; what does not fit is not done.",
    )
    barrier_s = WholeNumber(
        required=False, min_value=1, max_value=86_400, help_text="60 unless told"
    )
    join_s = WholeNumber(
        required=False,
        min_value=1,
        max_value=86_400,
        help_text="How long a co-run waits for a guest that never joined: 600.",
    )
    attempts = WholeNumber(required=False, min_value=1, max_value=10, help_text="3")
    width_percent = Number(
        required=False,
        min_value=0.1,
        max_value=50,
        help_text="Rounds are added until every interval is within this.",
    )
    most_repetitions = WholeNumber(
        required=False, min_value=1, max_value=MAX_REPETITIONS
    )


class PlanSerializer(AddressedRow):
    """A plan as it was asked for; ``ends_at`` is when its budget is used up."""

    address = "api:plan"

    row_type = Plan
    columns = """
        study=study.slug title design seed budget_s barrier_s join_s
        attempts=most_attempts width_percent most_repetitions who status session
        created_at started_at ends_at finished_at
    """

    status = serializers.ChoiceField(choices=Plan.Status.values)


class PlanSlotSerializer(OutputSerializer):
    """A guest's place; an empty ``name`` is still free."""

    row_type = PlanSlot
    columns = "id system_id system=system.label number name joined_at seen_at"


class BarrierSerializer(serializers.Serializer[Any]):
    """A step at which slots wait for each other until ``deadline``."""

    step = serializers.IntegerField(source="step.pk")
    deadline = serializers.DateTimeField(source="step.deadline")
    arrived = serializers.ListField(child=serializers.CharField())
    awaited = serializers.ListField(child=serializers.CharField())


class AdviceSerializer(OutputSerializer):
    """What the width of a group's widest interval asks for."""

    columns = """
        system_id:int system:str tool:str program:str scenario:str vms:int case:str
        runs:int wanted:int sentence:str
    """


class PlanDetail(PlanSerializer):
    """A plan and how far it is; spreads and overlaps are of the co-runs done."""

    steps = serializers.DictField(
        child=serializers.IntegerField(), source="state.counts", read_only=True
    )
    slots = PlanSlotSerializer(many=True, source="state.slots", read_only=True)
    barriers = BarrierSerializer(many=True, source="state.barriers", read_only=True)
    advice = AdviceSerializer(many=True)
    start_spreads_us = serializers.ListField(
        child=serializers.IntegerField(), source="state.spreads_us", read_only=True
    )
    overlaps = serializers.ListField(
        child=serializers.FloatField(), source="state.overlaps", read_only=True
    )

    def to_representation(self, plan: Plan) -> Any:
        vars(plan)["state"] = planning.state_of(plan)
        return super().to_representation(plan)


class PartSerializer(OutputSerializer):
    """What one slot did; times are on the clock of the time server."""

    row_type = PlanPart
    columns = """
        id slot=slot.number name=slot.name role tool program options status began_us
        ended_us bound_us rounds
    """

    status = serializers.ChoiceField(choices=PlanPart.Status.values)
    keys = serializers.ListField(child=serializers.CharField())


class StepSerializer(OutputSerializer):
    """One start of one program; ``reason`` says why an attempt came to nothing."""

    row_type = PlanStep
    columns = """
        id position sequence repetition is_warm_up system_id tool program scenario vms
        load status attempt reason corun began_at ended_at starts_at_us spread_us
        overlap
    """

    status = serializers.ChoiceField(choices=PlanStep.Status.values)
    parts = PartSerializer(many=True)


class PlanQuery(ListQuery):
    study = study_parameter()
    status = Choice(choices=Plan.Status.values, required=False)


class StepQuery(ListQuery):
    status = Choice(choices=PlanStep.Status.values, required=False)


class PlanChange(StrictSerializer):
    status = Choice(choices=[Plan.Status.STOPPED.value])


class PlansView(ListView):
    """Plans of studies one may see; a lab adds its own."""

    query_class = PlanQuery
    summary = "List plans"
    serializer_class = PlanSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return planning.visible_plans(self.viewer)

    @operation("Create a plan", PlanInput, EXAMPLE, statuses=(201,))
    def post(self, fields: Fields) -> Response:
        slug = fields.pop("study")
        own = Study.objects.filter(lab=self.lab, slug=slug)
        study = own.select_related("lab").first()
        if study is None:
            raise UnknownNameError("study", slug)
        if "attempts" in fields:
            fields["most_attempts"] = fields.pop("attempts")
        design = {name: fields.pop(name) for name in DESIGN if name in fields}
        plan = planning.create_plan(
            study=study, who=self.agent.name, design=design, **fields
        )
        return self.created_or_known(PlanSerializer, plan, created=True)


class PlanView(ReadView):
    """One plan."""

    summary = "Read a plan and how far it is"
    serializer_class = PlanDetail

    def get_object(self) -> Any:
        return planning.find_plan(self.viewer, self.kwargs["pk"])

    @operation("Stop a plan of the token's lab", PlanChange, EXAMPLE_STOP)
    def patch(self, change: Fields, pk: int) -> Response:
        plan = planning.find_plan(self.lab_viewer, pk)
        self.require_own(plan, "plan", pk)
        planning.stop_plan(plan=plan)
        # `stop_plan` changes the row that it locks, which is another object.
        plan.refresh_from_db()
        return Response(self.shown(PlanDetail, plan))


class PlanStepsView(ListView):
    """The steps of a plan with what each slot did."""

    query_class = StepQuery
    summary = "List the steps of a plan"
    operation_id = "plan_steps_list"
    serializer_class = StepSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return planning.steps_of(planning.find_plan(self.viewer, self.kwargs["pk"]))


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
ANSWER_STATES = (
    "run",
    "wait",
    "over",
    "start",
    "stop",
    "released",
    "keep",
    "discard",
    "held",
)


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


class WorkSerializer(OutputSerializer):
    """A part of a step, with all that its run's upload says of it."""

    row_type = PlanPart
    columns = """
        id attempt=step.attempt step=step.pk position=step.position sequence
        repetition=step.repetition repetitions=step.plan.repetitions
        is_warm_up=step.is_warm_up role tool program options scenario=step.scenario
        vms=step.vms slot load=step.load corun=step.corun session=step.plan.session
        system=slot.system_id
    """

    sequence = serializers.IntegerField(source="step.sequence")
    slot = serializers.CharField(source="slot.number")


class AnswerSerializer(serializers.Serializer[Any]):
    """What to do now; after ``wait_s`` seconds ask again."""

    state = serializers.ChoiceField(choices=ANSWER_STATES)
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
        answer = turns.meet(lab=self.lab, part_id=pk, **fields)
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
        answer = turns.finish(
            lab=self.lab, part_id=pk, attempt=attempt, outcome=outcome, report=report
        )
        return Response(self.shown(AnswerSerializer, answer))
