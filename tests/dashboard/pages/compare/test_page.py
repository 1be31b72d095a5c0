"""The compare page without a browser: the HTML has all texts."""

import re
from datetime import timedelta

import pytest

from benchmarks.models import Cell, Study, System
from benchmarks.studies import checking
from tests.upload_documents import interleaved

PAGE = "/studies/alpha-lab/study/compare/"


def test_cell_shows_relative_performance_and_value(text, pair):
    page = text(PAGE)

    assert "<b>0.247</b>" in page
    assert "\n13.08</a>" in page
    assert "heat-slow-5" in page


def test_equal_run_counts_are_stated_once(text, pair, submit, run_document):
    page = text(PAGE)
    (in_common,) = re.findall(r'class="constants">(.*?)</p>', page, re.DOTALL)
    assert "<b>1 run" in in_common
    assert 'class="n"' not in page

    submit(run_document(53.0))
    page = text(PAGE)
    assert "<b>1 run" not in page
    assert {'<span class="n">n 1</span>', '<span class="n">n 2</span>'} <= set(
        re.findall(r'<span class="n">n \d</span>', page)
    )


def test_native_column_shows_value(text, pair):
    assert "<b>52.97</b>" in text(PAGE)


def test_cell_links_to_page(text, pair):
    assert f'<a href="../cells/{pair.pk}/">' in text(PAGE)


def test_single_runs_have_note(text, pair, submit, run_document):
    assert 'data-note="single-run"' in text(PAGE)

    submit(run_document(53.0))
    assert 'data-note="single-run"' not in text(PAGE)


def test_chosen_baseline_makes_ratios_relative(text, pair):
    native = Cell.objects.get(system__hypervisor="native")

    page = text(PAGE, data={"baseline": native.system_id})

    assert 'data-note="relative"' in page
    assert "<b>0.247</b>" in page
    assert f"cells/{pair.pk}/?baseline={native.system_id}" in page


def test_only_native_systems_are_reported(text, submit, run_document, xen):
    submit(run_document())
    assert 'data-note="only-native"' in text(PAGE)

    submit(run_document(system=xen))
    assert 'data-note="only-native"' not in text(PAGE)


def test_missing_native_system_has_instructions(
    client, text, submit, run_document, xen
):
    submit(run_document(system=xen))

    page = text(PAGE)

    assert 'data-note="no-baseline"' in page
    assert "no baseline" in page
    assert "data-chart" not in page
    assert client.get(f"{PAGE}chart/").json() == {}


def test_unmatched_native_run_is_not_reported_as_missing(
    text, submit, run_document, xen
):
    submit(run_document(), run_document(system={**xen, "guest_bits": 64}))

    page = text(PAGE)

    assert "no matching native run" in page
    assert "no native results" not in page.casefold()


@pytest.mark.parametrize(
    ("query", "is_shown"),
    [
        ({"component": "network"}, True),
        ({"component": "CPU"}, False),
        ({"tool": "iometer"}, True),
        ({"tool": "linpack"}, False),
        ({"guest_os": "Ubuntu Server 9.04"}, True),
        ({"bits": "64"}, False),
        ({"scenario": "parallel"}, False),
        ({"scenario": "all"}, True),
    ],
)
def test_each_menu_filters_table(text, pair, query, is_shown):
    page = text(PAGE, data=query)

    assert ("0.247" in page) is is_shown
    assert ('data-empty-reason="cells"' in page) is not is_shown


@pytest.mark.parametrize("bits", ["x", "9" * 400, "-3", "\x00"])
def test_invalid_query_matches_nothing(text, pair, bits):
    assert 'data-empty-reason="cells"' in text(PAGE, data={"bits": bits})


@pytest.mark.parametrize("name", ["scenario", "component", "tool", "guest_os"])
def test_null_character_in_query_is_harmless(client, pair, name):
    assert client.get(PAGE, {name: "a\x00b"}).status_code == 200


def test_htmx_gets_fragment(client, pair):
    part = client.get(PAGE, headers={"HX-Request": "true", "HX-Target": "comparison"})

    assert "<html" not in part.content.decode()
    assert "0.247" in part.content.decode()
    assert "HX-Request" in part["Vary"]


@pytest.mark.parametrize(
    ("baseline", "title"), [("", "Ratio to the baseline"), ("xen", "Ratio to the ref")]
)
def test_chart_names_baseline(client, pair, baseline, title):
    chosen = str(System.objects.get(hypervisor="Xen").pk) if baseline else ""

    figure = client.get(f"{PAGE}chart/", {"baseline": chosen}).json()

    assert figure["layout"]["xaxis"]["title"]["text"].startswith(title)


def test_chart_has_numbers_of_table(client, pair):
    figure = client.get(f"{PAGE}chart/").json()

    (trace,) = figure["data"]
    assert trace["x"] == [pytest.approx(13.08 / 52.97)]
    assert "24.7% of native" in trace["text"][0]


def test_uploaded_names_are_escaped(text, submit, run_document, xen):
    name = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    hostile = {**xen, "guest_os": name, "options": {"swap": name}}
    submit(
        run_document(system={"guest_os": name}),
        run_document(system=hostile, load=name, table=name, document=name),
    )
    Study.objects.update(title=name, note=name, author=name, factors={name: [name]})

    for address in (PAGE, "/", "/studies/alpha-lab/study/"):
        page = text(address)
        assert "<script>alert" not in page
        assert "<img" not in page


