"""JSON documents in an output, whatever stands around them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.errors import ParseError
from benchmarks.parsing.scanning import fault
from benchmarks.sentences import Sentence

Pairs = list[tuple[str, Any]]


def documents(
    output: str, begin: str, shape: Callable[[Pairs], Any] = dict
) -> Iterator[dict[str, Any]]:
    """Each object that begins a line with the pattern ``begin``.

    ``shape`` makes a value of the pairs of each object, the innermost first: there,
    what is not needed can be dropped before it fills the memory.
    """
    text = f"\n{output}"
    decoder = json.JSONDecoder(object_pairs_hook=shape, parse_constant=_refuse_constant)
    pattern = re.compile(rf"\n[ \t]*+(?={begin})", re.ASCII)
    found = pattern.search(text)
    while found:
        # One character more stands before everything in ``text``.
        document, end = _decoded(decoder, output, found.end() - 1)
        yield document
        found = pattern.search(text, end)


def _decoded(
    decoder: json.JSONDecoder, output: str, start: int
) -> tuple[dict[str, Any], int]:
    try:
        document, end = decoder.raw_decode(output, start)
    except json.JSONDecodeError as error:
        end = min(error.pos, len(output.rstrip()) - 1)
        raise fault(
            output, end, Sentence("the JSON breaks off here ({why}).", why=error.msg)
        ) from None
    except (ValueError, RecursionError) as error:
        why = error.args[0] if error.args else Sentence("it is nested too deep")
        raise fault(
            output, start, Sentence("this JSON cannot be read: {why}.", why=why)
        ) from None
    return document, end


def number(value: object, what: str) -> float:
    """A number of a document; anything else is a ParseError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParseError(Sentence("{what} is no number in this output.", what=what))
    try:
        return float(value)
    except OverflowError:
        raise ParseError(
            Sentence("{what} is a number of too many digits.", what=what)
        ) from None


def section(document: object, *names: str) -> dict[str, Any]:
    """The object under these names; empty if there is none."""
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def _refuse_constant(name: str) -> None:
    raise ValueError(Sentence("{name} is not a number that can be measured", name=name))
