"""What the options of a fio job say about the case that it measures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from benchmarks.parsing.drafts import Draft, Parameter
from benchmarks.sentences import Sentence

SHORT_S: Final = 1.0
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)(?:([kmgtKMGT])(?:i?[bB])?|[bB])?")
_BLOCKS: Final = ("bs", "blocksize", "bsrange", "blocksize_range")
_NUMBERS: Final = {"numjobs": "jobs", "of jobs": "of jobs"}
# What else makes another case of a job, where its options are told.
_OTHERS: Final = (
    *("rwmixread", "rwmixwrite", "rate", "rate_iops", "fsync", "fdatasync", "sync"),
    *("buffered", "zonemode", "verify"),
)
_FLAGS: Final = {"1": True, "0": False}


def access_of(pattern: str) -> str:
    """``randread``, ``randrw`` and so on are random; ``rw`` is sequential."""
    return "random" if pattern.startswith("rand") else "sequential"


def block_size(text: str, operation: str) -> str:
    """``4k``, ``4096B-4096B``, ``4K-4K/64K-64K`` as a size; a range stays a text."""
    ways = re.split(r"[,/]", text.strip())
    place = {"read": 0, "write": 1, "trim": 2, "mixed": 0}[operation]
    mine = (ways[place] if place < len(ways) else "").strip() or ways[-1].strip()
    low, _, high = mine.partition("-")
    size = _SIZE.fullmatch(low)
    if not size or high not in ("", low):
        return mine
    return f"{size[1]} {size[2].upper()}iB" if size[2] else f"{size[1]} B"


def case_of(options: Mapping[str, str], operation: str) -> dict[str, Parameter]:
    """The parameters of a job's readings of one operation."""
    case: dict[str, Parameter] = {"operation": operation}
    if pattern := options.get("rw") or options.get("readwrite"):
        case["access"] = access_of(pattern)
    if block := _block(options, operation):
        case["block"] = block
    if engine := options.get("ioengine"):
        case["engine"] = engine
    depth = options.get("iodepth", "1")
    if depth.isdecimal():
        case["iodepth"] = int(depth[:9])
    for option, name in _NUMBERS.items():
        if (jobs := options.get(option, "1")) != "1" and jobs.isdecimal():
            case[name] = int(jobs[:9])
    if (direct := _FLAGS.get(options.get("direct", ""))) is not None:
        case["direct"] = direct
    return case | {name: options[name] for name in _OTHERS if options.get(name)}


def _block(options: Mapping[str, str], operation: str) -> str:
    # Sizes and their shares: 4k/60:64k/40.
    if shares := options.get("bssplit"):
        return shares
    block = next(filter(None, map(options.get, _BLOCKS)), "")
    return block and block_size(block, operation)


def mark_short(run: Draft, job: str, runtime_s: float) -> None:
    """fio measures whatever it is given, also a file that fits into a moment."""
    if 0 < runtime_s < SHORT_S:
        run.mark(
            "short",
            Sentence(
                "{job} ran {seconds:g} s: too short to be relied on.",
                job=job,
                seconds=runtime_s,
            ),
        )


def mark_errors(run: Draft, job: str, errors: float) -> None:
    """``continue_on_error`` counts errors, passes over them and ends without one."""
    if errors:
        run.mark(
            "errors",
            Sentence("{job} passed over {errors:g} errors.", job=job, errors=errors),
        )
