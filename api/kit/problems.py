"""What is wrong with a request, as plain values: sentences by the path of a field."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_LISTED = 100


@dataclass(frozen=True)
class Problem:
    """An answer that is not what was asked for."""

    status: int
    code: str
    detail: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """The one shape of every error."""
        return {"code": self.code, "detail": self.detail, "fields": dict(self.fields)}


def listed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The first of many: a thousand wrong samples need no thousand sentences."""
    return dict(list(fields.items())[:MAX_LISTED])


def flat_fields(detail: Any) -> dict[str, list[str]]:
    """Return REST framework's nested errors by path: ``samples[3].value``."""
    found: dict[str, list[str]] = {}
    for path, sentence in _sentences(detail, ""):
        found.setdefault(path, []).append(sentence)
    return found


def summary(fields: Mapping[str, list[str]], what: str) -> str:
    """One sentence for people who read only one."""
    path, sentences = next(iter(fields.items()))
    first = f"{path}: {sentences[0]}" if path else sentences[0]
    if len(fields) == 1:
        return first
    return f"{what} has {len(fields):,} problems. The first is {first}"


def joined(path: str, name: str | int) -> str:
    """The path of a member: ``samples`` and 3 give ``samples[3]``."""
    if isinstance(name, int):
        return f"{path}[{name}]"
    return f"{path}.{name}" if path else name


def _sentences(detail: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            whole = name == "non_field_errors"
            yield from _sentences(inner, path if whole else joined(path, name))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            nested = isinstance(inner, Mapping)
            yield from _sentences(inner, joined(path, index) if nested else path)
    else:
        yield path, str(detail)
