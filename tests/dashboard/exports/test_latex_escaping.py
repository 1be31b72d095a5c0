"""Escaping of text for LaTeX."""

import pytest

from dashboard.exports.latex_escaping import escape_latex


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a_b & 5 % #1", r"a\_b \& 5 \% \#1"),
        ("{x}", r"\textbraceleft{}x\textbraceright{}"),
        ("\\", r"\textbackslash{}"),
        ("a--b,,c", "a-{}-{}b,{},{}c"),
        ("32-bit, x", "32-bit, x"),
        ("one\ttwo\n three", "one two  three"),
        ("naïve Ærøskøbing ß", "naïve Ærøskøbing ß"),
        ("א", r"\virtlabchar{1488}{05D0}"),
        ("a\u200eb\x07c", "abc"),
    ],
)
def test_texts_are_escaped(text, written):
    assert escape_latex(text) == written
