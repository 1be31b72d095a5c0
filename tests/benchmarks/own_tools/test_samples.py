import json

import pytest

from benchmarks.errors import BenchmarksError, ParseError
from benchmarks.own_tools.declaration import tool_of
from benchmarks.own_tools.declaring import declared
from benchmarks.own_tools.samples import read_table
from tests.own_tools import declaration

TOOL = tool_of("alpha-lab:boot-time", declared(declaration()))
TABLE = """run,metric,value,unit,kernel
1,boot time,3.21,s,6.1
1,boot time,3300,ms,6.8
2,boot time,3.4,s,6.1
"""


def test_rows_of_one_run_are_one_execution_with_its_lines():
    first, second = read_table(TOOL, TABLE)

    assert [each["value"] for each in first.samples] == [3.21, 3300.0]
    assert first.samples[1]["unit"] == "ms"
    assert first.samples[0]["parameters"] == {"kernel": "6.1"}
    assert (first.first_line, first.last_line) == (2, 3)
    assert (second.first_line, second.last_line) == (4, 4)


def test_the_unit_is_the_declared_one_where_none_is_stated():
    [run] = read_table(TOOL, "metric,value\nboot time,3.2\n")

    assert run.samples[0]["unit"] == "s"


def test_a_table_of_a_spreadsheet_is_read_by_its_locale():
    [run] = read_table(TOOL, "Metric;Value\nboot time;1.003,2\n", "de_DE")

    assert run.samples[0]["value"] == 1003.2


def test_json_is_read_as_uploads_have_it():
    sample = {"metric": "boot time", "value": 3.2, "parameters": {"kernel": "6.1"}}
    document = {"samples": [{**sample, "run": 1}, {**sample, "run": 2}]}

    runs = read_table(TOOL, json.dumps(document))

    assert [len(run.samples) for run in runs] == [1, 1]
    assert runs[0].samples[0] == {**sample, "unit": "s"}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("metric,value\n", "no sample"),
        ("metric;worth\nboot time;3\n", "no column value"),
        ("metric,value,value\nboot time,3,3\n", "a name of its own"),
        ("metric,value\nboot time\n", "Line 2.*1 columns, the heading 2"),
        ("metric,value\nboot time,fast\n", 'Line 2.*"fast" is not a number'),
        ("metric,value\nboot time,nan\n", "not a number"),
        ("metric,value\nboot time,1_000\n", "not a number"),
        ("metric,value\nboot time,\n", "a metric and a value"),
        ("metric,value,repetition\nboot time,3,0\n", "counted 1, 2, 3"),
        ('metric,value\n"boot time,3\n', "Line"),
        ("metric,value\nsleep time,3\n", 'no metric of Boot stopwatch called "sleep'),
        ("[1]", "not an object"),
        ("[{]", "not JSON"),
        ('{"metric": "boot time"}', "list of samples"),
        ('[{"metric": "boot time", "value": "3"}]', "value is not a number"),
        ('[{"metric": "boot time", "value": true}]', "value is not a number"),
        ('[{"metric": "boot time", "value": 3, "kernel": 6}]', '"kernel" is not known'),
    ],
)
def test_what_is_no_table_is_refused_with_its_place(text, word):
    with pytest.raises(BenchmarksError, match=word):
        read_table(TOOL, text)


def test_a_decimal_comma_is_never_guessed():
    with pytest.raises(ParseError, match="not a number"):
        read_table(TOOL, "metric;value\nboot time;3,2\n")


def test_more_runs_than_a_text_may_hold_are_refused():
    rows = "".join(f"{n},boot time,3\n" for n in range(1_001))

    with pytest.raises(ParseError, match="more than 1,000 runs"):
        read_table(TOOL, "run,metric,value\n" + rows)
