import pytest

from benchmarks.errors import InvalidError
from benchmarks.text import clean_text, collapse


@pytest.mark.parametrize(
    "character",
    ["\x00", "\x07", "\x1b", "\x7f", "\x85", "\u2028", "\n", "\t", "\r"]
    + [chr(point) for point in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
    + ["\ud800", "\udfff"],
)
def test_it_refuses_what_cannot_be_seen(character):
    with pytest.raises(InvalidError, match=f"U\\+{ord(character):04X}"):
        clean_text(f"a{character}b")


def test_it_says_which_field_and_where():
    with pytest.raises(InvalidError) as refused:
        clean_text("ab\u202ec", what="note")

    assert str(refused.value) == (
        "The note holds the character RIGHT-TO-LEFT OVERRIDE (U+202E) at character 3. "
        "Remove it: it is invisible or changes how the text is shown."
    )


@pytest.mark.parametrize("text", ["", "Raúl López Martín", "仮想化", "مرحبا", "a😀"])
def test_it_returns_every_other_text_unchanged(text):
    assert clean_text(text) is text


def test_it_takes_line_ends_and_tabs_only_in_texts_of_several_lines():
    assert clean_text("a\r\n\tb", multiline=True) == "a\r\n\tb"
    with pytest.raises(InvalidError, match="U\\+0000"):
        clean_text("a\nb\x00", multiline=True)


def test_it_collapses_spaces_and_composes_letters():
    assert collapse("  Rau\u0301l \u00a0 Lo\u0301pez ") == "Raúl López"
