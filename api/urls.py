"""URLs below /api/v1/."""

from django.urls import path, re_path, register_converter

from api import (
    archives,
    bundles,
    cells,
    comments,
    comparisons,
    custom_tools,
    data,
    events,
    evidence,
    factor_effects,
    flags,
    labs,
    plans,
    power,
    publications,
    runs,
    saved_views,
    server_status,
    sessions,
    studies,
    study_results,
    systems,
    uploads,
)


class StudyPathConverter:
    """The slug of a study, or lab/slug if several labs use the slug."""

    regex = r"[-a-zA-Z0-9_]+(?:/[-a-zA-Z0-9_]+)?"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(StudyPathConverter, "study")

app_name = "api"
ROUTES = (
    ("agents/", labs.AgentsView, "agents"),
    ("archives/", archives.ArchivesView, "archives"),
    ("studies/", studies.StudiesView, "studies"),
    ("studies/<study:slug>/", studies.StudyView, "study"),
    ("cases/", cells.CasesView, "cases"),
    ("cases/<int:pk>/", cells.CaseView, "case"),
    ("hosts/", systems.HostsView, "hosts"),
    ("hosts/<int:pk>/", systems.HostView, "host"),
    ("bundles/", bundles.BundlesView, "bundles"),
    ("labs/", labs.LabsView, "labs"),
    ("custom-tools/", custom_tools.CustomToolsView, "custom-tools"),
    ("custom-tools/<int:pk>/", custom_tools.CustomToolView, "custom-tool"),
    (
        "custom-tools/<int:pk>/versions/",
        custom_tools.CustomToolVersionsView,
        "custom-tool-versions",
    ),
    ("systems/", systems.SystemsView, "systems"),
    ("systems/<int:pk>/", systems.SystemView, "system"),
    ("runs/", runs.RunsView, "runs"),
    ("runs/bulk/", uploads.BulkView, "runs-bulk"),
    ("runs/<int:pk>/", runs.RunView, "run"),
    ("runs/<int:pk>/samples/", runs.SamplesView, "samples"),
    ("saved-views/", saved_views.SavedViewsView, "saved-views"),
    ("saved-views/<int:pk>/", saved_views.SavedViewView, "saved-view"),
    ("sessions/", sessions.SessionsView, "sessions"),
    ("parse/", runs.PreviewView, "parse"),
    ("parse/machine/", systems.ParseMachineView, "parse-machine"),
    ("cells/", cells.CellsView, "cells"),
    ("comments/", comments.CommentsView, "comments"),
    ("comments/<int:pk>/", comments.CommentView, "comment"),
    ("comparisons/", comparisons.ComparisonsView, "comparisons"),
    ("coruns/", study_results.CoRunsView, "coruns"),
    ("events/", events.EventsView, "events"),
    ("evidence/", evidence.EvidenceView, "evidence"),
    ("energy/", power.EnergyView, "energy"),
    ("data/", data.DataTablesView, "data"),
    ("data/schema/", data.DataSchemaView, "data-schema"),
    ("data/<slug:table>/<slug:file_format>/", data.DataFileView, "data-file"),
    ("power/", power.PowerView, "power"),
    ("sweeps/", study_results.SweepsView, "sweeps"),
    ("network/", study_results.NetworkView, "network"),
    ("trend/", study_results.TrendView, "trend"),
    ("profile/", study_results.ProfileView, "profile"),
    ("publishing/", publications.PublishingView, "publishing"),
    ("flags/", flags.FlagsView, "flags"),
    ("flags/<int:pk>/", flags.FlagView, "flag"),
    ("versions/", publications.VersionsView, "versions"),
    ("versions/<int:pk>/", publications.VersionView, "version"),
    (
        "versions/<int:pk>/<slug:file_format>/",
        publications.VersionFileView,
        "version-file",
    ),
    ("webhooks/", events.WebhooksView, "webhooks"),
    ("webhooks/<int:pk>/", events.WebhookView, "webhook"),
    ("webhooks/<int:pk>/test/", events.WebhookTestView, "webhook-test"),
    ("webhooks/<int:pk>/deliveries/", events.DeliveriesView, "webhook-deliveries"),
    ("reviews/", publications.ReviewsView, "reviews"),
    ("reviews/<int:pk>/", publications.ReviewView, "review"),
    ("reviews/<int:pk>/<str:name>/", publications.ReviewFileView, "review-file"),
    ("factor-effects/", factor_effects.FactorEffectsView, "factor-effects"),
    ("plans/", plans.PlansView, "plans"),
    ("plans/<int:pk>/", plans.PlanView, "plan"),
    ("plans/<int:pk>/steps/", plans.PlanStepsView, "plan-steps"),
    ("plans/<int:pk>/slots/", plans.PlanSlotsView, "plan-slots"),
    ("plans/<int:pk>/next/", plans.PlanNextView, "plan-next"),
    ("plan-parts/<int:pk>/arrive/", plans.PartArriveView, "part-arrive"),
    ("plan-parts/<int:pk>/finish/", plans.PartFinishView, "part-finish"),
    ("health/", server_status.HealthView, "health"),
    ("ready/", server_status.ReadinessView, "ready"),
    ("time/", server_status.TimeView, "time"),
    ("schema/", server_status.SchemaView, "schema"),
    ("docs/", server_status.DocsView, "docs"),
)
urlpatterns = [
    *(path(route, view.as_view(), name=name) for route, view, name in ROUTES),
    # Last: it matches every address.
    re_path(r"", server_status.UnknownUrlView.as_view(), name="unknown"),
]
