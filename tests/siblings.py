"""A public study beside a private one of the same machine, whose numbers are marked."""

import re
from datetime import timedelta

from django.contrib.auth import get_user_model

from benchmarks.models import Agent, Flag, Host, Lab, Study
from benchmarks.power.logs import keep_power
from benchmarks.studies import checking
from benchmarks.studies.flags import decide_flag
from benchmarks.studies.saving import update_study
from benchmarks.uploads import intake, processing
from tests import publishing
from tests.documents import network_run
from tests.power_logs import clock_of, piece, power

MARK = ".4711"
"""Ends every number of the private study, as its slug stands in every text."""
PRIVATE = "secret-sibling"
PUBLIC = "open-study"
SCENARIOS = ("always private", "hidden again", "published beside it", "foreign")
"""How the two came to be what they are; last, in two labs that share a machine's name.
"""
XEN = {"hypervisor": "Xen", "hypervisor_version": "3.3"}


TIME = re.compile(r"\d\d:\d\d:\d\d\.\d+")


def tells(text: str) -> bool:
    """Whether a text says something of the private study.

    Fractions of seconds are nobody's numbers, and end with the mark now and then.
    """
    return MARK in TIME.sub("", text) or PRIVATE in text


def beside(scenario: str) -> None:
    """Store both, as they are after this story."""
    lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
    owner = lab
    if scenario == "foreign":
        owner = Lab.objects.create(slug="gamma-lab", name="Gamma lab")
    for each in {lab, owner}:
        Host.objects.create(lab=each, slug="alpha")
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
        decide_flag(flag=flag, status="confirmed", note="It is so.", who="keeper")
    # A decision asks for another check, and nothing is published before it.
    checking.check_due_studies(timedelta(0))
    if is_late:
        publishing.published(study, keeper)
        update_study(study=study, visibility="public")
        publishing.reviewed(lab)
    elif sibling.is_public:
        # A review that has its numbers, too, and then may not show them.
        publishing.reviewed(lab)
        update_study(study=sibling, visibility="private")


def marked(value: str) -> float:
    """Return a number of these whole units that ends with the mark."""
    return float(f"{value}{MARK}")


def _measure(study: Study, owner: Lab) -> None:
    """Guests of the public one have natives of the private one alone, and both have a
    native value that the other's contradicts."""
    lab = study.lab
    agent = Agent.objects.create(lab=lab, name="sender")
    other = agent
    if owner != lab:
        other = Agent.objects.create(lab=owner, name="sender")
    own = [
        network_run(52.97, host="alpha", study=PUBLIC),
        network_run(50.5, host="alpha", study=PUBLIC, system=XEN),
        *(
            network_run(20.25, host="alpha", study=PUBLIC, system=XEN, samples=[each])
            for each in (_read(20.25), _of("queue", 20.25))
        ),
    ]
    secret = [
        network_run(
            marked("61"), host="alpha", study=PRIVATE, facts=clock_of(100, 120)
        ),
        *(
            network_run(host="alpha", study=PRIVATE, samples=[each], note=PRIVATE)
            for each in (
                *(_read(marked(f"2{n}")) for n in range(3)),
                _of(f"queue {PRIVATE}", marked("33")),
            )
        ),
    ]
    intake.submit_runs(agent=agent, documents=own)
    intake.submit_runs(agent=other, documents=secret)
    processing.drain()
    watts = power(range(131), marked("83"), marked("120"))
    keep_power(agent=other, document=piece(watts))


def _read(value: float) -> dict[str, object]:
    return _of("read", value)


def _of(operation: str, value: float) -> dict[str, object]:
    return {
        "metric": "network throughput",
        "parameters": {"operation": operation},
        "value": value,
        "unit": "MB/s",
    }
