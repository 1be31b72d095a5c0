"""All that an upload says of its platform: facts, layers, and the evidence."""

import hashlib
import os
import re
import sys
from typing import Any, Dict, Optional

from agents.detection.evidence import gather_evidence
from agents.detection.facts import gather_facts, stated
from agents.detection.layers import Judgement, judge
from agents.timing.clocks import boot_name

# Controls, line separators, marks of direction and halves of surrogates: the
# server takes none of them (benchmarks/text.py).
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def gather_platform() -> Dict[str, Any]:
    """Return this machine's facts with its ``platform`` and ``evidence``."""
    evidence = gather_evidence()
    facts = gather_facts()
    judgement = judge(evidence)
    facts.update(machine_itself(facts, judgement, boot_name()))
    facts["platform"] = platform_of(judgement)
    facts["evidence"] = printable(stated(evidence))
    facts["agent"] = agent_facts(sys.argv[0])
    return facts


def machine_itself(
    facts: Dict[str, Any], judgement: Judgement, boot: Optional[str]
) -> Dict[str, str]:
    """Return what the machine itself runs, which only its owner without a layer sees.

    A native run under another kernel or firmware is no baseline any more, and a session
    ends where one of these changes.
    """
    if judgement.layers or judgement.conflict:
        return {}
    seen = {
        "host_kernel": facts.get("kernel"),
        "host_firmware": facts.get("firmware"),
        "host_microcode": facts.get("microcode"),
        "host_boot": boot,
    }
    return {name: str(text) for name, text in seen.items() if text}


def agent_facts(program: str) -> Dict[str, str]:
    """Return which agent this is: its own checksum, and the Python that runs it."""
    facts = {"python": "%d.%d.%d" % sys.version_info[:3]}
    if program.endswith(".pyz") and os.path.isfile(program):
        with open(program, "rb") as file:
            facts["sha256"] = hashlib.sha256(file.read()).hexdigest()
    return facts


def platform_of(judgement: Judgement) -> Dict[str, Any]:
    """Return a judgement as JSON."""
    return {
        "layers": list(judgement.layers),
        "conflict": judgement.conflict,
        "sentence": judgement.sentence,
    }


def printable(value: Any) -> Any:
    """Return evidence as text that a server takes: `\\x88` for what cannot be shown."""
    if isinstance(value, dict):
        return {name: printable(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [printable(inner) for inner in value]
    if isinstance(value, str):
        return _UNPRINTABLE.sub(
            lambda sign: sign.group().encode("unicode_escape").decode("ascii"),
            value.rstrip("\0"),
        )
    return value
