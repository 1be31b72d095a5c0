import re


def natural_sort_key(text: str) -> list[tuple[bool, int, str]]:
    """Return a sort key that orders 500 before 4000."""
    # \d and isdigit include "²", for which int() fails.
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    return [
        (False, int(part), "")
        if part[0] in "0123456789"
        else (True, 0, part.casefold())
        for part in parts
    ]
