"""What studies say together as files: the same numbers in four forms."""

import csv
import io
import json
from dataclasses import dataclass, replace
from math import log

import pytest

from benchmarks.evidence.reading import Found, HostRead, Question, StudyRead
from benchmarks.evidence.records import question_record, study_records
from benchmarks.evidence.synthesis import Part
from dashboard.exports.evidence import (
    FIELDS,
    EvidenceSource,
    evidence_csv,
    evidence_json,
    evidence_latex,
    evidence_markdown,
)
from dashboard.exports.pictures import drawn_of, picture_of
from tests.dashboard.exports.tex import read

QUESTION = Question("KVM", "disk-random-write")
SOURCE = EvidenceSource(
    title="KVM & others",
    name="kvm-disk-random-write",
    address="http://testserver/evidence/forest/?hypervisor=KVM",
    made_on="2026-11-23",
    rule_set=2,
    with_flagged=False,
)


@dataclass
class Measured:
    """What one lab measured: a ratio with its standard error, or none of it known."""

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


def found(*labs):
    """What was found of each; nothing of it is stored."""
    return [
        Found(
            part=Part(at, it.lab, ("fio", "bw"), it.obstacle, log(it.ratio), it.sd),
            study=StudyRead(
                pk=at,
                lab=f"lab-{at}",
                slug=f"study-{at}",
                title=f"Study of {it.lab}",
                author="",
                institution="",
                published="2019-05",
                data_licence="",
            ),
            host=HostRead(pk=at, slug=f"host-{at}", title=""),
            virtualization="HVM",
            path="",
            cell_ids=(100 + at,),
            lowest=log(it.ratio),
            highest=log(it.ratio),
        )
        for at, it in enumerate(labs, start=1)
    ]


def stated(*labs):
    parts = found(*labs)
    return [question_record(QUESTION, parts)], study_records({QUESTION: parts}, {})


def lines_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_machines_weights_pools_and_what_is_left_out():
    lines = lines_of(evidence_csv(*stated(*LABS), SOURCE))

    machines = [line for line in lines if line["part"] == "machine"]
    assert [line["lab"] for line in machines] == ["Gamma", "Alpha", "Beta", "Delta"]
    repeated = [line for line in machines if line["is_single_run"] == "false"]
    assert sum(float(line["weight"]) for line in repeated) == pytest.approx(1)
    assert all(line["without"] for line in repeated) is False  # of three none is left
    (pool,) = [line for line in lines if line["part"] == "pool"]
    numbers = [pool[name] for name in ("low", "ratio", "high", "predicted_low", "i2")]
    assert all(numbers)
    assert float(pool["low"]) < float(pool["ratio"]) < float(pool["high"])
    assert float(pool["tau"]) > 0
    assert float(pool["mean_dl"]) == pytest.approx(0.797, abs=0.01)
    (left,) = [line for line in lines if line["part"] == "left_out"]
    assert (left["reason"], left["studies"]) == ("emulation", "lab-5/study-5")
    assert {line["rule_set"] for line in lines} == {"2"}
    assert {line["made_on"] for line in lines} == {"2026-11-23"}


def test_csv_has_the_pools_of_subgroups():
    lines = lines_of(evidence_csv(*stated(*LABS), SOURCE))

    groups = [line for line in lines if line["part"].startswith("subgroup_")]
    named = {(line["by"], line["name"], line["part"]) for line in groups}
    kinds = ("subgroup_pool", "subgroup_single_runs")
    values = {"decade": "2010s", "virtualization": "HVM", "benchmark": "fio bw"}
    values["path"] = ""
    assert named == {(by, value, k) for by, value in values.items() for k in kinds}
    pool = next(line for line in lines if line["part"] == "pool")
    # All of them are of one decade: the same pool.
    decade = next(line for line in groups if line["by"] == "decade")
    assert decade["ratio"] == pool["ratio"]
    assert decade["predicted_low"] == pool["predicted_low"]


