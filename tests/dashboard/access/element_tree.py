"""A page as a tree of elements, as assistive technology sees it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "img", "hr", "path", "rect", "line", "circle"}
# Elements with an implicit role, which may have a name.
NAMED = {
    *("a", "button", "input", "select", "textarea", "summary", "progress"),
    *("main", "nav", "article", "aside", "section", "form", "header", "footer"),
    *("table", "ul", "ol", "dl", "figure", "fieldset", "details", "svg"),
}


@dataclass
class Element:
    """An element with its parent and children."""

    tag: str
    given: dict[str, str]
    above: "Element | None" = None
    inside: "list[Element | str]" = field(default_factory=list)

    def all(self, *tags: str) -> "Iterator[Element]":
        """Yield the descendants in order, optionally only these tags."""
        for each in self.inside:
            if isinstance(each, Element):
                if not tags or each.tag in tags:
                    yield each
                yield from each.all(*tags)

    def path(self) -> "Iterator[Element]":
        """Yield the element and its ancestors."""
        yield self
        if self.above:
            yield from self.above.path()

    @property
    def text(self) -> str:
        """Return the accessible text: the name, or the text that is not hidden."""
        if self.given.get("aria-hidden") == "true" or self.tag in {"script", "style"}:
            return ""
        parts = (each if isinstance(each, str) else each.text for each in self.inside)
        return self.given.get("aria-label") or " ".join("".join(parts).split())


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = self.at = Element("page", {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        made = self._put(tag, attrs)
        if tag not in VOID:
            self.at = made

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._put(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        for each in self.at.path():
            if each.tag == tag and each.above:
                self.at = each.above
                return

    def _put(self, tag: str, attrs: list[tuple[str, str | None]]) -> Element:
        made = Element(tag, {name: value or "" for name, value in attrs}, self.at)
        self.at.inside.append(made)
        return made

    def handle_data(self, data: str) -> None:
        self.at.inside.append(data)


def read(text: str) -> Element:
    """Return a page as a tree."""
    reader = _Reader()
    reader.feed(text)
    return reader.page
