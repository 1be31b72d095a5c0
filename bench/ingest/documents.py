"""Uploads such as agents send, made to measure."""

import uuid
from typing import Any

import orjson

CASES = 50


def run(
    study: str,
    number: int = 0,
    *,
    cases: int = CASES,
    first_case: int = 0,
    hypervisor: str = "KVM",
    guest: str = "Debian 12",
    repetitions: int = 1,
) -> dict[str, Any]:
    """Return a run whose samples are of so many cases, the worst there is for cells."""
    wobble = (number * 7919 + 13) % 100 / 1000
    return {
        "key": str(uuid.uuid4()),
        "study": study,
        "system": {
            "host": "bench-host",
            "hypervisor": hypervisor,
            "guest_os": guest,
            "guest_bits": 64,
        },
        "tool": "ramspeed",
        "samples": [
            {
                "metric": "bandwidth",
                "parameters": {"operation": "read", "block": f"{case + 1} KiB"},
                "value": round(1000 + case + wobble + repetition / 7, 3),
                "unit": "MB/s",
                "repetition": repetition + 1,
            }
            for case in range(first_case, first_case + cases)
            for repetition in range(repetitions)
        ],
    }


def body(document: dict[str, Any]) -> bytes:
    return orjson.dumps(document)
