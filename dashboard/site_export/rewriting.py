"""Change a page so that it works in a folder instead of on the server."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape, unescape
from html.parser import HTMLParser
from typing import Final

SERVER_ONLY: Final = "data-server-only"
"""Attribute of elements that exports omit."""
CHANGED_STYLE: Final = "plotly.js-style-global"
"""Id of the stylesheet to which Plotly adds rules."""
VOID: Final = {"br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
_URL_ATTRIBUTES: Final = re.compile(
    r"""(\s(?:href|src|action|data-plotly-src)=)"([^"]*)\""""
)
# Requests that pages send by themselves.
_LIVE_ATTRIBUTES: Final = re.compile(
    r"""\s(?:hx-[a-z-]+|data-(?:card-url|unfinished|load-all-rows))(?:=(?:"[^"]*"|'[^']*'))?(?=[\s>/])"""
)
_CHART_SOURCE: Final = re.compile(r'\sdata-chart-src="([^"]*)"')


@dataclass(frozen=True)
class Links:
    """How links of one page are changed.

    ``link`` and ``form`` return the new address, and whether it leads to the server.
    ``chart`` returns the data of a chart as JSON, ``style`` the text of a stylesheet.
    """

    link: Callable[[str], tuple[str, bool]]
    form: Callable[[str], tuple[str, bool]]
    chart: Callable[[str], str]
    style: Callable[[str], str]


@dataclass(frozen=True)
class Rewritten:
    text: str
    title: str


class _Rewriter(HTMLParser):
    def __init__(self, links: Links, head: str, note: str) -> None:
        super().__init__(convert_charrefs=False)
        self.links = links
        self.before = {"head": head, "footer": note}
        self.parts: list[str] = []
        self.title: list[str] = []
        self.is_title = False
        # The tag of the omitted element, and how many of its name are open.
        self.omitted = ""
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.omitted:
            self.depth += tag == self.omitted
            return
        if any(name == SERVER_ONLY for name, _ in attrs):
            if tag not in VOID:
                self.omitted, self.depth = tag, 1
            return
        if dict(attrs).get("id") == CHANGED_STYLE:
            self._write_style(dict(attrs).get("href") or "")
            return
        self.is_title = tag == "title"
        text = self.get_starttag_text() or ""
        chart = _CHART_SOURCE.search(text)
        text = _LIVE_ATTRIBUTES.sub("", _CHART_SOURCE.sub("", text))
        if tag == "html":
            text = text.replace("<html", "<html data-exported", 1)
        is_form = tag == "form"
        if is_form and " action=" not in text:
            text = text.replace("<form", '<form action=""', 1)
        self.parts.append(self._with_links(text, is_form))
        if chart:
            self.parts.append(_json_script(self.links.chart(unescape(chart[1]))))

    def _write_style(self, address: str) -> None:
        # Browsers do not let scripts change stylesheets of file:// URLs.
        text = self.links.style(address)
        self.parts.append(f'<style id="{CHANGED_STYLE}">{text}</style>')

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self.omitted or any(name == SERVER_ONLY for name, _ in attrs):
            return
        self.parts.append(self._with_links(self.get_starttag_text() or ""))

    def _with_links(self, text: str, is_form: bool = False) -> str:
        is_of_server = False
        new_link = self.links.form if is_form else self.links.link

        def replaced(match: re.Match[str]) -> str:
            nonlocal is_of_server
            link, leads_to_server = new_link(unescape(match[2]))
            is_of_server = is_of_server or leads_to_server
            return f'{match[1]}"{escape(link)}"'

        text = _URL_ATTRIBUTES.sub(replaced, text)
        if not is_of_server:
            return text
        return re.sub(r"\s*/?>$", r" data-server-link\g<0>", text)

    def handle_endtag(self, tag: str) -> None:
        if self.omitted:
            self.depth -= tag == self.omitted
            if not self.depth:
                self.omitted = ""
            return
        self.is_title = False
        self.parts.append(self.before.get(tag, "") + f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._keep(data)
        if self.is_title and not self.omitted:
            self.title.append(data)

    def handle_entityref(self, name: str) -> None:
        self.handle_data(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.handle_data(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._keep(f"<!{decl}>")

    def handle_comment(self, data: str) -> None:
        self._keep(f"<!--{data}-->")

    def _keep(self, text: str) -> None:
        if not self.omitted:
            self.parts.append(text)


def _json_script(text: str) -> str:
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json">{text}</script>'


def rewrite_page(page: str, links: Links, head: str = "", note: str = "") -> Rewritten:
    """Return the page with other links; ``head`` and ``note`` (HTML) are added."""
    rewriter = _Rewriter(links, head, note)
    rewriter.feed(page)
    rewriter.close()
    return Rewritten("".join(rewriter.parts), unescape("".join(rewriter.title)))
