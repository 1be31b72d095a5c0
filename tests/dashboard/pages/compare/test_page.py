"""The compare page without a browser: every word of it is in the HTML."""

import re

import pytest

from benchmarks.models import Cell, Study, System

PAGE = "/studies/alpha-lab/study/compare/"


def test_a_cell_shows_efficiency_and_value(text, pair):
    page = text(PAGE)

    assert "<b>0.247</b>" in page
    assert "\n13.08</a>" in page
    assert "heat-slow-5" in page


def test_the_runs_of_a_cell_are_told_once_where_all_have_as_many(
    text, pair, submit, run_document
):
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


def test_a_native_column_shows_the_value(text, pair):
    assert "<b>52.97</b>" in text(PAGE)


def test_a_cell_links_to_its_evidence(text, pair):
    assert f'<a href="../cells/{pair.pk}/">' in text(PAGE)


def test_it_says_that_single_runs_have_no_interval(text, pair, submit, run_document):
    assert 'data-note="single-run"' in text(PAGE)

    submit(run_document(53.0))
    assert 'data-note="single-run"' not in text(PAGE)


def test_a_system_can_be_the_baseline_and_then_ratios_are_relative(text, pair):
    native = Cell.objects.get(system__hypervisor="native")

    page = text(PAGE, data={"baseline": native.system_id})

    assert 'data-note="relative"' in page
    assert "<b>0.247</b>" in page
    assert f"cells/{pair.pk}/?baseline={native.system_id}" in page


def test_with_nothing_but_native_machines_it_says_so(text, submit, run_document, xen):
    submit(run_document())
    assert 'data-note="only-native"' in text(PAGE)

    submit(run_document(system=xen))
    assert 'data-note="only-native"' not in text(PAGE)


def test_without_anything_native_it_says_what_to_do(
    client, text, submit, run_document, xen
):
    submit(run_document(system=xen))

    page = text(PAGE)

    assert 'data-note="no-baseline"' in page
    assert "no baseline" in page
    assert "data-chart" not in page
    assert client.get(f"{PAGE}chart/").json() == {}


def test_where_no_native_run_fits_it_does_not_say_that_there_is_none(
    text, submit, run_document, xen
):
    submit(run_document(), run_document(system={**xen, "guest_bits": 64}))

    page = text(PAGE)

    assert "no native run fits" in page
    assert "nothing native" not in page.casefold()


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
def test_each_menu_narrows_the_table(text, pair, query, is_shown):
    page = text(PAGE, data=query)

    assert ("0.247" in page) is is_shown
    assert ('data-lacks="cells"' in page) is not is_shown


@pytest.mark.parametrize("bits", ["x", "9" * 400, "-3", "\x00"])
def test_nonsense_in_the_address_finds_nothing(text, pair, bits):
    assert 'data-lacks="cells"' in text(PAGE, data={"bits": bits})


@pytest.mark.parametrize("name", ["scenario", "component", "tool", "guest_os"])
def test_a_null_character_in_the_address_breaks_nothing(client, pair, name):
    assert client.get(PAGE, {name: "a\x00b"}).status_code == 200


def test_htmx_gets_the_part_that_changes(client, pair):
    part = client.get(PAGE, headers={"HX-Request": "true", "HX-Target": "comparison"})

    assert "<html" not in part.content.decode()
    assert "0.247" in part.content.decode()
    assert "HX-Request" in part["Vary"]


@pytest.mark.parametrize(
    ("baseline", "title"), [("", "Ratio to the baseline"), ("xen", "Ratio to the ref")]
)
def test_the_chart_names_what_its_ratios_are_set_against(client, pair, baseline, title):
    chosen = str(System.objects.get(hypervisor="Xen").pk) if baseline else ""

    figure = client.get(f"{PAGE}chart/", {"baseline": chosen}).json()

    assert figure["layout"]["xaxis"]["title"]["text"].startswith(title)


def test_the_chart_has_the_numbers_of_the_table(client, pair):
    figure = client.get(f"{PAGE}chart/").json()

    (trace,) = figure["data"]
    assert trace["x"] == [pytest.approx(13.08 / 52.97)]
    assert "0.247 of native" in trace["text"][0]


def test_names_out_of_uploads_are_shown_and_never_run(text, submit, run_document, xen):
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


def test_its_queries_are_fixed(
    client, pair, submit, run_document, xen, django_assert_num_queries
):
    many = [{**xen, "options": {"swap": str(n)}} for n in range(8)]
    submit(*(run_document(20.0 + n, system=system) for n, system in enumerate(many)))

    native = Cell.objects.get(system__hypervisor="native").system_id
    counts = {
        "": 10,
        f"?baseline={pair.system_id}": 13,
        "chart/": 9,
        f"cell/?cell={pair.pk}": 11,
        f"cell/?cell={pair.pk}&baseline={native}": 14,
    }
    for address, count in counts.items():
        with django_assert_num_queries(count):
            assert client.get(PAGE + address).status_code == 200


@pytest.mark.parametrize("slug", ["nothing", "secret-study"])
def test_what_may_not_be_seen_is_not_there(client, private_study, slug):
    for page in ("", "compare/", "runs/"):
        answer = client.get(f"/studies/alpha-lab/{slug}/{page}")
        assert answer.status_code == 404
        assert "There is nothing here" in answer.content.decode()


def test_members_see_their_private_studies(client, private_study, person):
    client.force_login(person)

    for page in ("", "compare/", "runs/"):
        answer = client.get(f"/studies/alpha-lab/secret-study/{page}")
        assert answer.status_code == 200


@pytest.mark.parametrize("page", ["", "compare/", "runs/"])
def test_pages_are_for_reading(client, study, page):
    assert client.post(f"/studies/alpha-lab/study/{page}").status_code == 405


def test_two_that_are_pinned_have_a_page_of_their_own(client, pair):
    native = Cell.objects.get(system__hypervisor="native").system_id
    pins = f"pin={pair.system_id}%2C{native}"

    answer = client.get(f"{PAGE}?show=value&{pins}")
    assert (answer.status_code, answer["Location"]) == (
        302,
        f"/studies/alpha-lab/study/direct/?show=value&{pins}",
    )
    assert client.get(f"{PAGE}?pin={native},999999").status_code == 200


def test_its_legend_says_how_far_cells_may_be_compared(
    client, submit, run_document, xen
):
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

    red, amber, green = page.context["page"].lights
    assert [it["light"] for it in (red, amber, green)] == ["red", "amber", "green"]
    assert [it["count"] for it in (red, amber, green)] == [1, 1, 1]
    assert "target=iSCSI, this guest with target=NFS" in red["sentences"][0][1]
    assert "guest Debian 12" in amber["sentences"][0][1]
    assert green["sentences"] == ()
    for _count, sentence in (*red["sentences"], *amber["sentences"]):
        assert sentence in page.text
    assert page.text.count("light-amber") == 1
