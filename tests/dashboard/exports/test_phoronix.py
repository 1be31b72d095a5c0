"""Phoronix files from results: structure, and no number lost on the way in and out."""

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.errors import ParseError
from benchmarks.fingerprints import display_parameters
from benchmarks.parsing.phoronix_files import read_composites
from benchmarks.parsing.run_extraction import extract_runs
from benchmarks.parsing.tool import check_value
from benchmarks.tools import TOOLS
from dashboard.exports.phoronix import ExportedCell, ExportedSystem, composite_xml

DATA = Path(__file__).parents[2] / "data/phoronix"
COMPOSITES = sorted(DATA.glob("composite-*.txt"))
MOMENT = "2026-11-28 10:00:00"
# Elements in their order, as Phoronix's own schema demands; every one may be empty
# except titles, identifiers and times.
GENERATED = ["Title", "LastModified", "TestClient", "Description"]
SYSTEM = ["Identifier", "Hardware", "Software", "User", "TimeStamp"]
SYSTEM += ["TestClientVersion", "Notes"]
RESULT = ["Identifier", "Title", "AppVersion", "Arguments", "Description", "Scale"]
RESULT += ["Proportion", "DisplayFormat", "Data"]
ENTRY = ["Identifier", "Value", "RawString"]
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


def stored_cells(text):
    """Return the results of a file in the units of their metrics, as stored."""
    (file,) = read_composites(text)
    means = defaultdict(list)
    for index, system in enumerate(file.systems):
        for run in extract_runs(text, part=system.identifier):
            for reading in run.readings:
                metric = TOOLS["phoronix"].metric(reading.metric)
                parameters = display_parameters(reading.parameters)
                value = check_value(metric, reading.value, reading.unit)
                means[index, metric, tuple(parameters.items())].append(value)
    systems = [
        ExportedSystem(id=index, label=system.identifier)
        for index, system in enumerate(file.systems)
    ]
    cells = [
        cell(system, metric, dict(parameters), runs)
        for (system, metric, parameters), runs in means.items()
    ]
    return systems, cells


def cell(system, metric, parameters, runs, tool="phoronix"):
    return ExportedCell(
        system=system,
        tool=tool,
        tool_title=TOOLS[tool].title,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        parameters=parameters,
        runs=runs,
    )


def numbers(text):
    """Return the runs of every system and result of a composite.xml."""
    (file,) = read_composites(text)
    return {
        (entry.system, replace(result, entries=())): [
            float(number) for number in entry.raw or (entry.value,)
        ]
        for result in file.results
        for entry in result.entries
        if entry.value and result.display_format == "BAR_GRAPH"
    }


def written(text):
    systems, cells = stored_cells(text)
    return composite_xml("A study", "https://x/", "lab", MOMENT, systems, cells)


@pytest.mark.parametrize("path", COMPOSITES, ids=lambda path: path.stem)
def test_no_number_is_lost_on_the_way_in_and_out(path):
    text = path.read_text()

    assert numbers(written(text)) == numbers(text)


def tags(element):
    return [child.tag for child in element]


def assert_is_valid(text):
    root = ElementTree.fromstring(text)
    kinds = tags(root)
    assert root.tag == "PhoronixTestSuite"
    assert kinds == sorted(kinds, key=["Generated", "System", "Result"].index)
    assert set(kinds) == {"Generated", "System", "Result"}
    assert tags(root[0]) == GENERATED
    assert 1 <= len(root[0].findtext("Title")) <= 126
    assert len(root[0].findtext("Description")) <= 2048
    assert TIME.fullmatch(root[0].findtext("LastModified"))
    names = set()
    for system in root.iterfind("System"):
        assert tags(system) == SYSTEM
        assert TIME.fullmatch(system.findtext("TimeStamp"))
        names.add(system.findtext("Identifier"))
    assert len(names) == len(root.findall("System"))
    assert all(1 <= len(name) <= 128 for name in names)
    for result in root.iterfind("Result"):
        assert tags(result) == RESULT
        assert 2 <= len(result.findtext("Title")) <= 50
        assert result.findtext("Proportion") in {"HIB", "LIB", "ABSTRACT", ""}
        assert result.findtext("DisplayFormat") == "BAR_GRAPH"
        assert result.find("Data/Entry") is not None
        for entry in result.iterfind("Data/Entry"):
            assert tags(entry) == ENTRY
            assert entry.findtext("Identifier") in names


@pytest.mark.parametrize("path", COMPOSITES, ids=lambda path: path.stem)
def test_the_file_has_the_structure_of_the_schema(path):
    assert_is_valid(written(path.read_text()))


def test_results_of_other_tools_are_written_with_their_benchmark():
    metric = TOOLS["fio"].metric("IOPS")
    systems = [
        ExportedSystem(id=number, label="KVM <guest> & \x01 more" + "x" * 150)
        for number in (1, 2)
    ]
    cells = [
        cell(number, metric, {"block_size": "4 KiB"}, [101.5, 99.25, number], "fio")
        for number in (1, 2)
    ]

    text = composite_xml("t" * 200, "", "lab", MOMENT, systems, cells)

    assert_is_valid(text)
    (file,) = read_composites(text)
    assert [result.title for result in file.results] == ["fio"]
    assert file.results[0].description == "IOPS - block_size: 4 KiB"
    assert [entry.raw for entry in file.results[0].entries] == [
        ("101.5", "99.25", "1"),
        ("101.5", "99.25", "2"),
    ]


def test_a_selection_without_results_is_refused():
    with pytest.raises(ParseError, match="at least one system and one result"):
        composite_xml("A study", "", "lab", MOMENT, [], [])
