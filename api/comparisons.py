"""/comparisons/: every cell beside its baseline, one flat row each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import Choice, Pattern, Text
from api.kit.outputs import OutputSerializer
from api.kit.queries import (
    HypervisorParameter,
    HypervisorsParameter,
    ListQuery,
    ToolParameter,
    WholeParameter,
    study_parameter,
)
from api.kit.views import ApiView
from benchmarks.analysis.comparability import Light as LightColor
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


class FigureSerializer(OutputSerializer):
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


class ComparisonSerializer(OutputSerializer):
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

    row_type = ComparisonRow
    columns = """
        id study case=case.label case_id=case.id tool=case.tool
        tool_title metric=case.metric operation
        access parameters component better
        system=system.label system_id=system.id host=system.host.slug
        hypervisor=system.hypervisor hypervisor_version=system.hypervisor_version
        virtualization=system.virtualization guest_os=system.guest_os
        guest_bits=system.guest_bits vcpus=system.vcpus memory_bytes=system.memory_bytes
        hw_virt guest_tools options
        scenario vms slot load clock value=shown.value doubts shape=shown.shape
        speeds=shown.speeds range unit=shown.unit n=shown.n baseline_doubts
        baseline_value=shown.baseline_value baseline_n=shown.baseline_n
        baseline_system_id=shown.baseline_system_id efficiency relative scaling slowdown
        low high verdict direction evidence_level reasons sentences advice design scope
        sessions between_sd ratio_range is_weak wanted_sessions rule_set state light
        light_sentence=shown.light_sentence reason=shown.reason document table
    """

    component = serializers.ChoiceField(choices=COMPONENTS, source="case.component")
    better = serializers.ChoiceField(choices=BETTER, source="shown.better")
    parameters = serializers.DictField(
        child=serializers.CharField(), source="case.parameters"
    )
    options = serializers.DictField(
        child=serializers.CharField(), source="system.options"
    )
    doubts = serializers.ListField(
        child=serializers.ChoiceField(choices=DOUBTS), source="shown.doubts"
    )
    range = serializers.ListField(
        child=serializers.FloatField(), **NONE_YET, source="shown.range"
    )
    baseline_doubts = serializers.ListField(
        child=serializers.ChoiceField(choices=DOUBTS), source="shown.baseline_doubts"
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
        source="case_id",
        required=False,
        help_text="The id of a case, as /cases/ lists it.",
    )
    hypervisors = HypervisorsParameter(
        source="system__hypervisor__in",
        required=False,
        max_length=1000,
        help_text="Several, with commas between them.",
    )
    work_class = Choice(
        choices=list(WORK_CLASSES),
        source="effect__work",
        required=False,
        help_text="Only results of guests alone that stand for their tests have one.",
    )
    scenario = Choice(choices=SCENARIOS, required=False)
    component = Choice(choices=COMPONENTS, source="case__component", required=False)
    guest_os = Text(
        source="system__guest_os", required=False, allow_blank=True, max_length=200
    )
    guest_bits = WholeParameter(
        source="system__guest_bits", required=False, help_text="32 or 64."
    )
    hypervisor = HypervisorParameter(
        source="system__hypervisor", required=False, max_length=100
    )
    tool = ToolParameter(
        source="case__tool", required=False, help_text="A tool's slug or title."
    )
    metric = Text(source="case__metric", required=False, max_length=100)
    state = Choice(choices=STATES, source="efficiency__state", required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("baseline", "native") == "native":
            return attrs
        # The states that are stored are those against a cell's own baseline.
        if "efficiency__state" in attrs:
            raise serializers.ValidationError(
                {"state": ["Leave it out, or compare with baseline=native."]}
            )
        return attrs


class ComparisonsView(ApiView):
    """Cells and what they cost against their baseline."""

    query_class = ComparisonQuery
    no_filters = ("study", "baseline", "host")

    @extend_schema(
        summary="Compare cells with their baseline",
        operation_id="comparisons_list",
        responses=ComparisonSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        study = self.asked_study
        filters = self.filters
        if "host" in self.query:
            lab, _, slug = self.query["host"].rpartition("/")
            filters |= {"system__host__slug": slug}
            filters |= {"system__host__lab__slug": lab} if lab else {}
        # A cell that waits has no efficiency to have a state.
        if filters.get("efficiency__state") == NOT_YET:
            del filters["efficiency__state"]
            filters["efficiency__isnull"] = True
        chosen = self._chosen(study)
        page = self.cut(compared_cells(self.viewer, study=study, filters=filters))
        # Verdicts are corrected for all cells of a study, whatever the page shows.
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
