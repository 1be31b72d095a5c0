"""XML documents within a text."""

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, fromstring
from xml.etree.ElementTree import ParseError as XmlError

from benchmarks.errors import ParseError
from benchmarks.parsing.parser_toolkit import LineError
from benchmarks.sentences import Sentence

_PROLOG = r"(?:<\?xml [^>\n]{0,80}>)?(?:<!--[^>\n]{0,200}-->)?"
_NUMBER = re.compile(r"\d{1,300}(?:\.\d{0,300})?", re.ASCII)


def xml_documents(output: str, root: str) -> Iterator[Element]:
    """Yield each element with this name that begins a line.

    A declaration and a comment may precede it in its line. A document type is not part
    of the element, so entities are not expanded.
    """
    text = f"\n{output}"
    begin = re.compile(rf"\n[ \t]*+{_PROLOG}(?=<{root}[\s>])", re.ASCII)
    closing = f"</{root}>"
    match = begin.search(text)
    while match:
        start = match.end() - 1
        end = output.find(closing, start)
        end = len(output) if end < 0 else end + len(closing)
        try:
            yield fromstring(output[start:end])
        except XmlError as error:
            lines = output.rstrip().split("\n")
            line = min(output.count("\n", 0, start) + error.position[0], len(lines))
            why = Sentence("the XML is incomplete or not valid at this point.")
            raise LineError(line, lines[line - 1], why) from None
        match = begin.search(text, end)


def xml_number(element: Element, path: str) -> float | None:
    """Return None if there is no such element."""
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
