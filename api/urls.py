from django.urls import path, re_path, register_converter

from api import (
    agents,
    archive_import,
    bundles,
    cases,
    cells,
    comments,
    comparisons,
    custom_tools,
    datasets,
    energy,
    enrolments,
    events,
    evidence,
    factor_effects,
    flags,
    hosts,
    labs,
    parse_previews,
    plans,
    power,
    publications,
    runs,
    saved_views,
    server_info,
    sessions,
    studies,
    study_analyses,
    study_files,
    systems,
    uploads,
    webhooks,
)


class StudyPathConverter:
    """The slug of a study, or ``lab/slug`` if several labs use the slug."""

    regex = r"[-a-zA-Z0-9_]+(?:/[-a-zA-Z0-9_]+)?"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(StudyPathConverter, "study")

app_name = "api"
ROUTES = (
    ("agents/", agents.AgentsView, "agents"),
    ("archives/", archive_import.ArchivesView, "archives"),
    ("enrolments/", enrolments.EnrolmentsView, "enrolments"),
    ("studies/", studies.StudiesView, "studies"),
    ("studies/<study:slug>/", studies.StudyView, "study"),
    ("study-file/", study_files.StudyFileView, "study-file"),
    ("study-file/schema/", study_files.StudyFileSchemaView, "study-file-schema"),
    ("cases/", cases.CasesView, "cases"),
    ("cases/<int:pk>/", cases.CaseView, "case"),
    ("hosts/", hosts.HostsView, "hosts"),
    ("hosts/<int:pk>/", hosts.HostView, "host"),
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
    ("parse/", parse_previews.PreviewView, "parse"),
    ("parse/machine/", parse_previews.ParseMachineView, "parse-machine"),
    ("cells/", cells.CellsView, "cells"),
    ("comments/", comments.CommentsView, "comments"),
    ("comments/<int:pk>/", comments.CommentView, "comment"),
    ("comparisons/", comparisons.ComparisonsView, "comparisons"),
    ("coruns/", study_analyses.CoRunsView, "coruns"),
    ("events/", events.EventsView, "events"),
    ("evidence/", evidence.EvidenceView, "evidence"),
    ("energy/", energy.EnergyView, "energy"),
    ("data/", datasets.DataTablesView, "data"),
    ("data/schema/", datasets.DataSchemaView, "data-schema"),
    ("data/<slug:table>/<slug:file_format>/", datasets.DataFileView, "data-file"),
    ("power/", power.PowerView, "power"),
    ("sweeps/", study_analyses.SweepsView, "sweeps"),
    ("network/", study_analyses.NetworkView, "network"),
    ("trend/", study_analyses.TrendView, "trend"),
    ("profile/", study_analyses.ProfileView, "profile"),
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
    ("webhooks/", webhooks.WebhooksView, "webhooks"),
    ("webhooks/<int:pk>/", webhooks.WebhookView, "webhook"),
    ("webhooks/<int:pk>/test/", webhooks.WebhookTestView, "webhook-test"),
    ("webhooks/<int:pk>/deliveries/", webhooks.DeliveriesView, "webhook-deliveries"),
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
    ("health/", server_info.HealthView, "health"),
    ("ready/", server_info.ReadinessView, "ready"),
    ("time/", server_info.TimeView, "time"),
    ("schema/", server_info.SchemaView, "schema"),
    ("docs/", server_info.DocsView, "docs"),
)
urlpatterns = [
    *(path(route, view.as_view(), name=name) for route, view, name in ROUTES),
    # This must be the last one, because it matches every URL.
    re_path(r"", server_info.UnknownUrlView.as_view(), name="unknown"),
]
