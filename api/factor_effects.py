"""/factor-effects/: which parameters moved the results of a study, and how much."""

from math import exp
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.comparisons import BETTER
from api.kit.fields import Choice
from api.kit.outputs import OutputSerializer
from api.kit.views import NamedStudyView, StudyQuery
from benchmarks.analysis.factor_effects.design import Combination, Factor, Scatter, Term
from benchmarks.analysis.factor_effects.effects import (
    ContrastPoint,
    Effect,
    FactorEffects,
    Means,
)
from benchmarks.analysis.factor_effects.model import Alias, Lenth
from benchmarks.comparing.factor_effects import (
    RESPONSES,
    Analysis,
    CaseSubject,
    StudyEffects,
    study_effects,
)
from benchmarks.comparing.table import COMPONENTS
from benchmarks.models.run import SCENARIOS

CHANCE = ("replicated", "contrasts", "residual", "unjudged", "constant")
STRENGTHS = ("clear", "possible", "none", "unjudged")
Numbers = list[float | None]


class FactorSerializer(OutputSerializer):
    """A parameter that differed; ``levels`` begin with the one of reference."""

    row_type = Factor
    columns = "names levels"


class CombinationSerializer(OutputSerializer):
    """One level a factor, in their order (empty: not stated); how many systems."""

    row_type = Combination
    columns = "levels count"


class EffectSerializer(OutputSerializer):
    """What changing a factor from ``reference`` to ``levels`` does.

    ``factor`` above 1 is better. One entry in ``factors`` is a main effect, two are an
    interaction: half the difference of differences of logarithms. ``low`` and ``high``
    are the factor's bounds at its 95 % interval or Lenth's margin of error,
    ``wide_low`` and ``wide_high`` at the margin for all effects together (Lenth's
    simultaneous one, or Bonferroni's); null where chance could not be measured.
    ``p_value`` is adjusted (Benjamini-Hochberg). ``baseline_share``: how much of its
    variance comes from the native runs.
    """

    row_type = Effect
    columns = """
        factors levels reference factor low high wide_low wide_high p_value strength
        baseline_share
    """

    factors = serializers.SerializerMethodField()
    levels = serializers.SerializerMethodField()
    reference = serializers.SerializerMethodField()
    low = serializers.SerializerMethodField()
    high = serializers.SerializerMethodField()
    wide_low = serializers.SerializerMethodField()
    wide_high = serializers.SerializerMethodField()
    strength = serializers.ChoiceField(choices=STRENGTHS)

    def get_factors(self, row: Effect) -> list[list[str]]:
        return names_of(row.term)

    def get_levels(self, row: Effect) -> list[str]:
        return [level for level, _ in row.levels]

    def get_reference(self, row: Effect) -> list[str]:
        return [reference for _, reference in row.levels]

    def get_low(self, row: Effect) -> float | None:
        return bound(row.log_effect, row.margin, -1)

    def get_high(self, row: Effect) -> float | None:
        return bound(row.log_effect, row.margin, 1)

    def get_wide_low(self, row: Effect) -> float | None:
        return bound(row.log_effect, row.wide_margin, -1)

    def get_wide_high(self, row: Effect) -> float | None:
        return bound(row.log_effect, row.wide_margin, 1)


class AliasSerializer(serializers.Serializer[Alias]):
    """An effect that is not shown: it cannot be told from its ``partners``.

    ``levels`` are those of the factor that are meant, where its others are shown;
    empty: the whole effect.
    """

    factors = serializers.SerializerMethodField()
    levels = serializers.ListField(child=serializers.CharField())
    partners = serializers.SerializerMethodField()

    def get_factors(self, row: Alias) -> list[list[str]]:
        return names_of(row.term)

    def get_partners(self, row: Alias) -> list[list[list[str]]]:
        return [names_of(term) for term in row.partners]


class PointSerializer(serializers.Serializer[ContrastPoint]):
    """A contrast on the half-normal plot; several ``terms`` are aliases.

    ``size`` is its absolute logarithm in units of an ordinary contrast, ``quantile``
    where chance alone would put it.
    """

    terms = serializers.SerializerMethodField()
    factor = serializers.SerializerMethodField()
    size = serializers.FloatField()
    quantile = serializers.FloatField()

    def get_terms(self, row: ContrastPoint) -> list[list[list[str]]]:
        return [names_of(term) for term in row.terms]

    def get_factor(self, row: ContrastPoint) -> float:
        return exp(row.log_effect)


class LenthSerializer(OutputSerializer):
    """Lenth's pseudo standard error and margins, as logarithms."""

    row_type = Lenth
    columns = "contrasts pse me sme"


