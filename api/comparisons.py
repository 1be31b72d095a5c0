"""/comparisons/: every cell beside its baseline, one flat row each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import Choice, Pattern, Text
from api.kit.queries import (
    HypervisorParameter,
    HypervisorsParameter,
    ListQuery,
    ToolParameter,
    WholeParameter,
    study_parameter,
)
from api.kit.views import ApiView
from benchmarks.analysis.baselines import Light as LightColor
from benchmarks.analysis.designs import Design
from benchmarks.analysis.verdicts import EvidenceLevel, Verdict
from benchmarks.comparing.lights import Lights, known_systems
from benchmarks.comparing.row import NOT_YET, ComparisonRow
from benchmarks.comparing.rows import Reference, compared_cells, comparison_row
from benchmarks.comparing.side_by_side import Side, measured_side
from benchmarks.comparing.table import COMPONENTS
from benchmarks.comparing.verdicts import Verdicts, study_verdicts
from benchmarks.errors import NotFoundError
from benchmarks.models import Cell, Efficiency, Study, System
from benchmarks.models.run import SCENARIOS
from benchmarks.parsing.contract import Better
from benchmarks.work_classes import WORK_CLASSES

BETTER = get_args(Better)
STATES = (*Efficiency.State.values, NOT_YET)
DOUBTS = ("bimodal", "periodic", "drift", "first_run")
LIGHTS = get_args(LightColor)
VERDICTS = [verdict.slug for verdict in Verdict]
# Verdicts are in an order: from NOT_ASSESSED on they are no direction.
DIRECTIONS = VERDICTS[: Verdict.NOT_ASSESSED]
EVIDENCE_LEVELS = [evidence_level.name.lower() for evidence_level in EvidenceLevel]
DESIGNS = [design.slug for design in Design if design]
NONE_YET: Final[dict[str, Any]] = {"default": None, "allow_null": True}
LOOKUPS = {
    "scenario": "scenario",
    "component": "case__component",
    "guest_os": "system__guest_os",
    "guest_bits": "system__guest_bits",
    "hypervisor": "system__hypervisor",
    "tool": "case__tool",
    "metric": "case__metric",
    "state": "efficiency__state",
    "benchmark": "case_id",
    "hypervisors": "system__hypervisor__in",
    "work_class": "effect__work",
}


class FigureSerializer(serializers.Serializer[Any]):
    """What stands beside a mean that is null: no single figure describes its runs.

    ``doubts`` says why in codes, ``reason`` in a sentence; ``speeds`` has both speeds
    where there are two, ``range`` the least and the greatest run.
    """

    doubts = serializers.ListField(
        child=serializers.ChoiceField(choices=DOUBTS), source="figure.doubts"
    )
    reason = serializers.CharField(source="figure.reason")
    speeds = serializers.ListField(
        child=serializers.FloatField(), source="figure.speeds"
    )
    range = serializers.ListField(
        child=serializers.FloatField(), source="figure.range", allow_null=True
    )


class RatioField(serializers.FloatField):
    """The ratio of a row, if it is of the kind that the field is named after."""

    def get_attribute(self, instance: ComparisonRow) -> float | None:
        shown = instance.shown
        return shown.ratio if shown.kind == self.field_name else None


class ComparisonSerializer(serializers.Serializer[Any]):
    """A cell against its baseline; means over runs, in ``unit``.

    ``efficiency`` is against the machine without a hypervisor: 1 is native speed.
    ``relative`` is the same ratio against a reference system instead. Both are null
    where there is nothing to compare with, and ``reason`` says why. ``scaling`` is the
    ratio of a sum over several VMs to one machine alone, ``slowdown`` that of one of
    several VMs to the same system with one VM alone (1 is its speed alone). What has no
    speed (``no_speed``: a set length, a count, a share, an amount) has no ratio at all.

    ``value`` and all ratios are null, too, where no single figure describes the runs:
    ``doubts`` has the codes, ``shape`` the sentence, ``speeds`` both speeds where there
    are two, ``range`` the least and the greatest run. So is
    ``baseline_value`` for the baseline's runs (``baseline_doubts``).

    ``low`` to ``high`` is the ratio's 95 % interval, and ``verdict`` what may be said:
    corrected for all cells of the study. A cell that others are compared with is a
    ``baseline``. Where one is ``not_assessed``, ``reasons`` has the codes,
    ``sentences`` says why, and ``advice`` how many runs would decide it;
    ``direction`` is where the interval lies. Null before the cell is processed.

    ``light`` says how far the two sides may be compared, ``light_sentence`` what
    differs: green is only what the study studies, amber more, red another host, other
    parameters or another unit, which refuses the verdict. Empty without another side.

    ``design`` is what was repeated and ``scope`` of what the verdict speaks ("across 5
    sessions"); ``sessions`` are those of the cell, of its baseline, and shared,
    ``between_sd`` the relative standard deviation between them. ``ratio_range`` has
    the ratios of the extreme runs, ``is_weak`` tells that the verdict rests on an
    assumption, ``wanted_sessions`` how many would decide, ``rule_set`` by which rules.
    """

    id = serializers.IntegerField()
    study = serializers.CharField()
    case = serializers.CharField(source="case.label")
    case_id = serializers.IntegerField(source="case.id")
    tool = serializers.CharField(source="case.tool")
    tool_title = serializers.CharField()
    metric = serializers.CharField(source="case.metric")
    operation = serializers.CharField()
    access = serializers.CharField()
    parameters = serializers.DictField(
        child=serializers.CharField(), source="case.parameters"
    )
    component = serializers.ChoiceField(choices=COMPONENTS, source="case.component")
    better = serializers.ChoiceField(choices=BETTER, source="shown.better")
    system = serializers.CharField(source="system.label")
    system_id = serializers.IntegerField(source="system.id")
    host = serializers.CharField(source="system.host.slug")
    hypervisor = serializers.CharField(source="system.hypervisor")
    hypervisor_version = serializers.CharField(source="system.hypervisor_version")
    virtualization = serializers.CharField(source="system.virtualization")
    guest_os = serializers.CharField(source="system.guest_os")
    guest_bits = serializers.IntegerField(allow_null=True, source="system.guest_bits")
    vcpus = serializers.IntegerField(allow_null=True, source="system.vcpus")
    memory_bytes = serializers.IntegerField(
        allow_null=True, source="system.memory_bytes"
    )
    hw_virt = serializers.CharField()
    guest_tools = serializers.CharField()
    options = serializers.DictField(
        child=serializers.CharField(), source="system.options"
    )
    scenario = serializers.CharField()
    vms = serializers.IntegerField(allow_null=True)
    slot = serializers.CharField()
    load = serializers.CharField()
    clock = serializers.CharField()
    value = serializers.FloatField(allow_null=True, source="shown.value")
    doubts = serializers.ListField(
        child=serializers.ChoiceField(choices=DOUBTS), source="shown.doubts"
    )
    shape = serializers.CharField(source="shown.shape")
    speeds = serializers.ListField(
        child=serializers.FloatField(), source="shown.speeds"
    )
    range = serializers.ListField(
        child=serializers.FloatField(), **NONE_YET, source="shown.range"
    )
    unit = serializers.CharField(source="shown.unit")
    n = serializers.IntegerField(source="shown.n")
    baseline_doubts = serializers.ListField(
        child=serializers.ChoiceField(choices=DOUBTS), source="shown.baseline_doubts"
    )
    baseline_value = serializers.FloatField(
        allow_null=True, source="shown.baseline_value"
    )
    baseline_n = serializers.IntegerField(allow_null=True, source="shown.baseline_n")
    baseline_system_id = serializers.IntegerField(
        allow_null=True, source="shown.baseline_system_id"
    )
    efficiency = RatioField(allow_null=True)
    relative = RatioField(allow_null=True)
    scaling = RatioField(allow_null=True)
    slowdown = RatioField(allow_null=True)
    low = serializers.FloatField(source="shown.judgement.low", **NONE_YET)
    high = serializers.FloatField(source="shown.judgement.high", **NONE_YET)
    verdict = serializers.ChoiceField(
        VERDICTS, source="shown.judgement.verdict", **NONE_YET
    )
    direction = serializers.ChoiceField(
        DIRECTIONS, source="shown.judgement.direction", **NONE_YET
    )
    evidence_level = serializers.ChoiceField(
        EVIDENCE_LEVELS, source="shown.judgement.evidence_level", **NONE_YET
    )
    reasons = serializers.ListField(
        child=serializers.CharField(), source="shown.judgement.codes", default=[]
    )
    sentences = serializers.ListField(
        child=serializers.CharField(), source="shown.judgement.sentences", default=[]
    )
    advice = serializers.CharField(source="shown.judgement.advice", default="")
    design = serializers.ChoiceField(
        DESIGNS, source="shown.judgement.design", default="", allow_blank=True
    )
    scope = serializers.CharField(source="shown.judgement.scope", default="")
    sessions = serializers.ListField(
        child=serializers.IntegerField(),
        source="shown.judgement.sessions",
        **NONE_YET,
    )
    between_sd = serializers.FloatField(source="shown.judgement.between_sd", **NONE_YET)
    ratio_range = serializers.ListField(
        child=serializers.FloatField(), source="shown.judgement.range", **NONE_YET
    )
    is_weak = serializers.BooleanField(source="shown.judgement.is_weak", default=False)
    wanted_sessions = serializers.IntegerField(
        source="shown.judgement.wanted_sessions", **NONE_YET
    )
    rule_set = serializers.IntegerField(source="shown.judgement.rule_set", **NONE_YET)
    state = serializers.ChoiceField(choices=STATES, source="shown.state")
    light = serializers.ChoiceField(
        choices=LIGHTS, allow_blank=True, source="shown.light"
    )
    light_sentence = serializers.CharField(source="shown.light_sentence")
    reason = serializers.CharField(source="shown.reason")
    document = serializers.CharField()
    table = serializers.CharField()


class ComparisonQuery(ListQuery):
    study = study_parameter()
    baseline = Pattern(
        r"native|[1-9]\d{0,17}",
        "native or a system's id",
        required=False,
        help_text='"native", unless told; or the id of a system of any study.',
    )
    host = Pattern(
        r"[-a-zA-Z0-9_]+(/[-a-zA-Z0-9_]+)?",
        "my-host or lab/my-host",
        required=False,
        max_length=151,
        help_text='A host\'s slug, or "lab/slug".',
    )
    benchmark = WholeParameter(
        required=False, help_text="The id of a case, as /cases/ lists it."
    )
    hypervisors = HypervisorsParameter(
        required=False,
        max_length=1000,
        help_text="Several, with commas between them.",
    )
    work_class = Choice(
        choices=list(WORK_CLASSES),
        required=False,
        help_text="Only results of guests alone that stand for their tests have one.",
    )
    scenario = Choice(choices=SCENARIOS, required=False)
    component = Choice(choices=COMPONENTS, required=False)
    guest_os = Text(required=False, allow_blank=True, max_length=200)
    guest_bits = WholeParameter(required=False, help_text="32 or 64.")
    hypervisor = HypervisorParameter(required=False, max_length=100)
    tool = ToolParameter(required=False, help_text="A tool's slug or title.")
    metric = Text(required=False, max_length=100)
    state = Choice(choices=STATES, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("baseline", "native") == "native":
            return attrs
        # The states that are stored are those against a cell's own baseline.
        if "state" in attrs:
            raise serializers.ValidationError(
                {"state": ["Leave it out, or compare with baseline=native."]}
            )
        return attrs


class ComparisonsView(ApiView):
    """Cells and what they cost against their baseline."""

    query_class = ComparisonQuery

    @extend_schema(
        summary="Compare cells with their baseline",
        operation_id="comparisons_list",
        responses=ComparisonSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        study = self.asked_study
        filters = self.looked_up(LOOKUPS)
        if "host" in self.query:
            lab, _, slug = self.query["host"].rpartition("/")
            filters |= {"system__host__slug": slug}
            filters |= {"system__host__lab__slug": lab} if lab else {}
        # A cell that waits has no efficiency to have a state.
        if self.query.get("state") == NOT_YET:
            del filters["efficiency__state"]
            filters["efficiency__isnull"] = True
        chosen = self._chosen(study)
        page = self.cut(compared_cells(self.viewer, study=study, filters=filters))
        # Whole studies are judged for a page of cells: verdicts are corrected for all
        # of a study, whatever is shown of it.
        studies = {cell.study_id: cell.study for cell in page}
        # A page may end between a cell and its baseline.
        others = {cell.baseline_system_id for cell in page}
        if chosen is not None:
            others = {chosen.system.pk}
        systems = known_systems((cell.system for cell in page), others)
        judged = {pk: Judged.of(it, systems, chosen) for pk, it in studies.items()}
        rows = [judged[cell.study_id].row(cell) for cell in page]
        return self.answer_page(rows, ComparisonSerializer)

    def _chosen(self, study: Study | None) -> Side | None:
        """Return the system to compare with, as the study asked for measured it.

        Else as another one did; of several that which measured most of it.
        """
        baseline = self.query.get("baseline", "native")
        if baseline == "native":
            return None
        side = measured_side(self.viewer, int(baseline), study)
        if side is None:
            raise NotFoundError("system", baseline)
        return side


@dataclass(frozen=True)
class Judged:
    """What is said of a study's cells, each read by itself."""

    verdicts: Verdicts
    lights: Lights
    reference: Reference | None

    @classmethod
    def of(
        cls, study: Study, systems: Mapping[int, System], chosen: Side | None
    ) -> "Judged":
        if chosen is None:
            return cls(study_verdicts(study), Lights(study, systems), None)
        there = chosen.study
        reference = Reference.of(there, chosen.system, beside=study)
        return cls(
            study_verdicts(study, chosen.system, measured_in=there),
            Lights(study, systems, reference),
            reference,
        )

    def row(self, cell: Cell) -> ComparisonRow:
        judgement = self.verdicts.of(cell.pk)
        is_elsewhere = self.reference is not None and self.reference.is_refused(
            cell.system.host_id
        )
        if judgement and is_elsewhere:
            # No ratio, and no interval of one either.
            judgement = replace(
                judgement, ratio=None, low=None, high=None, half_width=None, range=None
            )
        return comparison_row(cell, self.reference, judgement, self.lights)
