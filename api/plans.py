"""/plans/ and /plan-parts/: plans of measurements, and the agents that follow them."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response

from api.kit.composite_fields import JSONObject, ListOf, ScalarMap, StrictSerializer
from api.kit.fields import Choice, Number, Slug, Text, UUIDText, WholeNumber
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import ListQuery, study_parameter
from api.kit.views import (
    ApiView,
    ListView,
    ReadView,
    ResourceSerializer,
    ValidatedData,
    operation,
)
from api.systems import SystemField
from benchmarks.analysis.plan_steps import STEP_KINDS, STEP_ORDERS
from benchmarks.errors import UnknownNameError
from benchmarks.models import Plan, PlanPart, PlanSlot, PlanStep, Study
from benchmarks.plans import coordination, planning
from benchmarks.plans.setting_variants import SETTING_LEVELS

MAX_SYSTEMS = 100
MAX_SLOTS = 100
MAX_TOOLS = 50
MAX_REPETITIONS = 200
MAX_BUDGET_S = 366 * 86_400

DESIGN_FIELDS = (
    "systems",
    "tools",
    "scenarios",
    "repetitions",
    "warm_up_rounds",
    "order",
)

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


EXAMPLE_CHANGE = ("Stop it", {"status": "stopped"})


class PlanSystemInput(StrictSerializer):
    """A system of a plan and its number of guests."""

    system = SystemField(help_text="The id of the system, or its description.")
    slots = WholeNumber(
        required=False,
        min_value=1,
        max_value=MAX_SLOTS,
        help_text=(
            "The number of guests of this system that take part; the default is 1."
        ),
    )
    settings = ListOf(
        child=Choice(choices=tuple(SETTING_LEVELS)),
        required=False,
        max_length=len(SETTING_LEVELS),
        help_text=(
            "Instead of the system, measure systems that differ from it in one of "
            "these settings each (`docs/agents.md`, Settings)."
        ),
    )


class PlanToolInput(StrictSerializer):
    """A tool of a plan and its options (`docs/agents.md`)."""

    tool = Slug(help_text="The slug of the tool.")
    programs = ListOf(
        child=Text(max_length=100),
        required=False,
        max_length=MAX_TOOLS,
        help_text="The programs of the tool to run; the default is all.",
    )
    options = ScalarMap(
        required=False,
        help_text=(
            "Options of the tool: seconds, threads, file_mib, budget_s, bits, "
            "folder, peer, device, sizes, blocks_kib, array_mib, iterations."
        ),
    )


class PlanScenarioInput(StrictSerializer):
    """A scenario of a plan: what runs at the same time."""

    kind = Choice(
        choices=STEP_KINDS,
        help_text=(
            "`single`: slot 1 alone; `parallel`: several slots run the same "
            "program; `combined`: each slot runs its own tool; `under load`: one slot "
            "is measured while the others run a load."
        ),
    )
    vms = WholeNumber(
        required=False,
        min_value=1,
        max_value=MAX_SLOTS,
        help_text="The number of slots that take part.",
    )
    load = PlanToolInput(
        required=False,
        help_text="The load that the other slots run; required for `under load`.",
    )
    tools = ListOf(
        child=PlanToolInput(),
        required=False,
        max_length=MAX_SLOTS,
        help_text="The tool of each slot; required for `combined`.",
    )


class PlanInput(StrictSerializer):
    """A plan: the work, its order and the time budget."""

    study = Slug(help_text="The slug of a study of the lab.")
    title = Text(max_length=200, help_text="The title of the plan.")
    systems = ListOf(
        child=PlanSystemInput(),
        min_length=1,
        max_length=MAX_SYSTEMS,
        help_text="The systems to measure.",
    )
    tools = ListOf(
        child=PlanToolInput(),
        required=False,
        max_length=MAX_TOOLS,
        help_text="The tools to run, unless the scenarios name their own.",
    )
    scenarios = ListOf(
        child=PlanScenarioInput(),
        required=False,
        min_length=1,
        max_length=MAX_TOOLS,
        help_text="What runs at the same time; the default is `single`.",
    )
    repetitions = WholeNumber(
        required=False,
        min_value=1,
        max_value=MAX_REPETITIONS,
        help_text="The number of rounds that are stored as runs; the default is 5.",
    )
    warm_up_rounds = WholeNumber(
        required=False,
        min_value=0,
        max_value=10,
        help_text=(
            "The number of warm-up rounds before them, which are not stored; the "
            "default is 1."
        ),
    )
    order = Choice(
        choices=STEP_ORDERS,
        required=False,
        help_text=(
            "The order of the steps in a round: random (the default), as listed, or "
            "`abba` (as listed and, in every second round, reversed)."
        ),
    )
    seed = WholeNumber(
        required=False,
        min_value=0,
        max_value=2**32 - 1,
        help_text="The seed of the random order; drawn if left out.",
    )
    budget_s = WholeNumber(
        min_value=1,
        max_value=MAX_BUDGET_S,
        help_text=(
            "The time budget in seconds, counted from the first step. Steps that do "
            "not fit into it any more are skipped."
        ),
    )
    barrier_timeout_s = WholeNumber(
        required=False,
        min_value=1,
        max_value=86_400,
        help_text=(
            "How long the slots of a step wait at the barrier for a late slot, in "
            "seconds; the default is 60."
        ),
    )
    join_timeout_s = WholeNumber(
        required=False,
        min_value=1,
        max_value=86_400,
        help_text=(
            "How long a co-run waits for a guest that has not joined the plan, in "
            "seconds; the default is 600."
        ),
    )
    max_attempts = WholeNumber(
        required=False,
        min_value=1,
        max_value=10,
        help_text="The maximum number of attempts per step; the default is 3.",
    )
    target_width_percent = Number(
        required=False,
        min_value=0.1,
        max_value=50,
        help_text=(
            "The target half-width of confidence intervals in percent: rounds are "
            "added until every interval is within this distance of its center."
        ),
    )
    max_repetitions = WholeNumber(
        required=False,
        min_value=1,
        max_value=MAX_REPETITIONS,
        help_text=(
            "The maximum number of rounds; required with `target_width_percent`."
        ),
    )


class PlanSerializer(ResourceSerializer):
    """A measurement plan."""

    url_name = "api:plan"

    row_type = Plan
    columns = """
        study=study.slug title design seed budget_s barrier_timeout_s
        join_timeout_s max_attempts target_width_percent max_repetitions created_by
        status session=session_name created_at started_at ends_at finished_at
    """
    descriptions = {
        "title": "The title of the plan.",
        "design": "The requested systems, tools, scenarios and order.",
        "seed": "The seed of the random order.",
        "budget_s": "The time budget in seconds from the first step.",
        "barrier_timeout_s": (
            "How long the slots of a step wait at the barrier for a late slot, in "
            "seconds."
        ),
        "join_timeout_s": (
            "How long a co-run waits for a guest that has not joined the plan, in "
            "seconds."
        ),
        "max_attempts": "The maximum number of attempts per step.",
        "target_width_percent": (
            "The target half-width of every confidence interval in percent; null if no "
            "rounds are added."
        ),
        "max_repetitions": "The maximum number of rounds; null if no rounds are added.",
        "created_by": "The name of the person or agent that created the plan.",
        "session": "The name of the session to which the runs of the plan belong.",
        "started_at": "When the first step started; null before that.",
        "ends_at": "When the budget is used up; null before the first step.",
        "finished_at": "When the plan ended; null before that.",
    }

    status = serializers.ChoiceField(
        choices=Plan.Status.values,
        help_text="Whether the plan is open, done or stopped.",
    )


class PlanSlotSerializer(OutputSerializer):
    """A slot of a plan: the place of one guest."""

    row_type = PlanSlot
    columns = "id system_id system=system.label number name joined_at last_seen_at"
    descriptions = {
        "number": "The number of the slot in the plan.",
        "name": "The name of the guest; empty while the slot is free.",
        "joined_at": "When the guest took the slot; null while it is free.",
        "last_seen_at": "When the guest last sent a request; null before the first.",
    }


class BarrierSerializer(serializers.Serializer[Any]):
    """A step whose slots wait for each other before they start."""

    step = serializers.IntegerField(source="step.pk", help_text="The id of the step.")
    deadline = serializers.DateTimeField(
        source="step.deadline",
        help_text="When the attempt fails unless all slots have arrived.",
    )
    arrived = serializers.ListField(
        child=serializers.CharField(),
        help_text="The names of the slots that have arrived.",
    )
    waiting_for = serializers.ListField(
        child=serializers.CharField(),
        help_text="The names of the slots that have not arrived yet.",
    )


class AdviceSerializer(OutputSerializer):
    """The runs that a group of results needs for the target width of its intervals."""

    columns = """
        system_id:int system:str tool:str program:str scenario:str vms:int case:str
        run_count:int=runs required_runs:int=wanted message:str=sentence
    """
    descriptions = {
        "program": "The program of the tool (one of its commands).",
        "run_count": "The number of runs so far.",
        "required_runs": (
            "The number of runs with which the confidence interval would reach the "
            "target width; 0 if it cannot."
        ),
        "message": "The advice in words.",
    }


class PlanDetailSerializer(PlanSerializer):
    """A measurement plan and its progress."""

    steps = serializers.DictField(
        child=serializers.IntegerField(),
        source="state.counts",
        read_only=True,
        help_text="The number of steps by status.",
    )
    slots = PlanSlotSerializer(
        many=True,
        source="state.slots",
        read_only=True,
        help_text="The slots and their guests.",
    )
    barriers = BarrierSerializer(
        many=True,
        source="state.barriers",
        read_only=True,
        help_text="The barriers at which slots are waiting now.",
    )
    advice = AdviceSerializer(
        many=True,
        help_text="The runs that each group of results needs.",
    )
    start_spreads_us = serializers.ListField(
        child=serializers.IntegerField(),
        source="state.spreads_us",
        read_only=True,
        help_text=(
            "For each finished co-run, the time between the first and the last "
            "start in microseconds."
        ),
    )
    overlaps = serializers.ListField(
        child=serializers.FloatField(),
        source="state.overlaps",
        read_only=True,
        help_text=(
            "For each finished co-run, the time during which all parts ran, as a "
            "share of the longest part."
        ),
    )

    def to_representation(self, plan: Plan) -> Any:
        vars(plan)["state"] = planning.plan_state(plan)
        return super().to_representation(plan)


class PlanPartSerializer(OutputSerializer):
    """The work of one slot in a step."""

    row_type = PlanPart
    columns = """
        id slot=slot.number name=slot.name role tool program options status started_us
        ended_us clock_error_us rounds
    """
    descriptions = {
        "slot": "The number of the slot.",
        "name": "The name of the guest.",
        "role": "Whether the slot is measured or runs the load.",
        "program": "The program of the tool.",
        "options": "The options of the tool.",
        "started_us": (
            "The start on the time server's monotonic clock in microseconds; null "
            "if unknown."
        ),
        "ended_us": (
            "The end on the time server's monotonic clock in microseconds; null if "
            "unknown."
        ),
        "clock_error_us": (
            "The maximum error of both times in microseconds; null if unknown."
        ),
        "rounds": "How often a load was repeated; null for a measurement.",
    }

    status = serializers.ChoiceField(
        choices=PlanPart.Status.values, help_text="The status of the part."
    )
    run_keys = serializers.ListField(
        child=serializers.CharField(),
        help_text="The upload keys of the runs of this part.",
    )


class PlanStepSerializer(OutputSerializer):
    """A step of a plan: one start of a program on all slots that take part."""

    row_type = PlanStep
    columns = """
        id position start_order repetition is_warm_up system_id tool program scenario
        vms load status attempt reason corun=corun_name started_at ended_at starts_at_us
        start_spread_us overlap
    """
    descriptions = {
        "position": "The position in the plan, counted from 0.",
        "start_order": (
            "The position in the order of actual starts; null before the start."
        ),
        "repetition": "The number of the round.",
        "is_warm_up": "Whether the step is a warm-up that does not count.",
        "program": "The program of the tool.",
        "attempt": "The number of the current attempt.",
        "reason": "Why an attempt failed; empty if none did.",
        "corun": "The name of the co-run.",
        "started_at": "When the step started; null before that.",
        "ended_at": "When the step ended; null before that.",
        "starts_at_us": (
            "The agreed start on the time server's monotonic clock in microseconds; "
            "null if none."
        ),
        "start_spread_us": (
            "The time between the first and the last start in microseconds; null if "
            "unknown."
        ),
        "overlap": (
            "The time during which all parts ran, as a share of the longest part; null "
            "if unknown."
        ),
    }

    status = serializers.ChoiceField(
        choices=PlanStep.Status.values, help_text="The status of the step."
    )
    parts = PlanPartSerializer(many=True, help_text="What each slot did.")


class PlanQuery(ListQuery):
    study = study_parameter()
    status = Choice(
        choices=Plan.Status.values,
        required=False,
        help_text="Whether plans are open, done or stopped.",
    )


class StepQuery(ListQuery):
    status = Choice(
        choices=PlanStep.Status.values,
        required=False,
        help_text="The status of steps.",
    )


class PlanChange(StrictSerializer):
    """A request to stop a plan."""

    status = Choice(
        choices=[Plan.Status.STOPPED.value], help_text="`stopped` ends the plan."
    )


class PlansView(ListView):
    """Lists the plans of visible studies."""

    query_class = PlanQuery
    summary = "List plans"
    serializer_class = PlanSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return planning.visible_plans(self.viewer)

    @operation("Create a plan", PlanInput, EXAMPLE, statuses=(201,))
    def post(self, fields: ValidatedData) -> Response:
        """Create a plan for a study of the token's lab."""
        slug = fields.pop("study")
        own = Study.objects.filter(lab=self.lab, slug=slug)
        study = own.select_related("lab").first()
        if study is None:
            raise UnknownNameError("study", slug)
        design = {name: fields.pop(name) for name in DESIGN_FIELDS if name in fields}
        plan = planning.create_plan(
            study=study, actor=self.agent.name, design=design, **fields
        )
        return self.created_response(PlanSerializer, plan, created=True)


