"""The network page: the Heidelberg tables as matrices, and synthetic ones."""

import html
import re

import pytest

from benchmarks.comparison.network_matrices import study_network
from benchmarks.models import Study
from benchmarks.studies import checking
from benchmarks.viewer import ANYONE
from dashboard.pages.network.views import gain_template
from tests.dashboard.markup import unbroken

PAGE = "/studies/alpha-lab/heidelberg-2007-xen/network/"
MADE = "/studies/alpha-lab/study/network/"
CELL = (
    r'<td class="num medium medium-(\w+)([^"]*)" title="([^"]*)">'
    r'(?:<b[^>]*>.</b>)*<span(?: aria-hidden="true")?>(.*?)<small>(.*?)<'
)


@pytest.fixture
def heidelberg(load_study):
    load_study("heidelberg-2007-xen", lambda run: run["tool"] == "netperf")


@pytest.fixture
def path(run_document):
    def make(value, start, end, **changes):
        document = run_document(value, **changes)
        document["samples"][0]["parameters"] = {"from": start, "to": end}
        return document

    return make


def cells(page):
    """Return ends, medium, CSS classes, value and line rate fraction of each path."""
    found = re.findall(CELL, unbroken(page))
    return [
        (html.unescape(title).split(":")[0], medium, classes, main, sub)
        for medium, classes, title, main, sub in found
    ]


def test_shows_before_after_and_change(text, heidelberg):
    page = text(PAGE)

    assert re.findall(r'<h3 id="matrix-\d">(.*?)</h3>', page) == [
        "before tuning",
        "after tuning",
        "Change",
    ]
    assert len(cells(page)) == 8 + 25 + 8


def test_shows_every_printed_throughput(heidelberg):
    metric = study_network(ANYONE, Study.objects.get())[0]
    before, after = metric.matrices

    assert metric.unit == "MB/s"
    assert before.paths["node7", "vm3"].value == 3.31
    assert after.paths["node7", "vm3"].value == 31.76
    assert after.paths["vm4", "node7"].value == 293.56
    assert (len(before.paths), len(after.paths)) == (8, 25)
    # Nodes of one host are adjacent, the host first.
    assert [name for name, _ in metric.nodes] == ["node6", "vm2", "node7", "vm3", "vm4"]


def test_change_explains_colors(text, heidelberg):
    note = "Blue is better, orange is worse"

    assert text(PAGE).count(note) == 1


def test_paths_over_link_show_line_rate_fraction(text, heidelberg):
    page = text(PAGE)
    by_path = {name: (medium, sub) for name, medium, _, _, sub in cells(page)[8:33]}

    assert "link capacity 125" in page
    assert by_path["node6 → node7"] == ("wire", "90% of link capacity")
    assert by_path["vm4 → node7"] == ("same_host", "")
    assert by_path["vm4 → vm4"] == ("loopback", "")


def test_sentences_state_change_asymmetry_and_line_rate(text, heidelberg):
    said = re.findall(r'<p class="summary-sentence">(.*?)</p>', text(PAGE))

    for fact in ("After tuning", "8 paths", "node7 → vm4", "15.8", "node7 → node6"):
        assert fact in said[0]
    assert "worsened most, to 0.731 times" in said[0]
    assert "vm4 → node7 is 9.19 times as fast" in said[1]
    assert "within the host" in said[1]
    assert said[1].endswith("Single runs.")
    assert "node6 → node7 reaches 90% of it" in said[2]


def test_single_path_over_link_is_not_compared_with_itself(text, load_study):
    load_study(
        "heidelberg-2007-xen",
        lambda run: (
            run["tool"] == "netperf"
            and run["samples"][0]["parameters"]["from"] == "node6"
            and run["samples"][0]["parameters"]["to"] == "node7"
        ),
    )

    page = unbroken(text(PAGE))

    assert "node6 → node7 reaches 90% of it." in page


def test_legend_explains_shades(client, heidelberg):
    page = client.get(PAGE)

    assert page.context["page"]["ends_text"] == ("1.64", "338\xa0MB/s")
    assert page.content.decode().count('class="shade heat-') == 6


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        (
            (True, True),
            "%(best)s improved most, to %(gain)s times its previous value. "
            "%(worst)s improved",
        ),
        ((True, False), "%(worst)s worsened most, to %(loss)s times"),
        (
            (False, False),
            "and none improved. %(worst)s worsened most, to %(loss)s times its",
        ),
    ],
)
def test_losses_are_not_called_gains(gains, said):
    assert said in gain_template(*gains, 2)


def test_every_metric_has_chip(text, heidelberg):
    page = text(PAGE)

    assert "netperf: Service demand" in page
    assert len(set(re.findall(r'href="\?metric=(\d)"', page))) == 5
    assert "us/" in text(f"{PAGE}?metric=3")


def test_flags_are_shown_at_paths(text, heidelberg):
    checking.check_study(Study.objects.get())

    page = text(PAGE)

    assert "31 of 33 paths are flagged" in page
    assert page.count("⚑</b>") == 31 + 1  # one in the legend
    assert "is in MiB/s, not MB/s" in page.split("Flags on this page")[1]


def test_network_without_settings_has_one_matrix(text, submit, path):
    submit(path(50, "a", "b"), path(20, "b", "a"))

    page = text(MADE)

    assert "As measured" in page
    assert len(cells(page)) == 2
    assert page.count("⇄</b>") == 2 + 1  # one in the legend
    assert "a → b is 2.5 times as fast as the reverse direction" in page


def test_path_with_two_modes_shows_no_mean(text, submit, path, study):
    for value in (50, 51, 50, 100, 101, 100, 51):
        submit(path(value, "a", "b"))
    submit(path(20, "b", "a"))
    checking.check_study(study)

    page = text(MADE)
    (sent, *_), (back, *_) = ([main, sub] for _, _, _, main, sub in sorted(cells(page)))

    assert (sent, back) == ("50 | 100", "20")
    assert "no single value" in page
    assert "No single value: two speeds, " in page
    assert "71.9" not in page
    assert 'class="mark" aria-hidden="true">⇄' not in page


def test_names_are_escaped(text, submit, path):
    submit(path(50, "<script>alert(1)</script>", "b"))

    assert "<script>alert(1)" not in text(MADE)


def test_study_without_paths_has_instructions(text, submit, run_document):
    submit(run_document())

    page = text(MADE)

    assert "both ends of a path" in page
    assert "/study/network/" not in text("/studies/alpha-lab/study/")


def test_private_study_is_404(client, private_study):
    answer = client.get("/studies/alpha-lab/secret-study/network/")

    assert answer.status_code == 404


def test_invalid_query_shows_first_metric(text, submit, path):
    submit(path(50, "a", "b"))

    assert "As measured" in text(f"{MADE}?metric=-1%27%00")


def test_query_count_is_constant(client, heidelberg, django_assert_num_queries):
    checking.check_study(Study.objects.get())

    with django_assert_num_queries(6):
        client.get(PAGE)
