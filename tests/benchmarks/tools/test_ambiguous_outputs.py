"""Properties of every reader: an ambiguous text is rejected, or its readings differ."""

import re

import pytest

from benchmarks.errors import ParseError
from benchmarks.parsing.run_extraction import extract_runs
from benchmarks.tools import TOOLS
from tests.benchmarks.tools.test_outputs import (
    READERS,
    SUMMARIZES,
    TAKES_THE_LAST_ROW,
    keys,
    readings,
)
from tests.data.rebuild import outputs
from tests.for_each import for_each

every_tool = for_each("tool", READERS, lambda tool: tool.slug)
JSON = [path for path in outputs() if path.read_text().lstrip().startswith("{")]
NUMBER_OF_KEY = re.compile(r'"\w+"\s*:\s*(\d+(?:\.\d+)?)(?=[,\s}])')
DECIMAL = re.compile(r"(?<![\w.])(\d+)\.(\d+)(?![\w.])")
MAX_LINES = 80


def accepted(tool):
    """Return saved outputs of a tool that have readings, the shortest first."""
    texts = [path.read_text() for path in outputs(tool.slug)]
    return sorted((text for text in texts if readings(text)), key=len)


def numbers_of(read):
    return {(reading.metric, reading.value, reading.unit) for reading in read}


def spread(items, many):
    return items[:: max(1, len(items) // many)][:many]


@for_each("path", JSON)
def test_a_doubled_key_never_changes_a_number(path):
    text = path.read_text()
    plain = numbers_of(readings(text))

    for number in spread(list(NUMBER_OF_KEY.finditer(text)), 40):
        other = f"{number[0].rpartition(':')[0]}: {float(number[1]) + 17}"
        doubled = f"{text[: number.end()]}, {other}{text[number.end() :]}"
        assert numbers_of(readings(doubled)) <= plain, number[0]


@for_each("path", JSON)
def test_an_unknown_key_changes_nothing(path):
    text = path.read_text()
    plain = keys(readings(text))

    for number in spread(list(NUMBER_OF_KEY.finditer(text)), 10):
        position = number.end()
        added = f'{text[:position]}, "an unknown option": 17{text[position:]}'
        assert keys(readings(added)) == plain


@every_tool
def test_an_unknown_line_adds_no_number(tool):
    for text in accepted(tool)[:2]:
        plain = numbers_of(readings(text))
        lines = text.splitlines(keepends=True)
        for index in spread(range(1, len(lines)), 12):
            unknown = ["    an unknown setting:            177\n"]
            changed = "".join([*lines[:index], *unknown, *lines[index:]])
            values = numbers_of(readings(changed))
            assert 177 not in {value for _, value, _ in values}, index
            if tool.slug not in TAKES_THE_LAST_ROW | SUMMARIZES:
                assert values <= plain, (index, lines[index])


def first_with_target(tool):
    for text in accepted(tool):
        for run in extract_runs(text):
            for name in tool.targets:
                target = str(run.facts.get(name, ""))
                if len(target) > 1 and text.count(target) and "," not in target:
                    return text, name, target
    raise AssertionError(f"no saved output of {tool.slug} names its target")


@for_each("tool", [tool for tool in READERS if tool.targets], lambda tool: tool.slug)
def test_two_targets_in_one_text_are_not_repetitions(tool):
    text, _name, target = first_with_target(tool)
    other = text.replace(target, "9" * 4 if target.isdigit() else f"{target[:-1]}9")

    runs = extract_runs(f"{text}\n{other}\n")

    cases = {}
    for run in runs:
        for reading in run.readings:
            case = (reading.metric, *sorted(map(str, reading.parameters.items())))
            cases.setdefault(case, set()).update(
                str(run.facts[name]) for name in tool.targets if name in run.facts
            )
    assert cases
    assert all(len(names) <= len(tool.targets) for names in cases.values()), cases


@every_tool
@pytest.mark.parametrize(
    ("first", "second"),
    [("Host:\n", "VM:\n"), ("", "after the update\n"), ("# ext4\n", "# xfs\n")],
)
def test_results_below_different_labels_are_not_repetitions(tool, first, second):
    for text in accepted(tool)[:2]:
        once = keys(readings(text))
        if keys(readings(f"{text}\n{text}")) != [*once, *once]:
            continue  # a log that continues is one result
        try:
            runs = extract_runs(f"{first}{text}\n{second}{text}")
        except ParseError:
            continue  # rows without a header are recognized only alone
        assert {run.status for run in runs} == {"rejected"}
        assert second.strip() in {run.problem.text for run in runs}
        names = {run.part for run in runs}
        assert len(names) == 2 or names == {""}  # refused by the tool itself
        for name in names - {""}:
            part = extract_runs(f"{first}{text}\n{second}{text}", part=name)
            assert {run.status for run in part} == {"parsed"}
            assert numbers_of(r for run in part for r in run.readings) == numbers_of(
                readings(text)
            )


@every_tool
def test_a_label_above_a_single_result_changes_nothing(tool):
    text = accepted(tool)[0]
    assert keys(readings(f"VM:\n{text}", tool=tool.slug)) in ([], keys(readings(text)))


@every_tool
def test_padded_columns_give_no_other_number(tool):
    for text in accepted(tool)[:3]:
        padded = re.sub(r"(?<=\S)  +(?=\S)", lambda blanks: f"{blanks[0]} ", text)
        assert set(keys(readings(padded))) <= set(keys(readings(text)))


@every_tool
def test_decimal_commas_give_no_other_number(tool):
    for text in accepted(tool)[:3]:
        # Commas separate the cells of these formats.
        if "," in text:
            continue
        localized = DECIMAL.sub(r"\1,\2", text)
        assert set(keys(readings(localized, tool=tool.slug))) <= set(
            keys(readings(text))
        )
        for reading in readings(localized, locale="de_DE"):
            assert reading.value in {reading.value for reading in readings(text)}


@every_tool
def test_a_text_cut_at_any_line_gives_no_other_number(tool):
    text = accepted(tool)[0]
    complete = set(keys(readings(text)))
    lines = text.splitlines(keepends=True)
    for length in spread(range(1, len(lines)), MAX_LINES):
        cut = readings("".join(lines[:length]), tool=tool.slug)
        is_shorter_log = tool.slug in SUMMARIZES | TAKES_THE_LAST_ROW
        assert is_shorter_log or set(keys(cut)) <= complete, length


def test_every_reader_refuses_a_text_without_output():
    for tool in READERS:
        try:
            assert not readings("Host:\n\nVM:\n", tool=tool.slug)
        except ParseError:
            continue
    assert len(READERS) == len([tool for tool in TOOLS.values() if tool.parse])
