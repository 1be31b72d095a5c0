"""Sentences in English and translated."""

import copy
import pickle

import numpy as np
import pytest

from benchmarks.sentences import (
    Sentence,
    deserialize,
    join_sentences,
    join_with_and,
    join_with_or,
    pluralized,
    sentence_from_json,
    serialize,
    translate,
    with_unit,
)


class German:
    """A language with a few translations and a decimal comma."""

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

    def day(self, text):
        return text.replace("2026-11-28", "28. November 2026")


def test_sentence_is_an_english_string():
    assert Sentence("below {percent:g} %", percent=2.5) == "below 2.5 %"


def test_sentence_has_singular_and_plural():
    runs = [pluralized("{n} run a side", "{n} runs a side", n=n) for n in (1, 2)]

    assert runs == ["1 run a side", "2 runs a side"]
    assert [translate(item, German()) for item in runs] == [
        "1 Lauf je Seite",
        "2 Läufe je Seite",
    ]


def test_days_in_sentences_follow_the_language():
    sentence = Sentence("on {day}", day="2026-11-28")

    assert translate(sentence, German()) == "on 28. November 2026"


def test_translation_may_reorder_parameters():
    sentence = Sentence(
        "of the {medium}: {share:.1%}", medium=Sentence("line"), share=0.123
    )

    assert sentence == "of the line: 12.3%"
    assert translate(sentence, German()) == "12,3% der Leitung"


def test_large_number_has_no_exponent():
    sentence = Sentence("reads {mean:g} MB/s", mean=3108035.0)

    assert translate(sentence, German()) == "reads 3.108.035 MB/s"
    assert translate(Sentence("{x:g}", x=1e20), German()) == "1e+20"


def test_parameters_are_not_templates():
    sentence = Sentence("{system} is slow", system="Xen {3.3}")

    assert translate(sentence, German()) == sentence == "Xen {3.3} is slow"


def test_joined_sentences_keep_their_parts():
    sentence = join_sentences([Sentence("line"), Sentence("{x:g}", x=0.5)], "; ")

    assert sentence == "line; 0.5"
    assert translate(sentence, German()) == "Leitung; 0,5"


def test_empty_texts_are_not_joined():
    assert join_sentences(["", Sentence("line"), ""]) == "line"


def test_choices_are_joined_with_or():
    assert join_with_or(["one"]) == "one"
    assert join_with_or(["one", "two", "three"]) == "one or two or three"
    assert join_with_and(["one", "two", "three"]) == "one and two and three"


@pytest.mark.parametrize(
    "kept", [{"sentence": "plain"}, {"sentence": "", "words": "plain"}]
)
def test_documents_with_and_without_words_can_be_read(kept):
    assert sentence_from_json(kept) == "plain"


@pytest.mark.parametrize(
    "sentence",
    [
        Sentence("plain"),
        Sentence("{x:.2f} of {y}", x=1.5, y=Sentence("line")),
        pluralized("{n} run a side", "{n} runs a side", n=7),
        Sentence("{x:.2f}", x=np.float64(0.25)),
    ],
)
@pytest.mark.parametrize(
    "keep",
    [
        lambda each: deserialize(serialize(each)),
        lambda each: pickle.loads(pickle.dumps(each)),
        copy.deepcopy,
    ],
)
def test_sentence_is_restored_with_its_parts(sentence, keep):
    repeated = keep(sentence)

    assert repeated == sentence
    assert repeated.template == sentence.template
    assert repeated.plural == sentence.plural
    assert repeated.parameters == sentence.parameters


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
def test_other_texts_are_unchanged(text):
    assert deserialize(serialize(text)) == text
    assert translate(text, German()) == text


def test_speeds_get_a_unit():
    low, high = (
        Sentence("{centre:.1f} ({percent:.0f} %)", centre=centre, percent=50)
        for centre in (58.9, 108.7)
    )
    speeds = Sentence("two speeds, {lower} and {upper}", lower=low, upper=high)

    sentence = with_unit(join_sentences([speeds, "odd"], ", "), "MB/s")

    assert sentence == "two speeds, 58.9 MB/s (50 %) and 108.7 MB/s (50 %), odd"
    assert "58,9 MB/s (50 %)" in translate(sentence, German())
    assert with_unit(speeds, "") == speeds
    assert with_unit("anything", "MB/s") == "anything"