class ScatterSerializer(OutputSerializer):
    """The variance of one run's logarithm, and its degrees of freedom."""

    row_type = Scatter
    columns = "variance df"


class PictureSerializer(OutputSerializer):
    """Geometric means of a factor's levels (rows) at the levels of ``beside``."""

    row_type = Means
    columns = """
        factor=one.names levels=one.levels beside=other.names
        beside_levels=other.levels means
    """

    means = serializers.SerializerMethodField()

    def get_means(self, row: Means) -> list[Numbers]:
        return [list(means) for means in row.rows]


class SubjectSerializer(OutputSerializer):
    """A case; ``circumstances`` are what tells it from others of the same name."""

    row_type = CaseSubject
    columns = "case_id case tool unit"

    better = serializers.ChoiceField(choices=BETTER)
    circumstances = serializers.SerializerMethodField()

    def get_circumstances(self, row: CaseSubject) -> dict[str, str]:
        return {fact.name: fact.value for fact in row.facts}


class FactorEffectsSerializer(serializers.Serializer[FactorEffects]):
    """One response over one set of systems; ``effects`` come strongest first.

    ``chance`` says what measured it: repeated runs, the other contrasts (Lenth), what
    the model leaves over, nothing, or nothing to be measured. ``are_days_apart``:
    runs were repeated, but not all of them in the same sessions; clear is then only
    what no day does.
    """

    chance = serializers.ChoiceField(choices=CHANCE, source="kind")
    cells = serializers.IntegerField()
    factors = FactorSerializer(many=True)
    combinations = CombinationSerializer(many=True)
    effects = EffectSerializer(many=True)
    aliases = AliasSerializer(many=True)
    pooled_interactions = serializers.SerializerMethodField()
    lenth = LenthSerializer(allow_null=True)
    error = ScatterSerializer(allow_null=True, source="scatter")
    points = PointSerializer(many=True)
    are_days_apart = serializers.BooleanField()

    def get_pooled_interactions(self, row: FactorEffects) -> list[list[list[str]]]:
        return [names_of(term) for term in row.pooled_interactions]


class AnalysisSerializer(serializers.Serializer[Any]):
    """A component as a whole (the mean of its ``cases``), or one case of it.

    ``left_out`` counts the cells that had no response, by reason: ``no_ratio``,
    ``no_speed`` (a set length, a share, an amount), ``not_positive``, ``implausible``
    (an efficiency beyond 100 or below 1/100).
    """

    component = serializers.ChoiceField(choices=COMPONENTS)
    is_whole = serializers.SerializerMethodField()
    cases = SubjectSerializer(many=True, source="subjects")
    left_out = serializers.DictField(child=serializers.IntegerField())
    analysis = FactorEffectsSerializer(source="found")
    pictures = PictureSerializer(many=True)

    def get_is_whole(self, row: Analysis) -> bool:
        # By identity: the whole of a single case may be equal to that case.
        return any(row is whole for whole in self.context["wholes"])


class StudyEffectsSerializer(OutputSerializer):
    """What moved a study's responses, component by component."""

    row_type = StudyEffects
    columns = "study=study.slug lab=study.lab.slug scenario response results"

    response = serializers.ChoiceField(choices=RESPONSES)
    results = serializers.SerializerMethodField()

    @extend_schema_field(AnalysisSerializer(many=True))
    def get_results(self, row: StudyEffects) -> Any:
        wholes = [part.whole for part in row.components if part.whole]
        analyses = [
            analysis
            for part in row.components
            for analysis in (part.whole, *part.cases)
            if analysis
        ]
        context = {**self.context, "wholes": wholes}
        return AnalysisSerializer(analyses, many=True, context=context).data


def names_of(term: Term) -> list[list[str]]:
    """A term as the names of its factors."""
    return [list(factor.names) for factor in term]


def bound(log_effect: float, margin: float | None, side: int) -> float | None:
    """A bound of the factor, or None without a margin."""
    return None if margin is None else exp(log_effect + side * margin)


class FactorEffectsQuery(StudyQuery):
    scenario = Choice(
        choices=SCENARIOS,
        required=False,
        help_text="The study's first one, unless told.",
    )
    component = Choice(choices=COMPONENTS, required=False)
    response = Choice(
        choices=RESPONSES,
        required=False,
        help_text="The efficiency where there is one, else the value, unless told.",
    )


class FactorEffectsView(NamedStudyView):
    """Which parameters of its systems moved a study's results."""

    query_class = FactorEffectsQuery
    summary = "Find which parameters moved the results of a study"
    serializer_class = StudyEffectsSerializer

    def get_object(self) -> Any:
        chosen = {name: value for name, value in self.query.items() if name != "study"}
        return study_effects(self.viewer, self.study, **chosen)
