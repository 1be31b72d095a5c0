"""Paragraphs and lists of the documentation of plausibility rules."""

from benchmarks.plausibility.rules import RULES
from dashboard.wording.split_rule_text import Paragraph, split_paragraphs

TEXT = """Flags a value that is
too large:
- above the limit
  of the medium;
- above 100%.
A value at the limit is not flagged.

Why: nothing is faster."""


def test_lists_follow_their_paragraphs():
    assert split_paragraphs(TEXT) == (
        Paragraph(
            "Flags a value that is too large:",
            ("above the limit of the medium;", "above 100%."),
        ),
        Paragraph("A value at the limit is not flagged."),
        Paragraph("Why: nothing is faster."),
    )


def test_no_word_of_a_rule_is_lost():
    for rule in RULES.values():
        paragraphs = split_paragraphs(rule.documentation)
        texts = [
            text
            for paragraph in paragraphs
            for text in (paragraph.text, *paragraph.items)
        ]
        assert " ".join(texts).split() == [
            word for word in rule.documentation.split() if word != "-"
        ]
