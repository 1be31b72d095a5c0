"""The contract of every tool with a parser, tested with saved outputs."""

import json
import math
import re

import pytest

from benchmarks.errors import ParseError
from benchmarks.parsing.run_extraction import extract_runs
from benchmarks.tools import TOOLS
from tests.benchmarks.tools import damaged_outputs
from tests.data.rebuild import numbers, outputs
from tests.for_each import for_each

READERS = [tool for tool in TOOLS.values() if tool.parse]
OUTPUTS = outputs()
REBUILD = "python -m tests.data.rebuild writes it anew: look at git diff"

every_tool = for_each("tool", READERS, lambda tool: tool.slug)
every_output = for_each("path", OUTPUTS)
# fio repeats the JSON report of a continued run: the last one is the run's.
every_output_that_can_follow_itself = for_each(
    "path", [path for path in OUTPUTS if '"fio version"' not in path.read_text()]
)

# A truncated text whose last complete row is a result: not that of the whole text.
# The same for a rounded table without the CSV below it.
TAKES_THE_LAST_ROW = {"linpack", "iperf", "bonnie", "jmeter", "ycsb"}

NO_NUMBERS = ("nan", "-nan", "inf", "Infinity", "1,5", "0.00", "-5.0")

# A truncated log of these is a shorter log with another mean and energy. So is a log in
# which a sample is 0.
SUMMARIZES = {
    "watts-up",
    "power-csv",
    "ipmi-dcmi",
    "xentop",
    "pdh-csv",
    "libvirt-domstats",
    "rapl",
    "sysstat",
    "vmstat",
}

# These read times in front of each line as part of the log, so the energy differs.
READS_EPOCHS = {"watts-up"}


def saved(path):
    return json.loads(path.with_suffix(".json").read_text())


def readings(output, **options):
    """Return all readings of a text; none if it is rejected."""
    try:
        runs = extract_runs(output, **options)
    except ParseError:
        return []
    return [reading for run in runs for reading in run.readings]


# Parameters only if one text has results of several targets.
TARGETS = {name for tool in READERS for name in tool.targets}


def key(reading):
    """Return the properties of a reading that must not change."""
    parameters = tuple(
        item for item in sorted(reading.parameters.items()) if item[0] not in TARGETS
    )
    return reading.metric, parameters, reading.value, reading.unit


def keys(readings):
    """Return the properties that must not change, in the order of the text."""
    return list(map(key, readings))


@every_tool
def test_every_tool_has_at_least_two_saved_outputs(tool):
    assert len(outputs(tool.slug)) >= 2, f"save outputs under tests/data/{tool.slug}/"


@every_output
def test_a_saved_output_gives_the_saved_numbers(path):
    assert numbers(path.read_bytes()) == saved(path), REBUILD


def is_claimed(text, tool):
    """Return whether a line is a signature of the tool, or the tool recognizes the
    text.
    """
    lines = f"\n{text}"
    ends = (end.start() for end in re.finditer("\n", lines))
    is_shaped = tool.recognizes is not None and tool.recognizes(text)
    return is_shaped or any(tool.is_signature_at(lines, end) for end in ends)


@every_output
def test_a_saved_output_is_claimed_by_its_own_tool_only(path):
    text = path.read_text()

    claims = [tool.slug for tool in READERS if is_claimed(text, tool)]

    # HPCC prints the whole output of HPL within its own.
    enclosed = TOOLS[path.parent.name].enclosed_tools
    assert [slug for slug in claims if slug not in enclosed] == [path.parent.name]


@every_output
def test_no_other_tool_reads_the_output_even_if_named(path):
    text = path.read_text()

    for tool in READERS:
        if tool.slug == path.parent.name or (path.parent.name == "hpcc"):
            continue
        assert readings(text, tool=tool.slug) == [], tool.slug


@every_output
def test_its_own_tool_reads_the_output_by_name(path):
    text = path.read_text()
    assert keys(readings(text, tool=path.parent.name)) == keys(readings(text))


