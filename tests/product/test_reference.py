"""The reference studies in the running product contain every printed number."""

import csv
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import benchmarks.reference
from agents.client import Client
from devtools.temporary_product import command

DATA = Path(benchmarks.reference.__file__).parent / "data"
STUDIES = sorted(path.stem for path in DATA.glob("*.csv"))

# Raw logs of other labs have their own units; in fio 2 a KB has 1024 B.
UNITS = {
    ("stress-ng", "bogo ops/s"): (1, "1/s"),
    ("sysbench cpu", "events/s"): (1, "1/s"),
    ("stable-retro ppo", "frames/s"): (1, "1/s"),
    ("fio", "MiB/s"): (1.048576, "MB/s"),
    ("fio", "KB/s"): (0.001024, "MB/s"),
    ("fio", "IOPS"): (1, "1/s"),
    ("STREAM", "GB/s"): (1000, "MB/s"),
    ("iperf3", "bit/s"): (1e-6, "Mbit/s"),
    ("RandomAccess", "GUPS"): (1, "GUP/s"),
    ("Intel LINPACK", "GFLOPS"): (1, "Gflop/s"),
    ("CUDA matrixMul", "GFLOPS"): (1, "Gflop/s"),
}

pytestmark = [pytest.mark.product, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def reader(product) -> Client:
    """A client without a token: the studies are public."""
    return Client(product.url)


def printed(study: str) -> list[dict[str, str]]:
    with (DATA / f"{study}.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def in_our_unit(row: dict[str, str]) -> tuple[float, str]:
    """Return a printed value in the product's unit of its metric."""
    factor, unit = UNITS.get((row["tool"], row["unit"]), (1, row["unit"]))
    return rounded(float(row["value"]) * factor), unit


def rounded(value: float) -> float:
    """Return a value without the last digit, which the conversion may change."""
    return float(f"{value:.12g}")


def one(reader: Client, study: str, **expected: Any) -> dict[str, Any]:
    """Return the only comparison row with these fields."""
    rows = [
        row
        for row in reader.get_all("comparisons/", study=study)
        if all(row[name] == value for name, value in expected.items())
    ]
    assert len(rows) == 1, [row["case"] for row in rows]
    return rows[0]


def test_all_3901_values_have_document_and_table(reader):
    expected = Counter(
        (study, row["document"], row["table"], *in_our_unit(row))
        for study in STUDIES
        for row in printed(study)
    )

    counts = Counter(
        (study, run["document"], run["table"], rounded(sample["value"]), sample["unit"])
        for study in STUDIES
        for run in reader.get_all("runs/", study=study)
        for sample in run["samples"]
        if not sample["is_derived"]
    )

    assert sum(expected.values()) == 3901
    assert counts == expected


@pytest.mark.parametrize("study", STUDIES)
def test_single_readings_are_rows_of_the_comparison(reader, study):
    readings = Counter(
        (row["document"], row["table"], *in_our_unit(row))
        for row in printed(study)
        if "repetition=" not in row["params"]
    )

    rows = reader.get_all("comparisons/", study=study)

    counts = Counter(
        (row["document"], row["table"], rounded(row["value"]), row["unit"])
        for row in rows
        if row["n"] == 1
    )
    assert not readings - counts


def test_xen_hvm_network_write_is_a_quarter_of_native(reader):
    row = one(
        reader,
        "lmu-2010-xen",
        metric="network throughput",
        operation="write",
        guest_os="Ubuntu Server 9.04",
        guest_bits=32,
        virtualization="full",
        scenario="single",
    )

    assert (row["value"], row["baseline_value"], row["n"]) == (13.08, 52.97, 1)
    assert row["relative_performance"] == pytest.approx(13.08 / 52.97)
    assert f"{row['relative_performance']:.3f}" == "0.247"
    assert row["state"] == "paired"


def test_esxi_without_tools_reads_the_network_at_a_quarter(reader):
    row = one(
        reader,
        "lmu-2010-esxi",
        metric="network throughput",
        operation="read",
        guest_os="Ubuntu Server 9.04",
        guest_bits=32,
        hw_virt="off",
        guest_tools="absent",
        scenario="single",
    )

    assert (row["value"], row["baseline_value"]) == (14.16, 61.17)
    assert f"{row['relative_performance']:.3f}" == "0.231"


def test_times_are_better_when_lower(reader):
    rows = [
        row
        for row in reader.get_all("comparisons/", study="lmu-2010-esxi")
        if row["tool"] == "linpack" and row["value"] == 21.22
    ]

    assert [f"{row['relative_performance']:.3f}" for row in rows] == ["0.984"]
    assert rows[0]["baseline_value"] == 20.89


def test_study_without_native_runs_uses_its_reference(reader):
    rows = list(reader.get_all("comparisons/", study="uoc-2012-kvm"))

    states = Counter(row["state"] for row in rows)
    assert states["relative"] > 20
    assert states["reference"] > 10
    assert all(row["relative_performance"] is None for row in rows)
    against = [row for row in rows if row["state"] == "relative"]
    assert all(
        row["relative_to_reference"] and row["baseline_value"] for row in against
    )


def test_eleven_readings_are_eleven_runs_of_one_cell(reader):
    rows = list(reader.get_all("comparisons/", study="inqbus-2008-io"))

    hdparm = [row for row in rows if row["tool"] == "hdparm"]
    assert [row["n"] for row in hdparm] == [11, 11]


def test_bimodal_disk_has_no_verdict_and_no_single_figure(reader, product):
    expected = {"metric": "buffered read", "host": "inqbus-server-b"}
    deadline = time.monotonic() + 60
    while (
        "bimodal"
        not in (row := one(reader, "inqbus-2008-io", **expected))["reason_codes"]
    ):
        assert time.monotonic() < deadline  # checked a moment after the last run
        time.sleep(0.2)

    path = f"/studies/first-lab/inqbus-2008-io/cells/{row['id']}/"
    with urlopen(product.url + path) as answer:
        page = answer.read().decode().replace("\N{NO-BREAK SPACE}", " ")

    assert row["verdict"] == "baseline"
    assert re.search(
        r"two speeds, 59 MB/s \(64 ?%\) and 109 MB/s \(36 ?%\)[^<]* every 3 runs", page
    )
    assert "59 MB/s (64%) or 109 MB/s (36%)" in page.replace(" %)", "%)")
    assert "77.23" not in page


LAB = "virtlab-2026-emulated"


@pytest.fixture(scope="module")
def lab_rows(reader):
    """The lab's comparison rows, after the clocks of all cells are checked."""
    deadline = time.monotonic() + 60
    while any(not cell["clock_trust"] for cell in reader.get_all("cells/", study=LAB)):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    return list(reader.get_all("comparisons/", study=LAB))


def test_testbed_results_have_intervals_and_verdicts(lab_rows):
    alone = [row for row in lab_rows if row["scenario"] == "single"]
    guests = [row for row in alone if "clock=" not in row["system"]]
    judged = [row for row in guests if row["state"] == "paired"]

    # Ten in each of three named sessions, except for results that a tool printed as 0.
    counts = Counter(row["n"] for row in guests)
    assert counts.most_common(1)[0][0] == 30
    # They took place on one day, so they count as one session.
    assert {max(row["session_counts"]) for row in judged} == {1}
    assert len({row["system"] for row in judged}) == 5
    assert {"slower", "faster"} & {row["verdict"] for row in judged}
    assessed = [row for row in judged if row["verdict"] != "not_assessed"]
    assert all(row["low"] or row["ratio_range"] for row in assessed)


def test_guest_with_instruction_clock_is_suspect_without_verdict(lab_rows, reader):
    cells = reader.get_all("cells/", study=LAB)
    trusts = {c["clock_trust"] for c in cells if "clock=" in c["system"]}
    verdicts = {row["verdict"] for row in lab_rows if "clock=" in row["system"]}

    assert trusts == {"suspect"}
    assert verdicts <= {"not_assessed", None}


def test_testbed_pages_name_the_emulated_layers(product):
    path = f"{product.url}/studies/first-lab/{LAB}/"
    for tab in ("", "compare/", "runs/", "flags/"):
        with urlopen(path + tab) as answer:
            assert "ran on an emulated processor." in answer.read().decode()
    with urlopen(f"{path}compare/") as answer:
        assert "qemu-tcg &gt; xen-pv" in answer.read().decode()


def test_recomputed_results_equal_the_stored_ones(product):
    """The integrity check of docs/operations.md, on a fresh installation."""
    output = command(product.var, "manage.py", "recompute")

    assert "no differences" in output
