"""A page as a browser takes it: how its template breaks lines tells nothing."""

import re

BREAK = re.compile(r"(?<=>)\s*\n\s*|\s*\n\s*(?=<)")


def unbroken(page: str) -> str:
    """Return a page on one line."""
    return re.sub(r"\s*\n\s*", " ", BREAK.sub("", page))
