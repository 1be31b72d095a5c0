"""The words of a plan, checked: systems, tools, scenarios, limits."""

from typing import Any

from drf_spectacular.utils import OpenApiExample

from api.kit.fields import Choice, Number, Slug, Text, WholeNumber
from api.kit.shapes import ListOf, SmallMap, StrictSerializer
from api.systems import SystemField
from benchmarks.analysis.planning import KINDS, ORDERS

MAX_SYSTEMS = 100
MAX_SLOTS = 100
MAX_TOOLS = 50
MAX_REPETITIONS = 200
YEAR_S = 366 * 86_400

DESIGN = ("systems", "tools", "scenarios", "repetitions", "warm_up", "order")

EXAMPLE = OpenApiExample(
    "Three guests, alone and together",
    value={
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
    request_only=True,
)


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
        "sizes: what `run` takes.",
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


def plan_fields(document: dict[str, Any]) -> dict[str, Any]:
    """Return a checked plan as `create_plan` takes it, without its study."""
    fields = {name: each for name, each in document.items() if name != "study"}
    design = {name: fields.pop(name) for name in DESIGN if name in fields}
    if "attempts" in fields:
        fields["most_attempts"] = fields.pop("attempts")
    return {"design": design, **fields}
