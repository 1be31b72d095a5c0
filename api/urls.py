"""The addresses under /api/v1/."""

from django.urls import path, re_path, register_converter

from api import (
    archives,
    bundles,
    cells,
    comments,
    comparisons,
    coruns,
    data,
    energy,
    events,
    evidence,
    factor_effects,
    flags,
    labs,
    network,
    own_tools,
    plan_agents,
    plans,
    power,
    preview,
    profile,
    publications,
    runs,
    samples,
    saved_views,
    server,
    sessions,
    studies,
    sweeps,
    systems,
    trend,
    uploads,
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
    path("agents/", labs.AgentsView.as_view(), name="agents"),
    path("archives/", archives.ArchivesView.as_view(), name="archives"),
    path("studies/", studies.StudiesView.as_view(), name="studies"),
    path("studies/<study:slug>/", studies.StudyView.as_view(), name="study"),
    path("cases/", cells.CasesView.as_view(), name="cases"),
    path("cases/<int:pk>/", cells.CaseView.as_view(), name="case"),
    path("hosts/", systems.HostsView.as_view(), name="hosts"),
    path("hosts/<int:pk>/", systems.HostView.as_view(), name="host"),
    path("bundles/", bundles.BundlesView.as_view(), name="bundles"),
    path("labs/", labs.LabsView.as_view(), name="labs"),
    path("own-tools/", own_tools.OwnToolsView.as_view(), name="own-tools"),
    path("own-tools/<int:pk>/", own_tools.OwnToolView.as_view(), name="own-tool"),
    path(
        "own-tools/<int:pk>/versions/",
        own_tools.OwnToolVersionsView.as_view(),
        name="own-tool-versions",
    ),
    path("systems/", systems.SystemsView.as_view(), name="systems"),
    path("systems/<int:pk>/", systems.SystemView.as_view(), name="system"),
    path("runs/", runs.RunsView.as_view(), name="runs"),
    path("runs/bulk/", uploads.BulkView.as_view(), name="bulk"),
    path("runs/<int:pk>/", runs.RunView.as_view(), name="run"),
    path("runs/<int:pk>/samples/", samples.SamplesView.as_view(), name="samples"),
    path("saved-views/", saved_views.SavedViewsView.as_view(), name="saved-views"),
    path(
        "saved-views/<int:pk>/", saved_views.SavedViewView.as_view(), name="saved-view"
    ),
    path("sessions/", sessions.SessionsView.as_view(), name="sessions"),
    path("parse/", preview.PreviewView.as_view(), name="parse"),
    path("parse/machine/", systems.MachineView.as_view(), name="parse-machine"),
    path("cells/", cells.CellsView.as_view(), name="cells"),
    path("comments/", comments.CommentsView.as_view(), name="comments"),
    path("comments/<int:pk>/", comments.CommentView.as_view(), name="comment"),
    path("comparisons/", comparisons.ComparisonsView.as_view(), name="comparisons"),
    path("coruns/", coruns.CoRunsView.as_view(), name="coruns"),
    path("events/", events.EventsView.as_view(), name="events"),
    path("evidence/", evidence.EvidenceView.as_view(), name="evidence"),
    path("energy/", energy.EnergyView.as_view(), name="energy"),
    path("data/", data.DataTablesView.as_view(), name="data"),
    path("data/schema/", data.DataSchemaView.as_view(), name="data-schema"),
    path(
        "data/<slug:table>/<slug:form>/", data.DataFileView.as_view(), name="data-file"
    ),
    path("power/", power.PowerView.as_view(), name="power"),
    path("sweeps/", sweeps.SweepsView.as_view(), name="sweeps"),
    path("network/", network.NetworkView.as_view(), name="network"),
    path("trend/", trend.TrendView.as_view(), name="trend"),
    path("profile/", profile.ProfileView.as_view(), name="profile"),
    path("publishing/", publications.PublishingView.as_view(), name="publishing"),
    path("flags/", flags.FlagsView.as_view(), name="flags"),
    path("flags/<int:pk>/", flags.FlagView.as_view(), name="flag"),
    path("versions/", publications.VersionsView.as_view(), name="versions"),
    path("versions/<int:pk>/", publications.VersionView.as_view(), name="version"),
    path(
        "versions/<int:pk>/<slug:form>/",
        publications.VersionFileView.as_view(),
        name="version-file",
    ),
    path("webhooks/", events.WebhooksView.as_view(), name="webhooks"),
    path("webhooks/<int:pk>/", events.WebhookView.as_view(), name="webhook"),
    path(
        "webhooks/<int:pk>/test/", events.WebhookTestView.as_view(), name="webhook-test"
    ),
    path(
        "webhooks/<int:pk>/deliveries/",
        events.DeliveriesView.as_view(),
        name="webhook-deliveries",
    ),
    path("reviews/", publications.ReviewsView.as_view(), name="reviews"),
    path("reviews/<int:pk>/", publications.ReviewView.as_view(), name="review"),
    path(
        "reviews/<int:pk>/<str:name>/",
        publications.ReviewFileView.as_view(),
        name="review-file",
    ),
    path(
        "factor-effects/",
        factor_effects.FactorEffectsView.as_view(),
        name="factor-effects",
    ),
    path("plans/", plans.PlansView.as_view(), name="plans"),
    path("plans/<int:pk>/", plans.PlanView.as_view(), name="plan"),
    path("plans/<int:pk>/steps/", plans.PlanStepsView.as_view(), name="plan-steps"),
    path(
        "plans/<int:pk>/slots/", plan_agents.PlanSlotsView.as_view(), name="plan-slots"
    ),
    path("plans/<int:pk>/next/", plan_agents.PlanNextView.as_view(), name="plan-next"),
    path(
        "plan-parts/<int:pk>/meet/",
        plan_agents.PartMeetView.as_view(),
        name="part-meet",
    ),
    path(
        "plan-parts/<int:pk>/finish/",
        plan_agents.PartFinishView.as_view(),
        name="part-finish",
    ),
    path("health/", server.HealthView.as_view(), name="health"),
    path("ready/", server.ReadinessView.as_view(), name="ready"),
    path("time/", server.TimeView.as_view(), name="time"),
    path("schema/", server.SchemaView.as_view(), name="schema"),
    path("docs/", server.DocsView.as_view(), name="docs"),
    # Last: it matches every address.
    re_path(r"", server.UnknownAddressView.as_view(), name="unknown"),
]
