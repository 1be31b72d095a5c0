from math import exp
from typing import Any, get_args

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.authentication import require_scope
from api.kit.composite_fields import ListOf, Scalar, ScalarMap, StrictSerializer
from api.kit.fields import (
    Boolean,
    Choice,
    Number,
    Pattern,
    Slug,
    Text,
    WholeNumber,
)
from api.kit.output_serializer import OutputSerializer
from api.kit.scopes import MANAGE
from api.kit.views import (
    ApiView,
    ListView,
    ResourceSerializer,
    ValidatedData,
    operation,
)
from benchmarks.evidence.replication import (
    BenchmarkEffect,
    Outcome,
    Replication,
    ReplicationResult,
    study_replications,
)
from benchmarks.models import Study
from benchmarks.studies import lookup, overview
from benchmarks.studies.overview import StudyCounts
from benchmarks.studies.saving import save_study, update_study
from benchmarks.study_sources import (
    DOI_PATTERN,
    FILE_URL_PATTERN,
    KINDS,
    RELATIONS,
    URL_PATTERN,
    Source,
)

MAX_DAYS = 36_500
MAX_LABS = 100
MAX_SOURCES = 20
DATE_PATTERN = r"(19|20)\d\d(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?"
LANGUAGE_PATTERN = r"[a-z]{2,3}(-[A-Za-z0-9]{2,4})?"

EXAMPLE = (
    "A study",
    {
        "slug": "lmu-2010-xen",
        "title": "Parameters that influence the efficiency of virtualization: Xen 3.3",
        "author": "Bastian Gebhardt",
        "published": "2010-07-29",
        "visibility": "public",
        "factors": {"guest bits": [32, 64], "AMD-V": ["off", "on"]},
    },
)

SOURCE_DESCRIPTIONS = {
    "title": "The title of the work.",
    "kind": "The kind of work.",
    "relation": (
        "How the numbers relate to the work: typed from its text (`transcribed`), "
        "copied from its files (`copied`), or only described there (`described`)."
    ),
    "authors": "The authors, separated by semicolons.",
    "published": "The date of publication: 2010, 2010-07 or 2010-07-29.",
    "published_in": "The journal, the proceedings or the site.",
    "institution": "The institution that published the work.",
    "language": "The language of the work.",
    "doi": "The DOI, without a prefix such as `https://doi.org/`.",
    "url": "The address of the work.",
    "document": "The `document` of the runs that come from it; all runs if omitted.",
    "file_url": "The address of its files; `{place}` becomes the `table` of a run.",
}
EXAMPLE_CHANGE = ("Publish it", {"visibility": "public"})


class SourceInput(StrictSerializer):
    """A published work that numbers of the study come from."""

    title = Text(max_length=300, help_text=SOURCE_DESCRIPTIONS["title"])
    kind = Choice(choices=KINDS, required=False, help_text=SOURCE_DESCRIPTIONS["kind"])
    relation = Choice(
        choices=RELATIONS, required=False, help_text=SOURCE_DESCRIPTIONS["relation"]
    )
    authors = Text(
        required=False, max_length=500, help_text=SOURCE_DESCRIPTIONS["authors"]
    )
    published = Pattern(
        DATE_PATTERN,
        "2010-07-29, 2010-07 or 2010",
        required=False,
        help_text=SOURCE_DESCRIPTIONS["published"],
    )
    published_in = Text(
        required=False, max_length=300, help_text=SOURCE_DESCRIPTIONS["published_in"]
    )
    institution = Text(
        required=False, max_length=300, help_text=SOURCE_DESCRIPTIONS["institution"]
    )
    language = Pattern(
        LANGUAGE_PATTERN,
        "en or pt-BR",
        required=False,
        max_length=10,
        help_text=SOURCE_DESCRIPTIONS["language"],
    )
    doi = Pattern(
        DOI_PATTERN,
        "10.1109/ISPASS.2015.7095802",
        required=False,
        max_length=200,
        help_text=SOURCE_DESCRIPTIONS["doi"],
    )
    url = Pattern(
        URL_PATTERN,
        "https://example.org/thesis.pdf",
        required=False,
        max_length=1_000,
        help_text=SOURCE_DESCRIPTIONS["url"],
    )
    document = Text(
        required=False, max_length=300, help_text=SOURCE_DESCRIPTIONS["document"]
    )
    file_url = Pattern(
        FILE_URL_PATTERN,
        "https://example.org/data/{place}",
        required=False,
        max_length=1_000,
        help_text=SOURCE_DESCRIPTIONS["file_url"],
    )


