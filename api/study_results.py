"""/coruns/, /network/, /profile/, /sweeps/, /trend/: results of one study."""

from typing import Any

from rest_framework import serializers

from api.comparisons import BETTER, NONE_YET, VERDICTS, FigureSerializer
from api.kit.fields import Choice, Text
from api.kit.outputs import OutputSerializer
from api.kit.queries import ToolParameter, WholeParameter
from api.kit.views import NamedStudyView, StudyQuery
from benchmarks.analysis.coruns import CurvePoint, SumCheck, Target
from benchmarks.comparing.coruns import (
    ComparedCoRun,
    CoRunFigures,
    SlotValue,
    study_coruns,
)
from benchmarks.comparing.network import Asymmetry, NetworkMetric, Path, study_network
from benchmarks.comparing.profile import Share, study_profile
from benchmarks.comparing.sweeps import Family, SweepPoint, study_sweeps
from benchmarks.comparing.table import COMPONENTS
from benchmarks.comparing.trend import (
    TrendPoint,
    TrendSubject,
    trend_of,
    trend_subjects,
)
from benchmarks.errors import NotFoundError
from benchmarks.models.run import SCENARIOS, TOGETHER
from benchmarks.sentences import Sentence


class SlotSerializer(FigureSerializer):
    """The mean of one VM over ``n`` runs; ``cell_id`` is where it stands.

    ``value`` is null where no single figure describes the runs: ``doubts`` and
    ``reason`` then say why, and nothing is derived from it.
    """

    row_type = SlotValue
    columns = "slot value n cell_id"


class SumCheckSerializer(OutputSerializer):
    """A printed sum beside the slots' own; ``rounding`` is what rounding explains."""

    row_type = SumCheck
    columns = "printed recomputed difference rounding is_within_rounding sentence"


class TargetSerializer(OutputSerializer):
    """A time against what the cores allow; ``ratio`` is measured / target.

    ``ideal_s`` starts from one VM alone, ``lmu_s`` from as many VMs as there are cores.
    """

    row_type = Target
    columns = "ideal_s ideal_ratio lmu_s lmu_ratio"


class FiguresSerializer(OutputSerializer):
    """What follows from the slots; null is what is not known, ``reasons`` says why.

    ``sum`` is recomputed where all slots are there, else the printed one
    (``is_sum_printed``); times have none. ``jain`` is 1 if all got the same; its
    interval needs ``repeated`` co-runs. ``scaling`` = sum / single, ``slowdown`` =
    mean / single, ``interference`` = under the other load / without it. ``virtual``
    cores of all VMs share the ``cores`` of the machine.
    """

    row_type = CoRunFigures
    columns = """
        sum is_sum_printed mean minimum maximum jain jain_low jain_high repeated
        sum_check scaling scaling_to_native slowdown interference target virtual cores
        reasons
    """

    sum_check = SumCheckSerializer(allow_null=True)
    target = TargetSerializer(allow_null=True)


class CoRunSerializer(OutputSerializer):
    """One case that ``vms`` VMs of a system ran together.

    ``missing`` slots were not reported: they are not 0. ``single`` is the same system
    with one VM alone, ``native`` the machine without a hypervisor.
    """

    row_type = ComparedCoRun
    columns = """
        case=of.case.label case_id=of.case.pk tool=of.case.tool component
        unit=of.case.unit better system=of.system.label system_id=of.system.pk scenario
        vms=of.vms load=of.load slots missing=of.missing printed=of.printed
    """

    component = serializers.ChoiceField(COMPONENTS, source="of.case.component")
    better = serializers.ChoiceField(BETTER, source="of.case.better")
    scenario = serializers.ChoiceField(SCENARIOS, source="of.scenario")
    slots = SlotSerializer(many=True, source="of.slots")
    single = SlotSerializer(source="of.single", allow_null=True)
    native = SlotSerializer(source="of.native", allow_null=True)
    figures = FiguresSerializer()


class CurvePointSerializer(OutputSerializer):
    """The curve at ``k`` VMs; ``noise`` is the sum's 95 % half-width as a share."""

    row_type = CurvePoint
    columns = "k sum noise mean jain=fairness.jain scaling share"


