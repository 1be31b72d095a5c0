"""Containers as process 1 and the file system show them: pure judgement."""

from typing import Any, Dict, List

from agents.detection.finding import Finding
from agents.detection.signatures import (
    FIRST_PID_NAMESPACE,
    GROUPS,
    MANAGERS,
    OWN_GROUPS,
)

UNKNOWN = "container"
# What gVisor's kernel calls itself; a distribution's 4.4.0 has a suffix.
_GVISOR_KERNEL = "4.4.0"


def found(evidence: Dict[str, Any]) -> List[Finding]:
    """Return the container, and the kernel in user space within it, if there are."""
    claims = _claims(evidence)
    named = [claim for claim in claims if claim.layer != UNKNOWN]
    inner = (named or claims)[:1]
    if evidence.get("kernel") == _GVISOR_KERNEL and not evidence.get("clocksource"):
        inner.append(Finding("gvisor", "The kernel is gVisor's."))
    return inner


def quarrel(evidence: Dict[str, Any]) -> List[str]:
    """Say so if two managers claim the container, or if a mark speaks against the rest.

    The file /.dockerenv also stays behind in a machine booted from a container's image.
    """
    named = sorted({claim.layer for claim in _claims(evidence)} - {UNKNOWN})
    if len(named) > 1:
        return ["It is a container of %s." % " and of ".join(named)]
    is_first = evidence.get("pid_namespace") == FIRST_PID_NAMESPACE
    surer = _by_environment(evidence) + _by_group(evidence)
    if named and is_first and not surer and _by_markers(evidence):
        return ["Marked as %s, but its processes are the machine's own." % named[0]]
    return []


def _claims(evidence: Dict[str, Any]) -> List[Finding]:
    return (
        _by_environment(evidence)
        + _by_markers(evidence)
        + _by_group(evidence)
        + _by_namespace(evidence)
        + _by_systemd(evidence)
    )


def _by_environment(evidence: Dict[str, Any]) -> List[Finding]:
    claims = []
    for line in evidence.get("pid1_env_container") or []:
        name, _, value = line.partition("=")
        if name == "container" and value:
            ground = "Process 1 was told container=%s." % value
            claims.append(Finding(MANAGERS.get(value, UNKNOWN), ground))
    manager = evidence.get("container_manager")
    if manager:
        ground = "/run/host/container-manager says %s." % manager
        claims.append(Finding(MANAGERS.get(manager, UNKNOWN), ground))
    return claims


def _by_markers(evidence: Dict[str, Any]) -> List[Finding]:
    claims = []
    if evidence.get("dockerenv"):
        claims.append(Finding("docker", "There is /.dockerenv."))
    if evidence.get("containerenv"):
        claims.append(Finding("podman", "There is /run/.containerenv."))
    if evidence.get("proc_vz") and not evidence.get("proc_bc"):
        claims.append(Finding("openvz", "There is /proc/vz and no /proc/bc."))
    return claims


def _by_group(evidence: Dict[str, Any]) -> List[Finding]:
    """Read process 1's control groups: systemd's own and the one of version 2."""
    for line in str(evidence.get("cgroup1") or "").splitlines():
        _, _, rest = line.partition(":")
        controller, _, path = rest.partition(":")
        for part, layer in GROUPS:
            if part in path:
                return [Finding(layer, "Process 1 is in the group %s." % path)]
        is_main = controller in ("", "name=systemd")
        if is_main and path and not (path == "/" or path.startswith(OWN_GROUPS[1:])):
            return [Finding(UNKNOWN, "Process 1 is in the group %s." % path)]
    return []


def _by_namespace(evidence: Dict[str, Any]) -> List[Finding]:
    namespace = evidence.get("pid_namespace")
    if namespace in (None, FIRST_PID_NAMESPACE):
        return []
    return [Finding(UNKNOWN, "Processes are numbered apart from the machine's.")]


def _by_systemd(evidence: Dict[str, Any]) -> List[Finding]:
    said = evidence.get("systemd-detect-virt -c")
    if said in (None, "none", ""):
        return []
    layer = MANAGERS.get(str(said), UNKNOWN)
    return [Finding(layer, "systemd-detect-virt says %s." % said)]
