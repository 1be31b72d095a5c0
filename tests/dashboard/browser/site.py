"""Data of the browser tests: two published studies, and synthetic ones."""

from playwright.sync_api import expect

from benchmarks.models import Agent, Lab
from benchmarks.studies import saving, systems
from benchmarks.uploads import intake, processing
from tests.reference_studies import load_study

STUDY = "/studies/alpha-lab/lmu-2010-xen/"
COMPARE = f"{STUDY}compare/"
CORUNS = f"{STUDY}co-runs/"
ENERGY = "/studies/alpha-lab/uoc-2012-kvm/energy/"
HOSTILE = "/studies/alpha-lab/hostile/"
FACTOR_EFFECTS = "/studies/alpha-lab/factorial/factor-effects/"
PAYLOADS = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    '"><svg onload=alert(4)>',
    '<a href="javascript:alert(5)">click</a>',
    "javascript:alert(6)",
    "<b>bold</b>",
    "{{ 7|add:7 }}{% now 'Y' %}",
    "%{y}${alert(8)}",
    "$\\href{javascript:alert(9)}{x}$",
]


def load():
    """Load a study of each kind, and one with hostile names."""
    lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
    agent = Agent.objects.create(lab=lab, name="alice")
    load_study(agent, "lmu-2010-xen")
    load_study(agent, "uoc-2012-kvm")
    load_hostile(lab, agent)
    load_factorial(lab, agent)


def load_hostile(lab, agent):
    name = " ".join(PAYLOADS)
    saving.save_study(
        lab=lab, slug="hostile", title=name, note=name, visibility="public"
    )
    systems.register_host(lab=lab, slug="evil", title=name, facts={name: name})
    intake.submit_runs(
        agent=agent, documents=[attack(at, each) for at, each in enumerate(PAYLOADS)]
    )
    intake.submit_runs(agent=agent, documents=[attack(99, "plain", "native")])
    processing.process_due_uploads()


def attack(number, name, hypervisor=None):
    options = {} if hypervisor else {"storage": name}
    return {
        "key": f"00000000-0000-4000-8000-{number:012}",
        "study": "hostile",
        "system": {"host": "evil", "hypervisor": hypervisor or name}
        | {"guest_os": "os", "options": options},
        "tool": "iometer",
        "document": name,
        "table": name,
        "samples": [
            {
                "metric": "disk throughput",
                "parameters": {"operation": "read"},
                "value": 10 + number,
                "unit": "MB/s",
            }
        ],
    }


def load_factorial(lab, agent):
    """Submit guests with all combinations of factors; tools matter with AMD-V only."""
    saving.save_study(lab=lab, slug="factorial", title="Factorial", visibility="public")
    intake.submit_runs(agent=agent, documents=[guest(at) for at in range(8)])
    processing.process_due_uploads()


def guest(number):
    tools, amd_v, vcpus = number & 1, number >> 1 & 1, number >> 2 & 1
    options = {"guest_tools": ("absent", "on")[tools], "hw_virt": ("off", "on")[amd_v]}
    document = attack(200 + number, "plain", "Xen")
    document["samples"][0]["value"] = (40 if tools and amd_v else 10) + number % 3 / 10
    document["system"] |= {"vcpus": 1 + vcpus, "options": options}
    return document | {"study": "factorial"}


def draw_all(page, count):
    """Scroll to every chart and wait until it is drawn."""
    for chart in page.locator("[data-chart]").all():
        chart.scroll_into_view_if_needed()
    expect(page.locator("[data-rendered]")).to_have_count(count)
