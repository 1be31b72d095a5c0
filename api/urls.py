"""The addresses under /api/v1/."""

from django.urls import path, re_path, register_converter

from api.agents import AgentsView
from api.archives import ArchivesView
from api.bulk import BulkView
from api.bundles import BundlesView
from api.cases import CasesView, CaseView
from api.cells import CellsView
from api.comments import CommentsView, CommentView
from api.comparisons import ComparisonsView
from api.coruns import CoRunsView
from api.data import DataFileView, DataSchemaView, DataTablesView
from api.documents import DocsView, SchemaView, UnknownAddressView
from api.energy import EnergyView
from api.events import EventsView
from api.evidence import EvidenceView
from api.factor_effects import FactorEffectsView
from api.flags import FlagsView, FlagView
from api.health import HealthView, ReadinessView
from api.hosts import HostsView, HostView, MachineView
from api.labs import LabsView
from api.network import NetworkView
from api.own_tools import OwnToolsView, OwnToolVersionsView, OwnToolView
from api.plan_agents import (
    PartFinishView,
    PartMeetView,
    PlanNextView,
    PlanSlotsView,
)
from api.plans import PlanStepsView, PlansView, PlanView
from api.power import PowerView
from api.preview import PreviewView
from api.profile import ProfileView
from api.publishing import PublishingView
from api.quick import quickly
from api.reviews import ReviewFileView, ReviewsView, ReviewView
from api.runs import RunsView, RunView
from api.samples import SamplesView
from api.saved_views import SavedViewsView, SavedViewView
from api.sessions import SessionsView
from api.studies import StudiesView, StudyView
from api.sweeps import SweepsView
from api.systems import SystemsView, SystemView
from api.time import TimeView
from api.trend import TrendView
from api.versions import VersionFileView, VersionsView, VersionView
from api.webhooks import (
    DeliveriesView,
    WebhooksView,
    WebhookTestView,
    WebhookView,
)


class StudyName:
    """A study's slug, or lab/slug where several labs use it."""

    regex = r"[-a-zA-Z0-9_]+(?:/[-a-zA-Z0-9_]+)?"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(StudyName, "study")

app_name = "api"
urlpatterns = [
    path("agents/", AgentsView.as_view(), name="agents"),
    path("archives/", ArchivesView.as_view(), name="archives"),
    path("studies/", StudiesView.as_view(), name="studies"),
    path("studies/<study:slug>/", StudyView.as_view(), name="study"),
    path("cases/", CasesView.as_view(), name="cases"),
    path("cases/<int:pk>/", CaseView.as_view(), name="case"),
    path("hosts/", HostsView.as_view(), name="hosts"),
    path("hosts/<int:pk>/", HostView.as_view(), name="host"),
    path("bundles/", BundlesView.as_view(), name="bundles"),
    path("labs/", LabsView.as_view(), name="labs"),
    path("own-tools/", OwnToolsView.as_view(), name="own-tools"),
    path("own-tools/<int:pk>/", OwnToolView.as_view(), name="own-tool"),
    path(
        "own-tools/<int:pk>/versions/",
        OwnToolVersionsView.as_view(),
        name="own-tool-versions",
    ),
    path("systems/", SystemsView.as_view(), name="systems"),
    path("systems/<int:pk>/", SystemView.as_view(), name="system"),
    path("runs/", quickly(RunsView.as_view()), name="runs"),
    path("runs/bulk/", BulkView.as_view(), name="bulk"),
    path("runs/<int:pk>/", RunView.as_view(), name="run"),
    path("runs/<int:pk>/samples/", SamplesView.as_view(), name="samples"),
    path("saved-views/", SavedViewsView.as_view(), name="saved-views"),
    path("saved-views/<int:pk>/", SavedViewView.as_view(), name="saved-view"),
    path("sessions/", SessionsView.as_view(), name="sessions"),
    path("parse/", PreviewView.as_view(), name="parse"),
    path("parse/machine/", MachineView.as_view(), name="parse-machine"),
    path("cells/", CellsView.as_view(), name="cells"),
    path("comments/", CommentsView.as_view(), name="comments"),
    path("comments/<int:pk>/", CommentView.as_view(), name="comment"),
    path("comparisons/", ComparisonsView.as_view(), name="comparisons"),
    path("coruns/", CoRunsView.as_view(), name="coruns"),
    path("events/", EventsView.as_view(), name="events"),
    path("evidence/", EvidenceView.as_view(), name="evidence"),
    path("energy/", EnergyView.as_view(), name="energy"),
    path("data/", DataTablesView.as_view(), name="data"),
    path("data/schema/", DataSchemaView.as_view(), name="data-schema"),
    path("data/<slug:table>/<slug:form>/", DataFileView.as_view(), name="data-file"),
    path("power/", PowerView.as_view(), name="power"),
    path("sweeps/", SweepsView.as_view(), name="sweeps"),
    path("network/", NetworkView.as_view(), name="network"),
    path("trend/", TrendView.as_view(), name="trend"),
    path("profile/", ProfileView.as_view(), name="profile"),
    path("publishing/", PublishingView.as_view(), name="publishing"),
    path("flags/", FlagsView.as_view(), name="flags"),
    path("flags/<int:pk>/", FlagView.as_view(), name="flag"),
    path("versions/", VersionsView.as_view(), name="versions"),
    path("versions/<int:pk>/", VersionView.as_view(), name="version"),
    path(
        "versions/<int:pk>/<slug:form>/",
        VersionFileView.as_view(),
        name="version-file",
    ),
    path("webhooks/", WebhooksView.as_view(), name="webhooks"),
    path("webhooks/<int:pk>/", WebhookView.as_view(), name="webhook"),
    path("webhooks/<int:pk>/test/", WebhookTestView.as_view(), name="webhook-test"),
    path(
        "webhooks/<int:pk>/deliveries/",
        DeliveriesView.as_view(),
        name="webhook-deliveries",
    ),
    path("reviews/", ReviewsView.as_view(), name="reviews"),
    path("reviews/<int:pk>/", ReviewView.as_view(), name="review"),
    path("reviews/<int:pk>/<str:name>/", ReviewFileView.as_view(), name="review-file"),
    path("factor-effects/", FactorEffectsView.as_view(), name="factor-effects"),
    path("plans/", PlansView.as_view(), name="plans"),
    path("plans/<int:pk>/", PlanView.as_view(), name="plan"),
    path("plans/<int:pk>/steps/", PlanStepsView.as_view(), name="plan-steps"),
    path("plans/<int:pk>/slots/", PlanSlotsView.as_view(), name="plan-slots"),
    path("plans/<int:pk>/next/", PlanNextView.as_view(), name="plan-next"),
    path("plan-parts/<int:pk>/meet/", PartMeetView.as_view(), name="part-meet"),
    path("plan-parts/<int:pk>/finish/", PartFinishView.as_view(), name="part-finish"),
    path("health/", HealthView.as_view(), name="health"),
    path("ready/", ReadinessView.as_view(), name="ready"),
    path("time/", TimeView.as_view(), name="time"),
    path("schema/", SchemaView.as_view(), name="schema"),
    path("docs/", DocsView.as_view(), name="docs"),
    # Last: it matches every address.
    re_path(r"", UnknownAddressView.as_view(), name="unknown"),
]
