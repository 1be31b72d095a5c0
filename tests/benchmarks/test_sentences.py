"""Sentences: English by themselves, and sayable otherwise."""

import copy
import pickle

import numpy as np
import pytest

from benchmarks.sentences import (
    Sentence,
    counted,
    either,
    every,
    in_unit,
    joined,
    kept_words,
    restored,
    stored,
    translated,
)


class German:
    """A few words, and a decimal comma."""

    WORDS = {
        "{n} run a side": "{n} Lauf je Seite",
        "{n} runs a side": "{n} Läufe je Seite",
        "of the {medium}: {share:.1%}": "{share:.1%} der {medium}",
        "line": "Leitung",
    }

    def template(self, sentence):
        is_plural = sentence.plural and sentence.parameters["n"] != 1
        template = sentence.plural if is_plural else sentence.template
        return self.WORDS.get(template, template)

    def number(self, written):
        return written.translate({ord("."): ",", ord(","): "."})


def test_it_is_english_by_itself():
    assert Sentence("below {percent:g} %", percent=2.5) == "below 2.5 %"


def test_it_says_one_and_many():
    runs = [counted("{n} run a side", "{n} runs a side", n=n) for n in (1, 2)]

    assert runs == ["1 run a side", "2 runs a side"]
    assert [translated(each, German()) for each in runs] == [
        "1 Lauf je Seite",
        "2 Läufe je Seite",
    ]


def test_it_is_told_with_its_parts_in_another_order():
    sentence = Sentence(
        "of the {medium}: {share:.1%}", medium=Sentence("line"), share=0.123
    )

    assert sentence == "of the line: 12.3%"
    assert translated(sentence, German()) == "12,3% der Leitung"


def test_a_large_number_is_told_with_its_digits_and_no_exponent():
    sentence = Sentence("reads {mean:g} MB/s", mean=3108035.0)

    assert translated(sentence, German()) == "reads 3.108.035 MB/s"
    assert translated(Sentence("{x:g}", x=1e20), German()) == "1e+20"


def test_a_name_within_it_is_no_template():
    sentence = Sentence("{system} is slow", system="Xen {3.3}")

    assert translated(sentence, German()) == sentence == "Xen {3.3} is slow"


def test_several_are_one_that_knows_its_parts():
    sentence = joined([Sentence("line"), Sentence("{x:g}", x=0.5)], "; ")

    assert sentence == "line; 0.5"
    assert translated(sentence, German()) == "Leitung; 0,5"


def test_what_says_nothing_is_no_part():
    assert joined(["", Sentence("line"), ""]) == "line"


def test_it_offers_choices():
    assert either(["one"]) == "one"
    assert either(["one", "two", "three"]) == "one or two or three"
    assert every(["one", "two", "three"]) == "one and two and three"


@pytest.mark.parametrize(
    "kept", [{"sentence": "plain"}, {"sentence": "", "words": "plain"}]
)
def test_a_document_of_before_and_one_with_its_words_both_read(kept):
    assert kept_words(kept) == "plain"


@pytest.mark.parametrize(
    "sentence",
    [
        Sentence("plain"),
        Sentence("{x:.2f} of {y}", x=1.5, y=Sentence("line")),
        counted("{n} run a side", "{n} runs a side", n=7),
        Sentence("{x:.2f}", x=np.float64(0.25)),
    ],
)
@pytest.mark.parametrize(
    "keep",
    [
        lambda each: restored(stored(each)),
        lambda each: pickle.loads(pickle.dumps(each)),
        copy.deepcopy,
    ],
)
def test_it_comes_back_with_its_parts(sentence, keep):
    again = keep(sentence)

    assert again == sentence
    assert again.template == sentence.template
    assert again.plural == sentence.plural
    assert again.parameters == sentence.parameters


@pytest.mark.parametrize(
    "text",
    [
        "",
        "somebody's words",
        '{"template": broken',
        '{"template": 1}',
        '{"template": "{x.__class__}", "plural": "", "parameters": {"x": ""}}',
    ],
)
def test_any_other_text_stays_what_it_is(text):
    assert restored(stored(text)) == text
    assert translated(text, German()) == text


def test_speeds_get_the_unit_that_their_shape_does_not_know():
    low, high = (
        Sentence("{centre:.1f} ({percent:.0f} %)", centre=centre, percent=50)
        for centre in (58.9, 108.7)
    )
    speeds = Sentence("two speeds, {lower} and {upper}", lower=low, upper=high)

    sentence = in_unit(joined([speeds, "odd"], ", "), "MB/s")

    assert sentence == "two speeds, 58.9 MB/s (50 %) and 108.7 MB/s (50 %), odd"
    assert "58,9 MB/s (50 %)" in translated(sentence, German())
    assert in_unit(speeds, "") == speeds
    assert in_unit("anything", "MB/s") == "anything"