def test_query_count_is_constant(
    client, pair, submit, run_document, xen, django_assert_num_queries
):
    many = [{**xen, "options": {"swap": str(n)}} for n in range(8)]
    submit(*(run_document(20.0 + n, system=system) for n, system in enumerate(many)))

    native = Cell.objects.get(system__hypervisor="native").system_id
    counts = {
        "": 11,
        f"?baseline={pair.system_id}": 14,
        "chart/": 9,
        f"cell/?cell={pair.pk}": 11,
        f"cell/?cell={pair.pk}&baseline={native}": 14,
    }
    for address, count in counts.items():
        with django_assert_num_queries(count):
            assert client.get(PAGE + address).status_code == 200


@pytest.mark.parametrize("slug", ["nothing", "secret-study"])
def test_private_study_is_404(client, private_study, slug):
    for page in ("", "compare/", "runs/"):
        answer = client.get(f"/studies/alpha-lab/{slug}/{page}")
        assert answer.status_code == 404
        assert "Page not found" in answer.content.decode()


def test_members_see_private_studies(client, private_study, person):
    client.force_login(person)

    for page in ("", "compare/", "runs/"):
        answer = client.get(f"/studies/alpha-lab/secret-study/{page}")
        assert answer.status_code == 200


@pytest.mark.parametrize("page", ["", "compare/", "runs/"])
def test_post_is_not_allowed(client, study, page):
    assert client.post(f"/studies/alpha-lab/study/{page}").status_code == 405


def test_two_pinned_systems_have_own_page(client, pair):
    native = Cell.objects.get(system__hypervisor="native").system_id
    pins = f"pin={pair.system_id}%2C{native}"

    answer = client.get(f"{PAGE}?show=value&{pins}")
    assert (answer.status_code, answer["Location"]) == (
        302,
        f"/studies/alpha-lab/study/pair/?show=value&{pins}",
    )
    assert client.get(f"{PAGE}?pin={native},999999").status_code == 200


def test_legend_explains_comparability(client, submit, run_document, xen):
    other = [
        {
            "metric": "network throughput",
            "parameters": {"operation": "write", "target": target},
            "value": 50.0,
            "unit": "MB/s",
        }
        for target in ("iSCSI", "NFS")
    ]
    submit(run_document(), run_document(20.0, system=xen))
    submit(run_document(samples=other[:1]))
    submit(run_document(20.0, system={**xen, "guest_os": "Debian 12"}))
    submit(run_document(system=xen, samples=other[1:]))

    page = client.get(PAGE)

    none, limited, full = page.context["page"].comparability_legend
    assert [it["rating"] for it in (none, limited, full)] == ["none", "limited", "full"]
    assert [it["count"] for it in (none, limited, full)] == [1, 1, 1]
    assert "baseline target=iSCSI, this system target=NFS" in none["sentences"][0][1]
    assert "guest Debian 12" in limited["sentences"][0][1]
    assert full["sentences"] == ()
    for _count, sentence in (*none["sentences"], *limited["sentences"]):
        assert sentence in page.text
    assert page.text.count("comparability-limited") == 1


def test_page_shows_primary_metrics_and_a_switch_for_all(client, submit, run_document):
    parameters = {"operation": "read"}
    samples = [
        {"metric": "throughput", "value": 50.0, "unit": "MiB/s"},
        {"metric": "IOPS", "value": 12_800.0, "unit": "1/s"},
        {"metric": "latency mean", "value": 3.0, "unit": "ms"},
    ]
    submit(
        run_document(
            tool="fio", samples=[{**it, "parameters": parameters} for it in samples]
        )
    )

    def metrics(address):
        page = client.get(address).context["page"]
        return sorted({cell.case.metric for cell in page.table.cells}), page

    shown, page = metrics(PAGE)
    assert shown == ["throughput"]
    assert page.metrics_switch == {"query": "?metrics=all", "count": 3}
    shown, page = metrics(f"{PAGE}?metrics=all")
    assert len(shown) == 3
    assert page.metrics_switch == {"query": "?", "count": 0}


def test_answer_and_legend_precede_the_table(text, pair):
    page = text(PAGE)

    places = [page.index(part) for part in ("data-answer", 'class="legend', "<table")]
    assert places == sorted(places)
    assert "Xen 3.3 25%" in page


def test_page_and_methods_count_the_same_verdicts(
    client, text, submit, run_document, xen
):
    """One execution of fio reports two metrics of each operation."""

    def run(reads, writes, system):
        samples = [
            {
                "metric": metric,
                "value": speed * factor,
                "unit": unit,
                "parameters": {"operation": operation},
            }
            for operation, speed in (("read", reads), ("write", writes))
            for metric, factor, unit in (
                ("throughput", 1, "MiB/s"),
                ("IOPS", 256, "1/s"),
            )
        ]
        return run_document(tool="fio", samples=samples, system=system)

    speeds = (50.0, 50.1, 49.9, 50.2, 49.8, 50.05)
    guest_speeds = (40.3, 39.7, 40.1, 39.9, 40.2, 40.0)
    others = (30.02, 29.9, 30.11, 30.2, 29.83, 29.95)
    guest_others = (24.1, 23.95, 24.02, 23.87, 24.16, 24.05)
    native = [run(*pair, {}) for pair in zip(speeds, others, strict=True)]
    guest = [run(*pair, xen) for pair in zip(guest_speeds, guest_others, strict=True)]
    submit(*interleaved(native, guest))
    checking.check_due_studies(timedelta(0))

    page = client.get(PAGE).context["page"]
    assert page.verdict_scopes.startswith("2 verdicts hold")
    assert "2 slower" in page.answer
    methods = text("/studies/alpha-lab/study/paper/methods.txt")
    assert "the 2 primary results" in " ".join(methods.split())
