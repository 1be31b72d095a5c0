"""The published studies, as every installation has them."""

from collections.abc import Callable
from typing import Any

from benchmarks.models import Agent, Campaign
from benchmarks.reference.documents import reference_campaign
from benchmarks.studies import saving, systems
from benchmarks.uploads import intake, processing


def load_study(
    agent: Agent, slug: str, wanted: Callable[[dict[str, Any]], bool] | None = None
) -> Campaign:
    """Load a study into the agent's lab: all its runs, or those that are wanted."""
    study = reference_campaign(slug)
    campaign, _ = saving.save_campaign(lab=agent.lab, **study.campaign)
    for host in study.hosts:
        systems.register_host(lab=agent.lab, **host)
    runs = [run for run in study.runs if wanted is None or wanted(run)]
    intake.submit_runs(agent=agent, documents=runs)
    processing.drain()
    return campaign
