from xml.etree import ElementTree

import pytest

from benchmarks.errors import InvalidError
from benchmarks.text_validation import (
    clean_text,
    normalize_whitespace,
    replace_forbidden,
)


@pytest.mark.parametrize(
    "character",
    ["\x00", "\x07", "\x1b", "\x7f", "\x85", "\u2028", "\n", "\t", "\r"]
    + [chr(point) for point in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
    + ["\ud800", "\udfff", "\ufdd0", "\ufffe", "\uffff", "\U0010ffff"],
)
def test_invisible_characters_are_rejected(character):
    with pytest.raises(InvalidError, match=f"U\\+{ord(character):04X}"):
        clean_text(f"a{character}b")


def test_error_names_field_and_position():
    with pytest.raises(InvalidError) as refused:
        clean_text("ab\u202ec", label="note")

    assert str(refused.value) == (
        "The note contains the character RIGHT-TO-LEFT OVERRIDE (U+202E) at "
        "position 3. Remove it, because it is invisible or changes how the text is "
        "displayed."
    )


@pytest.mark.parametrize("text", ["", "Raúl López Martín", "仮想化", "مرحبا", "a😀"])
def test_other_texts_are_returned_unchanged(text):
    assert clean_text(text) is text


def test_line_ends_and_tabs_need_multiline():
    assert clean_text("a\r\n\tb", multiline=True) == "a\r\n\tb"
    with pytest.raises(InvalidError, match="U\\+0000"):
        clean_text("a\nb\x00", multiline=True)


def test_whitespace_is_collapsed_and_letters_composed():
    assert normalize_whitespace("  Rau\u0301l \u00a0 Lo\u0301pez ") == "Raúl López"


@pytest.mark.parametrize("text", ["\u200b", "\u3164 \u2800", "\u00ad\u200d", "\u0301"])
@pytest.mark.parametrize("multiline", [False, True])
def test_texts_of_invisible_characters_only_are_rejected(text, multiline):
    with pytest.raises(InvalidError, match="only invisible"):
        clean_text(text, multiline=multiline)
    assert clean_text(f"a{text}", multiline=multiline)


def test_every_accepted_character_and_every_replaced_text_is_valid_xml():
    for point in range(0x110000):
        text = chr(point)
        stored = replace_forbidden(text)
        try:
            accepted = clean_text(f"a{text}", multiline=True)[1:]
        except InvalidError:
            accepted = "a"
        for written in {stored, accepted} - {"<", "&"}:
            assert _is_xml_character(written), f"U+{point:04X}"
    ElementTree.fromstring(f"<a>{replace_forbidden(chr(0xFFFF) + chr(0))}</a>")


def _is_xml_character(text):
    """Return whether XML 1.0 (production 2) allows the character."""
    point = ord(text)
    return (
        text in "\t\n\r"
        or 0x20 <= point <= 0xD7FF
        or 0xE000 <= point <= 0xFFFD
        or point >= 0x10000
    )
