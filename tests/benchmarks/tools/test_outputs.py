"""The contract of every tool that reads its own output, held with saved outputs."""

import json
import math
import re

import pytest

from benchmarks.errors import ParseError
from benchmarks.parsing.reading import read
from benchmarks.tools import TOOLS
from tests.benchmarks.tools import damage
from tests.data.rebuild import numbers, outputs
from tests.every import for_each

READERS = [tool for tool in TOOLS.values() if tool.parse]
OUTPUTS = outputs()
REBUILD = "python -m tests.data.rebuild writes it anew: look at git diff"

every_tool = for_each("tool", READERS, lambda tool: tool.slug)
every_output = for_each("path", OUTPUTS)
# fio repeats the JSON report of a run that goes on: the last one is the run's.
every_output_that_can_follow_itself = for_each(
    "path", [path for path in OUTPUTS if '"fio version"' not in path.read_text()]
)

# A cut text whose last whole row is a result by itself: not one of the whole text.
# The same for a table that is rounded, without the CSV below it.
TAKES_THE_LAST_ROW = {"linpack", "iperf", "bonnie"}

NO_NUMBERS = ("nan", "-nan", "inf", "Infinity", "1,5", "0.00", "-5.0")

# A cut log of these is a shorter log: its mean and energy are others. So is one in
# which a sample is 0.
SUMMARIZES = {
    "watts-up",
    "power-csv",
    "ipmi-dcmi",
    "xentop",
    "pdh-csv",
    "libvirt-domstats",
    "rapl",
}

# Times before each line are part of these: an energy is another one with them.
READS_EPOCHS = {"watts-up"}


def saved(path):
    return json.loads(path.with_suffix(".json").read_text())


def readings(output, **options):
    """Everything read from a text; nothing if it is refused."""
    try:
        runs = read(output, **options)
    except ParseError:
        return []
    return [reading for run in runs for reading in run.readings]


def key(reading):
    """What must not change of a reading."""
    parameters = tuple(sorted(reading.parameters.items()))
    return reading.metric, parameters, reading.value, reading.unit


def keys(readings):
    """What must not change, in the order of the text."""
    return list(map(key, readings))


@every_tool
def test_it_has_two_saved_outputs_at_least(tool):
    assert len(outputs(tool.slug)) >= 2, f"save outputs under tests/data/{tool.slug}/"


@every_output
def test_a_saved_output_gives_the_saved_numbers(path):
    assert numbers(path.read_bytes()) == saved(path), REBUILD


def is_claimed(text, tool):
    """Whether a line of the text is a signature of this tool, or the text its shape."""
    lines = f"\n{text}"
    ends = (end.start() for end in re.finditer("\n", lines))
    is_shaped = tool.shape is not None and tool.shape(text)
    return is_shaped or any(tool.starts(lines, end) for end in ends)


@every_output
def test_a_saved_output_is_claimed_by_its_own_tool_alone(path):
    text = path.read_text()

    claims = [tool.slug for tool in READERS if is_claimed(text, tool)]

    # HPCC prints the whole output of HPL within its own.
    if path.parent.name == "hpcc":
        claims = [slug for slug in claims if slug != "hpl"]
    assert claims == [path.parent.name]


@every_output
def test_no_other_tool_reads_it_even_if_named(path):
    text = path.read_text()

    for tool in READERS:
        if tool.slug == path.parent.name or (path.parent.name == "hpcc"):
            continue
        assert readings(text, tool=tool.slug) == [], tool.slug


@every_output
def test_its_own_tool_reads_it_by_name(path):
    text = path.read_text()
    assert keys(readings(text, tool=path.parent.name)) == keys(readings(text))


@every_output
def test_a_disguise_changes_nothing(path):
    text = path.read_text()
    plain = keys(readings(text))

    for name, disguise in damage.DISGUISES.items():
        if name == "ts %.s" and path.parent.name in READS_EPOCHS:
            continue
        assert keys(readings(disguise(text))) == plain, name


@every_output
def test_latin_1_around_it_changes_nothing(path):
    # Windows in German writes one sign that Latin-1 has not.
    text = path.read_text().replace("\N{EN DASH}", "-")
    around = f"# Prüfstand für Geräte\n{text}".encode("latin-1")
    named = path.parent.name

    assert keys(readings(around, tool=named)) == keys(readings(text))


@every_output
def test_a_cut_output_gives_fewer_readings_and_no_other(path):
    text = path.read_text()
    whole = set(keys(readings(text)))
    printed = {float(match[0]) for match in damage.NUMBER.finditer(text)}

    for cut in damage.cuts(text, many=10):
        for reading in readings(cut, tool=path.parent.name):
            is_printed = reading.value in printed
            assert (
                key(reading) in whole
                or path.parent.name in SUMMARIZES
                or (path.parent.name in TAKES_THE_LAST_ROW and is_printed)
            ), (reading, cut[-200:])


@every_output
def test_what_is_no_number_is_never_read(path):
    text = path.read_text()
    printed = {float(match[0]) for match in damage.NUMBER.finditer(text)} | {
        reading.value for reading in readings(text)
    }
    tool = TOOLS[path.parent.name]

    shortens = path.parent.name in SUMMARIZES
    replacements = [word for word in NO_NUMBERS if not (shortens and word == "0.00")]

    for damaged in damage.with_numbers_replaced(text, replacements, many=4):
        for reading in readings(damaged):
            assert math.isfinite(reading.value)
            assert reading.value > 0 or tool.metric(reading.metric).zero_allowed
            assert reading.value in printed or reading.value == 0, reading


@every_output
def test_a_doubled_head_adds_no_other_number(path):
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    values = {(reading.metric, reading.value) for reading in readings(text)}

    for height in (1, 2, 3, 5, 8):
        doubled = "".join([*lines[:height], *lines])
        doubles = {(reading.metric, reading.value) for reading in readings(doubled)}
        assert doubles <= values or path.parent.name in TAKES_THE_LAST_ROW | SUMMARIZES


@every_output_that_can_follow_itself
def test_the_same_output_twice_is_every_number_twice(path):
    text = path.read_text()
    once = keys(readings(text))

    twice = keys(readings(f"root@vm:~# one\n{text}\nroot@vm:~# two\n{text}"))

    assert twice == [*once, *once]


@every_tool
def test_it_refuses_an_empty_output(tool):
    for output in ("", "\n \n", b"\xff\xfe"):
        with pytest.raises(ParseError, match="empty"):
            read(output, tool=tool.slug)


@pytest.mark.parametrize("output", ["Segmentation fault\n", "command not found\n"])
@every_tool
def test_it_refuses_the_words_of_a_shell_and_names_the_line(tool, output):
    (run,) = read(output, tool=tool.slug)

    assert run.status == "rejected"
    assert run.problem.line == 1
    assert str(run.problem).startswith(f'Line 1 "{output.strip()}": ')


@every_output
def test_what_is_rejected_names_a_line_of_it(path):
    text = path.read_text()
    for run in read(text):
        if run.problem:
            assert run.problem.text in text.splitlines()