class PlanView(ReadView):
    """Returns a plan, its progress, and the advice for further rounds."""

    summary = "Read a plan and its progress"
    serializer_class = PlanDetailSerializer

    def get_object(self) -> Any:
        return planning.find_plan(self.viewer, self.kwargs["pk"])

    @operation("Stop a plan", PlanChange, EXAMPLE_CHANGE)
    def patch(self, change: ValidatedData, pk: int) -> Response:
        """Stop a plan, with a token of its lab; no further step is started."""
        plan = planning.find_plan(self.lab_viewer, pk)
        self.require_same_lab(plan, "plan", pk)
        planning.stop_plan(plan=plan)
        # `stop_plan` locks and changes another object of the same row.
        plan.refresh_from_db()
        return Response(self.serialize(PlanDetailSerializer, plan))


class PlanStepsView(ListView):
    """Lists the steps of a plan with the part of each slot."""

    query_class = StepQuery
    summary = "List the steps of a plan"
    operation_id = "plan_steps_list"
    serializer_class = PlanStepSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return planning.plan_steps(planning.find_plan(self.viewer, self.kwargs["pk"]))


OUTCOMES = ("done", "failed", "late", "unsupported")
EXAMPLE_FINISH = {
    "attempt": 1,
    "outcome": "done",
    "started_us": 93127446021,
    "ended_us": 93129471045,
    "clock_error_us": 640,
    "run_keys": ["6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b"],
}
EXAMPLE_ARRIVAL = {
    "attempt": 1,
    "timeout_s": 90,
    "clock_id": "9c2b7a01d4e5f607",
    "now_us": 93124446021,
}
ACTIONS = (
    "run",
    "wait",
    "finished",
    "start",
    "stop",
    "cancelled",
    "keep",
    "discard",
    "pending",
)


