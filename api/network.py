"""/network/: what went from x to y, a matrix a setting."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.comparisons import BETTER, FigureSerializer
from api.kit.views import NamedStudyView
from benchmarks.comparing.network import study_network


class PathSerializer(FigureSerializer):
    """What one node sent another, and the hosts of both (empty: not stated).

    ``line_rate`` is what the sender's card carries, null where that is not known.
    ``value`` is null where no single figure describes the runs: ``doubts`` and
    ``reason`` then say why.
    """

    cell_id = serializers.IntegerField(source="cell.pk")
    ends = serializers.ListField(child=serializers.CharField())
    hosts = serializers.ListField(child=serializers.CharField())
    medium = serializers.CharField()
    value = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(source="cell.n")
    line_rate = serializers.FloatField(allow_null=True)
    flag_ids = serializers.ListField(child=serializers.IntegerField())


class AsymmetrySerializer(serializers.Serializer[Any]):
    """Two directions that differ: ``factor`` is that of ``larger`` to its way back.

    ``low`` to ``high`` is its interval; null for single runs.
    """

    larger = serializers.ListField(child=serializers.CharField())
    factor = serializers.FloatField()
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class MatrixSerializer(serializers.Serializer[Any]):
    """All paths under one setting of the systems."""

    setting = serializers.DictField(source="stated", child=serializers.CharField())
    paths = PathSerializer(source="sent", many=True)
    asymmetries = AsymmetrySerializer(many=True)


class NetworkMetricSerializer(serializers.Serializer[Any]):
    """One metric under equal parameters, a matrix a setting, in order."""

    tool = serializers.CharField()
    metric = serializers.CharField()
    unit = serializers.CharField()
    better = serializers.ChoiceField(choices=BETTER)
    parameters = serializers.DictField(child=serializers.CharField())
    matrices = MatrixSerializer(many=True)


class NetworkSerializer(serializers.Serializer[Any]):
    results = NetworkMetricSerializer(many=True)


class NetworkView(NamedStudyView):
    """Throughputs and latencies between named nodes."""

    @extend_schema(
        summary="Read what went from where to where in a study",
        operation_id="network_retrieve",
        responses=NetworkSerializer,
    )
    def get(self, request: Request) -> Response:
        metrics = study_network(self.viewer, self.study)
        return Response(self.shown(NetworkSerializer, {"results": metrics}))
