"""The sweep page without a browser: families, lines, verdicts in words."""

import json
import re

import pytest

from benchmarks.comparing.sweeps import study_sweeps
from benchmarks.models import Study
from benchmarks.viewer import ANYONE
from tests.dashboard.markup import unbroken

PAGE = "/studies/alpha-lab/study/sweep/"
WOBBLE = (-0.4, 0.1, 0.3, -0.2, 0.2)
SIZES = ("4 KiB", "32KiB", "262144 B", "4 MiB")


@pytest.fixture
def blocks(run_document):
    """Make five runs a block size: ``rates`` of each size in MB/s."""

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
    """Xen keeps up to 32 KiB and falls to 0.4 at 4 MiB."""
    submit(*blocks([10, 40, 80, 100]), *blocks([10, 40, 56, 40], system=xen))


def figure(page):
    (source,) = re.findall(r'<script type="application/json">(.*?)</script>', page)
    return json.loads(source)


def test_a_family_gathers_sizes_however_they_are_spelled(swept):
    (family,) = study_sweeps(ANYONE, Study.objects.get())

    assert family.axis == "block_size"
    assert [level.amount for level in family.levels] == [4096, 32768, 262144, 4194304]
    assert [line.column.is_native for line in family.lines] == [True, False]
    assert dict(family.parameters) == {"operation": "write"}


def test_the_first_sentence_says_where_the_systems_part(text, swept):
    page = text(PAGE)

    (said,) = re.findall(r'<p class="finding">(.*?)</p>', page)
    for fact in ("Xen 3.3", "native", "32 KiB", "0.400", "4 MiB"):
        assert fact in said
    assert "Iometer: Network throughput, write over block size" in page


def test_the_chart_has_a_log_axis_bars_and_native_as_its_own_line(text, swept):
    drawn = figure(text(PAGE))

    assert drawn["layout"]["xaxis"]["type"] == "log"
    assert drawn["layout"]["xaxis"]["ticktext"][:2] == ["4 KiB", "32 KiB"]
    assert drawn["layout"]["yaxis"]["tickformat"] == ",~r"  # 20 and 50, not 2 and 5
    assert [line["line"].get("dash") for line in drawn["data"]] == ["dash", None]
    assert all(bar > 0 for line in drawn["data"] for bar in line["error_y"]["array"])


def test_every_point_of_the_chart_stands_in_the_table(text, swept):
    page = unbroken(text(f"{PAGE}?response=efficiency"))

    assert figure(page)["layout"]["shapes"][0]["y0"] == 1
    table = re.findall(r'<td class="num heat-[\w-]+"[^>]*>([\d.]+)<small>', page)
    assert table == ["1.0000", "1.0000", "0.7000", "0.4000"]


def test_systems_are_chosen_in_the_address(text, swept):
    page = text(PAGE)
    chips = re.findall(r'href="\?([^"]*systems=\d+)"', page)

    assert len(figure(page)["data"]) == 2
    assert len(figure(text(f"{PAGE}?{chips[0].replace('&amp;', '&')}"))["data"]) == 1


def test_single_runs_get_no_sentence_about_parting(text, submit, blocks, xen):
    submit(
        *blocks([10, 40, 80, 100], wobble=(0,)),
        *blocks([10, 40, 56, 40], wobble=(0,), system=xen),
    )

    page = text(PAGE)

    (said,) = re.findall(r'<p class="finding">(.*?)</p>', page)
    assert said.startswith("Single runs")
    assert "Xen" not in said


def test_sizes_of_unknown_units_make_no_axis(text, submit, blocks):
    submit(*blocks([1, 2, 3, 4], sizes=("4k", "8k", "16k", "32k")))

    page = text(PAGE)

    assert "4 KiB" in page  # as an example of what is understood
    assert "<table" not in page


def test_other_parameters_that_differ_make_other_families(submit, blocks):
    documents = blocks([1, 2, 3, 4], sizes=(1, 2, 3, 4), name="threads")
    for document in documents[:5]:
        document["samples"][0]["parameters"]["target"] = "another disk"
    submit(*documents)

    (family,) = study_sweeps(ANYONE, Study.objects.get())

    assert [level.amount for level in family.levels] == [2, 3, 4]


def test_the_heading_tells_a_family_from_another_of_its_name(text, submit, blocks):
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


def test_the_tab_stands_only_where_something_was_swept(text, submit, blocks, study):
    summary = "/studies/alpha-lab/study/"
    assert "/study/sweep/" not in text(summary)

    submit(*blocks([1, 2, 3, 4], sizes=(1, 2, 3, 4), name="threads"))

    assert "/study/sweep/" in text(summary)


def test_a_private_sweep_is_not_there(client, private_study):
    answer = client.get("/studies/alpha-lab/secret-study/sweep/")

    assert answer.status_code == 404


def test_nonsense_in_the_address_shows_the_first_family(text, swept):
    address = f"{PAGE}?family=%27&systems=x,9999999999999999&response=%00"

    assert len(figure(text(address))["data"]) == 2


def test_it_costs_a_fixed_number_of_queries(client, swept, django_assert_num_queries):
    with django_assert_num_queries(12):
        client.get(PAGE)
