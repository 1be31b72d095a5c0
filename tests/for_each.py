"""Run one test for many values without parametrizing it."""

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
    """Call a test once per value; raise the first failure, and name all failing values.

    For tests that change nothing: all values share the test's fixtures. With several
    names each value is a tuple, as with `parametrize`.
    """
    names = (name,) if isinstance(name, str) else name
    arguments = [
        (value,) if isinstance(name, str) else tuple(value) for value in values
    ]
    assert arguments, f"there is no {name} to ask about"

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
            for value in arguments:
                try:
                    test(**fixtures, **dict(zip(names, value, strict=True)))
                except Exception as error:  # noqa: BLE001 - raised below
                    first = first or error
                    failed.append(", ".join(map(label, value)))
            if first:
                first.add_note(
                    f"{len(failed)} of {len(arguments)} fail, this one first:"
                )
                for value in failed:
                    first.add_note(f"{name}: {value[:200]}")
                raise first

        # pytest passes fixtures by signature: the values are not fixtures.
        vars(ask_all)["__signature__"] = signature.replace(parameters=others)
        return ask_all

    return decorate
