"""What every address of the dashboard is: a page, a part of one, a file, a deed.

A new address fails `test_routes.py` until it is said here. Pages are walked in a real
browser (`access/`), and `test_visibility.py` asks every address for what is private.
"""

from dashboard.urls import urlpatterns

XEN = "/campaigns/alpha-lab/lmu-2010-xen/"
ESXI = "/campaigns/alpha-lab/lmu-2010-esxi/"
UOC = "/campaigns/alpha-lab/uoc-2012-kvm/"
NETWORK = "/campaigns/alpha-lab/heidelberg-2007-xen/"
DISKS = "/campaigns/alpha-lab/inqbus-2008-io/"
BARE = "/campaigns/alpha-lab/bare/"

# Pages, and the addresses at which each shows all it can and what it is when empty.
# Words in braces stand for ids, see `access/conftest.py`.
PAGES = {
    "overview": ("/",),
    "campaign": (XEN, BARE),
    "compare": (
        f"{XEN}compare/",
        f"{XEN}compare/?pin={{one}},{{other}}",
        f"{XEN}compare/?component=nothing",
        f"{UOC}compare/?show=value&q=hdd",
        f"{BARE}compare/",
    ),
    "influence": (f"{ESXI}influence/?component=network", f"{BARE}influence/"),
    "coruns": (f"{XEN}co-runs/", f"{BARE}co-runs/"),
    "energy": (f"{UOC}energy/", f"{BARE}energy/"),
    "cell": (
        f"{DISKS}cells/{{two_speeds}}/",
        f"{XEN}cells/{{cell}}/",
        f"{XEN}cells/{{native}}/",
    ),
    "report": (f"{XEN}report/", f"{BARE}report/"),
    "sweep": (f"{UOC}sweep/", f"{BARE}sweep/"),
    "network": (f"{NETWORK}network/", f"{BARE}network/"),
    "history": (f"{DISKS}history/", f"{BARE}history/"),
    "runs": (f"{XEN}runs/", f"{BARE}runs/"),
    "flags": (f"{XEN}flags/?status=all", f"{BARE}flags/"),
    "reread": ("/rereads/{reread}/", "/rereads/{finished}/"),
    "run-detail": ("/runs/{run}/",),
    "upload": ("/upload/",),
    "report-making": ("/reports/{report}/",),
    "freeze": (f"{XEN}freeze/",),
    "freezing": ("/freezings/{freezing}/", "/freezings/{not_frozen}/"),
    "snapshot": ("/snapshots/{snapshot}/",),
    "plans": (f"{XEN}plans/", f"{BARE}plans/"),
    "new-plan": (f"{XEN}plans/new/",),
    "plan": ("/plans/{plan}/",),
    "login": ("/login/",),
    "labs": ("/labs/",),
    "lab": ("/labs/alpha-lab/",),
    "members": ("/labs/alpha-lab/members/",),
    "tokens": ("/labs/alpha-lab/tokens/",),
    "deeds": ("/labs/alpha-lab/deeds/",),
    "invitation": ("/invitation/",),
    "account": ("/account/",),
    "password": ("/account/password/",),
    "words": ("/words/",),
}
# Parts of a page that a script fetches: seen where the page shows them.
PARTS = {"cell-reading", "chart", "cell-card", "processing"}
FILES = {
    *("export", "cell-samples", "cite", "report-pdf", "report-made", "run-upload"),
    "snapshot-file",
}
DEEDS = {
    *("begin-reread", "decide-flag", "upload-system", "logout"),
    *("give-role", "remove-member", "withdraw-invitation", "revoke-token"),
    *("withdraw-snapshot", "sign-snapshot", "stop-plan", "sign-out-everywhere"),
}
# Only for who is signed in; others are sent to the sign-in page.
PERSONAL = {
    *("reread", "upload", "freeze", "freezing", "new-plan"),
    *("members", "tokens", "deeds", "account", "password"),
}
# About nobody's lab, or about whoever asks.
OF_NO_LAB = {
    *("overview", "login", "logout", "labs", "words", "invitation"),
    *("account", "password", "sign-out-everywhere"),
}


def names() -> set[str]:
    """Return the name of every address of the dashboard."""
    return {str(pattern.name) for pattern in urlpatterns}
