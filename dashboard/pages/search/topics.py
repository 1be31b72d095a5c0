from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.evidence.subjects import listed_hypervisors, visible_machines
from benchmarks.hypervisor_names import NATIVE, PLATFORMS
from benchmarks.studies.lookup import list_studies
from benchmarks.system_options import VOCABULARY
from benchmarks.viewer import Viewer
from benchmarks.work_classes import SYNONYMS, WORK_CLASSES
from dashboard.kit.questions import QUESTIONS, question_url, systems_with_options
from dashboard.kit.subject_urls import hypervisor_url, machine_url, work_url
from dashboard.wording import Text, property_name, property_value
from dashboard.wording.evidence import work_name, work_phrase
from dashboard.wording.glossary import GLOSSARY

MAX_VALUES: Final = 4
# Products and clouds that run on a hypervisor.
BUILT_ON: Final = {
    "KVM": (
        "qemu libvirt proxmox openstack openshift ovirt kubevirt harvester nova "
        "nutanix aws nitro gcp"
    ),
    "Xen": "xcp ng xenserver citrix qubes aws ec2",
    "VMware ESXi": "vmware vcenter vsphere esx",
    "Hyper-V": "microsoft azure windows server wsl",
}
TERM_SYNONYMS: Final = {
    "interval": "confidence interval error margin uncertainty",
    "bimodal": "two speeds bistable",
    "equivalence-margin": "tolerance threshold significance",
    "co-run": "consolidation noisy neighbour contention density",
}
PAGES: Final[tuple[tuple[str, Text, Text, str], ...]] = (
    (
        "cross-study",
        gettext_lazy("Compare across studies"),
        gettext_lazy("All hypervisors that were measured on one machine"),
        "comparison versus vs against benchmark",
    ),
    (
        "evidence",
        gettext_lazy("Evidence across all studies"),
        gettext_lazy("Hypervisors by class of work"),
        "overhead cost slowdown performance which best fastest hypervisor",
    ),
    (
        "mix",
        gettext_lazy("My mix of work"),
        gettext_lazy("Loss or gain of a mix of work under each hypervisor"),
        "estimate calculator migrate move workload sum total",
    ),
    (
        "settings",
        gettext_lazy("Settings"),
        gettext_lazy("Effects of settings of hypervisors and guests"),
        "options tuning parameters pinning huge pages cache aio mitigations",
    ),
    (
        "start-times",
        gettext_lazy("Start-up times"),
        gettext_lazy("How long VMs take to start, one and many at once"),
        "boot time booting startup cold start storm launch latency microvm",
    ),
    (
        "density",
        gettext_lazy("VMs per host"),
        gettext_lazy("How many VMs keep a limit"),
        "density consolidation overcommit how many guests noisy neighbour limit",
    ),
    (
        "data",
        gettext_lazy("Data"),
        gettext_lazy("All tables as files, and the API"),
        "download export csv parquet json pandas api dataset doi cite citation",
    ),
    (
        "upload",
        gettext_lazy("Upload"),
        gettext_lazy("Add benchmark files to a study"),
        "import submit add results files logs",
    ),
    (
        "questions",
        gettext_lazy("Questions"),
        gettext_lazy("Questions about hypervisors, and where the answers are"),
        "faq help ask",
    ),
    (
        "glossary",
        gettext_lazy("Glossary"),
        gettext_lazy("Definitions of the terms used on the pages."),
        "terms definitions meaning abbreviations",
    ),
)


@dataclass(frozen=True)
class Topic:
    """A subject with its address; ``keywords`` are searched but not shown."""

    kind: str
    title: str
    detail: str
    url: str
    keywords: str = ""


def topics(viewer: Viewer) -> list[Topic]:
    return [
        *work_topics(),
        *_hypervisor_topics(viewer),
        *_machine_topics(viewer),
        *_setting_topics(viewer),
        *_glossary_topics(),
        *_question_topics(),
        *(
            Topic("page", str(title), str(detail), reverse(f"dashboard:{name}"), words)
            for name, title, detail, words in PAGES
        ),
    ]


def work_topics(slugs: Iterable[str] = WORK_CLASSES) -> Iterator[Topic]:
    for work in map(WORK_CLASSES.__getitem__, slugs):
        yield Topic(
            "work",
            capfirst(work_phrase(work.slug)),
            work_name(work.slug),
            work_url(work.slug),
            f"{work.title} {SYNONYMS[work.slug]}",
        )


def _hypervisor_topics(viewer: Viewer) -> Iterator[Topic]:
    names = {*listed_hypervisors(viewer)} - {NATIVE}
    for name in sorted(names):
        spellings = " ".join(PLATFORMS.get(name, ()))
        yield Topic(
            "hypervisor",
            name,
            _("Speed by class of work, settings and versions"),
            hypervisor_url(name),
            f"{spellings} {BUILT_ON.get(name, '')}",
        )


def _machine_topics(viewer: Viewer) -> Iterator[Topic]:
    for machine in visible_machines(viewer):
        facts = machine.common_facts
        names = [str(facts[name]) for name in ("cpu", "provider") if facts.get(name)]
        yield Topic(
            "machine",
            machine.title,
            ", ".join(names),
            machine_url(machine.slug),
            machine.slug,
        )


def _setting_topics(viewer: Viewer) -> Iterator[Topic]:
    for option in dict.fromkeys(VOCABULARY.values()):
        yield Topic(
            "setting",
            _(option.title),
            _(option.explanation),
            reverse("dashboard:setting", args=[option.slug]),
            " ".join([option.name, *option.other_names, *option.values]),
        )
    systems = systems_with_options(viewer)
    values: dict[str, set[str]] = {}
    newest = {}
    for options, study_id in systems.values_list("options", "study_id"):
        for name, value in options.items():
            if name in VOCABULARY:
                continue
            values.setdefault(name, set()).add(property_value(name, value))
            newest[name] = study_id
    studies = list_studies(viewer).in_bulk(set(newest.values()))
    for name, study_id in newest.items():
        study, texts = studies[study_id], sorted(values[name])
        url = reverse("dashboard:study", args=[study.lab.slug, study.slug])
        shown = f"{', '.join(texts[:MAX_VALUES])} ({study.title})"
        yield Topic("setting", property_name(name), shown, url, f"{name} {texts}")


def _question_topics() -> Iterator[Topic]:
    for question in QUESTIONS:
        url, words = question_url(question.slug), f"{question.slug} {question.keywords}"
        yield Topic("question", str(question.text), "", url, words)


def _glossary_topics() -> Iterator[Topic]:
    url = reverse("dashboard:glossary")
    for section in GLOSSARY:
        for term in section.terms:
            yield Topic(
                "term",
                capfirst(str(term.term)),
                str(term.definition),
                f"{url}#{term.slug}",
                TERM_SYNONYMS.get(term.slug, ""),
            )
