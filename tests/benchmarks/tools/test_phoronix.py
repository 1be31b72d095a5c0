"""Phoronix files of five versions, their exports, and the way back to composite.xml."""

from pathlib import Path

import pytest

from benchmarks.errors import ParseError
from benchmarks.parsing.phoronix_files import read_composites
from benchmarks.parsing.run_extraction import extract_runs

DATA = Path(__file__).parents[2] / "data/phoronix"
COMPOSITES = sorted(DATA.glob("composite-*.txt"))


def runs(name, **options):
    return extract_runs((DATA / f"{name}.txt").read_bytes(), **options)


def values(runs):
    return [reading.value for run in runs for reading in run.readings]


def test_each_raw_value_is_a_run():
    compression = runs("composite-9.8")[:3]

    assert [values([run]) for run in compression] == [[41760], [41921], [41935]]
    assert {run.tool_version for run in compression} == {"9.8.0"}
    assert compression[0].facts["system layer"] == "Xen HVM domU 4.13"


def test_one_execution_with_two_results_is_one_run():
    host = runs("composite-10.8", part="host")

    assert [values([run]) for run in host][3:6] == [
        [301000, 1176],
        [303000, 1184],
        [303000, 1183],
    ]


def test_a_file_with_several_systems_is_rejected_until_a_part_is_stated():
    whole = runs("composite-5.2")

    assert {run.status for run in whole} == {"rejected"}
    assert {run.part for run in whole} == {"bare metal", "KVM guest"}
    assert "2 systems: bare metal, KVM guest" in str(whole[0].problem)
    guest = runs("composite-5.2", part="KVM guest")
    assert {run.status for run in guest} == {"parsed"}
    assert values(guest) == [16902.5, 16850.4, 16860.6, 154.77, 155.4, 154.89]


def test_an_unknown_part_is_refused_with_the_known_ones():
    with pytest.raises(ParseError, match=r'no part "Xen".*bare metal, KVM guest'):
        runs("composite-5.2", part="Xen")


def test_results_that_cannot_be_read_are_named():
    messages = {
        str(warning.message)
        for run in runs("composite-5.2")
        for warning in run.warnings
    }

    assert any("curves over time" in text and "Monitor" in text for text in messages)
    assert any("failed" in text and "pgbench" in text for text in messages)


def test_a_stated_value_far_from_the_mean_of_the_runs_is_reported():
    text = (DATA / "composite-9.8.txt").read_text()
    changed = text.replace("<Value>41872<", "<Value>47000<")

    (code,) = {mark.code for run in extract_runs(changed) for mark in run.warnings}

    assert code == "other_mean"


def test_a_scale_without_direction_gets_no_verdict():
    text = (DATA / "composite-9.8.txt").read_text()
    run = extract_runs(text.replace("<Proportion>HIB<", "<Proportion><"))[0]

    assert run.readings[0].metric == "value"
    assert {mark.code for mark in run.warnings} == {"no_direction"}


def test_a_configuration_file_has_no_result():
    text = (
        "<?xml version='1.0'?>\n<PhoronixTestSuite>\n<Options/>\n</PhoronixTestSuite>"
    )
    (run,) = extract_runs(text, tool="phoronix")

    assert "has no result" in str(run.problem)


def test_entities_are_not_expanded():
    text = (DATA / "composite-9.8.txt").read_text()
    head, rest = text.split("\n", 1)
    bomb = '<!DOCTYPE p [<!ENTITY a "41760">]>'
    changed = f"{head}\n{bomb}\n{rest.replace('41760', '&a;')}"
    (run,) = extract_runs(changed)

    assert "XML is incomplete or not valid" in str(run.problem)


@pytest.mark.parametrize("path", COMPOSITES, ids=lambda path: path.stem)
def test_old_and_new_names_of_elements_give_the_same_fields(path):
    (file,) = read_composites(path.read_text())

    assert file.title
    assert all(system.identifier and system.timestamp for system in file.systems)
    assert all(result.title and result.entries for result in file.results)