class CurveSerializer(OutputSerializer):
    """What each further VM added; ``knee`` is the last number that raised the sum."""

    columns = """
        case:str=case.label case_id:int=case.pk system:str=system.label
        system_id:int=system.pk unit:str=case.unit knee:int=consolidation.knee
        is_end_reached:bool=consolidation.is_end_reached points
    """

    points = CurvePointSerializer(many=True, source="consolidation.points")


class StudyCoRunsSerializer(serializers.Serializer[Any]):
    """All co-runs of a study, and the curves over the number of VMs."""

    results = CoRunSerializer(many=True, source="coruns")
    curves = CurveSerializer(many=True)


class CoRunsQuery(StudyQuery):
    component = Choice(choices=COMPONENTS, source="case__component", required=False)
    tool = ToolParameter(
        source="case__tool", required=False, help_text="A tool's slug or title."
    )
    scenario = Choice(choices=TOGETHER, required=False)


class CoRunsView(NamedStudyView):
    """What several VMs of a system did together."""

    query_class = CoRunsQuery
    no_filters = ("study",)
    summary = "Read the co-runs of a study"
    serializer_class = StudyCoRunsSerializer

    def get_object(self) -> Any:
        return study_coruns(self.study, filters=self.filters)


class PathSerializer(FigureSerializer):
    """What one node sent another, and the hosts of both (empty: not stated).

    ``line_rate`` is what the sender's card carries, null where that is not known.
    ``value`` is null where no single figure describes the runs: ``doubts`` and
    ``reason`` then say why.
    """

    row_type = Path
    columns = "cell_id=cell.pk ends hosts medium value n=cell.n line_rate flag_ids"

    medium = serializers.CharField()


class AsymmetrySerializer(OutputSerializer):
    """Two directions that differ: ``factor`` is that of ``larger`` to its way back.

    ``low`` to ``high`` is its interval; null for single runs.
    """

    row_type = Asymmetry
    columns = "larger factor low high"


class MatrixSerializer(serializers.Serializer[Any]):
    """All paths under one setting of the systems."""

    setting = serializers.DictField(source="stated", child=serializers.CharField())
    paths = PathSerializer(source="sent", many=True)
    asymmetries = AsymmetrySerializer(many=True)


class NetworkMetricSerializer(OutputSerializer):
    """One metric under equal parameters, a matrix a setting, in order."""

    row_type = NetworkMetric
    columns = "tool metric unit better parameters"

    better = serializers.ChoiceField(choices=BETTER)
    matrices = MatrixSerializer(many=True)


class NetworkSerializer(serializers.Serializer[Any]):
    results = NetworkMetricSerializer(many=True)


class NetworkView(NamedStudyView):
    """Throughputs and latencies between named nodes."""

    summary = "Read what went from where to where in a study"
    serializer_class = NetworkSerializer

    def get_object(self) -> Any:
        return {"results": study_network(self.viewer, self.study)}


class ShareSerializer(OutputSerializer):
    """The geometric mean of the ratios of one component; 1 is the baseline's speed."""

    row_type = Share
    columns = """
        component mean low high spread minimum maximum worst cases left_out least_runs
        runs doubted apart
    """

    component = serializers.ChoiceField(choices=COMPONENTS)


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

    summary = "Read a study's profile"
    serializer_class = ProfileSerializer

    def get_object(self) -> Any:
        profile = study_profile(self.viewer, self.study)
        return {
            "study": self.study.slug,
            "is_relative": profile.is_relative,
            "components": profile.components,
            "systems": profile.rows,
        }


COURSES = ("keeps", "parts", "joins", "slower")


class SweepPointSerializer(OutputSerializer):
    """A cell on the axis, at ``level`` of ``level_unit`` (empty: a plain number).

    ``low`` to ``high`` is the 95 % interval of the mean ``value``; they are null where
    no single figure describes the runs, and ``reason`` says so.
    """

    row_type = SweepPoint
    columns = """
        cell_id=row.id level=level.amount level_unit=level.unit value=row.shown.value
        low high n=row.shown.n ratio=row.shown.ratio verdict reason=row.shown.reason
    """

    verdict = serializers.ChoiceField(
        VERDICTS, source="row.shown.judgement.verdict", **NONE_YET
    )


