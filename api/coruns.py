"""/coruns/: what several VMs of a system did together."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.comparisons import BETTER, FigureSerializer
from api.kit.fields import Choice
from api.kit.queries import ToolParameter
from api.kit.views import NamedStudyView, StudyQuery
from benchmarks.comparing.coruns import study_coruns
from benchmarks.comparing.table import COMPONENTS
from benchmarks.models.run import SCENARIOS, TOGETHER

LOOKUPS = {
    "component": "case__component",
    "tool": "case__tool",
    "scenario": "scenario",
}


class SlotSerializer(FigureSerializer):
    """The mean of one VM over ``n`` runs; ``cell_id`` is where it stands.

    ``value`` is null where no single figure describes the runs: ``doubts`` and
    ``reason`` then say why, and nothing is derived from it.
    """

    slot = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField()
    cell_id = serializers.IntegerField()


class SumCheckSerializer(serializers.Serializer[Any]):
    """A printed sum beside the slots' own; ``rounding`` is what rounding explains."""

    printed = serializers.FloatField()
    recomputed = serializers.FloatField()
    difference = serializers.FloatField()
    rounding = serializers.FloatField()
    is_within_rounding = serializers.BooleanField()
    sentence = serializers.CharField()


class TargetSerializer(serializers.Serializer[Any]):
    """A time against what the cores allow; ``ratio`` is measured / target.

    ``ideal_s`` starts from one VM alone, ``lmu_s`` from as many VMs as there are cores.
    """

    ideal_s = serializers.FloatField()
    ideal_ratio = serializers.FloatField()
    lmu_s = serializers.FloatField(allow_null=True)
    lmu_ratio = serializers.FloatField(allow_null=True)


class FiguresSerializer(serializers.Serializer[Any]):
    """What follows from the slots; null is what is not known, ``reasons`` says why.

    ``sum`` is recomputed where all slots are there, else the printed one
    (``is_sum_printed``); times have none. ``jain`` is 1 if all got the same; its
    interval needs ``repeated`` co-runs. ``scaling`` = sum / single, ``slowdown`` =
    mean / single, ``interference`` = under the other load / without it. ``virtual``
    cores of all VMs share the ``cores`` of the machine.
    """

    sum = serializers.FloatField(allow_null=True)
    is_sum_printed = serializers.BooleanField()
    mean = serializers.FloatField(allow_null=True)
    minimum = serializers.FloatField(allow_null=True)
    maximum = serializers.FloatField(allow_null=True)
    jain = serializers.FloatField(allow_null=True)
    jain_low = serializers.FloatField(allow_null=True)
    jain_high = serializers.FloatField(allow_null=True)
    repeated = serializers.IntegerField()
    sum_check = SumCheckSerializer(allow_null=True)
    scaling = serializers.FloatField(allow_null=True)
    scaling_to_native = serializers.FloatField(allow_null=True)
    slowdown = serializers.FloatField(allow_null=True)
    interference = serializers.FloatField(allow_null=True)
    target = TargetSerializer(allow_null=True)
    virtual = serializers.IntegerField(allow_null=True)
    cores = serializers.IntegerField(allow_null=True)
    reasons = serializers.ListField(child=serializers.CharField())


class CoRunSerializer(serializers.Serializer[Any]):
    """One case that ``vms`` VMs of a system ran together.

    ``missing`` slots were not reported: they are not 0. ``single`` is the same system
    with one VM alone, ``native`` the machine without a hypervisor.
    """

    case = serializers.CharField(source="of.case.label")
    case_id = serializers.IntegerField(source="of.case.pk")
    tool = serializers.CharField(source="of.case.tool")
    component = serializers.ChoiceField(COMPONENTS, source="of.case.component")
    unit = serializers.CharField(source="of.case.unit")
    better = serializers.ChoiceField(BETTER, source="of.case.better")
    system = serializers.CharField(source="of.system.label")
    system_id = serializers.IntegerField(source="of.system.pk")
    scenario = serializers.ChoiceField(SCENARIOS, source="of.scenario")
    vms = serializers.IntegerField(source="of.vms")
    load = serializers.CharField(source="of.load")
    slots = SlotSerializer(many=True, source="of.slots")
    missing = serializers.ListField(child=serializers.CharField(), source="of.missing")
    printed = serializers.DictField(child=serializers.FloatField(), source="of.printed")
    single = SlotSerializer(source="of.single", allow_null=True)
    native = SlotSerializer(source="of.native", allow_null=True)
    figures = FiguresSerializer()


class CurvePointSerializer(serializers.Serializer[Any]):
    """The curve at ``k`` VMs; ``noise`` is the sum's 95 % half-width as a share."""

    k = serializers.IntegerField()
    sum = serializers.FloatField()
    noise = serializers.FloatField(allow_null=True)
    mean = serializers.FloatField()
    jain = serializers.FloatField(source="fairness.jain")
    scaling = serializers.FloatField(allow_null=True)
    share = serializers.FloatField(allow_null=True)


class CurveSerializer(serializers.Serializer[Any]):
    """What each further VM added; ``knee`` is the last number that raised the sum."""

    case = serializers.CharField(source="case.label")
    case_id = serializers.IntegerField(source="case.pk")
    system = serializers.CharField(source="system.label")
    system_id = serializers.IntegerField(source="system.pk")
    unit = serializers.CharField(source="case.unit")
    knee = serializers.IntegerField(source="consolidation.knee")
    is_end_reached = serializers.BooleanField(source="consolidation.is_end_reached")
    points = CurvePointSerializer(many=True, source="consolidation.points")


class StudyCoRunsSerializer(serializers.Serializer[Any]):
    """All co-runs of a study, and the curves over the number of VMs."""

    results = CoRunSerializer(many=True, source="coruns")
    curves = CurveSerializer(many=True)


class CoRunsQuery(StudyQuery):
    component = Choice(choices=COMPONENTS, required=False)
    tool = ToolParameter(required=False, help_text="A tool's slug or title.")
    scenario = Choice(choices=TOGETHER, required=False)


class CoRunsView(NamedStudyView):
    """What several VMs of a system did together."""

    query_class = CoRunsQuery

    @extend_schema(
        summary="Read the co-runs of a study",
        operation_id="coruns_retrieve",
        responses=StudyCoRunsSerializer,
    )
    def get(self, request: Request) -> Response:
        filters = self.looked_up(LOOKUPS)
        coruns = study_coruns(self.study, filters=filters)
        return Response(self.shown(StudyCoRunsSerializer, coruns))
