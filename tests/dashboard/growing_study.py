"""Study on two machines with content for every page, of any size."""

from benchmarks.models import System
from benchmarks.plans.planning import create_plan

HOSTS = ("alpha", "beta")


def plan(study, rounds):
    design = {
        "systems": [{"system": System.objects.latest("pk").pk}],
        "tools": [{"tool": "hackbench"}],
        "repetitions": rounds,
        "warm_up": 0,
    }
    create_plan(study=study, actor="alice", title="A plan", design=design, budget_s=60)


def documents(run_document, system, at):
    day = f"2026-03-{at + 1:02}T08:00:00+00:00"
    together = {"scenario": "parallel", "vms": 2, "corun": f"together {at}"}
    host = {"host": HOSTS[at % len(HOSTS)]}
    system = {**system, **host}
    for place in (host, system):
        yield run_document(samples=swept(at), started_at=day, system=place)
        yield run_document(samples=sent(at), system=place)
    for slot in ("1", "2"):
        yield run_document(13.0 + at, system=system, slot=slot, **together)
    yield run_document(samples=drawn(at), tool="watts-up", system=system)


def swept(at):
    return [
        sample(50.0 + at, {"operation": "read", "block_size": f"{2**n} KiB"})
        for n in range(4)
    ]


def sent(at):
    return [sample(90.0 + at, {"operation": "read", "from": "a", "to": "b"})]


def sample(value, parameters):
    return {
        "metric": "network throughput",
        "parameters": parameters,
        "value": value,
        "unit": "MB/s",
    }


def drawn(at):
    return [
        {"metric": "energy", "value": 1000.0 + at, "unit": "J"},
        {"metric": "meter time", "value": 9.0, "unit": "s"},
    ]
