"""The sweep page without a browser: families, lines and sentences."""

import json
import re
from datetime import timedelta
from functools import partial

import pytest

from benchmarks.comparison.sweeps import study_sweeps
from benchmarks.models import Flag, Study
from benchmarks.studies import checking
from benchmarks.viewer import ANYONE
from tests.dashboard.markup import unbroken

PAGE = "/studies/alpha-lab/study/sweep/"
WOBBLE = (-0.4, 0.1, 0.3, -0.2, 0.2)
SIZES = ("4 KiB", "32KiB", "262144 B", "4 MiB")


@pytest.fixture
def run_document(run_document):
    return partial(run_document, session="Monday")


@pytest.fixture
def submit(submit):
    def take(*documents):
        submit(*documents)
        checking.check_due_studies(timedelta(0))

    return take


@pytest.fixture
def blocks(run_document):
    """Return five runs per block size: ``rates`` of each size in MB/s."""

    def make(rates, sizes=SIZES, wobble=WOBBLE, name="block_size", **changes):
        documents = []
        for size, rate in zip(sizes, rates, strict=True):
            for off in wobble:
                document = run_document(rate * (1 + off / 100), **changes)
                given = {"operation": "write", name: size}
                document["samples"][0]["parameters"] = given
                documents.append(document)
        return documents

    return make


@pytest.fixture
def swept(submit, blocks, xen):
    """Submit runs with a ratio of 1 up to 32 KiB that falls to 0.4 at 4 MiB."""
    submit(
        *blocks([10, 40, 80, 100]),
        *blocks([10, 40, 56, 40], wobble=(0.35, -0.3, 0.15, -0.25, 0.05), system=xen),
    )
    Flag.objects.update(status="dismissed")


def figure(page):
    (source,) = re.findall(r'<script type="application/json">(.*?)</script>', page)
    return json.loads(source)


def test_family_normalizes_spelling_of_sizes(swept):
    (family,) = study_sweeps(ANYONE, Study.objects.get())

    assert family.axis == "block_size"
    assert [level.amount for level in family.levels] == [4096, 32768, 262144, 4194304]
    assert [line.column.is_native for line in family.lines] == [True, False]
    assert dict(family.parameters) == {"operation": "write"}


def test_first_sentence_states_divergence(text, swept):
    page = text(PAGE)

    (said,) = re.findall(r'<p class="summary-sentence">(.*?)</p>', page)
    for fact in ("Xen 3.3", "native", "32 KiB", "40.0%", "4 MiB"):
        assert fact in said
    assert "Iometer: Network throughput, write over block size" in page


def test_chart_has_log_axis_error_bars_and_native_line(text, swept):
    drawn = figure(text(PAGE))

    assert drawn["layout"]["xaxis"]["type"] == "log"
    assert drawn["layout"]["xaxis"]["ticktext"][:2] == ["4 KiB", "32 KiB"]
    assert drawn["layout"]["yaxis"]["tickformat"] == ",~r"  # 20 and 50, not 2 and 5
    assert [line["line"].get("dash") for line in drawn["data"]] == ["dash", None]
    assert all(bar > 0 for line in drawn["data"] for bar in line["error_y"]["array"])


def test_table_has_every_point_of_chart(text, swept):
    page = unbroken(text(f"{PAGE}?response=relative_performance"))

    assert figure(page)["layout"]["shapes"][0]["y0"] == 1
    table = re.findall(r'<td class="num heat-[\w-]+"[^>]*>([\d.]+)<small>', page)
    assert table == ["1.0000", "1.0000", "0.7000", "0.4000"]


def test_query_selects_systems(text, swept):
    page = text(PAGE)
    chips = re.findall(r'href="\?([^"]*systems=\d+)"', page)

    assert len(figure(page)["data"]) == 2
    assert len(figure(text(f"{PAGE}?{chips[0].replace('&amp;', '&')}"))["data"]) == 1


def test_single_runs_have_no_divergence_sentence(text, submit, blocks, xen):
    submit(
        *blocks([10, 40, 80, 100], wobble=(0,)),
        *blocks([10, 40, 56, 40], wobble=(0,), system=xen),
    )

    page = text(PAGE)

    (said,) = re.findall(r'<p class="summary-sentence">(.*?)</p>', page)
    assert said.startswith("All results are single runs")
    assert "Xen" not in said


def test_unknown_units_make_no_sweep(text, submit, blocks):
    submit(*blocks([1, 2, 3, 4], sizes=("4k", "8k", "16k", "32k")))

    page = text(PAGE)

    assert "4 KiB" in page  # as an example of valid input
    assert "<table" not in page


def test_other_parameters_make_other_families(submit, blocks):
    documents = blocks([1, 2, 3, 4], sizes=(1, 2, 3, 4), name="threads")
    for document in documents[:5]:
        document["samples"][0]["parameters"]["target"] = "another disk"
    submit(*documents)

    (family,) = study_sweeps(ANYONE, Study.objects.get())

    assert [level.amount for level in family.levels] == [2, 3, 4]


def test_axis_of_counts_is_a_number_of_things(text, submit, blocks, xen):
    submit(
        *blocks([10, 40, 80, 100], sizes=(1, 2, 3, 4), name="threads"),
        *blocks([5, 20, 40, 50], sizes=(1, 2, 3, 4), name="threads", system=xen),
    )

    page = text(PAGE)

    assert (
        "is slower than native at every number of threads (50.0% to 50.0% of native "
        "speed)" in page
    )


def test_heading_distinguishes_families(text, submit, blocks):
    documents = blocks([1, 2, 3, 1, 2, 3], (1, 2, 3, 1, 2, 3), name="threads")
    for at, document in enumerate(documents):
        target = "one disk" if at < len(documents) / 2 else "another disk"
        document["samples"][0]["parameters"]["target"] = target
    submit(*documents)

    page = text(PAGE)

    (other,) = re.findall(r'href="(\?family=[^"]+)"(?! aria-current)', page)
    headings = [
        re.findall("<h2[^>]*>(.*?)</h2>", each)[0]
        for each in (page, text(f"{PAGE}{other}"))
    ]
    assert {heading.rpartition(", ")[2] for heading in headings} == {
        "target one disk",
        "target another disk",
    }


def test_tab_needs_sweep(text, submit, blocks, study):
    summary = "/studies/alpha-lab/study/"
    assert "/study/sweep/" not in text(summary)

    submit(*blocks([1, 2, 3, 4], sizes=(1, 2, 3, 4), name="threads"))

    assert "/study/sweep/" in text(summary)


def test_private_study_is_404(client, private_study):
    answer = client.get("/studies/alpha-lab/secret-study/sweep/")

    assert answer.status_code == 404


def test_invalid_query_shows_first_family(text, swept):
    address = f"{PAGE}?family=%27&systems=x,9999999999999999&response=%00"

    assert len(figure(text(address))["data"]) == 2


def test_query_count_is_constant(client, swept, django_assert_num_queries):
    with django_assert_num_queries(12):
        client.get(PAGE)
