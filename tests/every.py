"""Ask one question about many things in one test."""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

Test = Callable[..., None]


def for_each(
    name: str | tuple[str, ...],
    values: Iterable[Any],
    label: Callable[[Any], str] = str,
) -> Callable[[Test], Test]:
    """Call a test once per value; fail as the first that fails, and name all that do.

    For questions that change nothing: all values share the test's fixtures. Several
    names share each value, as with `parametrize`.
    """
    names = (name,) if isinstance(name, str) else name
    asked = [(value,) if isinstance(name, str) else tuple(value) for value in values]
    assert asked, f"there is no {name} to ask about"

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        others = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.name not in names
        ]

        @wraps(test)
        def ask_all(**fixtures: Any) -> None:
            first, failed = None, []
            for value in asked:
                try:
                    test(**fixtures, **dict(zip(names, value, strict=True)))
                except Exception as error:  # noqa: BLE001 - raised below
                    first = first or error
                    failed.append(", ".join(map(label, value)))
            if first:
                first.add_note(f"{len(failed)} of {len(asked)} fail, this one first:")
                for value in failed:
                    first.add_note(f"{name}: {value[:200]}")
                raise first

        # pytest gives what the signature asks for: the values are no fixtures.
        vars(ask_all)["__signature__"] = signature.replace(parameters=others)
        return ask_all

    return decorate
