"""A public and a private study of the same machine; the private numbers are marked."""

import re
from datetime import timedelta

from django.contrib.auth import get_user_model

from benchmarks.models import Agent, Flag, Host, Lab, Study
from benchmarks.power.meter_logs import store_power_chunk
from benchmarks.studies import checking
from benchmarks.studies.flags import decide_flag
from benchmarks.studies.saving import update_study
from benchmarks.uploads import intake, processing
from tests import publications
from tests.power_logs import chunk, clock_of, power
from tests.upload_documents import network_run

MARK = ".4711"
"""The end of every number of the private study; its slug is in each of its texts."""
PRIVATE = "secret-sibling"
PUBLIC = "open-study"
SCENARIOS = ("always private", "hidden again", "published beside it", "foreign")
"""The histories of the two studies; in the last, two labs have a machine of one name.
"""
XEN = {"hypervisor": "Xen", "hypervisor_version": "3.3"}


TIME = re.compile(r"\d\d:\d\d:\d\d\.\d+")


def reveals_private_study(text: str) -> bool:
    """Whether a text contains data of the private study.

    Fractions of seconds are not data, and sometimes end with the mark.
    """
    return MARK in TIME.sub("", text) or PRIVATE in text


def store_siblings(scenario: str) -> None:
    """Store both studies in the state after this history."""
    lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
    owner = lab
    if scenario == "foreign":
        owner = Lab.objects.create(slug="gamma-lab", name="Gamma lab")
    for sample in {lab, owner}:
        Host.objects.create(lab=sample, slug="alpha")
    is_late = scenario == "published beside it"
    first = "private" if is_late else "public"
    study = Study.objects.create(lab=lab, slug=PUBLIC, title="Open", visibility=first)
    first = "private" if scenario == "always private" or is_late else "public"
    sibling = Study.objects.create(
        lab=owner, slug=PRIVATE, title=f"A {PRIVATE}", visibility=first
    )
    _measure(study, owner)
    keeper = get_user_model().objects.create_user("keeper of both")
    checking.check_due_studies(timedelta(0))
    for flag in Flag.objects.filter(study=study):
        decide_flag(flag=flag, status="confirmed", note="It is so.", actor="keeper")
    # A decision causes another check, which must precede the publication.
    checking.check_due_studies(timedelta(0))
    if is_late:
        publications.published(study, keeper)
        update_study(study=study, visibility="public")
        publications.reviewed(lab)
    elif sibling.is_public:
        # A review that contains its numbers, which must be hidden afterwards.
        publications.reviewed(lab)
        update_study(study=sibling, visibility="private")


def marked(value: str) -> float:
    """Return a number with this integer part that ends with the mark."""
    return float(f"{value}{MARK}")


def _measure(study: Study, owner: Lab) -> None:
    """Add guests whose only native runs are private, and a native value that
    contradicts the private one.
    """
    lab = study.lab
    agent = Agent.objects.create(lab=lab, name="sender")
    other = agent
    if owner != lab:
        other = Agent.objects.create(lab=owner, name="sender")
    own = [
        network_run(52.97, host="alpha", study=PUBLIC),
        network_run(50.5, host="alpha", study=PUBLIC, system=XEN),
        *(
            network_run(20.25, host="alpha", study=PUBLIC, system=XEN, samples=[sample])
            for sample in (_read(20.25), _of("queue", 20.25))
        ),
    ]
    secret = [
        network_run(
            marked("61"), host="alpha", study=PRIVATE, facts=clock_of(100, 120)
        ),
        *(
            network_run(host="alpha", study=PRIVATE, samples=[sample], note=PRIVATE)
            for sample in (
                *(_read(marked(f"2{n}")) for n in range(3)),
                _of(f"queue {PRIVATE}", marked("33")),
            )
        ),
    ]
    intake.submit_runs(agent=agent, documents=own)
    intake.submit_runs(agent=other, documents=secret)
    processing.process_due_uploads()
    watts = power(range(131), marked("83"), marked("120"))
    store_power_chunk(agent=other, document=chunk(watts))


def _read(value: float) -> dict[str, object]:
    return _of("read", value)


def _of(operation: str, value: float) -> dict[str, object]:
    return {
        "metric": "network throughput",
        "parameters": {"operation": operation},
        "value": value,
        "unit": "MB/s",
    }
