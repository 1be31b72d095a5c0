"""The page of a cell: headline, reasons, both sides and output."""

import re
from datetime import timedelta
from html import unescape

import numpy as np
import pytest

from benchmarks.comparison import cell_details as selector
from benchmarks.comparison.cell_details import cell_samples
from benchmarks.models import Cell, Run, Study
from benchmarks.studies import checking
from benchmarks.uploads import intake, processing
from dashboard import wording
from dashboard.wording import state_names
from tests.custom_tools import boot_sample, declare
from tests.upload_documents import in_turn

QUERIES = 20
LIST = "/studies/alpha-lab/study/runs/"
BIMODAL = (108.43, 55.64, 62.37, 107.52, 58.87, 61.35, 111.10, 57.87, 58.17)
CALM = (99.8, 100.1, 100.0, 100.3, 99.9, 100.2)
HDPARM = """
/dev/sda:
 Timing cached reads:   15364 MB in  1.99 seconds = 7712.98 MB/sec
 Timing buffered disk reads: 426 MB in  3.01 seconds = 141.60 MB/sec
"""


def address(cell, query=""):
    study = cell.study
    return f"/studies/{study.lab.slug}/{study.slug}/cells/{cell.pk}/{query}"


def plain_text(page):
    """Return the page's text on one line."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)))


def headline_of(page):
    (headline,) = re.findall(r"<h1[^>]*>.*?</h1>", page)
    return plain_text(headline)


def codes_of(page):
    """Return the codes of the reasons against a verdict."""
    return set(page.context["page"]["evidence"].row.result.assessment.reason_codes)


def xen_cell():
    return Cell.objects.get(system__hypervisor="Xen")


@pytest.fixture
def sides(submit, run_document, xen):
    """Submit several runs per side and return the Xen cell."""

    def make(own, baseline, is_in_turn=False):
        runs = [
            *(run_document(value) for value in baseline),
            *(run_document(value, system=xen) for value in own),
        ]
        submit(*(in_turn(runs) if is_in_turn else runs))
        checking.check_due_studies(timedelta(0))
        return xen_cell()

    return make


def test_headline_states_performance_and_verdict(text, pair):
    headline = headline_of(text(address(pair)))

    facts = ("Xen 3.3 full", "24.7%", "native", "network throughput, write")
    assert all(fact in headline for fact in facts)
    assert "single run, no verdict" in headline


@pytest.mark.parametrize(
    ("own", "native", "comparison"),
    [
        ([39.0], [40.0], "is 2.5% slower than native in iometer, network throughput"),
        ([50.0], [40.0], "is 25.0% faster than native in iometer"),
        ([40.0], [40.0], "is as fast as native in iometer"),
        ([120.0], [40.0], "reaches 300.0% of native speed in iometer"),
        ([39.0, 39.1], [40.0, 40.1], "slower than native"),
    ],
)
def test_headline_says_how_much_slower_or_faster(text, sides, own, native, comparison):
    page = text(address(sides(own, native)))

    assert comparison.casefold() in headline_of(page).casefold()


def test_reason_for_no_verdict_is_stated_once(client, sides):
    page = client.get(address(sides([39.0, 39.1, 39.2], [40.0, 40.1, 40.2])))

    reasons = page.context["page"]["reasons"]
    assert reasons
    for reason in reasons:
        assert plain_text(page.text).count(reason) == 1


def test_shows_division_and_runs_of_both_sides(text, pair):
    page = text(address(pair))

    assert "13.08\xa0MB/s" in page
    assert "52.97\xa0MB/s" in page
    for run in Run.objects.all():
        assert f"/runs/{run.pk}/" in page


def test_ratio_of_times_is_inverted(text, submit, run_document, xen):
    time = {"metric": "time", "parameters": {"n": "2000"}, "unit": "s"}
    submit(
        run_document(tool="linpack", samples=[{**time, "value": 20.89}]),
        run_document(tool="linpack", system=xen, samples=[{**time, "value": 21.22}]),
    )

    page = text(address(xen_cell()))

    assert "0.984" in page
    assert page.index("20.89") < page.index("21.22")


def test_single_runs_have_sentence_instead_of_charts(client, pair):
    page = client.get(address(pair))

    assert page.context["page"]["charts"] == ()
    sentence = page.context["page"]["single_run"]
    assert "5 runs per side" in sentence
    assert sentence in plain_text(page.text)


def test_iterations_of_single_run_have_strip_plot_only(client, submit, run_document):
    sample = run_document()["samples"][0]
    submit(run_document(samples=[{**sample, "repetition": at} for at in (1, 2, 3)]))

    page = client.get(address(Cell.objects.get())).context["page"]

    assert [chart.slug for chart in page["charts"]] == ["strip"]
    assert "Only one run on each side" in page["single_run"]


@pytest.mark.parametrize(
    ("n", "fact"), [(4, "At least 5 runs are needed"), (5, "next check of the study")]
)
def test_unchecked_distribution_has_its_reason(text, submit, run_document, n, fact):
    submit(*(run_document(value) for value in CALM[:n]))
    Cell.objects.update(shape=None, shaped_at=None)

    assert fact in plain_text(text(address(Cell.objects.get())))


def test_enough_runs_have_four_charts_with_tables(client, sides):
    cell = sides([9.7, 9.8, 9.9, 10.0, 10.1], CALM, is_in_turn=True)
    page = client.get(address(cell))

    charts = page.context["page"]["charts"]
    assert [chart.slug for chart in charts] == ["strip", "order", "histogram", "ecdf"]
    assert all(chart.rows and any(chart.chart.series) for chart in charts)
    assert page.content.decode().count("Show data as table") == 4


def test_runs_without_start_have_no_order_plot(client, sides):
    page = client.get(address(sides([10.1, 10.0, 9.9, 9.8, 9.7], CALM)))

    charts = page.context["page"]["charts"]
    assert [chart.slug for chart in charts] == ["strip", "histogram", "ecdf"]
    assert (
        "The order of the runs is unknown for: this result, baseline." in charts[0].note
    )
    assert "so the order of the runs was not analyzed" in plain_text(page.text)


def test_two_modes_replace_mean_and_verdict(text, sides):
    cell = sides(BIMODAL, CALM, is_in_turn=True)

    page = text(address(cell))
    headline, page = headline_of(page), plain_text(page)

    assert "59 MB/s (67%) and 108 MB/s (33%)" in headline
    assert "not assessed" in headline
    assert "59 MB/s (67%) or 108 MB/s (33%)" in page
    assert "95% CI 0." not in page
    assert f"{cell.efficiency.ratio:.3f}" not in page


def scattered(*levels):
    """Return runs that scatter by a thousandth around these levels."""
    noise = np.random.default_rng(len(levels)).normal(0, 0.1, len(levels))
    return [round(float(value), 2) for value in levels + noise]


def test_small_effect_on_mean_is_reported_and_keeps_verdict(text, sides):
    runs = scattered(98.0, *[100.0] * 40)

    cell = sides(runs, scattered(*[100.0] * 10), is_in_turn=True)
    page = plain_text(text(address(cell)))

    assert "below the others, changing the mean by" in page
    assert "less than a quarter of the equivalence margin" in page
    assert "equivalent" in page


def test_modes_within_margin_are_reported_in_percent(text, sides):
    runs = scattered(*[100.0, 101.2, 101.2] * 8)

    page = plain_text(text(address(sides(runs, scattered(*[100.0] * 10)))))

    assert "wo speeds that differ by at most 2%, 100.0" in page.replace("\xa0", " ")
    assert "MB/s (33%) and 101." in page.replace("\xa0", " ")


def test_two_modes_of_baseline_prevent_ratio(client, sides):
    answer = client.get(address(sides(CALM, BIMODAL)))
    page = answer.context["page"]

    assert "describes the baseline: two speeds" in page["headline"]
    assert not page["has_ratio"]
    assert "bimodal" in codes_of(answer)
    (reason,) = (reason for reason in page["reasons"] if "two speeds" in reason)
    assert "of the baseline" in reason
    assert reason in plain_text(answer.text)


def test_modes_of_cell_are_not_attributed_to_baseline(client, sides):
    page = client.get(address(sides(BIMODAL, BIMODAL))).context["page"]

    bimodal = [reason for reason in page["reasons"] if "two speeds" in reason]
    assert bimodal
    assert "baseline" not in bimodal[0]


def test_missing_verdict_has_reasons_and_needed_runs(client, sides):
    answer = client.get(address(sides([40.0, 42.0, 41.0], CALM)))
    page = plain_text(answer.text)

    assert codes_of(answer) == {"few_runs"}
    assert all(reason in page for reason in answer.context["page"]["reasons"])
    assert (
        "Runs: this system 3, the baseline 6. A verdict needs at least 5 each." in page
    )
    assert "indicative: slower" in page
    assert re.search(
        r"With \d+ runs of each system in one session, .* within ±2%", page
    )


def test_unstudied_difference_limits_comparability(client, submit, run_document, xen):
    native = run_document(52.97, system={"vcpus": 2})
    submit(native, run_document(13.08, system={**xen, "vcpus": 1}))

    comparability = client.get(address(xen_cell())).context["page"]["comparability"]

    assert comparability["rating"] == "limited"
    studied = {
        difference["name"]: difference["is_studied"]
        for difference in comparability["differences"]
    }
    assert studied == {
        "vCPUs": False,
        "Hypervisor": True,
        "Version": True,
        "Type": True,
    }


@pytest.mark.parametrize("factor", ["VMware Tools", "PV drivers (Windows)"])
def test_factor_may_differ(client, submit, run_document, xen, study, factor):
    Study.objects.update(factors={factor: ["absent", "installed"]})
    options = {"options": {"guest_tools": "installed"}}
    submit(run_document(52.97), run_document(13.08, system={**xen, **options}))

    comparability = client.get(address(xen_cell())).context["page"]["comparability"]

    assert comparability["rating"] == "full"
    assert "Guest tools" in [
        difference["name"] for difference in comparability["differences"]
    ]


def test_facts_of_both_sides_are_compared(client, submit, run_document, xen):
    submit(
        run_document(52.97, facts={"kernel": "2.6.28", "ntp": "yes"}),
        run_document(13.08, system=xen, facts={"kernel": "2.6.30"}),
    )

    comparability = client.get(address(xen_cell())).context["page"]["comparability"]

    unwanted = [
        difference
        for difference in comparability["differences"]
        if not difference["is_studied"]
    ]
    assert [
        (difference["name"], difference["first"], difference["second"])
        for difference in unwanted
    ] == [("Kernel", "2.6.30", "2.6.28")]


@pytest.mark.parametrize(
    ("clock", "what"),
    [
        ("external", "time server outside the host"),
        ("guest", "clock inside the guest"),
        ("", "The clock that timed these runs was not reported"),
    ],
)
def test_shows_trust_of_clock(client, submit, run_document, xen, clock, what):
    stated = {"clock": clock} if clock else {}
    submit(run_document(52.97), run_document(13.08, system=xen, **stated))

    page = client.get(address(xen_cell()))

    sentence = page.context["page"]["sides"][0]["clock"]
    assert what in sentence
    assert sentence in plain_text(page.text)


def test_measured_clock_shows_measurement(client, submit, run_document, xen):
    lost = {"local_us": 10**8, "offset_start_us": 0, "offset_end_us": -3 * 10**6}
    submit(
        run_document(52.97),
        run_document(13.08, system=xen, clock="guest", facts={"clock": lost}),
    )
    checking.check_due_studies(timedelta(0))
    run = Run.objects.get(system__hypervisor="Xen")

    page = client.get(address(xen_cell()))

    sentence = page.context["page"]["sides"][0]["clock"]
    assert re.match(rf"Suspect\b.*\brun {run.pk}\b.*\b3 s\b", sentence)
    assert sentence in plain_text(page.text)


@pytest.mark.parametrize(("runs", "is_told"), [(10, True), (9, False)])
def test_robust_ratio_from_ten_runs(client, submit, run_document, xen, runs, is_told):
    steps = [at / 10 for at in (3, 0, 8, 1, 9, 5, 2, 7, 4, 6)][:runs]
    submit(*(run_document(100 + step) for step in steps))
    submit(*(run_document(50 + step, system=xen) for step in steps))

    page = client.get(address(xen_cell()))

    sentence = page.context["page"]["robust_ratio_sentence"]
    assert ("0.502 (Hodges-Lehmann)" in sentence) is is_told
    assert bool(sentence) is is_told
    assert sentence in plain_text(page.text)


def test_missing_baseline_has_reason(text, submit, run_document, xen):
    submit(run_document(13.08, system=xen))

    page = plain_text(text(address(xen_cell())))

    assert state_names.state_meaning("missing") in page


def test_another_system_can_be_baseline(client, submit, run_document, xen):
    submit(run_document(20.0, system={**xen, "virtualization": "para"}))
    submit(run_document(10.0, system=xen))
    cell = Cell.objects.get(system__virtualization__startswith="full")
    other = Cell.objects.exclude(pk=cell.pk).get()

    page = client.get(address(cell), {"baseline": other.system_id}).context["page"]

    assert page["evidence"].row.result.ratio == pytest.approx(0.5)
    assert "50.0% of the reference system's performance" in page["headline"]


@pytest.mark.parametrize("baseline", ["0", "x", "99999999999999999999", "\x00"])
def test_unknown_baseline_is_404(client, pair, baseline):
    assert client.get(address(pair), {"baseline": baseline}).status_code == 404


def test_no_advice_for_narrow_interval(client, sides):
    narrow = client.get(address(sides([50.0, 50.1], CALM))).context["page"]

    assert narrow["evidence"].row.result.assessment.half_width < 0.02
    assert narrow["width_advice"] == ""


def test_shows_flag_with_evidence(client, pair):
    mark = {"code": "not_valid", "sentence": "It was <too> short."}
    Run.objects.filter(system=pair.system).update(warnings=[mark])
    checking.check_study(pair.study)
    flag = pair.flags.get(rule="tool-mark")

    page = client.get(address(pair))

    assert "too&gt; short" in page.text
    assert f"#flag-{flag.pk}" in page.text
    assert "flagged" in codes_of(page)


def test_shows_flag_of_baseline(client, text, pair):
    """A flag of the baseline withholds the verdict, like a flag of the cell."""
    mark = {"code": "not_valid", "sentence": "Native was too short."}
    Run.objects.exclude(system=pair.system).update(warnings=[mark])
    checking.check_study(pair.study)
    native = pair.study.cells.exclude(pk=pair.pk).get()
    card = f"{address(pair).split('cells/')[0]}compare/cell/?cell={pair.pk}"

    assert not pair.flags.exists()
    page = client.get(address(pair))
    assert "flagged" in codes_of(page)
    assert "Native was too short." in page.text
    assert page.text.count("#flag-") == 1
    for asked in (card, f"{card}&baseline={native.system_id}"):
        assert text(asked).count("Native was too short.") == 1


def test_old_url_redirects(client, pair):
    answer = client.get(LIST, {"cell": pair.pk, "baseline": "7"})

    assert answer.status_code == 301
    assert answer["Location"] == address(pair, "?baseline=7")
    assert client.get(LIST, {"cell": pair.pk})["Location"] == address(pair)


@pytest.mark.parametrize("cell", ["0", "x", "99999999999999999999", "", "\x00"])
def test_unknown_cell_is_404(client, pair, cell):
    assert client.get(LIST, {"cell": cell}, follow=True).status_code == 404


def test_cell_of_another_study_is_404(client, pair, other_lab):
    Study.objects.create(lab=other_lab, slug="other", visibility="public")

    for part in ("", f"runs/{pair.study.runs.first().pk}/"):
        answer = client.get(f"/studies/beta-lab/other/cells/{pair.pk}/{part}")
        assert answer.status_code == 404


@pytest.mark.parametrize("part", ["", "runs/{run}/"])
def test_private_cell_is_404_for_strangers(client, pair, person, part):
    Study.objects.update(visibility=Study.Visibility.PRIVATE)
    run = Run.objects.get(system=pair.system)
    place = address(pair) + part.format(run=run.pk)

    assert client.get(place).status_code == 404
    assert client.get(LIST, {"cell": pair.pk}).status_code == 404
    client.force_login(person)
    assert client.get(place).status_code == 200


def test_run_output_is_shown_with_value(text, agent, study, host):
    upload = {"key": "00000000-0000-4000-8000-000000000001", "study": study.slug}
    system = {"host": host.slug, "hypervisor": "native", "guest_os": "Debian"}
    output = {**upload, "system": system, "tool": "hdparm", "output": HDPARM}
    intake.submit_runs(agent=agent, documents=[output])
    processing.process_due_uploads()
    run, cell = Run.objects.get(), Cell.objects.get(case__metric="buffered read")

    part = text(f"{address(cell)}runs/{run.pk}/")

    (marked,) = re.findall(r"<mark>(.*?)</mark>", part)
    assert marked.endswith("= 141.60 MB/sec")
    assert f"{cell.mean:.6}"[:6] in part
    assert "7712.98 MB/sec" in part


def test_run_uploaded_as_json_names_document(text, pair):
    run = Run.objects.get(system=pair.system)

    part = plain_text(text(f"{address(pair)}runs/{run.pk}/"))

    assert "Uploaded as numbers" in part
    assert "Gebhardt 2010" in part


def test_run_of_another_cell_is_404(client, pair):
    run = Run.objects.exclude(system=pair.system).get()

    assert client.get(f"{address(pair)}runs/{run.pk}/").status_code == 404


def test_samples_are_ordered_and_limited(sides, monkeypatch):
    cell = sides([1.0, 2.0, 3.0], [5.0])
    monkeypatch.setattr(selector, "MAX_SAMPLES", 2)

    samples = cell_samples(cell)

    assert samples.is_truncated
    assert samples.series == (1.0, 2.0)
    assert cell_samples(None).series == ()


def test_truncated_run_is_left_out(submit, run_document, monkeypatch):
    sample = run_document()["samples"][0]
    several = [{**sample, "repetition": at, "value": at} for at in (1, 2)]
    submit(run_document(samples=several), run_document(samples=several))
    monkeypatch.setattr(selector, "MAX_SAMPLES", 3)

    kept = cell_samples(Cell.objects.get())

    assert [run.values for run in kept.runs] == [(1.0, 2.0)]


def test_page_reports_omitted_samples(text, sides, monkeypatch):
    cell = sides(CALM, CALM)
    monkeypatch.setattr(selector, "MAX_SAMPLES", 5)

    assert "first 5,000 samples" in text(address(cell))


def test_query_count_is_constant(
    client, sides, submit, run_document, xen, django_assert_num_queries
):
    place = address(sides([1.0], [2.0]))
    with django_assert_num_queries(QUERIES):
        client.get(place)

    submit(*(run_document(1.0 + n**1.5 / 10, system=xen) for n in (3, 6, 2, 5, 1, 4)))
    with django_assert_num_queries(QUERIES):
        client.get(place)
    with django_assert_num_queries(6):
        client.get(f"{place}runs/{Run.objects.last().pk}/")


def test_eleven_runs_of_server_b_have_no_single_value(client, load_study):
    load_study("inqbus-2008-io", lambda run: run["tool"] == "hdparm")
    checking.check_due_studies(timedelta(0))
    cells = {cell.system.host.slug: cell for cell in Cell.objects.all()}
    cell, other = cells["inqbus-server-b"], cells["inqbus-server-a"]

    for query in ("", f"?baseline={other.system_id}"):
        answer = client.get(address(cell, query))

        page, headline = answer.text, headline_of(answer.text)
        assert "59 MB/s (64%) and 109 MB/s (36%), in a pattern" in headline
        assert "not assessed" in headline
        assert "59 MB/s (64%) or 109 MB/s (36%)" in plain_text(page)
        assert wording.quantity(cell.mean, "MB/s") not in page
        assert "bimodal" in codes_of(answer)


def test_custom_tool_links_to_declaration(client, lab, submit, run_document):
    declare(lab)
    submit(run_document(tool="boot-time", samples=[boot_sample()]))
    cell = Cell.objects.get()

    page = client.get(f"/studies/alpha-lab/study/cells/{cell.pk}/").text

    assert (
        '<a href="/labs/alpha-lab/custom-tools/boot-time/">Boot stopwatch</a>' in page
    )
