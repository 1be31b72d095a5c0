"""Addresses of the pages."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from dashboard.views import (
    campaigns,
    cells,
    comparisons,
    coruns,
    energy,
    exports,
    flags,
    history,
    influence,
    network,
    overview,
    plans,
    reports,
    rereads,
    runs,
    sweeps,
    uploads,
)

app_name = "dashboard"

CAMPAIGN = "campaigns/<slug:lab>/<slug:slug>/"

urlpatterns = [
    path("", overview.show_overview, name="overview"),
    path(CAMPAIGN, campaigns.show_campaign, name="campaign"),
    path(f"{CAMPAIGN}compare/", comparisons.show_comparison, name="compare"),
    path(f"{CAMPAIGN}influence/", influence.show_influence, name="influence"),
    path(f"{CAMPAIGN}co-runs/", coruns.show_coruns, name="coruns"),
    path(f"{CAMPAIGN}energy/", energy.show_energy, name="energy"),
    path(f"{CAMPAIGN}cells/<int:cell_id>/", cells.show_cell, name="cell"),
    path(
        f"{CAMPAIGN}cells/<int:cell_id>/runs/<int:run_id>/",
        cells.show_reading,
        name="cell-reading",
    ),
    path(f"{CAMPAIGN}compare.<str:form>", exports.export_comparison, name="export"),
    path(f"{CAMPAIGN}cite.<str:form>", exports.export_citation, name="cite"),
    path(f"{CAMPAIGN}report/", reports.show_report, name="report"),
    path(f"{CAMPAIGN}report.pdf", reports.download_report, name="report-pdf"),
    path(f"{CAMPAIGN}compare/chart/", comparisons.draw_comparison, name="chart"),
    path(f"{CAMPAIGN}compare/cell/", comparisons.show_card, name="cell-card"),
    path(f"{CAMPAIGN}sweep/", sweeps.show_sweep, name="sweep"),
    path(f"{CAMPAIGN}network/", network.show_network, name="network"),
    path(f"{CAMPAIGN}history/", history.show_history, name="history"),
    path(f"{CAMPAIGN}runs/", runs.list_runs, name="runs"),
    path(f"{CAMPAIGN}flags/", flags.list_flags, name="flags"),
    path(f"{CAMPAIGN}plans/", plans.list_plans, name="plans"),
    path(f"{CAMPAIGN}plans/new/", plans.make_plan, name="new-plan"),
    path("plans/<int:plan_id>/", plans.show_plan, name="plan"),
    path("plans/<int:plan_id>/stop/", plans.stop, name="stop-plan"),
    path(f"{CAMPAIGN}reread/", rereads.begin, name="begin-reread"),
    path("flags/<int:flag_id>/decide/", flags.decide, name="decide-flag"),
    path("rereads/<int:reread_id>/", rereads.show, name="reread"),
    path("runs/<int:run_id>/", runs.show_run, name="run-detail"),
    path("runs/<int:run_id>/upload/", runs.download_upload, name="run-upload"),
    path("upload/", uploads.upload, name="upload"),
    path("upload/systems/", uploads.add_system, name="upload-system"),
    path(
        "login/",
        LoginView.as_view(
            template_name="dashboard/login.html", redirect_authenticated_user=True
        ),
        name="login",
    ),
    path("logout/", LogoutView.as_view(), name="logout"),
]
