"""What was made of a study, kept as long as the study is what it was.

In the memory of each web process, bounded, under the study's version, the language,
whether it is for a file, and whatever else it is made from: the viewer among it.
`docs/decisions/caching.md` says why nothing stale can come out of it, and nothing of
another viewer.
"""

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Concatenate, ParamSpec, TypeVar

from django.utils.translation import get_language

from dashboard.kit import figures

KEPT = 32

Given = ParamSpec("Given")
Made = TypeVar("Made")


def kept(make: Callable[Given, Made]) -> Callable[Concatenate[str, Given], Made]:
    """Make a thing once for every version that is asked for, which comes first."""
    call: Callable[..., Made] = make

    @lru_cache(maxsize=KEPT)
    def made(_version: str, _language: Hashable, *given: Hashable) -> Made:
        return call(*given)

    def found(version: str, *given: Given.args, **_none: Given.kwargs) -> Made:
        return made(version, (get_language(), figures.locale()), *given)

    return found
