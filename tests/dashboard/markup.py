"""Comparison of pages independent of line breaks."""

import re

BREAK = re.compile(r"(?<=>)\s*\n\s*|\s*\n\s*(?=<)")


def unbroken(page: str) -> str:
    return re.sub(r"\s*\n\s*", " ", BREAK.sub("", page))
