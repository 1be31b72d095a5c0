"""What every process counts while it works; a scrape adds the processes up."""

from prometheus_client import Counter, Histogram, values

from benchmarks.monitoring import slots

# Before the first counter is made.
if slots.folder():
    values.ValueClass = values.MultiProcessValue(slots.slot)  # type: ignore[no-untyped-call]

REQUESTS = Counter(
    "virtlab_requests",
    "Answered requests, by the name of their address.",
    ["route", "method", "status"],
)
# Without labels, so that it is there before the first of them: of a counter that begins
# with 1, Prometheus sees no increase.
SERVER_ERRORS = Counter("virtlab_server_errors", "Requests answered with 500.")
REQUEST_SECONDS = Histogram(
    "virtlab_request_seconds",
    "From a request that was read whole to its answer.",
    ["kind"],
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 30),
)
UPLOADS = Counter(
    "virtlab_uploads",
    "Uploaded runs: accepted (committed and acknowledged), repeated (acknowledged "
    "before), processed, quarantined.",
    ["outcome"],
)
ACCEPTED, REPEATED, PROCESSED, QUARANTINED = (
    UPLOADS.labels(outcome)
    for outcome in ("accepted", "repeated", "processed", "quarantined")
)
WORK = Counter(
    "virtlab_work",
    "Units of background work that were tried: done or failed.",
    ["kind", "outcome"],
)
TASK_SECONDS = Histogram(
    "virtlab_task_seconds",
    "How long a task of Celery took.",
    ["task"],
    buckets=(0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 200),
)
SWEEP_SECONDS = Histogram(
    "virtlab_sweep_seconds",
    "How long the sweeper's duties took.",
    ["duty"],
    buckets=(0.01, 0.1, 0.5, 1, 5, 10, 30, 60, 200),
)
