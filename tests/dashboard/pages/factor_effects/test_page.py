"""The factor effects page without a browser: the HTML has all texts."""

import html
import itertools
import math
import re

import pytest

from benchmarks.models import Study
from dashboard.charts.factor_effects import AXIS_LIMITS
from dashboard.charts.plotly_renderer import plotly_figure
from tests.dashboard.markup import unbroken

PAGE = "/studies/alpha-lab/study/factor-effects/"
TIMES = "\N{MULTIPLICATION SIGN}"
ESXI = {"hypervisor": "VMware ESXi", "virtualization": "full"}


@pytest.fixture
def plain_text(text):
    """Return a page's text on one line, with "x" for the multiplication sign."""

    def get(address, **kwargs):
        bare = re.sub(
            r"<script.*?</script>|<[^>]*>", " ", text(address, **kwargs), flags=re.S
        )
        return " ".join(html.unescape(bare).replace(TIMES, "x").split())

    return get


@pytest.fixture
def factorial(submit, run_document):
    """Submit eight guests, ``value(tools, amd_v, vcpus)`` each, and a native run."""

    def make(value, direction="write", **circumstances):
        def run(mean, **changes):
            document = run_document(mean, **circumstances, **changes)
            document["samples"][0]["parameters"] = {"operation": direction}
            return document

        documents = [run(50.0)]
        for at, (tools, amd_v, vcpus) in enumerate(
            itertools.product(("absent", "installed"), ("off", "on"), (1, 2))
        ):
            options = {"guest_tools": tools, "hw_virt": amd_v}
            system = {**ESXI, "vcpus": vcpus, "options": options}
            mean = value(tools, amd_v, vcpus) * (1 + at % 3 / 100)
            documents.append(run(mean, system=system))
        return submit(*documents)

    return make


def doubled(tools, _amd_v, _vcpus):
    return 20 if tools == "installed" else 10


def only_with_amd_v(tools, amd_v, _vcpus):
    return 40 if (tools, amd_v) == ("installed", "on") else 10


def steady(_tools, _amd_v, _vcpus):
    return 10


def test_starts_with_summary_sentence(plain_text, factorial):
    factorial(doubled)

    assert "Network Guest tools installed: x 2.0 Network: Iometer" in plain_text(PAGE)


def test_no_effect_states_detectable_size(plain_text, factorial):
    factorial(steady)

    assert (
        "Network No effect is significant (smallest detectable effect: x 1.11)"
        in plain_text(PAGE)
    )


def test_interaction_is_stated(plain_text, factorial):
    factorial(only_with_amd_v)

    page = plain_text(PAGE)

    told = "Guest tools installed: x 4.0 with AMD-V / VT-x on (x 1.010 elsewhere)"
    assert told in page
    assert "Guest tools depends on AMD-V / VT-x" in page
    assert "AMD-V / VT-x depends on Guest tools" in page


def test_table_ranks_effects(text, factorial):
    factorial(doubled)

    page = text(PAGE)

    row = r'<tr role="row" class="effect-(\w+)">\s*<th scope="row"[^>]*>(.*?)</th>'
    rows = re.findall(row, page)
    assert rows[0] == ("clear", "Guest tools")
    assert {strength for strength, _name in rows[1:]} == {"none"}
    assert len(rows) == 6
    assert "absent → installed" in page
    assert f"<b>{TIMES}\xa02.0</b>" in page


def test_bars_need_no_script(text, factorial):
    factorial(doubled)

    page = unbroken(text(PAGE))

    (clear,) = re.findall(
        r'<rect class="above" x="50.00%" width="(\d\d\.\d\d)%"', page
    )[:1]
    widths = [50 * math.log(2.005) / math.log(limit) for limit in AXIS_LIMITS]
    assert min(abs(float(clear) - width) for width in widths) < 0.2
    assert 'class="whisker"' in page
    assert 'class="wide"' in page


def test_half_normal_plot_has_table(plain_text, text, factorial):
    factorial(doubled)

    assert "All contrasts of the design" in plain_text(PAGE)
    assert "AMD-V / VT-x x Guest tools x 1" in plain_text(PAGE)
    assert len(re.findall(r"data-chart[\s>]", text(PAGE))) == 1


def test_contrasts_sharing_native_runs_are_noted(client, load_study):
    load_study("lmu-2010-esxi", lambda run: run["tool"] == "iometer")

    page = client.get(
        "/studies/alpha-lab/lmu-2010-esxi/factor-effects/", {"component": "network"}
    )

    plot = page.context["page"]["detail"]["half_normal"]
    told = {
        text.split(":")[0]: text
        for trace in plotly_figure(plot["chart"])["data"]
        for text in trace.get("customdata", ())
    }
    assert told["Bits"].startswith("Bits: \xd7\xa01.46, plotted at \xd7\xa01.1")
    assert told["Guest tools"] == "Guest tools: \xd7\xa01.37"
    assert "plotted smaller than they are, on the scale" in plot["note"]


def test_design_shows_sessions(plain_text, factorial):
    factorial(doubled)

    page = plain_text(PAGE)

    assert "8 systems; 8 combinations" in page
    assert "AMD-V / VT-x off off on on" in page
    assert "1 1 1 1 1" in page


