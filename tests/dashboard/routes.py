"""Registered pages for tests that visit all of them."""

from dashboard.kit.routes import (
    DISK_STUDY,
    EDITORS_ONLY,
    EMPTY_STUDY,
    ESXI_STUDY,
    KVM_STUDY,
    XEN_STUDY,
    routes,
)

__all__ = [
    "DISK_STUDY",
    "EDITORS_ONLY",
    "EMPTY_STUDY",
    "ESXI_STUDY",
    "PAGES",
    "PERSONAL",
    "ROUTES",
    "TABS",
]
__all__ += ["KVM_STUDY", "XEN_STUDY", "counted"]

ROUTES = routes()
PAGES = {name: it.example_urls for name, it in ROUTES.items() if it.kind == "page"}
# Only for people who have signed in; others are sent to the sign-in page.
PERSONAL = {name for name in PAGES if ROUTES[name].anonymous_status == 302}
# Pages with the head of their study.
TABS = tuple(route.query_count_urls[0] for route in ROUTES.values() if route.tab)


def counted(study: str, *, is_cached: bool = False) -> list[str]:
    """Return the URLs that work for any study, or only the cached ones."""
    return [
        address if address.startswith("/") else study + address
        for route in ROUTES.values()
        if route.is_cached or not is_cached
        for address in route.query_count_urls
    ]