# Two of each tool, because there are many disguises.
SHORT_OUTPUTS = [
    path
    for tool in READERS
    for path in sorted(outputs(tool.slug), key=lambda path: path.stat().st_size)[:2]
]


@for_each("path", SHORT_OUTPUTS)
def test_a_disguise_changes_nothing(path):
    text = path.read_text()
    plain = keys(readings(text))

    for name, disguise in damaged_outputs.DISGUISES.items():
        if name == "ts %.s" and path.parent.name in READS_EPOCHS:
            continue
        assert keys(readings(disguise(text))) == plain, name


@every_output
def test_surrounding_latin_1_changes_nothing(path):
    # German Windows writes a character that Latin-1 does not contain.
    text = path.read_text().replace("\N{EN DASH}", "-")
    around = f"# Prüfstand für Geräte\n{text}".encode("latin-1")
    tool = path.parent.name

    assert keys(readings(around, tool=tool)) == keys(readings(text))


@every_output
def test_a_truncated_output_gives_fewer_readings_and_no_others(path):
    text = path.read_text()
    complete = set(keys(readings(text)))
    printed = {float(match[0]) for match in damaged_outputs.NUMBER.finditer(text)}

    for cut in damaged_outputs.cuts(text, many=10):
        for reading in readings(cut, tool=path.parent.name):
            is_printed = reading.value in printed
            assert (
                key(reading) in complete
                or path.parent.name in SUMMARIZES
                or (path.parent.name in TAKES_THE_LAST_ROW and is_printed)
            ), (reading, cut[-200:])


@every_output
def test_invalid_numbers_are_never_read(path):
    text = path.read_text()
    printed = {float(match[0]) for match in damaged_outputs.NUMBER.finditer(text)} | {
        reading.value for reading in readings(text)
    }
    tool = TOOLS[path.parent.name]

    shortens = path.parent.name in SUMMARIZES
    replacements = [word for word in NO_NUMBERS if not (shortens and word == "0.00")]

    for damaged in damaged_outputs.with_numbers_replaced(text, replacements, many=4):
        for reading in readings(damaged):
            assert math.isfinite(reading.value)
            assert reading.value > 0 or tool.metric(reading.metric).allows_zero
            assert reading.value in printed or reading.value == 0, reading


@every_output
def test_a_repeated_header_adds_no_other_number(path):
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    values = {(reading.metric, reading.value) for reading in readings(text)}

    for height in (1, 2, 3, 5, 8):
        doubled = "".join([*lines[:height], *lines])
        doubles = {(reading.metric, reading.value) for reading in readings(doubled)}
        assert doubles <= values or path.parent.name in TAKES_THE_LAST_ROW | SUMMARIZES


@every_output_that_can_follow_itself
def test_the_same_output_twice_gives_every_number_twice(path):
    text = path.read_text()
    once = keys(readings(text))

    twice = keys(readings(f"root@vm:~# one\n{text}\nroot@vm:~# two\n{text}"))

    assert twice == [*once, *once]


@every_tool
def test_an_empty_output_is_rejected(tool):
    for output in ("", "\n \n", b"\xff\xfe"):
        with pytest.raises(ParseError, match="empty"):
            extract_runs(output, tool=tool.slug)


@pytest.mark.parametrize("output", ["Segmentation fault\n", "command not found\n"])
@every_tool
def test_messages_of_a_shell_are_rejected_with_their_line(tool, output):
    (run,) = extract_runs(output, tool=tool.slug)

    assert run.status == "rejected"
    assert run.problem.line == 1
    assert str(run.problem).startswith(f'Line 1 "{output.strip()}": ')


@every_output
def test_a_rejection_names_a_line_of_the_output(path):
    text = path.read_text()
    for run in extract_runs(text):
        if run.problem:
            assert run.problem.text in text.splitlines()
