"""Addresses of the pages."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from dashboard.views import (
    campaigns,
    comparisons,
    flags,
    history,
    influence,
    network,
    overview,
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
    path(f"{CAMPAIGN}sweep/", sweeps.show_sweep, name="sweep"),
    path(f"{CAMPAIGN}network/", network.show_network, name="network"),
    path(f"{CAMPAIGN}history/", history.show_history, name="history"),
    path(f"{CAMPAIGN}runs/", runs.list_runs, name="runs"),
    path(f"{CAMPAIGN}flags/", flags.list_flags, name="flags"),
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
