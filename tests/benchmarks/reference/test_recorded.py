"""The recorded result of our own lab: repeated runs, as uploaded by agents."""

import json
from collections import Counter
from uuid import UUID

from benchmarks.parsing import run_extraction
from benchmarks.reference.data_files import DATA
from benchmarks.reference.study_documents import recorded_studies

(STUDY,) = recorded_studies()
REPETITIONS = 10
NOTES = ("native", "container", "qemu", "kvm", "xen-pv", "xen-pvh")


def test_every_system_ran_every_program_ten_times_in_each_session():
    counted = {name: Counter() for name in NOTES}
    for run in STUDY.runs:
        name = run.get("note", "").removeprefix("make lab: ")
        if name in counted:
            program = run["tool"], run["facts"]["order"]["step"]
            counted[name][run["session"], program] += 1

    assert set(counted["native"].values()) == {REPETITIONS}
    assert all(counted[name] == counted["native"] for name in NOTES)


def test_three_guests_ran_together_ten_times():
    together = Counter(
        run["corun"] for run in STUDY.runs if run.get("scenario") == "parallel"
    )

    assert list(together.values()) == [3] * REPETITIONS


def test_every_output_is_read_by_the_current_parsers():
    for run in STUDY.runs:
        (extracted,) = run_extraction.extract_runs(
            run["output"], run["tool"], run.get("locale")
        )
        assert extracted.readings
        assert not extracted.problem


def test_the_layers_below_each_guest_are_named():
    layers = {
        run["note"].removeprefix("make lab: "): run["system"]["options"]["layers"]
        for run in STUDY.runs
        if "layers" in run["system"].get("options", {}) and "note" in run
    }

    assert all("qemu-tcg" in layers[name] for name in NOTES[2:])
    assert layers["kvm"].endswith("qemu-tcg > kvm")


def test_keys_are_unique_and_the_study_is_one():
    assert len({UUID(run["key"]) for run in STUDY.runs}) == len(STUDY.runs)
    assert {run["study"] for run in STUDY.runs} == {STUDY.document["slug"]}
    assert STUDY.document["visibility"] == "public"


def test_the_file_is_small_and_contains_no_address_or_token():
    (path,) = DATA.glob("*.json.gz")
    text = json.dumps([STUDY.document, STUDY.hosts, STUDY.runs])

    assert path.stat().st_size < 1_500_000
    assert "vl_" not in text
    assert "http://" not in text
