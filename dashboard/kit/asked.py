"""What an address asks for and its page does not have: said, not passed over. PURE."""

from collections.abc import Mapping


def unmet(query: Mapping[str, str], found: Mapping[str, object]) -> tuple[str, ...]:
    """Return the parts of a query that came to something else, or to nothing.

    >>> unmet({"case": "99", "run": "4"}, {"case": 7, "run": 4, "family": None})
    ('case=99',)
    """
    return tuple(
        f"{name}={query[name]}"
        for name, came in found.items()
        if query.get(name) and query[name] != str(came)
    )
