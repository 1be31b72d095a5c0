from math import exp
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.comparisons import BETTER
from api.kit.fields import Choice
from api.kit.output_serializer import OutputSerializer
from api.kit.views import StudyQuery, StudyQueryView
from benchmarks.analysis.factor_effects.effects import (
    ContrastPoint,
    FactorAnalysis,
    FactorEffect,
    InteractionMeans,
)
from benchmarks.analysis.factor_effects.factors_and_responses import (
    Combination,
    Factor,
    PooledScatter,
    Term,
)
from benchmarks.analysis.factor_effects.linear_model import Alias, Lenth
from benchmarks.comparison.comparison_table import COMPONENTS
from benchmarks.comparison.study_factor_effects import (
    RESPONSES,
    CaseSubject,
    ResponseAnalysis,
    StudyFactorEffects,
    study_factor_effects,
)
from benchmarks.models.run import SCENARIOS

ERROR_SOURCES = ("replicated", "contrasts", "residual", "not_assessed", "constant")
STRENGTHS = ("clear", "possible", "none", "not_assessed")
Numbers = list[float | None]


class FactorSerializer(OutputSerializer):
    """A parameter whose values differ between the systems of the study."""

    row_type = Factor
    columns = "names levels"
    descriptions = {
        "names": "The parameters that differ; several names never changed separately.",
        "levels": "The levels, the reference level first.",
    }


class CombinationSerializer(OutputSerializer):
    """A combination of factor levels that was measured."""

    row_type = Combination
    columns = "levels count"
    descriptions = {
        "levels": (
            "One level per factor, in the order of the factors; empty if not stated."
        ),
        "count": "The number of systems with this combination.",
    }


class EffectSerializer(OutputSerializer):
    """The effect of changing one factor, or the interaction of two.

    An interaction is half of the difference between the effects of one factor, as
    logarithms, at two levels of the other. The simultaneous bounds use Lenth's
    simultaneous margin of error or the Bonferroni correction.
    """

    row_type = FactorEffect
    columns = """
        factors levels reference ratio low high simultaneous_low simultaneous_high
        p_value strength baseline_share
    """
    descriptions = {
        "ratio": (
            "The ratio of the responses after and before the change; above 1 is better."
        ),
        "p_value": (
            "The p-value, adjusted by Benjamini-Hochberg; null if the error is unknown."
        ),
        "baseline_share": (
            "The share of the effect's variance that comes from the native runs; "
            "null for values."
        ),
    }

    factors = serializers.SerializerMethodField(
        help_text=(
            "The factors of the effect, each as a list of names that never changed "
            "separately: one entry for a main effect, two for an interaction."
        )
    )
    levels = serializers.SerializerMethodField(help_text="The levels after the change.")
    reference = serializers.SerializerMethodField(
        help_text="The levels before the change."
    )
    low = serializers.SerializerMethodField(
        help_text=(
            "The lower bound of the ratio (95 % confidence interval, or Lenth's "
            "margin of error); null if the error is unknown."
        )
    )
    high = serializers.SerializerMethodField(
        help_text="The upper bound of the ratio; null if the error is unknown."
    )
    simultaneous_low = serializers.SerializerMethodField(
        help_text=(
            "The lower bound of the ratio from an interval that is valid for all "
            "effects simultaneously; null if the error is unknown."
        )
    )
    simultaneous_high = serializers.SerializerMethodField(
        help_text=(
            "The upper bound of the ratio from an interval that is valid for all "
            "effects simultaneously; null if the error is unknown."
        )
    )
    strength = serializers.ChoiceField(
        choices=STRENGTHS, help_text="How clearly the effect differs from zero."
    )

    def get_factors(self, row: FactorEffect) -> list[list[str]]:
        return factor_names(row.term)

    def get_levels(self, row: FactorEffect) -> list[str]:
        return [level for level, _ in row.levels]

    def get_reference(self, row: FactorEffect) -> list[str]:
        return [reference for _, reference in row.levels]

    def get_low(self, row: FactorEffect) -> float | None:
        return effect_bound(row.log_effect, row.margin, -1)

    def get_high(self, row: FactorEffect) -> float | None:
        return effect_bound(row.log_effect, row.margin, 1)

    def get_simultaneous_low(self, row: FactorEffect) -> float | None:
        return effect_bound(row.log_effect, row.wide_margin, -1)

    def get_simultaneous_high(self, row: FactorEffect) -> float | None:
        return effect_bound(row.log_effect, row.wide_margin, 1)