class StudyFields(StrictSerializer):
    """The properties of a study that can be changed."""

    author = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="The author of the study.",
    )
    institution = Text(
        required=False,
        allow_blank=True,
        max_length=300,
        help_text="The institution of the author.",
    )
    published = Pattern(
        DATE_PATTERN,
        "2010-07-29, 2010-07 or 2010",
        required=False,
        allow_blank=True,
        help_text="The date of publication: 2010, 2010-07 or 2010-07-29.",
    )
    language = Pattern(
        LANGUAGE_PATTERN,
        "en or pt-BR",
        required=False,
        allow_blank=True,
        max_length=10,
        help_text="The language of the study's documents, such as en or pt-BR.",
    )
    note = Text(
        required=False,
        allow_blank=True,
        multiline=True,
        help_text="A remark for people.",
    )
    visibility = Choice(
        choices=Study.Visibility.values,
        required=False,
        help_text=(
            "Who can see the study: its lab, also the labs of `shared_with`, or "
            "everybody."
        ),
    )
    shared_with = ListOf(
        child=Slug(),
        required=False,
        max_length=MAX_LABS,
        help_text="The slugs of the labs that can see a `shared` study.",
    )
    data_licence = Text(
        required=False,
        allow_blank=True,
        max_length=100,
        help_text=(
            "The license of the data: an SPDX identifier such as CC-BY-4.0, or text."
        ),
    )
    sources = ListOf(
        child=SourceInput(),
        required=False,
        max_length=MAX_SOURCES,
        help_text="The published works that the numbers come from.",
    )
    factors = ScalarMap(
        child=ListOf(child=Scalar(), max_length=100),
        required=False,
        help_text="What the study varied: values by factor.",
    )
    equivalence_margin_percent = Number(
        required=False,
        min_value=0,
        max_value=100,
        help_text=(
            "The equivalence margin in percent: differences below it do not matter in "
            "practice. The default is 2."
        ),
    )
    baseline_max_age_days = WholeNumber(
        required=False,
        min_value=0,
        max_value=MAX_DAYS,
        help_text=(
            "The maximum time in days between a result and its baseline; a baseline "
            "that is further away is stale. The default is 30."
        ),
    )


class StudyInput(StudyFields):
    """A new study."""

    slug = Slug(help_text="The slug of the study; it cannot be changed.")
    title = Text(max_length=300, help_text="The title of the study.")


class StudyChanges(StudyFields):
    """The fields of a study to change; omitted fields stay as they are."""

    title = Text(max_length=300, required=False, help_text="The title of the study.")
    reference_system = WholeNumber(
        required=False,
        allow_null=True,
        help_text=(
            "The id of the system with which others are compared if no native run "
            "exists; null for none."
        ),
    )
    system_references = ScalarMap(
        child=WholeNumber(),
        required=False,
        help_text=(
            "Systems that replace `reference_system` for some systems of the study: "
            "the id of the reference by the id of the system."
        ),
    )
    archived = Boolean(
        required=False,
        help_text=(
            "Whether the study is archived; an archived study accepts no uploads."
        ),
    )
    comments_closed = Boolean(
        required=False,
        help_text="Whether only members of the study's lab can comment.",
    )


class SourceSerializer(OutputSerializer):
    """A published work that numbers of a study come from."""

    row_type = Source
    columns = """
        title kind relation authors published published_in institution language
        doi url document file_url
    """
    descriptions = SOURCE_DESCRIPTIONS


