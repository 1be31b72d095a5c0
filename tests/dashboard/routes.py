"""The registered pages as tests walk them."""

from dashboard.kit.routes import BARE, DISKS, ESXI, KEEP, UOC, XEN, routes

__all__ = ["BARE", "DISKS", "ESXI", "KEEP", "PAGES", "PERSONAL", "ROUTES", "TABS"]
__all__ += ["UOC", "XEN", "counted"]

ROUTES = routes()
PAGES = {name: it.walked for name, it in ROUTES.items() if it.kind == "page"}
# Only for people who have signed in; others are sent to the sign-in page.
PERSONAL = {name for name in PAGES if ROUTES[name].nobody == 302}
# Pages with the head of their study.
TABS = tuple(it.counted[0] for it in ROUTES.values() if it.tab)


def counted(study: str, *, is_cached: bool = False) -> list[str]:
    """Return the addresses that work for any study; all, or the cached ones."""
    return [
        address if address.startswith("/") else study + address
        for route in ROUTES.values()
        if route.is_cached or not is_cached
        for address in route.counted
    ]
