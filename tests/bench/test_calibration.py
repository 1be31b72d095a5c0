import re

import numpy as np
import pytest

from bench import calibration
from bench.calibration import TABLES, main, report
from bench.judging import bench_judging
from bench.tables import Table

REPETITIONS = 60


def numbers(page):
    return re.findall(r"^\|.*", page, re.MULTILINE)


def test_every_table_is_on_the_page(few_tables):
    page = report(REPETITIONS, "abc1234")

    assert page.count("\n## ") == len(few_tables)
    assert "seed 20100521, 60 repetitions" in page
    assert re.search(r"^20\d\d-\d\d-\d\d, commit abc1234, ", page, re.MULTILINE)


@pytest.fixture
def few_tables(monkeypatch):
    """The page as it is made, with its quick tables alone."""
    monkeypatch.setattr(calibration, "TABLES", TABLES[:3])
    return TABLES[:3]


def test_a_new_table_does_not_change_the_others(monkeypatch, few_tables):
    before = numbers(report(REPETITIONS, "abc1234"))
    new = Table("Flags", "How often they ring.", ("rule", "%"), (("unit slip", "0.2"),))
    monkeypatch.setattr(calibration, "TABLES", (*few_tables, lambda *_: new))

    after = numbers(report(REPETITIONS, "abc1234"))

    assert after[: len(before)] == before
    assert after[len(before) :] == [
        "| rule | % |",
        "| --- | ---: |",
        "| unit slip | 0.2 |",
    ]


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_every_row_has_a_number_for_every_column(make):
    table = make(np.random.default_rng(1), REPETITIONS)

    for name, *shares in table.rows:
        assert name
        assert len(shares) == len(table.columns) - 1
        assert all(float(share) >= 0 for share in shares)
        assert float(shares[0]) <= 100


@pytest.mark.usefixtures("few_tables")
def test_it_writes_the_page_where_it_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(calibration, "current_commit", lambda: "abc1234")

    main(["--repetitions", "60", "--write", str(tmp_path / "page.md")])
    main(["--repetitions", "60"])

    assert (tmp_path / "page.md").read_text() == capsys.readouterr().out


def test_judging_is_measured_beside_a_plain_pass():
    rows = list(bench_judging())

    assert [row[0] for row in rows] == [
        "judging, 20,000 cells",
        "their p values, 20,000 cells",
        "shape of a cell of 50 runs",
    ]
    assert all(float(row[3].removesuffix(" x")) > 1 for row in rows)


def test_each_study_is_simulated_once_for_all_classes():
    calibration._study.cache_clear()

    for _ in range(2):
        for number in range(70):
            calibration._study(number)

    assert calibration._study.cache_info().misses == 70