def test_large_design_is_summarized(plain_text, submit, run_document, xen):
    sizes = itertools.product(range(1, 13), range(1, 13))
    submit(
        *(
            run_document(10.0 + cpus, system={**xen, "vcpus": cpus, "memory_bytes": at})
            for cpus, at in sizes
            if (cpus + at) % 3 == 0 or 1 in (cpus, at)
        )
    )

    page = plain_text(PAGE)

    assert "63 systems; 144 combinations" in page
    assert "Design 63 systems" in page
    assert "vCPUs" not in page.partition("144 combinations")[2]


def test_aliased_effects_are_named(plain_text, submit, run_document, xen):
    pairs = [("full", "on"), ("paravirtual", "off"), ("paravirtual", "on")]
    documents = [run_document(50.0)]
    for (kind, amd_v), memory in itertools.product(pairs, (2**30, 2**31)):
        system = {
            **xen,
            "virtualization": kind,
            "memory_bytes": memory,
            "options": {"hw_virt": amd_v},
        }
        value = 10 + len(documents) % 4
        documents.append(run_document(value, system=system))
    submit(*documents)

    page = plain_text(PAGE)

    assert ": Type x AMD-V / VT-x (from Type, AMD-V / VT-x)." in page


def test_repeated_runs_have_intervals(plain_text, submit, run_document, xen):
    for vcpus, values in ((1, (10, 11, 12)), (2, (20, 21, 22))):
        system = {**xen, "vcpus": vcpus}
        submit(*(run_document(value, system=system) for value in values))

    page = plain_text(PAGE)

    assert "2 vCPUs: x 1.91" in page
    assert "95% CI" in page
    assert "(4 degrees of freedom)" in page


def test_two_single_values_are_not_assessed(plain_text, submit, run_document, xen):
    submit(*(run_document(10.0 * n, system={**xen, "vcpus": n}) for n in (1, 2)))

    page = plain_text(PAGE)

    assert "One value from each of 2 systems" in page
    assert re.search("vCPUs 1 → 2 x 2.0 . not assessed", page)


def test_equal_systems_have_no_effects(plain_text, text, pair):
    assert "The systems do not differ in any parameter" in plain_text(PAGE)
    assert 'id="effects"' not in text(PAGE)  # no empty section


def test_values_can_be_chosen(text, factorial):
    factorial(doubled)

    page = text(PAGE, data={"response": "value"})

    assert 'href="?response=relative_performance"' in page
    assert re.search(r'aria-current="true"[^>]*>Measured value', page)


def test_other_scenarios_are_linked(text, factorial):
    factorial(doubled)
    factorial(steady, scenario="parallel", vms=2, slot="sum")

    first, second = text(PAGE), text(PAGE, data={"scenario": "parallel"})

    assert 'href="?scenario=parallel"' in first
    assert "Guest tools installed:" in first
    assert "No effect is significant" in second


def test_single_case_can_be_chosen(text, plain_text, factorial):
    factorial(doubled)
    factorial(steady, direction="read")
    chips = re.findall(r'href="\?([^"]*case=\d+)"', text(PAGE))

    assert "Network: mean of 2 benchmarks" in plain_text(PAGE)
    titles = [plain_text(f"{PAGE}?{html.unescape(each)}") for each in chips]
    assert "Network: Iometer: Network throughput · read" in titles[0]
    assert "Network: Iometer: Network throughput · write" in titles[1]


@pytest.mark.parametrize(
    "query",
    [
        {"component": "nonsense"},
        {"case": "999"},
        {"response": "speed"},
        {"case": "\0|'<b>"},
    ],
)
def test_invalid_query_shows_default(plain_text, factorial, query):
    factorial(doubled)

    page = plain_text(PAGE, data=query)

    note = re.compile("Not found:.*Clear selection ")
    assert note.sub("", page) == plain_text(PAGE)
    assert note.search(page)


def test_scenario_without_results_is_reported(plain_text, factorial):
    factorial(doubled)

    page = plain_text(PAGE, data={"scenario": "inter-vm"})

    assert "No results in this scenario" in page


def test_empty_study_has_page(plain_text, study):
    assert "No results in this scenario" in plain_text(PAGE)


def test_private_study_is_404(client, private_study):
    answer = client.get("/studies/alpha-lab/secret-study/factor-effects/")

    assert answer.status_code == 404


def test_study_pages_link_here(text, pair):
    assert f'href="{PAGE}"' in text("/studies/alpha-lab/study/")


def test_names_are_escaped(text, submit, run_document, xen):
    evil = "<script>alert(1)</script>"
    documents = [
        run_document(10.0 * n, system={**xen, "options": {"storage": f"{evil}{n}"}})
        for n in (1, 2)
    ]
    submit(*documents)

    assert evil not in text(PAGE)


def test_query_count_is_constant(client, factorial, django_assert_num_queries):
    factorial(doubled)
    assert Study.objects.count() == 1

    with django_assert_num_queries(6):
        client.get(PAGE)
