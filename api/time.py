"""/time/: the server's clocks, so that a guest can be timed from outside."""

import hashlib
import time
from functools import cache
from pathlib import Path
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import Pattern
from api.kit.queries import Query
from api.kit.views import ApiView

BOOT = Path("/proc/sys/kernel/random/boot_id")
# Linux states a tick here where it counts ticks; a microsecond is what we tell.
RESOLUTION_US = max(1, round(time.get_clock_info("monotonic").resolution * 1e6))


class TimeQuery(Query):
    nonce = Pattern(
        "[A-Za-z0-9-]+",
        "letters, digits and -",
        required=False,
        max_length=64,
        help_text="Comes back, so that no answer is taken for another one's.",
    )


class TimeSerializer(serializers.Serializer[Any]):
    """Two clocks in whole microseconds, read as late as possible."""

    nonce = serializers.CharField()
    clock = serializers.CharField(
        help_text="Only times of the same clock can be subtracted."
    )
    wall_us = serializers.IntegerField(help_text="Since 1970, UTC.")
    monotonic_us = serializers.IntegerField(help_text="Never set; since any moment.")
    resolution_us = serializers.IntegerField(
        help_text="The steps in which the latter moves: part of every bound."
    )


class TimeView(ApiView):
    """For agents that bracket their runs; asks no database."""

    authentication_classes = []
    permission_classes = [AllowAny]
    query_class = TimeQuery

    @extend_schema(summary="Ask for the server's time", responses=TimeSerializer)
    def get(self, request: Request) -> Response:
        times = {
            "nonce": self.query.get("nonce", ""),
            "clock": clock_name(),
            # After the name of the clock, which is read from a file the first time.
            "wall_us": time.time_ns() // 1000,
            "monotonic_us": time.monotonic_ns() // 1000,
            "resolution_us": RESOLUTION_US,
        }
        return Response(times, headers={"Cache-Control": "no-store"})


@cache
def clock_name() -> str:
    """Return the same for all processes of one boot of one machine.

    Where a system does not tell its boots apart, each process is a clock of its own.
    """
    boot = BOOT.read_text().strip() if BOOT.exists() else str(time.time_ns())
    return hashlib.sha256(boot.encode()).hexdigest()[:16]
