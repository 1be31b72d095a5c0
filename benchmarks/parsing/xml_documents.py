"""XML documents within a text."""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, fromstring
from xml.etree.ElementTree import ParseError as XmlError

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import line_error_at
from benchmarks.sentences import Sentence

_NUMBER = re.compile(r"\d{1,300}(?:\.\d{0,300})?", re.ASCII)


def xml_documents(output: str, root: str) -> Iterator[Element]:
    """Yield each element with this name that begins a line.

    Document types and their entities are outside of it, so they have no effect.
    """
    text = f"\n{output}"
    begin = re.compile(rf"\n[ \t]*+(?=<{root}[\s>])", re.ASCII)
    closing = f"</{root}>"
    match = begin.search(text)
    while match:
        start = match.end() - 1
        end = output.find(closing, start)
        if end < 0:
            raise line_error_at(
                output, start, Sentence("this XML document is not complete.")
            )
        end += len(closing)
        try:
            yield fromstring(output[start:end])
        except XmlError as error:
            why = Sentence("this XML cannot be read: {why}.", why=str(error))
            raise line_error_at(output, start, why) from None
        match = begin.search(text, end)


def xml_number(element: Element, path: str) -> float | None:
    """Return the number of a nested element; None if there is no such element."""
    text = element.findtext(path)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text.strip()):
        raise ParseError(
            '{what} is "{text}", which is not a number that can be measured.',
            what=path.rpartition("/")[2],
            text=text.strip()[:50],
        )
    return float(text)