class JoinInput(StrictSerializer):
    """A guest that takes a slot."""

    name = Text(
        max_length=100,
        help_text=(
            "The name of the guest in the plan; a guest must always use the same name."
        ),
    )
    system = SystemField(help_text="The id of the guest's system, or its description.")
    instance_id = Text(
        required=False,
        max_length=64,
        help_text=(
            "An id that distinguishes guests with the same name; it may change when a "
            "guest reboots."
        ),
    )
    platform = JSONObject(
        required=False,
        help_text=(
            "The fact `platform` of the agent, to refuse a native system before "
            "anything is measured."
        ),
    )


class NextStepInput(StrictSerializer):
    """A request for the next step of a slot."""

    slot = WholeNumber(min_value=1, help_text="The id of the slot.")


class ArrivalInput(StrictSerializer):
    """The arrival of a slot at a barrier."""

    attempt = WholeNumber(min_value=1, help_text="The number of the attempt.")
    timeout_s = Number(
        required=False,
        min_value=0,
        max_value=1e7,
        help_text="How long the program may run, in seconds.",
    )
    clock_id = Text(
        required=False,
        allow_blank=True,
        max_length=64,
        help_text="The id of the time server's clock; empty without a time server.",
    )
    now_us = WholeNumber(
        required=False,
        help_text=(
            "The current time on the time server's monotonic clock in microseconds."
        ),
    )