class AliasSerializer(serializers.Serializer[Alias]):
    """An effect that cannot be estimated separately from other effects."""

    factors = serializers.SerializerMethodField(
        help_text=(
            "The factors of the effect, each as a list of names that never changed "
            "separately."
        )
    )
    levels = serializers.ListField(
        child=serializers.CharField(),
        help_text=(
            "The levels concerned, if other levels of the factor are estimable; "
            "empty for the whole effect."
        ),
    )
    aliased_with = serializers.SerializerMethodField(
        help_text="The effects from which this one cannot be separated."
    )

    def get_factors(self, row: Alias) -> list[list[str]]:
        return factor_names(row.term)

    def get_aliased_with(self, row: Alias) -> list[list[list[str]]]:
        return [factor_names(term) for term in row.partners]


class HalfNormalPointSerializer(serializers.Serializer[ContrastPoint]):
    """A contrast on the half-normal plot."""

    terms = serializers.SerializerMethodField(
        help_text="The terms of the contrast; several terms are aliases."
    )
    ratio = serializers.SerializerMethodField(help_text="The contrast as a ratio.")
    size = serializers.FloatField(
        help_text=(
            "The absolute value of the contrast's logarithm, scaled so that all "
            "contrasts have the same standard error."
        )
    )
    quantile = serializers.FloatField(
        help_text=(
            "The half-normal quantile that is expected for a contrast of this rank if "
            "no factor has an effect."
        )
    )

    def get_terms(self, row: ContrastPoint) -> list[list[list[str]]]:
        return [factor_names(term) for term in row.terms]

    def get_ratio(self, row: ContrastPoint) -> float:
        return exp(row.log_effect)


class LenthSerializer(OutputSerializer):
    """Lenth's pseudo standard error and margins, as natural logarithms."""

    row_type = Lenth
    columns = "contrasts pse me sme"
    descriptions = {
        "contrasts": "The number of contrasts.",
        "pse": "The pseudo standard error of a contrast (natural logarithm).",
        "me": "The margin of error of one contrast (natural logarithm).",
        "sme": "The margin of error for all contrasts together (natural logarithm).",
    }


class PooledScatterSerializer(OutputSerializer):
    """The pooled variance of repeated runs."""

    row_type = PooledScatter
    columns = "variance df"
    descriptions = {
        "variance": "The variance of a single run's natural logarithm.",
        "df": "The degrees of freedom of the variance.",
    }


class InteractionMeansSerializer(OutputSerializer):
    """Geometric means of the response at the levels of two factors."""

    row_type = InteractionMeans
    columns = """
        factor=row_factor.names levels=row_factor.levels
        other_factor=column_factor.names
        other_levels=column_factor.levels means
    """
    descriptions = {
        "factor": "The names of the first factor.",
        "levels": "The levels of the first factor, which are the rows.",
        "other_factor": "The names of the second factor.",
        "other_levels": "The levels of the second factor, which are the columns.",
    }

    means = serializers.SerializerMethodField(
        help_text=(
            "Geometric means of the response, one row per level of the first "
            "factor; null if not measured."
        )
    )

    def get_means(self, row: InteractionMeans) -> list[Numbers]:
        return [list(means) for means in row.rows]


class AnalysedCaseSerializer(OutputSerializer):
    """A benchmark in a factor analysis."""

    row_type = CaseSubject
    columns = "case_id case tool unit"

    better = serializers.ChoiceField(
        choices=BETTER,
        help_text="Whether a higher or a lower value is better, or neither.",
    )
    circumstances = serializers.SerializerMethodField(
        help_text="What distinguishes this benchmark from others of the same name."
    )

    def get_circumstances(self, row: CaseSubject) -> dict[str, str]:
        return {fact.name: fact.value for fact in row.facts}


