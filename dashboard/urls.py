"""Addresses of the pages."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from dashboard.views import (
    accounts,
    campaigns,
    cells,
    comparisons,
    coruns,
    energy,
    exports,
    flags,
    history,
    influence,
    invitations,
    labs,
    members,
    network,
    overview,
    reports,
    rereads,
    runs,
    snapshots,
    sweeps,
    tokens,
    uploads,
    words,
)

app_name = "dashboard"

CAMPAIGN = "campaigns/<slug:lab>/<slug:slug>/"
LAB = "labs/<slug:lab>/"
MEMBER = f"{LAB}members/<int:person_id>/"

urlpatterns = [
    path("", overview.show_overview, name="overview"),
    path(CAMPAIGN, campaigns.show_campaign, name="campaign"),
    path(f"{CAMPAIGN}processing/", campaigns.show_processing, name="processing"),
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
    path(f"{CAMPAIGN}reread/", rereads.begin, name="begin-reread"),
    path("flags/<int:flag_id>/decide/", flags.decide, name="decide-flag"),
    path("rereads/<int:reread_id>/", rereads.show, name="reread"),
    path("reports/<int:report_id>/", reports.show_making, name="report-making"),
    path("reports/<int:report_id>.pdf", reports.download_made, name="report-made"),
    path(f"{CAMPAIGN}freeze/", snapshots.freeze, name="freeze"),
    path("snapshots/<int:snapshot_id>/", snapshots.show, name="snapshot"),
    path(
        "snapshots/<int:snapshot_id>.<slug:form>",
        snapshots.download,
        name="snapshot-file",
    ),
    path(
        "snapshots/<int:snapshot_id>/withdraw/",
        snapshots.withdraw,
        name="withdraw-snapshot",
    ),
    path("snapshots/<int:snapshot_id>/sign/", snapshots.sign, name="sign-snapshot"),
    path("runs/<int:run_id>/", runs.show_run, name="run-detail"),
    path("runs/<int:run_id>/upload/", runs.download_upload, name="run-upload"),
    path("upload/", uploads.upload, name="upload"),
    path("upload/systems/", uploads.add_system, name="upload-system"),
    path("words/", words.show_words, name="words"),
    path("labs/", labs.list_labs, name="labs"),
    path(LAB, labs.show_lab, name="lab"),
    path(f"{LAB}deeds/", labs.list_deeds, name="deeds"),
    path(f"{LAB}members/", members.keep_members, name="members"),
    path(f"{MEMBER}role/", members.give_role, name="give-role"),
    path(f"{MEMBER}remove/", members.remove, name="remove-member"),
    path(
        f"{LAB}invitations/<int:invitation_id>/withdraw/",
        members.withdraw,
        name="withdraw-invitation",
    ),
    path(f"{LAB}tokens/", tokens.keep_tokens, name="tokens"),
    path(f"{LAB}tokens/<slug:prefix>/revoke/", tokens.revoke, name="revoke-token"),
    path("invitation/", invitations.answer_invitation, name="invitation"),
    path("account/", accounts.show_account, name="account"),
    path("account/password/", accounts.ChangePassword.as_view(), name="password"),
    path(
        "account/sign-out-everywhere/",
        accounts.sign_out_everywhere,
        name="sign-out-everywhere",
    ),
    path("login/", accounts.SignIn.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
]
