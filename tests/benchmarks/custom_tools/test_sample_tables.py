import json

import pytest

from benchmarks.custom_tools.declaration import tool_from_declaration
from benchmarks.custom_tools.registration import read_declaration
from benchmarks.custom_tools.sample_tables import read_sample_file
from benchmarks.errors import BenchmarksError, ParseError
from tests.custom_tools import declaration

TOOL = tool_from_declaration("alpha-lab:boot-time", read_declaration(declaration()))
TABLE = """run,metric,value,unit,kernel
1,boot time,3.21,s,6.1
1,boot time,3300,ms,6.8
2,boot time,3.4,s,6.1
"""


def test_rows_of_one_run_are_one_execution_with_its_lines():
    first, second = read_sample_file(TOOL, TABLE)

    assert [sample["value"] for sample in first.samples] == [3.21, 3300.0]
    assert first.samples[1]["unit"] == "ms"
    assert first.samples[0]["parameters"] == {"kernel": "6.1"}
    assert (first.first_line, first.last_line) == (2, 3)
    assert (second.first_line, second.last_line) == (4, 4)


def test_the_unit_defaults_to_the_declared_one():
    [run] = read_sample_file(TOOL, "metric,value\nboot time,3.2\n")

    assert run.samples[0]["unit"] == "s"


def test_a_spreadsheet_is_read_by_its_locale():
    [run] = read_sample_file(TOOL, "Metric;Value\nboot time;1.003,2\n", "de_DE")

    assert run.samples[0]["value"] == 1003.2


def test_json_is_read_in_the_format_of_uploads():
    sample = {"metric": "boot time", "value": 3.2, "parameters": {"kernel": "6.1"}}
    document = {"samples": [{**sample, "run": 1}, {**sample, "run": 2}]}

    runs = read_sample_file(TOOL, json.dumps(document))

    assert [len(run.samples) for run in runs] == [1, 1]
    assert runs[0].samples[0] == {**sample, "unit": "s"}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("metric,value\n", "no sample"),
        ("metric;worth\nboot time;3\n", "no column value"),
        ("metric,value,value\nboot time,3,3\n", "unique name"),
        ("metric,value\nboot time\n", "Line 2.*1 columns, but the header has 2"),
        ("metric,value\nboot time,fast\n", 'Line 2.*"fast" is not a number'),
        ("metric,value\nboot time,nan\n", "not a number"),
        ("metric,value\nboot time,1_000\n", "not a number"),
        ("metric,value\nboot time,\n", "a metric and a value"),
        ("metric,value,repetition\nboot time,3,0\n", "1, 2, 3"),
        ('metric,value\n"boot time,3\n', "Line"),
        ("metric,value\nsleep time,3\n", 'No Boot stopwatch metric "sleep'),
        ("[1]", "not an object"),
        ("[{]", "not valid JSON"),
        ('{"metric": "boot time"}', "list of samples"),
        ('[{"metric": "boot time", "value": "3"}]', "value is not a number"),
        ('[{"metric": "boot time", "value": true}]', "value is not a number"),
        (
            '[{"metric": "boot time", "value": 3, "kernel": 6}]',
            '"kernel" is not a known',
        ),
    ],
)
def test_invalid_tables_are_rejected_with_the_position(text, word):
    with pytest.raises(BenchmarksError, match=word):
        read_sample_file(TOOL, text)


def test_a_decimal_comma_is_never_guessed():
    with pytest.raises(ParseError, match="not a number"):
        read_sample_file(TOOL, "metric;value\nboot time;3,2\n")


def test_too_many_runs_are_rejected():
    rows = "".join(f"{n},boot time,3\n" for n in range(1_001))

    with pytest.raises(ParseError, match="more than 1,000 runs"):
        read_sample_file(TOOL, "run,metric,value\n" + rows)
