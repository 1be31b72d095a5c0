"""A tool's options, however they are spelled, are parameters of one case."""

import pytest

from benchmarks import tools
from benchmarks.errors import InvalidError
from benchmarks.fingerprints import canonical_parameters
from tests.every import for_each

FOUR = {"threads": "4"}


def read(tool, parameters):
    return canonical_parameters(tools.get(tool).options.spelled(parameters))


@pytest.mark.parametrize(
    "parameters",
    [
        {"threads": 4},
        {"-t": "4"},
        {"--threads": 4},
        {"Threads": "4"},
        {"args": "-t 4"},
        {"args": "-t4"},
        {"arguments": "--threads=4"},
        {"command line": "--threads 4"},
    ],
)
def test_every_spelling_of_an_option_is_one_parameter(parameters):
    assert read("wrk", parameters) == FOUR


@pytest.mark.parametrize("size", ["1M", "1024K", "1024k", "1 MiB", "1024 KiB", "1m"])
@pytest.mark.parametrize("name", ["block", "bs", "--bs", "--blocksize", "blocksize"])
def test_sizes_are_counted_as_the_tool_counts_them(name, size):
    assert read("fio", {name: size}) == {"block": "1048576 B"}


def test_a_switch_is_on_or_off():
    assert read("fio", {"args": "--direct=1 --bs=4k"}) == {
        "block": "4096 B",
        "direct": "on",
    }
    assert read("fio", {"direct": True}) == read("fio", {"--direct": 1})


@pytest.mark.parametrize(
    ("tool", "parameters"),
    [
        ("wrk", {"t": "4"}),  # no option without its dash
        ("wrk", {"-T": "4s"}),
        ("wrk", {"args": "-t 4 --latency"}),
        ("wrk", {"args": "-t"}),
        ("wrk", {"args": "-t '4"}),
        ("wrk", {"args": 4}),
        ("linpack", {"args": "-t 4"}),
        ("iometer", {"block_size": "1M"}),
        ("fio", {"block": "4k/60:64k/40"}),
    ],
)
def test_what_a_tool_does_not_say_is_not_guessed(tool, parameters):
    assert tools.get(tool).options.spelled(parameters) == parameters


def test_one_parameter_in_two_spellings_is_refused():
    with pytest.raises(InvalidError, match=r'"-t" and "threads" are the same one'):
        read("wrk", {"-t": 4, "threads": 4})


@for_each("tool", tools.TOOLS.values())
def test_options_are_typed_with_dashes_and_name_parameters(tool):
    options = tool.options

    assert all(option.startswith("-") for option in options.names)
    assert options.sizes | options.switches <= set(options.names.values())
    # What our parsers say of a case is left as it is.
    assert options.spelled(dict.fromkeys(options.names.values(), "1 MiB")) == (
        dict.fromkeys(options.names.values(), "1 MiB")
    )
