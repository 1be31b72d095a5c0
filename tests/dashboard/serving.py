"""What the browser tests serve: studies, committed for the server's threads."""

from datetime import timedelta

from django.db import connection

from benchmarks.models import Agent, Campaign, Lab
from benchmarks.reference.documents import reference_campaign
from benchmarks.services import campaigns, checking, intake, processing, systems


def load_reference(lab: Lab, agent: Agent, slug: str = "lmu-2010-xen") -> Campaign:
    """Load a published study for everybody to see."""
    study = reference_campaign(slug)
    document = {**study.campaign, "visibility": "public"}
    campaign, _ = campaigns.save_campaign(lab=lab, **document)
    for host in study.hosts:
        systems.register_host(lab=lab, **host)
    intake.submit_runs(agent=agent, documents=study.runs)
    processing.drain()
    return campaign


def check_all() -> None:
    """Look for flags in what was loaded."""
    checking.check_due_campaigns(timedelta(0))


def end_sessions() -> None:
    """End what the server's threads left open, or the database cannot be dropped."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