class FinishInput(StrictSerializer):
    """A report on how a part ended."""

    attempt = WholeNumber(min_value=1, help_text="The number of the attempt.")
    outcome = Choice(
        choices=OUTCOMES,
        help_text=(
            "How the part ended: `done`, `failed`, `late` (it missed the start) or "
            "`unsupported` (the agent cannot run the program)."
        ),
    )
    reason = Text(
        required=False,
        allow_blank=True,
        multiline=True,
        max_length=2_000,
        help_text="Why the part did not succeed; empty if it did.",
    )
    started_us = WholeNumber(
        required=False,
        allow_null=True,
        help_text=(
            "The start on the time server's monotonic clock in microseconds; null "
            "if unknown."
        ),
    )
    ended_us = WholeNumber(
        required=False,
        allow_null=True,
        help_text=(
            "The end on the time server's monotonic clock in microseconds; null if "
            "unknown."
        ),
    )
    clock_error_us = WholeNumber(
        required=False,
        allow_null=True,
        min_value=0,
        help_text="The maximum error of both times in microseconds; null if unknown.",
    )
    rounds = WholeNumber(
        required=False,
        allow_null=True,
        min_value=0,
        help_text="How often a load was repeated; null for a measurement.",
    )
    run_keys = ListOf(
        child=UUIDText(),
        required=False,
        max_length=100,
        help_text="The upload keys of the runs of this part.",
    )


