"""/profile/: what each system of a study costs, component by component."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.views import NamedStudyView
from benchmarks.comparing.profile import study_profile
from benchmarks.comparing.table import COMPONENTS


class ShareSerializer(serializers.Serializer[Any]):
    """The geometric mean of the ratios of one component; 1 is the baseline's speed."""

    component = serializers.ChoiceField(choices=COMPONENTS)
    mean = serializers.FloatField()
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    spread = serializers.FloatField(allow_null=True)
    minimum = serializers.FloatField()
    maximum = serializers.FloatField()
    worst = serializers.CharField()
    cases = serializers.IntegerField()
    left_out = serializers.IntegerField()
    least_runs = serializers.IntegerField()
    runs = serializers.IntegerField()
    doubted = serializers.IntegerField()
    apart = serializers.IntegerField()


class ProfileRowSerializer(serializers.Serializer[Any]):
    system_id = serializers.IntegerField(source="column.system_id")
    system = serializers.CharField(source="column.label")
    shares = ShareSerializer(source="stated", many=True)


class ProfileSerializer(serializers.Serializer[Any]):
    """The overhead profile: a row a system, a share a component it was compared in.

    Means are over the ``cases`` that all compared systems have; ``left_out`` is how
    many others there are. ``low`` to ``high`` is the 95 % interval over cases of this
    kind: null where a single run stands behind one (``least_runs`` is 1). ``spread``
    is the geometric standard deviation between cases, ``doubted`` how many of them a
    flag stands against, ``apart`` how many have a baseline that is stale or of another
    session.
    """

    study = serializers.CharField()
    is_relative = serializers.BooleanField()
    components = serializers.ListField(child=serializers.CharField())
    systems = ProfileRowSerializer(many=True)


class ProfileView(NamedStudyView):
    """The systems of one study."""

    @extend_schema(summary="Read a study's profile", responses=ProfileSerializer)
    def get(self, request: Request) -> Response:
        profile = study_profile(self.viewer, self.study)
        answer = {
            "study": self.study.slug,
            "is_relative": profile.is_relative,
            "components": profile.components,
            "systems": profile.rows,
        }
        return Response(ProfileSerializer(answer).data)
