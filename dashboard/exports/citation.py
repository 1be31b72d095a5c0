"""How a study is cited: BibTeX and CSL-JSON. PURE.

The study is what is cited, as a report of its institution; address and day say where
its numbers were read, for cells may be added to a study.
"""

import json
import re
from dataclasses import dataclass
from datetime import date
from typing import Any

from dashboard.exports.escaping import OTHER_CHARACTER, tex

DAY = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
BETWEEN_AUTHORS = re.compile(r"\s*;\s*|\s+(?:and|&)\s+")
MONTHS = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)


@dataclass(frozen=True)
class Citation:
    """What is known of a study as a publication; empty texts are not stated."""

    key: str
    title: str
    author: str
    institution: str
    published: str
    language: str
    address: str
    note: str
    read_on: date

    @property
    def authors(self) -> list[str]:
        """The people, parted where a text says so; a comma parts no two of them."""
        return [name for name in BETWEEN_AUTHORS.split(self.author.strip()) if name]

    @property
    def day(self) -> list[int]:
        """Year, month and day of publication, as far as they are stated."""
        found = DAY.fullmatch(self.published.strip())
        return [int(part) for part in found.groups() if part] if found else []


def bibtex(it: Citation) -> str:
    """Return a BibTeX entry: a ``techreport`` where an institution is stated."""
    kind = "techreport" if it.institution else "misc"
    year, month = (*it.day, None, None)[:2]
    fields = {
        "author": " and ".join(map(_person, it.authors)) or _whole(it.institution),
        "title": _whole(it.title),
        "institution": tex(it.institution),
        "year": str(year) if year else tex(it.published),
        "language": tex(it.language),
        "howpublished": tex(it.address) if kind == "misc" else "",
        "note": tex(f"{it.note}, {it.address}, {it.read_on.isoformat()}"),
        "url": _address(it.address),
        "urldate": it.read_on.isoformat(),
    }
    lines = [f"  {name} = {{{text}}}," for name, text in fields.items() if text]
    if month and 1 <= month <= len(MONTHS):
        lines.append(f"  month = {MONTHS[month - 1]},")
    entry = "\n".join([f"@{kind}{{{it.key},", *lines, "}"]) + "\n"
    return _preamble(entry) + entry


def _preamble(entry: str) -> str:
    if r"\virtlabchar" not in entry:
        return ""
    return f'@preamble{{ "{OTHER_CHARACTER}" }}\n'


def _person(name: str) -> str:
    """Write a name that BibTeX takes apart only where it can."""
    plain = re.fullmatch(r"[\w.' -]+(, [\w.' -]+)?", name)
    return tex(name) if plain else _whole(name)


def _whole(text: str) -> str:
    """Keep capitals, and keep "and" from parting authors."""
    return f"{{{tex(text)}}}" if text else ""


def _address(address: str) -> str:
    """Write an address for the url package, which takes all but braces and percents."""
    return re.sub(r"[{}\\%\s]", "", address)


def csl_json(it: Citation) -> str:
    """Return the study as CSL-JSON, the form of citation managers."""
    item: dict[str, Any] = {
        "id": it.key,
        "type": "report",
        "title": it.title,
        "author": [_name(name) for name in it.authors],
        "publisher": it.institution,
        "language": it.language,
        "URL": it.address,
        "note": it.note,
        "accessed": {"date-parts": [_parts(it.read_on)]},
    }
    if it.day:
        item["issued"] = {"date-parts": [it.day]}
    elif it.published:
        item["issued"] = {"raw": it.published}
    stated = {name: value for name, value in item.items() if value}
    return json.dumps([stated], ensure_ascii=False, indent=2) + "\n"


def _parts(day: date) -> list[int]:
    return [day.year, day.month, day.day]


def _name(name: str) -> dict[str, str]:
    """Part a name at its comma, or before its last word; others stay whole."""
    last, comma, first = name.partition(",")
    if not comma:
        first, _, last = name.rpartition(" ")
    if first.strip() and last.strip():
        return {"family": last.strip(), "given": first.strip()}
    return {"literal": name}
