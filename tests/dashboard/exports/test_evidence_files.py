"""Evidence files: the same numbers in four formats."""

import csv
import io
import json
from dataclasses import dataclass, replace
from math import log

import pytest

from api.evidence import EvidenceItemSerializer
from benchmarks.evidence.json_records import question_record, study_records
from benchmarks.evidence.queries import HostInfo, Question, StudyAverage, StudyInfo
from benchmarks.evidence.synthesis import BenchmarkAverage
from dashboard.exports.chart_files import forest_plot_data, render_chart_data
from dashboard.exports.evidence_files import (
    EVIDENCE_FIELDS,
    EvidenceSource,
    evidence_csv,
    evidence_json,
    evidence_latex,
    evidence_markdown,
)
from tests.dashboard.exports.latex_reader import read

QUESTION = Question("KVM", "disk-random-write")
SOURCE = EvidenceSource(
    title="KVM & others",
    name="kvm-disk-random-write",
    url="http://testserver/evidence/question/?hypervisor=KVM",
    created_on="2026-11-23",
    rule_set=2,
    without_doubtful=True,
)


@dataclass
class Measured:
    """A synthetic result of a machine; ``sd`` is None if the error is unknown."""

    lab: str
    ratio: float
    sd: float | None = 0.02
    obstacle: str = ""


LABS = (
    Measured("Alpha", 0.8),
    Measured("Beta", 0.9),
    Measured("Gamma", 0.7),
    Measured("Delta", 0.85, None, "single_run"),
    Measured("Epsilon", 0.1, 0.02, "emulation"),
)


def study_averages(*labs):
    """Return study averages of these results; nothing is stored."""
    return [
        StudyAverage(
            average=BenchmarkAverage(
                at, it.lab, ("fio", "bw"), it.obstacle, log(it.ratio), it.sd
            ),
            study=StudyInfo(
                pk=at,
                lab=f"lab-{at}",
                slug=f"study-{at}",
                title=f"Study of {it.lab}",
                author="",
                institution="",
                published="2019-05",
                data_licence="",
            ),
            host=HostInfo(pk=at, slug=f"host-{at}", title=""),
            virtualization="HVM",
            io_path="",
            cell_ids=(100 + at,),
            lowest=log(it.ratio),
            highest=log(it.ratio),
        )
        for at, it in enumerate(labs, start=1)
    ]


def records_of(*labs):
    parts = study_averages(*labs)
    return [question_record(QUESTION, parts)], study_records({QUESTION: parts}, {})


def lines_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_machines_weights_pools_and_exclusions():
    lines = lines_of(evidence_csv(*records_of(*LABS), SOURCE))

    machines = [line for line in lines if line["section"] == "machine"]
    assert [line["lab"] for line in machines] == ["Gamma", "Alpha", "Beta", "Delta"]
    repeated = [line for line in machines if line["is_single_run"] == "false"]
    assert sum(float(line["weight"]) for line in repeated) == pytest.approx(1)
    assert (
        all(line["mean_without"] for line in repeated) is False
    )  # without one of three machines there is no mean
    (pool,) = [line for line in lines if line["section"] == "pool"]
    numbers = [pool[name] for name in ("low", "ratio", "high", "prediction_low", "i2")]
    assert all(numbers)
    assert float(pool["low"]) < float(pool["ratio"]) < float(pool["high"])
    assert float(pool["tau"]) > 0
    assert float(pool["dersimonian_laird_mean"]) == pytest.approx(0.797, abs=0.01)
    (left,) = [line for line in lines if line["section"] == "exclusion"]
    assert (left["reason"], left["studies"]) == ("emulation", "lab-5/study-5")
    assert {line["rule_set"] for line in lines} == {"2"}
    assert {line["created_on"] for line in lines} == {"2026-11-23"}


def test_csv_has_the_pools_of_subgroups():
    lines = lines_of(evidence_csv(*records_of(*LABS), SOURCE))

    groups = [line for line in lines if line["section"].startswith("subgroup_")]
    named = {(line["grouped_by"], line["group"], line["section"]) for line in groups}
    kinds = ("subgroup_pool", "subgroup_single_run_pool")
    values = {"decade": "2010s", "virtualization": "HVM", "benchmark": "fio bw"}
    values["path"] = ""
    assert named == {(by, value, k) for by, value in values.items() for k in kinds}
    pool = next(line for line in lines if line["section"] == "pool")
    # All machines are from one decade, so the pools are equal.
    decade = next(line for line in groups if line["grouped_by"] == "decade")
    for name in ("ratio", "prediction_low"):
        assert float(decade[name]) == pytest.approx(float(pool[name]), rel=1e-9)


