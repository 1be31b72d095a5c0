"""Lines that name the results below them ("Host:", "VM:"). PURE.

A tool does not print such lines. Results below different names are of different
systems or settings, so they have no common mean.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.sentences import Sentence

LABELLED_RESULTS: Final = Sentence(
    "this line is not part of the output. It separates results that may be of "
    "different systems or settings, so they cannot be repetitions of one result. "
    "Upload the results below each such line separately."
)
_SYSTEM_WORDS: Final = re.compile(
    r"(?:before|after|hosts?|guests?|vms?|virtual machine|native|bare[ -]?metal|"
    r"baseline|containers?|docker|podman|lx[cd]|kvm|qemu|xen|vmware|esxi|virtualbox|"
    r"hyper-?v|proxmox|bhyve|dom0|domu|(?:un)?patched|vanilla|stock|with|without|old|"
    r"new)\b",
    re.ASCII | re.IGNORECASE,
)
_ARTICLES: Final = r"(?:(?:on|in|inside|from|the|an?|results?|of|for) ){0,5}"
_LABEL: Final = re.compile(
    r"\n[ \t]*+(?P<mark>(?:#{1,6}|={1,20}|-{1,20}|\*{1,20}|>{1,3}|\[)[ \t]*+)?"
    rf"(?P<articles>(?i:{_ARTICLES}))"
    r"(?P<name>[A-Za-z\d][^\n:;=\"{}\[\]<>|]{0,60}+)"
    r"(?P<end>[:\]*=]{0,20}+)[ \t]*+(?=\n|\Z)",
    re.ASCII,
)
_PROMPT: Final = re.compile(
    r"\n\[?[\w.-]{1,64}@(?P<host>[\w.-]{1,64})[^\n$#%>]{0,120}[$#%>][^\n]*", re.ASCII
)
# Numbered repetitions of one result.
_REPETITION: Final = re.compile(
    r"(?:runs?|tests?|iterations?|pass|rounds?|try|attempts?|repetitions?|reps?|"
    r"samples?)? *(?:no\.?|nr\.?|#)? *\d+(?: of \d+)?",
    re.ASCII | re.IGNORECASE,
)
_MAX_WORDS: Final = 4
MAX_LABELS: Final = 100


@dataclass(frozen=True, slots=True)
class Label:
    """A line at ``position``; results below equal names are of one system."""

    position: int
    text: str
    name: str
    is_system: bool = False


def find_labels(text: str) -> list[Label]:
    """Return lines that may name the results below them, or [] if there are many."""
    labels = [*_named_labels(text), *_prompt_labels(text)]
    labels.sort(key=lambda label: label.position)
    return labels if len(labels) <= MAX_LABELS else []


def _named_labels(text: str) -> Iterator[Label]:
    lines = f"\n{text}"
    found: list[Label] = []
    for match in _LABEL.finditer(lines):
        name = match["name"].strip(" \t-*=#")
        if not match["mark"] and ":" not in match["end"]:
            # Prose and rows of tables are not labels.
            if match["end"] or len(name.split()) > _MAX_WORDS:
                continue
            if not _SYSTEM_WORDS.match(name):
                continue
        if _REPETITION.fullmatch(name):
            continue
        is_system = _SYSTEM_WORDS.match(name) is not None
        found.append(Label(match.start(), match[0].strip(), name, is_system))
        if len(found) > 100 * MAX_LABELS:
            return
    # A tool repeats its headings with each result.
    counts = Counter(label.text for label in found)
    for label in found:
        if label.is_system or counts[label.text] == 1:
            yield label


def _prompt_labels(text: str) -> Iterator[Label]:
    """Yield each prompt of another machine than the prompt before."""
    previous = ""
    for match in _PROMPT.finditer(f"\n{text}") if "@" in text else ():
        if match["host"] != previous:
            yield Label(match.start(), match[0].strip(), match["host"])
        previous = match["host"]


def split_at(text: str, labels: Sequence[Label]) -> list[tuple[Label | None, str, int]]:
    """Return each part of the text with its label and the lines before the part."""
    starts = [0, *(label.position for label in labels)]
    ends = [*(label.position for label in labels), len(text)]
    parts: list[tuple[Label | None, str, int]] = []
    line = 0
    for label, start, end in zip([None, *labels], starts, ends, strict=True):
        parts.append((label, text[start:end], line))
        line += text.count("\n", start, end)
    return parts