class StudySerializer(ResourceSerializer):
    """One lab's measurements for one purpose."""

    url_name = "api:study"

    row_type = Study
    columns = """
        lab=lab.slug slug title author institution published language note factors
        visibility shared_with data_licence sources archived_at comments_closed
        equivalence_margin_percent baseline_max_age_days
        reference_system=reference_system_id system_references created_at
    """
    descriptions = {
        "slug": "The slug of the study.",
        "title": "The title of the study.",
        "author": "The author of the study.",
        "institution": "The institution of the author.",
        "published": "The date of publication: a year, a month or a day.",
        "language": "The language of the study's documents.",
        "factors": "What the study varied: values by factor.",
        "data_licence": "The license of the data.",
        "archived_at": "When the study was archived; null if it accepts uploads.",
        "comments_closed": "Whether only members of the study's lab can comment.",
        "equivalence_margin_percent": (
            "The equivalence margin in percent: differences below it do not matter in "
            "practice."
        ),
        "baseline_max_age_days": (
            "The maximum time in days between a result and its baseline."
        ),
        "reference_system": (
            "The id of the system with which others are compared if no native run "
            "exists; null if none."
        ),
        "system_references": (
            "Systems that replace `reference_system` for some systems of the study: "
            "the id of the reference by the id of the system."
        ),
    }

    sources = SourceSerializer(
        source="original_works",
        many=True,
        read_only=True,
        help_text="The published works that the numbers come from.",
    )
    visibility = serializers.ChoiceField(
        choices=Study.Visibility.values,
        help_text=(
            "Who can see the study: its lab, also the labs of `shared_with`, or "
            "everybody."
        ),
    )
    shared_with = serializers.SerializerMethodField(
        help_text=(
            "The slugs of the labs with which the study is shared; only the lab of "
            "the study sees all of them, and other labs see only themselves."
        )
    )

    def url_kwargs(self, row: Study) -> dict[str, Any]:
        # Two labs may use the same slug.
        return {"slug": f"{row.lab.slug}/{row.slug}"}

    def get_shared_with(self, row: Study) -> list[str]:
        own_lab_ids = self.context["own_lab_ids"]
        return sorted(
            lab.slug
            for lab in row.shared_with.all()
            if row.lab_id in own_lab_ids or lab.pk in own_lab_ids
        )


class StudyCountsSerializer(OutputSerializer):
    """The numbers of runs, results, systems and open flags of a study."""

    row_type = StudyCounts
    columns = """
        runs cells systems compared_cells waiting_runs rejected_runs quarantined_runs
        unchecked_runs open_flags
    """
    descriptions = {
        "runs": "The number of runs.",
        "cells": "The number of results.",
        "systems": "The number of systems.",
        "compared_cells": "The number of results with a relative performance.",
        "waiting_runs": "The number of runs that are not processed yet.",
        "rejected_runs": "The number of runs that could not be read.",
        "quarantined_runs": "The number of runs that were set aside after an error.",
        "unchecked_runs": "The number of runs that were not checked for flags yet.",
        "open_flags": "The number of open flags.",
    }


OUTCOMES = get_args(Outcome)


class BenchmarkEffectSerializer(serializers.Serializer[Any]):
    """The mean relative performance of a benchmark in one study."""

    ratio = serializers.SerializerMethodField(
        help_text="The mean performance relative to native (native = 1)."
    )
    low = serializers.SerializerMethodField(
        help_text=(
            "The lower end of the ratio's 95 % confidence interval; null for single "
            "runs."
        )
    )
    high = serializers.SerializerMethodField(
        help_text=(
            "The upper end of the ratio's 95 % confidence interval; null for single "
            "runs."
        )
    )
    cell_count = serializers.IntegerField(
        help_text="The number of results that were averaged."
    )

    def get_ratio(self, row: BenchmarkEffect) -> float:
        return exp(row.log_ratio)

    def get_low(self, row: BenchmarkEffect) -> float | None:
        return exp(row.interval[0]) if row.interval else None

    def get_high(self, row: BenchmarkEffect) -> float | None:
        return exp(row.interval[1]) if row.interval else None


class ReplicationResultSerializer(serializers.Serializer[Any]):
    """The result of another lab's study."""

    study = serializers.SerializerMethodField(
        help_text="The study of another lab (`lab/slug`)."
    )
    lab = serializers.CharField(source="effect.lab", help_text="The slug of the lab.")
    outcome = serializers.ChoiceField(
        choices=OUTCOMES,
        help_text="Whether this study confirms or contradicts the result.",
    )
    effect = BenchmarkEffectSerializer(help_text="The result of the other study.")

    def get_study(self, row: ReplicationResult) -> str:
        study = self.context["replicating_studies"][row.effect.study]
        return f"{study.lab.slug}/{study.slug}"


