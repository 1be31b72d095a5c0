"""Tables of numbers of no known tool, and reading them once they are declared."""

import pytest

from benchmarks.custom_tools.sample_tables import read_sample_file
from benchmarks.custom_tools.table_columns import number_columns
from benchmarks.errors import ParseError
from benchmarks.parsing.tool import Metric, Tool

TABLE = "run,boot_s,rate (MB/s),kernel\n1,3.2,101.5,6.1-rc\n2,3.4,99.75,6.1-rc\n"
JSON = '[{"boot_s": 3.2, "kernel": "a"}, {"boot_s": 3.4, "kernel": "a"}]'
TOOL = Tool(
    slug="starter",
    title="Starter",
    homepage="https://example.org/",
    metrics=(
        Metric("boot_s", "s", "lower", "application"),
        Metric("rate (MB/s)", "MB/s", "higher", "disk"),
    ),
)


def columns(text):
    return [(column.name, column.unit) for column in number_columns(text)]


def test_columns_of_numbers_are_found_with_the_unit_in_their_name():
    assert columns(TABLE) == [("boot_s", "s"), ("rate (MB/s)", "MB/s")]
    assert columns(TABLE.replace(",", ";").encode("utf-16")) == columns(TABLE)
    assert columns(JSON) == [("boot_s", "s")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "one line",
        "a,b\n",
        "a,b\n1\n",
        "1,2\n3,4\n",
        "a,a\n1,2\n",
        "a,b\nx,nan\n",
        '{"a": ',
        "[1, 2]",
        '[{"a": 1}, {"b": 1}]',
        '{"a": true}',
        '{"metric": "boot", "value": 3}',
        "\x00\x00",
    ],
)
def test_other_texts_have_no_columns(text):
    assert columns(text) == []


@pytest.mark.parametrize("text", [TABLE, TABLE.replace("run,", "no,")])
def test_each_line_of_a_declared_table_is_a_run(text):
    first, second = read_sample_file(TOOL, text)

    assert [
        (row["metric"], row["value"], row["unit"], row["parameters"]["kernel"])
        for row in first.samples
    ] == [("boot_s", 3.2, "s", "6.1-rc"), ("rate (MB/s)", 101.5, "MB/s", "6.1-rc")]
    assert [row["value"] for row in second.samples] == [3.4, 99.75]
    assert (first.first_line, second.first_line) == (2, 3)


def test_each_object_of_a_declared_list_is_a_run():
    runs = read_sample_file(TOOL, JSON)

    assert [[row["value"] for row in run.samples] for run in runs] == [[3.2], [3.4]]
    assert runs[0].samples[0]["parameters"] == {"kernel": "a"}


PUBLISHED = "metric,value,runs,standard_deviation,kernel\nboot_s,3.2,30,0.5,6.1\n"


def test_a_table_may_have_published_means():
    (run,) = read_sample_file(TOOL, PUBLISHED)

    (sample,) = run.samples
    assert (sample["runs"], sample["standard_deviation"]) == (30, 0.5)
    assert sample["parameters"] == {"kernel": "6.1"}


@pytest.mark.parametrize(
    "text",
    [
        PUBLISHED.replace("30", "0"),
        PUBLISHED.replace("0.5", "x"),
        '[{"metric": "boot_s", "value": 3.2, "runs": 1.5}]',
        '[{"metric": "boot_s", "value": 3.2, "runs": 3, "standard_deviation": "1"}]',
    ],
)
def test_published_means_with_wrong_numbers_are_refused(text):
    with pytest.raises(ParseError):
        read_sample_file(TOOL, text)
