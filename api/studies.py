"""/studies/: studies, which runs are uploaded to."""

from math import exp
from typing import Any, get_args

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import (
    Choice,
    Number,
    Pattern,
    Slug,
    Text,
    TrueOrFalse,
    WholeNumber,
)
from api.kit.outputs import OutputSerializer
from api.kit.shapes import ListOf, Scalar, SmallMap, StrictSerializer
from api.kit.views import AddressedRow, ApiView, Fields, ListView, operation
from benchmarks.evidence.replication import (
    Finding,
    Outcome,
    Replication,
    Reply,
    study_replications,
)
from benchmarks.models import Study
from benchmarks.studies import lists, lookup
from benchmarks.studies.lists import Tally
from benchmarks.studies.saving import save_study, update_study

MAX_DAYS = 36_500
MAX_LABS = 100
CENTURY_DATE = r"(19|20)\d\d(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?"
LANGUAGE = r"[a-z]{2,3}(-[A-Za-z0-9]{2,4})?"

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

EXAMPLE_CHANGE = ("Publish it", {"visibility": "public"})


class StudyFields(StrictSerializer):
    """What can be said about a study and changed later."""

    author = Text(required=False, allow_blank=True, max_length=200)
    institution = Text(required=False, allow_blank=True, max_length=300)
    published = Pattern(
        CENTURY_DATE, "2010-07-29, 2010-07 or 2010", required=False, allow_blank=True
    )
    language = Pattern(
        LANGUAGE, "en or pt-BR", required=False, allow_blank=True, max_length=10
    )
    note = Text(required=False, allow_blank=True, multiline=True)
    visibility = Choice(
        choices=Study.Visibility.values,
        required=False,
        help_text="Who sees it: its lab; also the labs of `shared_with`; everybody.",
    )
    shared_with = ListOf(
        child=Slug(),
        required=False,
        max_length=MAX_LABS,
        help_text="The slugs of the labs that see a `shared` study.",
    )
    data_licence = Text(
        required=False,
        allow_blank=True,
        max_length=100,
        help_text="Under what others may use the data: an SPDX name such as CC-BY-4.0.",
    )
    factors = SmallMap(
        child=ListOf(child=Scalar(), max_length=100),
        required=False,
        help_text="What the study varied: the values by the name of each factor.",
    )
    equivalence_margin_percent = Number(
        required=False,
        min_value=0,
        max_value=100,
        help_text="Equivalence margin: smaller differences do not matter in practice.",
    )
    baseline_max_age_days = WholeNumber(
        required=False,
        min_value=0,
        max_value=MAX_DAYS,
        help_text="A native run farther away in time than this is stale.",
    )


class StudyInput(StudyFields):
    slug = Slug()
    title = Text(max_length=300)


class StudyChanges(StudyFields):
    title = Text(max_length=300, required=False)
    reference_system = WholeNumber(
        required=False,
        allow_null=True,
        help_text="The system others are compared with where no native run exists.",
    )
    archived = TrueOrFalse(
        required=False, help_text="Whether it is closed: nothing is added to it."
    )


class StudySerializer(AddressedRow):
    address = "api:study"

    row_type = Study
    columns = """
        lab=lab.slug slug title author institution published language note factors
        visibility shared_with data_licence archived_at equivalence_margin_percent
        baseline_max_age_days reference_system=reference_system_id created_at
    """

    visibility = serializers.ChoiceField(choices=Study.Visibility.values)
    shared_with = serializers.SerializerMethodField()

    def place(self, row: Study) -> dict[str, Any]:
        # Two labs may use one slug.
        return {"slug": f"{row.lab.slug}/{row.slug}"}

    def get_shared_with(self, row: Study) -> list[str]:
        """With which labs it is shared, as far as this concerns who asks."""
        own = self.context["own"]
        return sorted(
            lab.slug
            for lab in row.shared_with.all()
            if row.lab_id in own or lab.pk in own
        )


class TallySerializer(OutputSerializer):
    row_type = Tally
    columns = "runs cells systems compared waiting rejected quarantined unchecked flags"


OUTCOMES = get_args(Outcome)


