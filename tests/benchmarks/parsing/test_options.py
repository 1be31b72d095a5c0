"""All spellings of a tool's options are parameters of one case."""

import pytest

from benchmarks import tools
from benchmarks.errors import InvalidError
from benchmarks.fingerprints import canonical_parameters
from tests.for_each import for_each

FOUR = {"threads": "4"}


def read(tool, parameters):
    return canonical_parameters(tools.get(tool).options.normalize(parameters))


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
def test_sizes_have_the_prefixes_of_the_tool(name, size):
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
        ("wrk", {"t": "4"}),  # not an option without its dash
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
def test_unknown_options_are_not_guessed(tool, parameters):
    assert tools.get(tool).options.normalize(parameters) == parameters


def test_one_parameter_in_two_spellings_is_rejected():
    with pytest.raises(InvalidError, match=r'"-t" and "threads" are the same'):
        read("wrk", {"-t": 4, "threads": 4})


@for_each("tool", tools.TOOLS.values())
def test_options_are_typed_with_dashes_and_name_parameters(tool):
    options = tool.options

    assert all(option.startswith("-") for option in options.names)
    assert options.sizes | options.switches <= set(options.names.values())
    # Parameters from our parsers are not changed.
    assert options.normalize(dict.fromkeys(options.names.values(), "1 MiB")) == (
        dict.fromkeys(options.names.values(), "1 MiB")
    )