class AssignedPartSerializer(OutputSerializer):
    """A part of a step that the agent has to run, with the properties of its upload."""

    row_type = PlanPart
    columns = """
        id attempt=step.attempt step=step.pk position=step.position start_order
        repetition=step.repetition repetitions=step.plan.repetitions
        is_warm_up=step.is_warm_up role tool program options scenario=step.scenario
        vms=step.vms slot load=step.load corun=step.corun_name
        session=step.plan.session_name system=slot.system_id
    """
    descriptions = {
        "attempt": "The number of the attempt.",
        "step": "The id of the step.",
        "position": "The position of the step in the plan, counted from 0.",
        "repetition": "The number of the round.",
        "repetitions": "The number of rounds.",
        "is_warm_up": "Whether the step is a warm-up that does not count.",
        "role": "Whether the slot is measured or runs the load.",
        "program": "The program of the tool.",
        "options": "The options of the tool.",
        "corun": "The name of the co-run.",
        "session": "The name of the session to which the run belongs.",
        "system": "The id of the system.",
    }

    start_order = serializers.IntegerField(
        source="step.start_order",
        help_text="The position in the order of actual starts; null before the start.",
    )
    slot = serializers.CharField(
        source="slot.number",
        help_text=(
            "The VM that was measured (1, 2, ...), or an aggregate of all VMs (sum, "
            "mean, all, host)."
        ),
    )