def test_subgroups_have_only_their_machines():
    parts = study_averages(*LABS)
    parts[0] = replace(parts[0], study=parts[0].study._replace(published="2023"))
    record = question_record(QUESTION, parts)

    machines = {
        subgroup["name"]: (
            subgroup["pool"]["machines"],
            subgroup["single_runs"]["machines"],
        )
        for subgroup in record["subgroups"]
        if subgroup["by"] == "decade"
    }

    assert machines == {"2010s": (2, 1), "2020s": (1, 0)}


def test_older_reviews_without_subgroups_are_exported():
    questions, studies = records_of(*LABS)
    for record in questions:
        del record["subgroups"]

    for write in (evidence_csv, evidence_json, evidence_latex, evidence_markdown):
        assert "Gamma" in write(questions, studies, SOURCE)


def test_json_equals_the_api_response_plus_studies():
    questions, studies = records_of(*LABS)

    document = json.loads(evidence_json(questions, studies, SOURCE))

    (question,) = document["questions"]
    machines = [
        {name: value for name, value in machine.items() if name != "is_pooled"}
        for machine in question["machines"]
    ]
    (expected,) = EvidenceItemSerializer(questions, many=True).data
    assert {**question, "machines": machines} == expected
    assert [study["study"] for study in document["studies"]] == [
        f"lab-{at}/study-{at}" for at in range(1, 6)
    ]
    assert (document["rule_set"], document["includes_doubtful"]) == (2, False)


def test_latex_rows_are_as_wide_as_their_header():
    text = evidence_latex(*records_of(*LABS), SOURCE)

    reading = read(text)
    assert reading.closed.count("table*") == 5
    # Summary, machines, subgroups, exclusions, studies.
    assert set(reading.widths) == {10, 6, 4, 5}
    assert r"\toprule" in text
    assert "table-format=1.3" in text
    assert r"KVM \& others" in text


def test_markdown_has_the_same_tables():
    text = evidence_markdown(*records_of(*LABS), SOURCE)

    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert any("Gamma, host\\-3, 2019" in row and "0.700" in row for row in rows)
    assert any("emulated CPU" in row for row in rows)
    assert any("Decade" in row and "2010s" in row for row in rows)
    heads = {row.count(" | ") for row in rows if row.startswith("| ---")}
    assert heads == {9, 5, 3, 4}


@pytest.mark.parametrize(
    "name", ["</table>|x|", "=cmd()", r"\input{/etc/passwd}", "a | b\n| c", "100%_$x$"]
)
def test_names_are_escaped(name):
    stated_of = records_of(Measured(name, 0.8))

    (line,) = [
        item for item in lines_of(evidence_csv(*stated_of, SOURCE)) if item["host"]
    ]
    assert not line["lab"].startswith("=")
    read(evidence_latex(*stated_of, SOURCE))
    rows = evidence_markdown(*stated_of, SOURCE).splitlines()
    (row,) = [row for row in rows if "host\\-1" in row]
    assert row.replace("\\|", "").count("|") == 7
    assert "<" not in row.replace("\\<", "")


def test_long_tables_are_split():
    many = [Measured(f"Lab {at}", 0.5 + at / 200) for at in range(80)]

    text = evidence_latex(*records_of(*many), SOURCE)

    read(text)
    assert "Part 2 of" in text
    assert (
        sum(f"Lab {at}, host" in text.replace(r"\hspace{0pt}", "") for at in range(80))
        == 80
    )


def test_only_shown_columns_have_headings():
    questions, studies = records_of(*LABS)

    head = evidence_csv(questions, studies, SOURCE).splitlines()[0]

    assert head.split(",") == list(EVIDENCE_FIELDS)


def test_digests_depend_on_the_content():
    before, after = (
        records_of(Measured("Alpha", 0.8))[1],
        records_of(Measured("Alpha", 0.7))[1],
    )

    assert before[0]["digest"] != after[0]["digest"]
    assert before == records_of(Measured("Alpha", 0.8))[1]


@pytest.mark.parametrize(
    ("form", "begin"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")]
)
def test_plots_are_rendered_in_every_format(form, begin):
    drawn = forest_plot_data(records_of(*LABS)[0][0])

    file = render_chart_data(json.loads(json.dumps(drawn)), form)

    assert file.startswith(begin)
    assert file == render_chart_data(drawn, form)


def test_plots_contain_their_numbers():
    svg = render_chart_data(forest_plot_data(records_of(*LABS)[0][0]), "svg").decode()

    for text in ("Gamma, 2019", "0.700 (0.673 to 0.728)", "pooled", "another lab"):
        assert text in svg
