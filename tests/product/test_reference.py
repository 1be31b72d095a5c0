"""The reference studies in the running product: every printed number is there."""

import csv
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

import benchmarks.reference
from agents.client import Client

DATA = Path(benchmarks.reference.__file__).parent / "data"
STUDIES = sorted(path.stem for path in DATA.glob("*.csv"))

# Raw logs of other labs have units of their own; in fio 2 a KB has 1024 B.
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
    """Somebody without a token: the studies are public."""
    return Client(product.url)


def printed(study: str) -> list[dict[str, str]]:
    with (DATA / f"{study}.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def in_our_unit(row: dict[str, str]) -> tuple[float, str]:
    """A printed value as the product says it, in the unit of its metric."""
    factor, unit = UNITS.get((row["tool"], row["unit"]), (1, row["unit"]))
    return rounded(float(row["value"]) * factor), unit


def rounded(value: float) -> float:
    """Without the last digit of a conversion."""
    return float(f"{value:.12g}")


def one(reader: Client, study: str, **wanted: Any) -> dict[str, Any]:
    """Return the only comparison row with these fields."""
    rows = [
        row
        for row in reader.get_all("comparisons/", study=study)
        if all(row[name] == value for name, value in wanted.items())
    ]
    assert len(rows) == 1, [row["case"] for row in rows]
    return rows[0]


def test_all_3901_values_are_found_again_with_their_document_and_table(reader):
    expected = Counter(
        (study, row["document"], row["table"], *in_our_unit(row))
        for study in STUDIES
        for row in printed(study)
    )

    found = Counter(
        (study, run["document"], run["table"], rounded(sample["value"]), sample["unit"])
        for study in STUDIES
        for run in reader.get_all("runs/", study=study)
        for sample in run["samples"]
        if not sample["derived"]
    )

    assert sum(expected.values()) == 3901
    assert found == expected


@pytest.mark.parametrize("study", STUDIES)
def test_each_single_reading_is_a_row_of_the_comparison(reader, study):
    readings = Counter(
        (row["document"], row["table"], *in_our_unit(row))
        for row in printed(study)
        if "repetition=" not in row["params"]
    )

    rows = reader.get_all("comparisons/", study=study)

    found = Counter(
        (row["document"], row["table"], rounded(row["value"]), row["unit"])
        for row in rows
        if row["n"] == 1
    )
    assert not readings - found


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
    assert row["efficiency"] == pytest.approx(13.08 / 52.97)
    assert f"{row['efficiency']:.3f}" == "0.247"
    assert row["state"] == "paired"


def test_esxi_without_help_reads_the_network_at_a_quarter(reader):
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
    assert f"{row['efficiency']:.3f}" == "0.231"


def test_a_time_is_better_when_lower(reader):
    rows = [
        row
        for row in reader.get_all("comparisons/", study="lmu-2010-esxi")
        if row["tool"] == "linpack" and row["value"] == 21.22
    ]

    assert [f"{row['efficiency']:.3f}" for row in rows] == ["0.984"]
    assert rows[0]["baseline_value"] == 20.89


def test_a_study_without_native_runs_is_relative_to_its_reference(reader):
    rows = list(reader.get_all("comparisons/", study="uoc-2012-kvm"))

    states = Counter(row["state"] for row in rows)
    assert states["relative"] > 20
    assert states["reference"] > 10
    assert all(row["efficiency"] is None for row in rows)
    against = [row for row in rows if row["state"] == "relative"]
    assert all(row["relative"] and row["baseline_value"] for row in against)


def test_eleven_readings_are_eleven_runs_of_one_cell(reader):
    rows = list(reader.get_all("comparisons/", study="inqbus-2008-io"))

    hdparm = [row for row in rows if row["tool"] == "hdparm"]
    assert [row["n"] for row in hdparm] == [11, 11]


def test_a_disk_of_two_speeds_gets_no_verdict_and_no_single_figure(reader, product):
    wanted = {"metric": "buffered read", "host": "inqbus-server-b"}
    deadline = time.monotonic() + 60
    while "bimodal" not in (row := one(reader, "inqbus-2008-io", **wanted))["reasons"]:
        assert time.monotonic() < deadline  # looked at a moment after the last run
        time.sleep(0.2)

    place = f"/studies/first-lab/inqbus-2008-io/cells/{row['id']}/"
    with urlopen(product.url + place) as answer:
        page = answer.read().decode().replace("\N{NO-BREAK SPACE}", " ")

    assert row["verdict"] == "baseline"
    assert (
        "two speeds, 59 MB/s (64 %) and 109 MB/s (36 %), alternating with period 3"
        in page
    )
    assert "59 MB/s (64 %) or 109 MB/s (36 %)" in page
    assert "77.23" not in page


LAB = "virtlab-2026-emulated"


@pytest.fixture(scope="module")
def lab_rows(reader):
    """The lab's comparison, once the clocks were looked at after the last run."""
    deadline = time.monotonic() + 60
    while any(not cell["clock_trust"] for cell in reader.get_all("cells/", study=LAB)):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    return list(reader.get_all("comparisons/", study=LAB))


def test_the_labs_own_result_has_intervals_and_verdicts(lab_rows):
    alone = [row for row in lab_rows if row["scenario"] == "single"]
    guests = [row for row in alone if "clock=" not in row["system"]]
    judged = [row for row in guests if row["state"] == "paired"]

    # Ten in each of its sessions, but for what a tool printed as 0.
    counts = Counter(row["n"] for row in guests)
    assert counts.most_common(1)[0][0] == 10 * max(
        max(row["sessions"]) for row in judged
    )
    assert len({row["system"] for row in judged}) == 5
    assert {"slower", "faster"} & {row["verdict"] for row in judged}
    assessed = [row for row in judged if row["verdict"] != "not_assessed"]
    assert all(row["low"] or row["ratio_range"] for row in assessed)


def test_a_guest_that_counts_instructions_is_suspect_and_gets_no_verdict(
    lab_rows, reader
):
    cells = reader.get_all("cells/", study=LAB)
    trusts = {c["clock_trust"] for c in cells if "clock=" in c["system"]}
    verdicts = {row["verdict"] for row in lab_rows if "clock=" in row["system"]}

    assert trusts == {"suspect"}
    assert verdicts <= {"not_assessed", None}


def test_every_page_of_the_lab_names_its_emulated_layers(product):
    place = f"{product.url}/studies/first-lab/{LAB}/"
    for tab in ("", "compare/", "runs/", "flags/"):
        with urlopen(place + tab) as answer:
            assert "ran on an emulated processor." in answer.read().decode()
    with urlopen(f"{place}compare/") as answer:
        assert "qemu-tcg &gt; xen-pv" in answer.read().decode()
