"""Every address of the dashboard, said once: what it is, and where it is met.

The product does not read it, so it stands outside. A new page is one entry of `ROUTES`;
`tests/dashboard/test_routes.py` fails until it is there. The entries feed the tests
(the walks in a real browser, who may see what, the counts of queries, the kept pages,
the warnings of emulation) and `make bench`, which times the pages.
"""

from dataclasses import dataclass
from typing import Final, Literal

XEN = "/studies/alpha-lab/lmu-2010-xen/"
ESXI = "/studies/alpha-lab/lmu-2010-esxi/"
UOC = "/studies/alpha-lab/uoc-2012-kvm/"
NETWORK = "/studies/alpha-lab/heidelberg-2007-xen/"
DISKS = "/studies/alpha-lab/inqbus-2008-io/"
DAYS = "/studies/alpha-lab/days/"
BARE = "/studies/alpha-lab/bare/"

EVIDENCE_FORMS: Final = ("csv", "json", "tex", "md")

Answers = tuple[int, int]
READ, KEEP, UPLOAD = (200, 200), (404, 200), (403, 200)
DO_KEEP, DO_UPLOAD = (404, 302), (403, 302)
DO_AND_BE_TOLD = (302, 302)  # back to the page, which says why not


@dataclass(frozen=True, kw_only=True)
class Route:
    """An address of the dashboard; words in braces stand for ids.

    ``walked`` are the addresses at which a page shows all it can and what it is when
    empty, in the reference studies (the tests have the ids). ``counted`` are those at
    which any study is asked, below the study's own address unless they begin with a
    slash. ``own`` is what a lab's viewer and its keepers are answered, and
    ``nobody`` who has not signed in; others are answered 404, or asked to sign in.
    """

    kind: Literal["page", "part", "file", "action"] = "page"
    walked: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    own: Answers = READ
    nobody: int = 404
    is_kept: bool = False
    is_tab: bool = False
    """A page that every study has, with the head of its study."""
    is_of_no_lab: bool = False
    """About nobody's lab, or about whoever asks."""


def tab(*walked: str, counted: tuple[str, ...], is_everywhere: bool = True) -> Route:
    """Return a page of a study that is kept; not every study has something for it."""
    return Route(walked=walked, counted=counted, is_kept=True, is_tab=is_everywhere)


def keepers(*walked: str) -> Route:
    """Return a page for the keepers of a lab; to others it is not there."""
    return Route(walked=walked, own=KEEP, nobody=302)


def action(own: Answers) -> Route:
    """Return an address that takes what a button sends."""
    return Route(kind="action", own=own, nobody=302)


PUBLIC_ALONE: Final[Answers] = (404, 404)
PROVED: Final = Route(kind="part", nobody=302, is_of_no_lab=True)