class ReplicationSerializer(serializers.Serializer[Any]):
    """A study's result of one benchmark on one hypervisor, and those of other labs."""

    hypervisor = serializers.CharField(
        source="effect.hypervisor",
        help_text='The name of the hypervisor; "native" is the machine itself.',
    )
    tool = serializers.SerializerMethodField(
        help_text="The slug of the tool; a custom tool has the form `lab:slug`."
    )
    metric = serializers.SerializerMethodField(help_text="The name of the metric.")
    effect = BenchmarkEffectSerializer(help_text="The result of this study.")
    outcome = serializers.ChoiceField(
        choices=OUTCOMES,
        help_text="Whether other labs confirm or contradict the result.",
    )
    between_sd = serializers.FloatField(
        help_text="The standard deviation of the labs' mean logarithmic ratios."
    )
    within_sd = serializers.FloatField(
        allow_null=True,
        help_text="The mean standard error within a lab; null if no lab repeated runs.",
    )
    results = ReplicationResultSerializer(
        many=True, help_text="The results of other labs' studies."
    )

    def get_tool(self, row: Replication) -> str:
        return row.effect.benchmark[0]

    def get_metric(self, row: Replication) -> str:
        return row.effect.benchmark[1]


class StringListField(serializers.ListField):
    child = serializers.CharField()


class StudyDetailSerializer(StudySerializer):
    """A study with its counts and replications."""

    counts = StudyCountsSerializer(
        source="card.counts", read_only=True, help_text="Counts of the study's objects."
    )
    hypervisors = StringListField(
        source="card.rollup.hypervisors",
        read_only=True,
        help_text="The names of the hypervisors.",
    )
    tools = StringListField(
        source="card.rollup.tools", read_only=True, help_text="The slugs of the tools."
    )
    replications = ReplicationSerializer(
        many=True, read_only=True, help_text="Results that other labs measured too."
    )


class StudiesView(ListView):
    """Lists the studies that the client may see."""

    summary = "List studies"
    serializer_class = StudySerializer

    def get_queryset(self) -> QuerySet[Any]:
        return lookup.list_studies(self.viewer).prefetch_related("shared_with")

    def get_serializer_context(self) -> dict[str, Any]:
        context = super().get_serializer_context()
        return {**context, "own_lab_ids": self.viewer.lab_ids}

    @operation("Create a study", StudyInput, EXAMPLE, statuses=(201, 200))
    def post(self, fields: ValidatedData) -> Response:
        """Create a study of the token's lab.

        If the lab has an identical study, it is returned with status 200.
        """
        study, created = save_study(lab=self.lab, **fields)
        own = self.lab_viewer.lab_ids
        return self.created_response(StudySerializer, study, created, own_lab_ids=own)


class StudyView(ApiView):
    """Returns a study with its counts and the results that other labs measured too."""

    summary = "Read a study"
    serializer_class = StudyDetailSerializer

    def get(self, request: Request, slug: str) -> Response:
        study = lookup.find_study(self.viewer, slug)
        replicated = study_replications(self.viewer, study)
        vars(study).update(
            card=overview.study_card(study), replications=replicated.replications
        )
        context = {
            "own_lab_ids": self.viewer.lab_ids,
            "replicating_studies": replicated.studies,
        }
        return Response(self.serialize(StudyDetailSerializer, study, **context))

    @operation(
        "Change a study",
        StudyChanges,
        EXAMPLE_CHANGE,
        response_serializers=StudySerializer,
    )
    def patch(self, changes: ValidatedData, slug: str) -> Response:
        """Change, archive or reopen a study of the token's lab.

        The scope `upload` is enough to read the study by changing nothing.
        """
        if changes:
            require_scope(self.request.auth, MANAGE)
        study = lookup.find_study(self.lab_viewer, slug)
        self.require_same_lab(study, "study", slug)
        study = update_study(study=study, actor=self.agent.name, **changes)
        own = self.lab_viewer.lab_ids
        return Response(self.serialize(StudySerializer, study, own_lab_ids=own))
