"""No text contains words from the list in docs/decisions/wording.md."""

import re
from pathlib import Path

import pytest

from tests.dashboard.marked_language import read

ROOT = Path(__file__).parents[3]
LIST = ROOT / "docs" / "decisions" / "wording.md"
ROW = re.compile(r"^\| `(.+)` \| (.+) \|$", re.MULTILINE)


def avoided():
    """Return the avoided words with their replacements."""
    rows = ROW.findall(LIST.read_text())
    return [
        (re.compile(said.replace(r"\|", "|"), re.IGNORECASE), instead)
        for said, instead in rows
    ]


def found_in(text):
    """Return the avoided words in a text with their replacements."""
    plain = " ".join(text.split())
    return [
        f"“{found[0]}” (rather: {instead}) in: {plain[:120]}"
        for pattern, instead in avoided()
        if (found := pattern.search(plain))
    ]


@pytest.fixture(scope="module")
def texts():
    """Return the texts of pages, sentences and rules in the translation catalog."""
    return [
        text
        for message in read(ROOT / "locale" / "django.pot")
        if message.id
        for text in ([message.id] if isinstance(message.id, str) else message.id)
    ]


def test_product_texts_have_no_avoided_words(texts):
    assert len(texts) > 2_000
    assert [found for text in texts for found in found_in(text)] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("It is no number.", "is no"),
        ("A guest, set against the machine", "set against"),
        ("Its verdicts are of before.", "of before"),
        ("The campaign of last year", "campaign"),
        ("The table stands\nabove it.", "stands above"),
    ],
)
def test_avoided_words_are_detected(text, said):
    [found] = found_in(text)

    assert f"“{said}" in found


@pytest.mark.parametrize(
    "text",
    [
        "File not found.",
        "It is no longer valid.",
        "no single value",
        "Set a margin.",
    ],
)
def test_other_words_are_not_reported(text):
    assert found_in(text) == []


def test_the_list_has_replacements():
    assert len(avoided()) > 20
    assert all(instead.strip() for _, instead in avoided())