def test_a_subgroup_has_only_its_own():
    parts = found(*LABS)
    parts[0] = replace(parts[0], study=parts[0].study._replace(published="2023"))
    record = question_record(QUESTION, parts)

    machines = {
        it["name"]: (it["pool"]["machines"], it["single_runs"]["machines"])
        for it in record["subgroups"]
        if it["by"] == "decade"
    }

    assert machines == {"2010s": (2, 1), "2020s": (1, 0)}


def test_a_review_of_before_has_no_subgroups_and_is_written_all_the_same():
    questions, studies = stated(*LABS)
    for record in questions:
        del record["subgroups"]

    for write in (evidence_csv, evidence_json, evidence_latex, evidence_markdown):
        assert "Gamma" in write(questions, studies, SOURCE)


def test_json_is_what_the_api_says_with_its_studies():
    questions, studies = stated(*LABS)

    document = json.loads(evidence_json(questions, studies, SOURCE))

    assert document["questions"] == questions
    assert [it["study"] for it in document["studies"]] == [
        f"lab-{at}/study-{at}" for at in range(1, 6)
    ]
    assert (document["rule_set"], document["with_flagged"]) == (2, False)


def test_latex_has_each_row_as_wide_as_its_head():
    text = evidence_latex(*stated(*LABS), SOURCE)

    reading = read(text)
    assert reading.closed.count("table*") == 5
    # Answers, machines and subgroups, what is left out, studies.
    assert set(reading.widths) == {10, 6, 4, 5}
    assert r"\toprule" in text
    assert "table-format=1.3" in text
    assert r"KVM \& others" in text


def test_markdown_has_the_same_tables():
    text = evidence_markdown(*stated(*LABS), SOURCE)

    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert any("Gamma, host\\-3, 2019" in row and "0.700" in row for row in rows)
    assert any("a program emulates the processor" in row for row in rows)
    assert any("Decade" in row and "2010s" in row for row in rows)
    heads = {row.count(" | ") for row in rows if row.startswith("| ---")}
    assert heads == {9, 5, 3, 4}


@pytest.mark.parametrize(
    "name", ["</table>|x|", "=cmd()", r"\input{/etc/passwd}", "a | b\n| c", "100%_$x$"]
)
def test_no_name_becomes_markup(name):
    stated_of = stated(Measured(name, 0.8))

    (line,) = [it for it in lines_of(evidence_csv(*stated_of, SOURCE)) if it["host"]]
    assert not line["lab"].startswith("=")
    read(evidence_latex(*stated_of, SOURCE))
    rows = evidence_markdown(*stated_of, SOURCE).splitlines()
    (row,) = [it for it in rows if "host\\-1" in it]
    assert row.replace("\\|", "").count("|") == 7
    assert "<" not in row.replace("\\<", "")


def test_a_long_table_has_parts_that_find_room_on_a_page():
    many = [Measured(f"Lab {at}", 0.5 + at / 200) for at in range(80)]

    text = evidence_latex(*stated(*many), SOURCE)

    read(text)
    assert "Part 2 of" in text
    assert (
        sum(f"Lab {at}, host" in text.replace(r"\hspace{0pt}", "") for at in range(80))
        == 80
    )


def test_only_columns_that_are_told_have_a_name():
    questions, studies = stated(*LABS)

    head = evidence_csv(questions, studies, SOURCE).splitlines()[0]

    assert head.split(",") == list(FIELDS)


def test_a_study_that_says_something_else_has_another_digest():
    before, after = stated(Measured("Alpha", 0.8))[1], stated(Measured("Alpha", 0.7))[1]

    assert before[0]["digest"] != after[0]["digest"]
    assert before == stated(Measured("Alpha", 0.8))[1]


@pytest.mark.parametrize(
    ("form", "begin"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")]
)
def test_a_plot_is_drawn_in_each_form(form, begin):
    drawn = drawn_of(stated(*LABS)[0][0])

    file = picture_of(json.loads(json.dumps(drawn)), form)

    assert file.startswith(begin)
    assert file == picture_of(drawn, form)


def test_a_plot_has_its_numbers_in_it():
    svg = picture_of(drawn_of(stated(*LABS)[0][0]), "svg").decode()

    for text in ("Gamma, 2019", "0.700 (0.673 to 0.728)", "pooled", "another lab"):
        assert text in svg
