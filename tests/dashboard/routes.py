"""What every address of the dashboard is: a page, a part of one, a file, an action.

A new address fails `test_routes.py` until it is said here. Pages are walked in a real
browser (`access/`), and `test_visibility.py` asks every address for what is private.
"""

from dashboard.urls import urlpatterns

XEN = "/studies/alpha-lab/lmu-2010-xen/"
ESXI = "/studies/alpha-lab/lmu-2010-esxi/"
UOC = "/studies/alpha-lab/uoc-2012-kvm/"
NETWORK = "/studies/alpha-lab/heidelberg-2007-xen/"
DISKS = "/studies/alpha-lab/inqbus-2008-io/"
BARE = "/studies/alpha-lab/bare/"

# Pages, and the addresses at which each shows all it can and what it is when empty.
# Words in braces stand for ids, see `access/conftest.py`.
PAGES = {
    "overview": ("/",),
    "study": (XEN, BARE),
    "compare": (
        f"{XEN}compare/",
        f"{XEN}compare/?pin={{one}},{{other}}",
        f"{XEN}compare/?component=nothing",
        f"{UOC}compare/?show=value&q=hdd",
        f"{BARE}compare/",
    ),
    "factor-effects": (
        f"{ESXI}factor-effects/?component=network",
        f"{BARE}factor-effects/",
    ),
    "coruns": (f"{XEN}co-runs/", f"{BARE}co-runs/"),
    "energy": (f"{UOC}energy/", f"{BARE}energy/"),
    "cell": (
        f"{DISKS}cells/{{bimodal}}/",
        f"{XEN}cells/{{cell}}/",
        f"{XEN}cells/{{native}}/",
    ),
    "report": (f"{XEN}report/", f"{BARE}report/"),
    "sweep": (f"{UOC}sweep/", f"{BARE}sweep/"),
    "network": (f"{NETWORK}network/", f"{BARE}network/"),
    "trend": (f"{DISKS}trend/", f"{BARE}trend/"),
    "runs": (f"{XEN}runs/", f"{BARE}runs/"),
    "flags": (f"{XEN}flags/?status=all", f"{BARE}flags/"),
    "reread": ("/rereads/{reread}/", "/rereads/{finished}/"),
    "run-detail": ("/runs/{run}/",),
    "upload": ("/upload/",),
    "report-making": ("/reports/{report}/",),
    "publish": (f"{XEN}publish/",),
    "publishing": ("/publishing/{publishing}/", "/publishing/{not_frozen}/"),
    "version": ("/versions/{version}/",),
    "plans": (f"{XEN}plans/", f"{BARE}plans/"),
    "new-plan": (f"{XEN}plans/new/",),
    "plan": ("/plans/{plan}/",),
    "login": ("/login/",),
    "labs": ("/labs/",),
    "lab": ("/labs/alpha-lab/",),
    "members": ("/labs/alpha-lab/members/",),
    "tokens": ("/labs/alpha-lab/tokens/",),
    "audit-log": ("/labs/alpha-lab/audit-log/",),
    "invitation": ("/invitation/",),
    "account": ("/account/",),
    "password": ("/account/password/",),
    "glossary": ("/glossary/",),
}
# Parts of a page that a script fetches: seen where the page shows them.
PARTS = {"cell-reading", "chart", "cell-card", "processing"}
FILES = {
    *("export", "cell-samples", "cite", "report-pdf", "report-made", "run-upload"),
    "version-file",
}
ACTIONS = {
    *("begin-reread", "decide-flag", "upload-system", "logout"),
    *("give-role", "remove-member", "withdraw-invitation", "revoke-token"),
    *("withdraw-version", "sign-version", "stop-plan", "sign-out-everywhere"),
}
# Only for who is signed in; others are sent to the sign-in page.
PERSONAL = {
    *("reread", "upload", "publish", "publishing", "new-plan"),
    *("members", "tokens", "audit-log", "account", "password"),
}
# About nobody's lab, or about whoever asks.
OF_NO_LAB = {
    *("overview", "login", "logout", "labs", "glossary", "invitation"),
    *("account", "password", "sign-out-everywhere"),
}


def names() -> set[str]:
    """Return the name of every address of the dashboard."""
    return {str(pattern.name) for pattern in urlpatterns}
