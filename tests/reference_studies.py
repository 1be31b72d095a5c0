"""The published studies that every installation contains."""

from collections.abc import Callable
from typing import Any

from benchmarks.models import Agent, Study
from benchmarks.reference.study_documents import reference_study
from benchmarks.studies import saving, systems
from benchmarks.uploads import intake, processing
from tests.custom_tools import declare


def load_study(
    agent: Agent, slug: str, wanted: Callable[[dict[str, Any]], bool] | None = None
) -> Study:
    """Load a study into the agent's lab: all runs, or those that are wanted."""
    published = reference_study(slug)
    study, _ = saving.save_study(lab=agent.lab, **published.document)
    for tool in published.own_tools:
        declare(agent.lab, agent, **tool)
    for host in published.hosts:
        systems.register_host(lab=agent.lab, **host)
    runs = [run for run in published.runs if wanted is None or wanted(run)]
    intake.submit_runs(agent=agent, documents=runs)
    processing.process_due_uploads()
    return study