ROUTES: Final[dict[str, Route]] = {
    "overview": Route(walked=("/",), counted=("/",), is_kept=True, is_of_no_lab=True),
    "evidence": Route(
        walked=("/evidence/", "/evidence/?flagged=with"),
        counted=("/evidence/",),
        is_kept=True,
        is_of_no_lab=True,
    ),
    "forest": Route(
        walked=(
            "/evidence/forest/?hypervisor=Xen&work=disk-sequential-read",
            "/evidence/forest/?hypervisor=KVM&work=cpu-integer&by=decade&flagged=with",
        ),
        counted=("/evidence/forest/?hypervisor=Xen&work=disk-sequential-read",),
        is_kept=True,
        is_of_no_lab=True,
    ),
    "docs": Route(walked=("/docs/", "/docs/?q=runs"), is_of_no_lab=True),
    "manual": Route(walked=("/docs/method/", "/docs/lab/"), is_of_no_lab=True),
    "manual_picture": Route(kind="file", is_of_no_lab=True),
    "across": Route(
        walked=(
            "/compare/",
            "/compare/?host=all&work=cpu-integer",
            "/compare/?hypervisor=nothing",
        ),
        counted=("/compare/", "/compare/?host=all"),
        is_kept=True,
        is_of_no_lab=True,
    ),
    "across-pair": Route(
        walked=("/compare/direct/?one={study}-{one}&other={study}-{other}",),
        counted=("/compare/direct/?one={study}-{one}&other={study}-{other}",),
        is_kept=True,
    ),
    "reviews": Route(walked=("/reviews/",), counted=("/reviews/",), is_of_no_lab=True),
    "review": Route(walked=("/reviews/{review}/",)),
    # For members of any lab; others have nothing to publish for.
    "new-review": Route(walked=("/reviews/new/",), nobody=302, is_of_no_lab=True),
    "study": tab(XEN, BARE, counted=("",)),
    "compare": tab(
        f"{XEN}compare/",
        f"{XEN}compare/?component=nothing",
        f"{UOC}compare/?show=value&q=hdd",
        f"{BARE}compare/",
        counted=(
            "compare/",
            "compare/?scenario=all",
            "compare/?scenario=all&show=overhead&q=read",
            "compare/?baseline={system}",
        ),
    ),
    # Of one system alone there is nothing to compare: on to the comparison of all.
    "direct": Route(
        walked=(
            f"{XEN}direct/?pin={{one}},{{other}}",
            f"{DAYS}direct/?pin={{guest}},{{machine}}",
        ),
        counted=("direct/?pin={one},{other}",),
        own=(302, 302),
        is_kept=True,
    ),
    "factor-effects": tab(
        f"{ESXI}factor-effects/?component=network",
        f"{BARE}factor-effects/",
        counted=("factor-effects/",),
    ),
    "coruns": tab(
        f"{XEN}co-runs/",
        f"{BARE}co-runs/",
        counted=("co-runs/",),
        is_everywhere=False,
    ),
    "energy": tab(
        f"{UOC}energy/", f"{BARE}energy/", counted=("energy/",), is_everywhere=False
    ),
    "cell": tab(
        f"{DISKS}cells/{{bimodal}}/",
        f"{XEN}cells/{{cell}}/",
        f"{XEN}cells/{{native}}/",
        f"{DAYS}cells/{{repeated}}/",
        counted=("cells/{cell}/",),
        is_everywhere=False,
    ),
    "report": Route(walked=(f"{XEN}report/", f"{BARE}report/"), counted=("report/",)),
    "paper": Route(
        walked=(
            f"{XEN}paper/",
            f"{XEN}paper/?system={{one}}&digits=3&width=page",
            f"{BARE}paper/",
        ),
        counted=("paper/", "paper/?system={system}"),
        is_kept=True,
    ),
    "sweep": tab(f"{UOC}sweep/", f"{BARE}sweep/", counted=("sweep/",)),
    "network": tab(
        f"{NETWORK}network/",
        f"{BARE}network/",
        counted=("network/",),
        is_everywhere=False,
    ),
    "trend": tab(f"{DISKS}trend/", f"{BARE}trend/", counted=("trend/",)),
    "runs": tab(f"{XEN}runs/", f"{BARE}runs/", counted=("runs/",)),
    "sessions": tab(
        f"{DAYS}sessions/",
        f"{XEN}sessions/?session=none",
        f"{BARE}sessions/",
        counted=("sessions/", "sessions/?session=none"),
    ),
    "flags": tab(f"{XEN}flags/?status=all", f"{BARE}flags/", counted=("flags/",)),
    "run-detail": Route(walked=("/runs/{run}/",), counted=("/runs/{run}/",)),
    "plans": Route(walked=(f"{XEN}plans/", f"{BARE}plans/"), counted=("plans/",)),
    "plan": Route(walked=("/plans/{plan}/",), counted=("/plans/{plan}/",)),
    "new-plan": keepers(f"{XEN}plans/new/"),
    "new-study": Route(walked=("/studies/new/",), own=UPLOAD, nobody=302),
    "study-settings": keepers(f"{XEN}settings/"),
    "reread": keepers("/rereads/{reread}/", "/rereads/{finished}/"),
    "publish": keepers(f"{XEN}publish/"),
    "publishing": keepers("/publishing/{publishing}/", "/publishing/{failed}/"),
    "version": Route(walked=("/versions/{version}/",)),
    "report-making": Route(walked=("/reports/{report}/",)),
    "upload": Route(walked=("/upload/",), own=UPLOAD, nobody=302),
    "lab": Route(walked=("/labs/alpha-lab/",)),
    "members": Route(walked=("/labs/alpha-lab/members/",), nobody=302),
    "tokens": keepers("/labs/alpha-lab/tokens/"),
    "bundles": keepers("/labs/alpha-lab/bundles/"),
    "audit-log": keepers("/labs/alpha-lab/audit-log/"),
    "webhooks": keepers("/labs/alpha-lab/webhooks/"),
    "own-tools": Route(walked=("/labs/alpha-lab/tools/",)),
    "declare-tool": keepers("/labs/alpha-lab/declare-tool/"),
    "own-tool": Route(walked=("/labs/alpha-lab/tools/{tool}/",)),
    "change-tool": keepers("/labs/alpha-lab/tools/{tool}/change/"),
    "new-host": keepers("/labs/alpha-lab/new-host/"),
    "host": Route(walked=("/labs/alpha-lab/hosts/lmu-athlon64-x2-4800/",)),
    "change-host": keepers("/labs/alpha-lab/hosts/lmu-athlon64-x2-4800/facts/"),
    "search": Route(
        walked=("/search/?q=xen", "/search/?q=nothing-is-called-so", "/search/"),
        counted=("/search/?q=xen",),
        is_of_no_lab=True,
    ),
    "data": Route(
        walked=("/data/", "/data/?hypervisor=nothing&until=never"),
        counted=("/data/",),
        is_of_no_lab=True,
    ),
    "labs": Route(walked=("/labs/",), is_of_no_lab=True),
    "new-lab": Route(walked=("/new-lab/",), nobody=302, is_of_no_lab=True),
    "login": Route(walked=("/login/",), is_of_no_lab=True),
    "confirm": Route(walked=("/account/confirm/",), nobody=302, is_of_no_lab=True),
    "factors": Route(
        walked=("/account/second-factor/",), nobody=302, is_of_no_lab=True
    ),
    # Shown to who proved a moment ago that it is them; looked at in
    # tests/dashboard/pages/account/test_second_factor_browser.py.
    "add-app": PROVED,
    "add-passkey": PROVED,
    "second-step": Route(kind="part", nobody=302, is_of_no_lab=True),
    "come-back": Route(kind="part", is_of_no_lab=True),
    # There where mail is sent: tests/dashboard/pages/account/test_mail.py.
    "forgotten": Route(kind="part", is_of_no_lab=True),
    "new-password": Route(kind="part", is_of_no_lab=True),
    "confirm-address": Route(kind="part", nobody=302, is_of_no_lab=True),
    "unsubscribe": Route(kind="part", is_of_no_lab=True),
    # For frames of other sites: what everybody sees, whoever asks.
    "embed-cell": Route(kind="part", own=PUBLIC_ALONE),
    "cell-badge": Route(kind="file", own=PUBLIC_ALONE),
    "embed-compare": Route(kind="part", own=PUBLIC_ALONE),
    "embed-forest": Route(kind="part", is_of_no_lab=True),
    "forest-badge": Route(kind="file", is_of_no_lab=True),
    "invitation": Route(walked=("/invitation/",), is_of_no_lab=True),
    "account": Route(walked=("/account/",), nobody=302, is_of_no_lab=True),
    "password": Route(walked=("/account/password/",), nobody=302, is_of_no_lab=True),
    "saved-views": Route(
        walked=("/saved-views/?address=/compare/",), nobody=302, is_of_no_lab=True
    ),
    "subscriptions": Route(walked=("/subscriptions/",), nobody=302, is_of_no_lab=True),
    "glossary": Route(walked=("/glossary/",), is_of_no_lab=True),
    # Parts of a page that a script fetches: seen where the page shows them.
    "cell-card": Route(
        kind="part",
        counted=("compare/cell/?cell={cell}", "compare/cell/?cell={cell}&show=energy"),
        is_kept=True,
    ),
    "cell-reading": Route(kind="part"),
    "chart": Route(kind="part", counted=("compare/chart/",)),
    "processing": Route(kind="part"),
    "export": Route(
        kind="file",
        counted=(
            "compare.csv",
            "compare.csv?show=energy",
            "compare.json",
            "compare.tex",
        ),
    ),
    "evidence-file": Route(
        kind="file",
        counted=tuple(f"/evidence.{form}" for form in EVIDENCE_FORMS),
        is_of_no_lab=True,
    ),
    "forest-file": Route(
        kind="file",
        counted=tuple(
            f"/evidence/forest.{form}?hypervisor=Xen&work=disk-sequential-read"
            for form in EVIDENCE_FORMS
        ),
        is_of_no_lab=True,
    ),
    "feed": Route(kind="file", counted=("/feed.atom",), is_of_no_lab=True),
    "cell-samples": Route(kind="file", counted=("cells/{cell}/samples.csv",)),
    "cite": Route(kind="file", counted=("cite.bib",)),
    "paper-file": Route(
        kind="file", counted=("paper/table.tex", "paper/methods.txt?digits=2")
    ),
    # Made meanwhile, for who asked; that one waits for somebody else's.
    "report-pdf": Route(kind="file", own=(302, 302)),
    "report-made": Route(kind="file", own=(302, 302)),
    "run-upload": Route(kind="file"),
    "version-file": Route(kind="file"),
    "review-file": Route(kind="file"),
    "begin-reread": action(DO_KEEP),
    "retry-run": action(DO_KEEP),
    "retry-study": action(DO_KEEP),
    "decide-flag": action(DO_KEEP),
    # Everybody of a lab that sees the thing writes; whoever may not edit is told.
    "comment": action(DO_AND_BE_TOLD),
    "edit-comment": action(DO_AND_BE_TOLD),
    "remove-comment": action(DO_AND_BE_TOLD),
    "test-webhook": action(DO_KEEP),
    "delete-webhook": action(DO_KEEP),
    "delete-view": action(DO_KEEP),
    "correct-sessions": action(DO_KEEP),
    "upload-system": action(DO_UPLOAD),
    "give-role": action(DO_AND_BE_TOLD),
    "remove-member": action(DO_AND_BE_TOLD),
    "demand-second-factor": action(DO_AND_BE_TOLD),
    "withdraw-invitation": action(DO_AND_BE_TOLD),
    "revoke-token": action(DO_KEEP),
    "retire-tool": action(DO_KEEP),
    "delete-tool": action(DO_KEEP),
    "withdraw-version": action(DO_KEEP),
    "enter-doi": action(DO_KEEP),
    "withdraw-review": action(DO_KEEP),
    # A signer belongs to another lab, and says to which.
    "sign-version": action((404, 404)),
    "stop-plan": action(DO_KEEP),
    "new-feed-address": Route(kind="action", is_of_no_lab=True),
    "revoke-feed-address": Route(kind="action", is_of_no_lab=True),
    "choose-digest": Route(kind="action", is_of_no_lab=True),
    "follow-study": Route(kind="action", is_of_no_lab=True),
    "unfollow-study": Route(kind="action", is_of_no_lab=True),
    "recovery-codes": Route(kind="action", is_of_no_lab=True),
    "remove-factor": Route(kind="action", is_of_no_lab=True),
    "leave-for-provider": Route(kind="action", is_of_no_lab=True),
    "unlink": Route(kind="action", is_of_no_lab=True),
    "give-address": Route(kind="action", is_of_no_lab=True),
    "forget-address": Route(kind="action", is_of_no_lab=True),
    "logout": Route(kind="action", is_of_no_lab=True),
    "sign-out-everywhere": Route(kind="action", is_of_no_lab=True),
}

PAGES = {name: it.walked for name, it in ROUTES.items() if it.kind == "page"}
# Only for people who have signed in; others are sent to the sign-in page.
PERSONAL = {name for name in PAGES if ROUTES[name].nobody == 302}
TABS = tuple(it.counted[0] for it in ROUTES.values() if it.is_tab)


def counted(study: str, *, is_kept: bool = False) -> list[str]:
    """Return where a study is asked for, by its address; all, or what is kept."""
    return [
        address if address.startswith("/") else study + address
        for route in ROUTES.values()
        if route.is_kept or not is_kept
        for address in route.counted
    ]