class InstructionSerializer(serializers.Serializer[Any]):
    """An instruction for an agent."""

    action = serializers.ChoiceField(
        choices=ACTIONS, help_text="What the agent has to do next."
    )
    message = serializers.CharField(help_text="The instruction in words.")
    wait_s = serializers.FloatField(
        help_text="Seconds to wait before the next request."
    )
    starts_at_us = serializers.IntegerField(
        allow_null=True,
        help_text=(
            "The start time on the time server's monotonic clock in microseconds; "
            "null for an immediate start."
        ),
    )
    part = serializers.SerializerMethodField(
        help_text="The part to run; null unless `action` is `run`."
    )

    @extend_schema_field(AssignedPartSerializer(allow_null=True))
    def get_part(self, instruction: coordination.Instruction) -> Any:
        part = instruction.part
        return AssignedPartSerializer(part).data if part else None


class AssignedSlotSerializer(PlanSlotSerializer):
    """The slot of a guest and the tools that it needs."""

    study = serializers.CharField(
        source="plan.study.slug", help_text="The slug of the study."
    )
    tools = serializers.SerializerMethodField(
        help_text="The tools that the steps of this slot run, with their options."
    )

    @extend_schema_field(serializers.ListField(child=serializers.DictField()))
    def get_tools(self, slot: Any) -> list[dict[str, Any]]:
        parts = PlanPart.objects.filter(slot=slot, step__plan=slot.plan_id)
        rows = parts.order_by("tool").values("tool", "options").distinct()
        return [dict(row) for row in rows]


class PlanSlotsView(ApiView):
    @operation(
        "Take a slot of a plan",
        JoinInput,
        ("A guest", {"name": "vm-a", "system": 17}),
        response_serializers=AssignedSlotSerializer,
    )
    def post(self, fields: ValidatedData, pk: int) -> Response:
        """Take a slot of a plan; a repeated request returns the same slot."""
        slot = coordination.join_plan(plan_id=pk, agent=self.agent, **fields)
        return Response(self.serialize(AssignedSlotSerializer, slot))


class PlanNextView(ApiView):
    @operation(
        "Get the next step of a slot",
        NextStepInput,
        ("Slot 3", {"slot": 3}),
        response_serializers=InstructionSerializer,
    )
    def post(self, fields: ValidatedData, pk: int) -> Response:
        """Return the next part for a slot, or how long to wait for it.

        The response has the action `run`, `wait` or `finished`.
        """
        instruction = coordination.next_part(
            lab=self.lab, plan_id=pk, slot_id=fields["slot"]
        )
        return Response(self.serialize(InstructionSerializer, instruction))


class PartArriveView(ApiView):
    @operation(
        "Arrive at the barrier of a step",
        ArrivalInput,
        ("Here we are", EXAMPLE_ARRIVAL),
        response_serializers=InstructionSerializer,
    )
    def post(self, fields: ValidatedData, pk: int) -> Response:
        """Report that a slot is ready to start its part; the response has the start.

        The action is `wait`, `start`, `stop` (a load has to end) or `cancelled`. Repeat
        the request while it is `wait`.
        """
        instruction = coordination.arrive_at_barrier(lab=self.lab, part_id=pk, **fields)
        return Response(self.serialize(InstructionSerializer, instruction))


class PartFinishView(ApiView):
    @operation(
        "Report the end of a part",
        FinishInput,
        ("It is done", EXAMPLE_FINISH),
        response_serializers=InstructionSerializer,
    )
    def post(self, report: ValidatedData, pk: int) -> Response:
        """Report how a part ended; the response states whether to upload its runs.

        The action is `keep`, `discard` or, if other slots have not ended, `pending`.
        Repeat the request while it is `pending`.
        """
        attempt, outcome = report.pop("attempt"), report.pop("outcome")
        instruction = coordination.finish_part(
            lab=self.lab, part_id=pk, attempt=attempt, outcome=outcome, report=report
        )
        return Response(self.serialize(InstructionSerializer, instruction))
