import pytest

from benchmarks.errors import InvalidError
from benchmarks.text_validation import clean_text, normalize_whitespace


@pytest.mark.parametrize(
    "character",
    ["\x00", "\x07", "\x1b", "\x7f", "\x85", "\u2028", "\n", "\t", "\r"]
    + [chr(point) for point in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
    + ["\ud800", "\udfff"],
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
