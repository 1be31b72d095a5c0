"""/plans/: what is to be measured in which order, and how far it is."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import Choice, Number, Slug, Text, WholeNumber
from api.kit.queries import ListQuery, study_parameter
from api.kit.shapes import ListOf, SmallMap, StrictSerializer
from api.kit.views import AddressedRow, ApiView, Fields, ListView, operation
from api.systems import SystemField
from benchmarks.analysis.planning import KINDS, ORDERS
from benchmarks.errors import UnknownNameError
from benchmarks.models import Plan, PlanPart, PlanStep, Study
from benchmarks.plans import lists
from benchmarks.plans.planning import create_plan, stop_plan

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

    study = serializers.CharField(source="study.slug")
    title = serializers.CharField()
    design = serializers.DictField()
    seed = serializers.IntegerField()
    budget_s = serializers.IntegerField()
    barrier_s = serializers.IntegerField()
    join_s = serializers.IntegerField()
    attempts = serializers.IntegerField(source="most_attempts")
    width_percent = serializers.FloatField(allow_null=True)
    most_repetitions = serializers.IntegerField(allow_null=True)
    who = serializers.CharField()
    status = serializers.ChoiceField(choices=Plan.Status.values)
    session = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ends_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class PlanSlotSerializer(serializers.Serializer[Any]):
    """A guest's place; an empty ``name`` is still free."""

    id = serializers.IntegerField()
    system_id = serializers.IntegerField()
    system = serializers.CharField(source="system.label")
    number = serializers.IntegerField()
    name = serializers.CharField()
    joined_at = serializers.DateTimeField(allow_null=True)
    seen_at = serializers.DateTimeField(allow_null=True)


class BarrierSerializer(serializers.Serializer[Any]):
    """A step at which slots wait for each other until ``deadline``."""

    step = serializers.IntegerField(source="step.pk")
    deadline = serializers.DateTimeField(source="step.deadline")
    arrived = serializers.ListField(child=serializers.CharField())
    awaited = serializers.ListField(child=serializers.CharField())


class AdviceSerializer(serializers.Serializer[Any]):
    """What the width of a group's widest interval asks for."""

    system_id = serializers.IntegerField()
    system = serializers.CharField()
    tool = serializers.CharField()
    program = serializers.CharField()
    scenario = serializers.CharField()
    vms = serializers.IntegerField()
    case = serializers.CharField()
    runs = serializers.IntegerField()
    wanted = serializers.IntegerField()
    sentence = serializers.CharField()


class PlanDetail(PlanSerializer):
    """A plan and how far it is; spreads and overlaps are of the co-runs done."""

    steps = serializers.SerializerMethodField()
    slots = serializers.SerializerMethodField()
    barriers = serializers.SerializerMethodField()
    advice = AdviceSerializer(many=True)
    start_spreads_us = serializers.SerializerMethodField()
    overlaps = serializers.SerializerMethodField()

    @property
    def _state(self) -> lists.PlanState:
        state: lists.PlanState = self.context["state"]
        return state

    @extend_schema_field(serializers.DictField(child=serializers.IntegerField()))
    def get_steps(self, plan: Plan) -> dict[str, int]:
        return self._state.counts

    @extend_schema_field(PlanSlotSerializer(many=True))
    def get_slots(self, plan: Plan) -> Any:
        return PlanSlotSerializer(self._state.slots, many=True).data

    @extend_schema_field(BarrierSerializer(many=True))
    def get_barriers(self, plan: Plan) -> Any:
        return BarrierSerializer(self._state.barriers, many=True).data

    def get_start_spreads_us(self, plan: Plan) -> list[int]:
        return list(self._state.spreads_us)

    def get_overlaps(self, plan: Plan) -> list[float]:
        return list(self._state.overlaps)


class PartSerializer(serializers.Serializer[Any]):
    """What one slot did; times are on the clock of the time server."""

    id = serializers.IntegerField()
    slot = serializers.IntegerField(source="slot.number")
    name = serializers.CharField(source="slot.name")
    role = serializers.CharField()
    tool = serializers.CharField()
    program = serializers.CharField()
    options = serializers.DictField()
    status = serializers.ChoiceField(choices=PlanPart.Status.values)
    began_us = serializers.IntegerField(allow_null=True)
    ended_us = serializers.IntegerField(allow_null=True)
    bound_us = serializers.IntegerField(allow_null=True)
    rounds = serializers.IntegerField(allow_null=True)
    keys = serializers.ListField(child=serializers.CharField())


class StepSerializer(serializers.Serializer[Any]):
    """One start of one program; ``reason`` says why an attempt came to nothing."""

    id = serializers.IntegerField()
    position = serializers.IntegerField()
    sequence = serializers.IntegerField(allow_null=True)
    repetition = serializers.IntegerField()
    is_warm_up = serializers.BooleanField()
    system_id = serializers.IntegerField()
    tool = serializers.CharField()
    program = serializers.CharField()
    scenario = serializers.CharField()
    vms = serializers.IntegerField()
    load = serializers.CharField()
    status = serializers.ChoiceField(choices=PlanStep.Status.values)
    attempt = serializers.IntegerField()
    reason = serializers.CharField()
    corun = serializers.CharField()
    began_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    starts_at_us = serializers.IntegerField(allow_null=True)
    spread_us = serializers.IntegerField(allow_null=True)
    overlap = serializers.FloatField(allow_null=True)
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
    lookups = {"study": "study", "status": "status"}
    serializer_class = PlanSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return lists.visible_plans(self.viewer)

    @operation("Create a plan", PlanInput, EXAMPLE, statuses=(201,))
    def post(self, fields: Fields) -> Response:
        own = Study.objects.filter(lab=self.lab, slug=fields["study"])
        study = own.select_related("lab").first()
        if study is None:
            raise UnknownNameError("study", fields["study"])
        who = self.agent.name
        plan = create_plan(study=study, who=who, **plan_fields(fields))
        return self.created_or_known(PlanSerializer, plan, created=True)


class PlanView(ApiView):
    """One plan."""

    summary = "Read a plan and how far it is"
    serializer_class = PlanDetail

    def get(self, request: Request, pk: int) -> Response:
        plan = lists.find_plan(self.viewer, pk)
        return Response(self.shown(PlanDetail, plan, state=lists.state_of(plan)))

    @operation("Stop a plan of the token's lab", PlanChange, EXAMPLE_STOP)
    def patch(self, change: Fields, pk: int) -> Response:
        plan = lists.find_plan(self.lab_viewer, pk)
        self.require_own(plan, "plan", pk)
        stop_plan(plan=plan)
        # `stop_plan` changes the row that it locks, which is another object.
        plan.refresh_from_db()
        return Response(self.shown(PlanDetail, plan, state=lists.state_of(plan)))


class PlanStepsView(ListView):
    """The steps of a plan with what each slot did."""

    query_class = StepQuery
    summary = "List the steps of a plan"
    operation_id = "plan_steps_list"
    serializer_class = StepSerializer
    lookups = {"status": "status"}

    def get_queryset(self) -> QuerySet[Any]:
        return lists.steps_of(lists.find_plan(self.viewer, self.kwargs["pk"]))


def plan_fields(document: dict[str, Any]) -> dict[str, Any]:
    """Return a checked plan as `create_plan` takes it, without its study."""
    fields = {name: value for name, value in document.items() if name != "study"}
    design = {name: fields.pop(name) for name in DESIGN if name in fields}
    if "attempts" in fields:
        fields["most_attempts"] = fields.pop("attempts")
    return {"design": design, **fields}
