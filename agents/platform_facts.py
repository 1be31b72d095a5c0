"""All that an upload says of its platform: facts, layers, and the evidence."""

import hashlib
import os
import sys
from typing import Any, Dict, Optional

from agents.console import printable
from agents.detection.evidence import gather_evidence
from agents.detection.facts import gather_facts, stated
from agents.detection.layers import Judgement, judge
from agents.detection.windows import hypervisor_beneath
from agents.timing.clocks import boot_name


def gather_platform() -> Dict[str, Any]:
    """Return this machine's facts with its ``platform`` and ``evidence``."""
    evidence = gather_evidence()
    facts = gather_facts()
    judgement = judge(evidence)
    facts.update(machine_itself(facts, judgement, boot_name()))
    facts["platform"] = platform_of(judgement)
    beneath = hypervisor_beneath(evidence, judgement.layers)
    if beneath:
        facts["virtualization-based security"] = beneath
    if evidence.get("hyperv_version"):
        build = facts.get("hypervisor build", {})
        facts["hypervisor build"] = dict(build, hyperv=evidence["hyperv_version"])
    facts["evidence"] = printable_all(stated(evidence))
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


def printable_all(value: Any) -> Any:
    """Return evidence as text that a server takes, at every depth."""
    if isinstance(value, dict):
        return {name: printable_all(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [printable_all(inner) for inner in value]
    return printable(value.rstrip("\0")) if isinstance(value, str) else value


def host_document(slug: str) -> Dict[str, Any]:
    """Return what registers this machine: its facts, unless this is a guest of it."""
    facts = gather_platform()
    is_guest = bool(facts.pop("platform")["layers"])
    # Steal counts on: the same machine would look like another.
    for name in ("evidence", "agent", "steal"):
        facts.pop(name, None)
    # A guest's facts are not the machine's, so they stay with its runs.
    return {"slug": slug, "facts": {} if is_guest else facts}