class FoundSerializer(serializers.Serializer[Any]):
    """A ratio to native, averaged over the cells of a benchmark; 1 is native speed.

    ``low`` and ``high`` are the ends of its 95 % interval, null of single runs.
    """

    ratio = serializers.SerializerMethodField()
    low = serializers.SerializerMethodField()
    high = serializers.SerializerMethodField()
    cells = serializers.IntegerField()

    def get_ratio(self, row: Finding) -> float:
        return exp(row.log_ratio)

    def get_low(self, row: Finding) -> float | None:
        return exp(row.interval[0]) if row.interval else None

    def get_high(self, row: Finding) -> float | None:
        return exp(row.interval[1]) if row.interval else None


class ReplySerializer(serializers.Serializer[Any]):
    """What another lab's study found of the same, and whether it agrees."""

    study = serializers.SerializerMethodField()
    lab = serializers.CharField(source="finding.lab")
    outcome = serializers.ChoiceField(choices=OUTCOMES)
    found = FoundSerializer(source="finding")

    def get_study(self, row: Reply) -> str:
        study = self.context["replied"][row.finding.study]
        return f"{study.lab.slug}/{study.slug}"


class ReplicationSerializer(serializers.Serializer[Any]):
    """One benchmark on one hypervisor, and what other labs say to it.

    ``between_sd`` is the standard deviation of the labs' mean ln ratios, ``within_sd``
    the mean standard error within a lab (null where nobody repeated runs).
    """

    hypervisor = serializers.CharField(source="own.hypervisor")
    tool = serializers.SerializerMethodField()
    metric = serializers.SerializerMethodField()
    found = FoundSerializer(source="own")
    outcome = serializers.ChoiceField(choices=OUTCOMES)
    between_sd = serializers.FloatField(source="between")
    within_sd = serializers.FloatField(source="within", allow_null=True)
    replies = ReplySerializer(many=True)

    def get_tool(self, row: Replication) -> str:
        return row.own.benchmark[0]

    def get_metric(self, row: Replication) -> str:
        return row.own.benchmark[1]


class Names(serializers.ListField):
    child = serializers.CharField()


class StudyDetailSerializer(StudySerializer):
    """A study with its numbers; ``waiting`` is 0 once all runs are processed,
    and ``unchecked`` is 0 once the flags speak of them."""

    counts = TallySerializer(source="card.tally", read_only=True)
    hypervisors = Names(source="card.rollup.hypervisors", read_only=True)
    tools = Names(source="card.rollup.tools", read_only=True)
    replications = ReplicationSerializer(many=True, read_only=True)


class StudiesView(ListView):
    """All studies one may see; a lab adds its own."""

    summary = "List studies"
    serializer_class = StudySerializer

    def get_queryset(self) -> QuerySet[Any]:
        return lookup.visible(self.viewer).prefetch_related("shared_with")

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "own": self.viewer.lab_ids}

    @operation(
        "Create a study, or find the same one", StudyInput, EXAMPLE, statuses=(201, 200)
    )
    def post(self, fields: Fields) -> Response:
        study, created = save_study(lab=self.lab, **fields)
        own = self.lab_viewer.lab_ids
        return self.created_or_known(StudySerializer, study, created, own=own)


class StudyView(ApiView):
    """One study, by its slug or as lab/slug."""

    summary = "Read a study and its numbers"
    serializer_class = StudyDetailSerializer

    def get(self, request: Request, slug: str) -> Response:
        study = lookup.find_study(self.viewer, slug)
        replicated = study_replications(self.viewer, study)
        vars(study).update(card=lists.card_of(study), replications=replicated.found)
        context = {"own": self.viewer.lab_ids, "replied": replicated.studies}
        return Response(self.shown(StudyDetailSerializer, study, **context))

    @operation(
        "Change a study of the token's lab",
        StudyChanges,
        EXAMPLE_CHANGE,
        answers=StudySerializer,
    )
    def patch(self, changes: Fields, slug: str) -> Response:
        study = lookup.find_study(self.lab_viewer, slug)
        self.require_own(study, "study", slug)
        study = update_study(study=study, who=self.agent.name, **changes)
        own = self.lab_viewer.lab_ids
        return Response(self.shown(StudySerializer, study, own=own))