class FactorEffectsSerializer(serializers.Serializer[FactorAnalysis]):
    """The factor effects on one response over one set of systems."""

    error_source = serializers.ChoiceField(
        choices=ERROR_SOURCES,
        help_text=(
            "The source of the error estimate: `replicated` (repeated runs), "
            "`contrasts` (Lenth's method), `residual` (residuals of the model), "
            "`not_assessed` (none), or `constant` (no factor changes)."
        ),
    )
    cell_count = serializers.IntegerField(
        help_text="The number of results in the analysis."
    )
    factors = FactorSerializer(
        many=True, help_text="The parameters that differ between the systems."
    )
    combinations = CombinationSerializer(
        many=True, help_text="The combinations of levels that were measured."
    )
    effects = EffectSerializer(many=True, help_text="The effects, the strongest first.")
    aliases = AliasSerializer(
        many=True, help_text="Effects that cannot be estimated separately."
    )
    pooled_interactions = serializers.SerializerMethodField(
        help_text="Interactions that were used to estimate the error."
    )
    lenth = LenthSerializer(
        allow_null=True,
        help_text="Lenth's margins; null if another error estimate was used.",
    )
    scatter = PooledScatterSerializer(
        allow_null=True,
        help_text=(
            "The variance of a single run's logarithm; null without repeated runs."
        ),
    )
    half_normal_points = HalfNormalPointSerializer(
        many=True, source="points", help_text="The contrasts on the half-normal plot."
    )
    are_sessions_different = serializers.BooleanField(
        help_text=(
            "Whether repeated runs come from different sessions, so that only large "
            "effects count as clear."
        )
    )

    def get_pooled_interactions(self, row: FactorAnalysis) -> list[list[list[str]]]:
        return [factor_names(term) for term in row.pooled_interactions]


class AnalysisSerializer(serializers.Serializer[Any]):
    """The factor effects on one response: a component as a whole, or one benchmark.

    A result is `excluded` if it has no ratio (`no_ratio`), if its metric is not a speed
    (`no_speed`: a fixed duration, a share, an amount), if its value is `not_positive`,
    or if its relative performance is `implausible` (above 100 or below 1/100).
    """

    component = serializers.ChoiceField(
        choices=COMPONENTS, help_text="The component that the metric measures."
    )
    is_component = serializers.SerializerMethodField(
        help_text=(
            "Whether the response is the mean of all benchmarks of the component "
            "rather than one benchmark."
        )
    )
    cases = AnalysedCaseSerializer(
        many=True,
        source="subjects",
        help_text="The benchmarks that make up the response.",
    )
    excluded = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="The number of results without a response, by reason.",
    )
    analysis = FactorEffectsSerializer(
        source="effects", help_text="The factor effects on this response."
    )
    interaction_means = InteractionMeansSerializer(
        many=True,
        help_text=(
            "Interaction plots: means of one factor's levels at the levels of another."
        ),
    )

    def get_is_component(self, row: ResponseAnalysis) -> bool:
        # Compare identities: the analysis of a component with a single case may be
        # equal to the analysis of that case.
        return any(row is overall for overall in self.context["overall_analyses"])


class StudyEffectsSerializer(OutputSerializer):
    """The factor effects of a study."""

    row_type = StudyFactorEffects
    columns = "study=study.slug lab=study.lab.slug scenario response results"

    response = serializers.ChoiceField(
        choices=RESPONSES, help_text="The analyzed response."
    )
    results = serializers.SerializerMethodField(
        help_text="The analyses: first each component, then each benchmark."
    )

    @extend_schema_field(AnalysisSerializer(many=True))
    def get_results(self, row: StudyFactorEffects) -> Any:
        overall_analyses = [part.overall for part in row.components if part.overall]
        analyses = [
            analysis
            for part in row.components
            for analysis in (part.overall, *part.per_case)
            if analysis
        ]
        context = {**self.context, "overall_analyses": overall_analyses}
        return AnalysisSerializer(analyses, many=True, context=context).data


def factor_names(term: Term) -> list[list[str]]:
    return [list(factor.names) for factor in term]


def effect_bound(log_effect: float, margin: float | None, sign: int) -> float | None:
    """Return the upper (``sign`` 1) or lower (-1) bound of an effect as a ratio.

    ``margin`` is logarithmic; without one, return None.
    """
    return None if margin is None else exp(log_effect + sign * margin)


class FactorEffectsQuery(StudyQuery):
    scenario = Choice(
        choices=SCENARIOS,
        required=False,
        help_text="The scenario to analyze; the default is the first one of the study.",
    )
    component = Choice(
        choices=COMPONENTS,
        required=False,
        help_text="The component that the metric measures.",
    )
    response = Choice(
        choices=RESPONSES,
        required=False,
        help_text=(
            "The response to analyze; the default is the relative performance "
            "if there is one, otherwise the value."
        ),
    )


class FactorEffectsView(StudyQueryView):
    """Returns which parameters of the systems changed the results, and by how much."""

    query_class = FactorEffectsQuery
    summary = "Estimate factor effects of a study"
    serializer_class = StudyEffectsSerializer

    def get_object(self) -> Any:
        chosen = {name: value for name, value in self.query.items() if name != "study"}
        return study_factor_effects(self.viewer, self.study, **chosen)
