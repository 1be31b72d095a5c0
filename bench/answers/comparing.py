"""Where two folders of answers do not say the same."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isclose
from typing import Any

from bench.answers.asking import Document
from bench.answers.naming import Folder


@dataclass(frozen=True)
class Difference:
    """One place where two folders do not say the same."""

    place: str
    what: str
    example: str


class Comparison:
    """Two folders, question by question."""

    def __init__(
        self, old: Folder, new: Folder, passed_over: Iterable[str], tolerance: float
    ) -> None:
        self.old, self.new, self.tolerance = old, new, tolerance
        self.passed_over = frozenset(passed_over)
        self.compared: Counter[str] = Counter()

    def differences(self) -> Iterator[Difference]:
        """Yield every difference, file by file."""
        for name in sorted(self.old.files.keys() | self.new.files.keys()):
            if name not in self.old.files or name not in self.new.files:
                side = "new" if name in self.new.files else "old"
                yield Difference(_endpoint(name), f"only in {side}", name)
                continue
            pair = self.old.answers(name), self.new.answers(name)
            self.compared["answers"] += len(pair[0])
            yield from self._dicts(*pair, _endpoint(name), name)

    def _trees(self, old: Any, new: Any, place: str, path: str) -> Iterator[Difference]:
        if isinstance(old, dict) and isinstance(new, dict):
            yield from self._dicts(old, new, place, path)
        elif isinstance(old, list) and isinstance(new, list):
            yield from self._lists(old, new, place, path)
        else:
            self.compared[type(old).__name__] += 1
            if not self._is_equal(old, new):
                yield Difference(
                    place, _change(old, new), f"{path}: {old!r} -> {new!r}"
                )

    def _is_equal(self, old: Any, new: Any) -> bool:
        if isinstance(old, float) and isinstance(new, float):
            return isclose(old, new, rel_tol=self.tolerance)
        # 1 == 1.0 == True in Python, and not in JSON.
        return (type(old), old) == (type(new), new)

    def _dicts(
        self, old: Document, new: Document, place: str, path: str
    ) -> Iterator[Difference]:
        # The keys of a file are questions: else each would be a kind of its own.
        is_answers = place == _endpoint(path)
        for key in sorted((old.keys() | new.keys()) - self.passed_over):
            here = place + ("?" if is_answers else f".{key}")
            if key not in new:
                yield Difference(
                    here, "only in old", f"{path} {key}: {_brief(old[key])}"
                )
            elif key not in old:
                yield Difference(
                    here, "only in new", f"{path} {key}: {_brief(new[key])}"
                )
            else:
                yield from self._trees(old[key], new[key], here, f"{path} {key}")

    def _lists(
        self, old: list[Any], new: list[Any], place: str, path: str
    ) -> Iterator[Difference]:
        before, after = self._rows(old), self._rows(new)
        if before is None or after is None:
            if len(old) != len(new):
                yield Difference(
                    place, "length", f"{path}: {_brief(old)} -> {_brief(new)}"
                )
                return
            for number, pair in enumerate(zip(old, new, strict=True)):
                yield from self._trees(*pair, f"{place}[]", f"{path}[{number}]")
            return
        yield from self._dicts_of_rows(before, after, place, path)

    def _dicts_of_rows(
        self, before: Document, after: Document, place: str, path: str
    ) -> Iterator[Difference]:
        for key in before.keys() - after.keys():
            yield Difference(f"{place}[]", "only in old", f"{path} {key}")
        for key in after.keys() - before.keys():
            yield Difference(f"{place}[]", "only in new", f"{path} {key}")
        both = [key for key in before if key in after]
        if both != [key for key in after if key in before]:
            yield Difference(place, "order", path)
        for key in both:
            yield from self._trees(
                before[key], after[key], f"{place}[]", f"{path} {key}"
            )

    def _rows(self, rows: list[Any]) -> Document | None:
        """Return rows by what they are, or None where that does not tell them apart."""
        if not rows or not all(isinstance(row, dict) for row in rows):
            return None
        by_key = {self.new.key(row): row for row in rows}
        return by_key if len(by_key) == len(rows) and "" not in by_key else None


def _endpoint(name: str) -> str:
    """Return a file's name without the study."""
    parts = name.split("/")
    return parts[-1] if len(parts) == 3 and "{" not in name else name


def _change(old: Any, new: Any) -> str:
    """Return what changed into what, if that can be a code."""
    sides = (old, new)
    are_codes = all(side is None or isinstance(side, str | bool) for side in sides)
    if are_codes and all(len(str(side)) < 40 for side in sides):
        return f"{old!r} -> {new!r}"
    return f"{type(old).__name__} -> {type(new).__name__}"


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 200 else f"{text[:200]}..."