class SweepLineSerializer(serializers.Serializer[Any]):
    """A system along the axis, lowest level first.

    ``course`` says how it goes against its baseline where all verdicts decide: never
    slower (``keeps``), slower from point ``course_at`` on (``parts``), slower before it
    (``joins``), slower everywhere. Points are counted from 0.
    """

    system = serializers.CharField(source="column.label")
    system_id = serializers.IntegerField(source="column.system_id")
    course = serializers.ChoiceField(COURSES, source="parting.course", **NONE_YET)
    course_at = serializers.IntegerField(source="parting.at", **NONE_YET)
    points = SweepPointSerializer(many=True)


class SweepSerializer(OutputSerializer):
    """A tool's metric over one parameter, all others and the circumstances equal."""

    row_type = Family
    columns = "tool metric component unit better axis parameters circumstances"

    component = serializers.ChoiceField(choices=COMPONENTS)
    better = serializers.ChoiceField(choices=BETTER)
    lines = SweepLineSerializer(many=True)


class SweepsSerializer(serializers.Serializer[Any]):
    results = SweepSerializer(many=True)


class SweepsView(NamedStudyView):
    """What becomes of a metric along a parameter."""

    summary = "Read a study's values along numeric parameters"
    serializer_class = SweepsSerializer

    def get_object(self) -> Any:
        return {"results": study_sweeps(self.viewer, self.study)}


class TrendSubjectSerializer(OutputSerializer):
    """A case on a host, and how long its trend is: ask for it by both."""

    row_type = TrendSubject
    columns = "case_id case=label tool host versions is_dated"


class TrendPointSerializer(FigureSerializer):
    """Runs of one day or version, with the 95 % interval of their mean.

    ``mean`` is null where no single figure describes the runs: ``doubts`` and
    ``reason`` then say why.
    """

    row_type = TrendPoint
    columns = "version at n mean=value low high"


class ChangeSerializer(OutputSerializer):
    """A new level from dated run ``at`` on (the first is 0).

    ``before`` and ``after`` are null where no single figure describes the runs of
    that level, and then ``factor`` is, too.
    """

    columns = "at:int before:float? after:float? factor:float? p_value:float"


class SeriesSerializer(serializers.Serializer[Any]):
    """Systems that differ in nothing but the version; ``system`` is the last of them.

    ``changes`` are null where the method allows none: too few dated runs.
    """

    system = serializers.CharField(source="system.label")
    system_id = serializers.IntegerField(source="system.pk")
    days = TrendPointSerializer(many=True)
    versions = TrendPointSerializer(many=True)
    changes = ChangeSerializer(many=True, allow_null=True)


class TrendSerializer(serializers.Serializer[Any]):
    """``results`` are the subjects of a study, ``series`` those of the one asked
    for; empty where none was."""

    results = TrendSubjectSerializer(many=True)
    series = SeriesSerializer(many=True)


class TrendQuery(StudyQuery):
    case = WholeParameter(required=False, help_text="A case's id, to read its series.")
    host = Text(required=False, max_length=100, help_text="A host's slug.")


class TrendView(NamedStudyView):
    """What a study measured before, and on other versions."""

    query_class = TrendQuery
    summary = "Read a case's trend over dates and versions"
    serializer_class = TrendSerializer

    def get_object(self) -> Any:
        case, host = self.query.get("case"), self.query.get("host")
        subjects = [
            subject
            for subject in trend_subjects(self.viewer, self.study)
            if case in (None, subject.case_id) and host in (None, subject.host)
        ]
        if case is not None and not subjects:
            raise NotFoundError(Sentence("case"), case)
        # A case may have several hosts and circumstances: the richest history is first.
        series = () if case is None else trend_of(self.viewer, subjects[0]).series
        return {"results": subjects, "series": series}
