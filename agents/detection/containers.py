"""Containers, and systems that implement Linux (WSL, LX zones), from evidence."""

from typing import List

from agents.detection.findings import DetectedLayer, Evidence

MANAGERS = {
    "lxc": "lxc",
    "lxc-libvirt": "lxc",
    "docker": "docker",
    "podman": "podman",
    "systemd-nspawn": "systemd-nspawn",
    "openvz": "openvz",
    "rkt": "rkt",
    "proot": "proot",
    "pouch": "pouch",
    "apptainer": "apptainer",
    "singularity": "apptainer",
}

# Substrings of process 1's path -> layers.
CONTROL_GROUPS = (
    ("/docker", "docker"),
    ("/libpod", "podman"),
    ("/lxc", "lxc"),
    ("/kubepods", "kubernetes"),
    ("/nerdctl-", "nerdctl"),
    ("/cri-containerd", "kubernetes"),
    ("/machine.slice/machine-", "systemd-nspawn"),
)

HOST_CONTROL_GROUPS = ("/", "/init.scope", "/system.slice", "/user.slice")

# Namespaces of the machine itself, whose numbers Linux has fixed.
FIRST_NAMESPACES = {
    "user": "user:[4026531837]",
    "ipc": "ipc:[4026531839]",
    "uts": "uts:[4026531838]",
    "cgroup": "cgroup:[4026531835]",
    "time": "time:[4026531834]",
}
# File systems of containers' root folders, and paths of their layers -> layers.
_ROOT_TYPES = ("overlay", "fuse-overlayfs", "fuse.fuse-overlayfs", "aufs")
_ROOT_PATHS = (
    ("/containers/storage/", "podman"),
    ("/docker/", "docker"),
    ("/containerd/", "container"),
    ("/apptainer/", "apptainer"),
    ("/singularity/", "apptainer"),
)

# The PID namespace of the machine itself, with this number since Linux 3.8.
FIRST_PID_NAMESPACE = "pid:[4026531836]"

# Files and variables that only exist in containers of one kind -> layers.
CONTAINER_FILES = {
    ".singularity.d": "apptainer",
    "WEIRD_AL_YANKOVIC": "charliecloud",
}
CONTAINER_VARIABLES = {
    "APPTAINER_CONTAINER": "apptainer",
    "APPTAINER_NAME": "apptainer",
    "SINGULARITY_CONTAINER": "apptainer",
    "SINGULARITY_NAME": "apptainer",
    "CH_RUNNING": "charliecloud",
    "ENROOT_ROOTFS": "enroot",
}
_UNKNOWN_CONTAINER = "container"
# The kernel version that gVisor reported. Distributions append a suffix to theirs.
_GVISOR_KERNEL = "4.4.0"


def wsl_version(evidence: Evidence, is_virtual: bool) -> List[DetectedLayer]:
    """Return the layers of the Windows Subsystem for Linux; [] outside it."""
    kernel = str(evidence.get("kernel") or "")
    builder = "microsoft@microsoft.com" in str(evidence.get("version") or "").lower()
    is_named = builder or "-microsoft" in kernel.lower()
    is_reported = evidence.get("systemd-detect-virt -c") == "wsl"
    if not (is_named or is_reported or evidence.get("wsl_interop")):
        return []
    # WSL 1: 4.4.0-19041-Microsoft; WSL 2: 5.15.153.1-microsoft-standard-WSL2.
    is_first = kernel.endswith("-Microsoft") or not (is_named or is_virtual)
    if is_first:
        return [DetectedLayer("wsl1", "Windows implements Linux system calls (WSL 1).")]
    layers = [DetectedLayer("wsl2", "The kernel is that of WSL 2.")]
    if not is_virtual:  # on ARM, which has no CPUID
        layers.insert(0, DetectedLayer("hyper-v", "WSL 2 is a guest of Hyper-V."))
    return layers


def container_layers(evidence: Evidence) -> List[DetectedLayer]:
    claims = _claims(evidence)
    named = [claim for claim in claims if claim.layer != _UNKNOWN_CONTAINER]
    # WSL 2 distributions have their own PID namespaces.
    nameless = [] if wsl_version(evidence, is_virtual=True) else claims
    inner = (named or nameless)[:1]
    if _is_gvisor(evidence):
        inner.append(DetectedLayer("gvisor", "The kernel is gVisor's."))
    return inner


def container_conflicts(evidence: Evidence) -> List[str]:
    named = sorted({claim.layer for claim in _claims(evidence)} - {_UNKNOWN_CONTAINER})
    if len(named) > 1:
        return ["It is a container of %s." % " and of ".join(named)]
    is_first = evidence.get("pid_namespace") == FIRST_PID_NAMESPACE
    reliable = _by_environment(evidence) + _by_control_group(evidence)
    # These do not create a PID namespace by default.
    is_shared = not set(named) - {"apptainer", "charliecloud"}
    if named and is_first and not (is_shared or reliable) and _by_markers(evidence):
        return [
            "Marked as %s, but it shares the PID namespace of the machine." % named[0]
        ]
    return []


def _claims(evidence: Evidence) -> List[DetectedLayer]:
    claims = (
        _by_environment(evidence)
        + _by_markers(evidence)
        + _by_control_group(evidence)
        + _by_root_folder(evidence)
        + _by_namespaces(evidence)
    )
    if evidence.get("pid_namespace") not in (None, FIRST_PID_NAMESPACE):
        reason = "The PID namespace is not that of the machine."
        claims.append(DetectedLayer(_UNKNOWN_CONTAINER, reason))
    systemd = evidence.get("systemd-detect-virt -c")
    if systemd not in (None, "none", "", "wsl"):
        layer = MANAGERS.get(str(systemd), _UNKNOWN_CONTAINER)
        reason = "systemd-detect-virt reports %s." % systemd
        claims.append(DetectedLayer(layer, reason))
    return claims


def _by_environment(evidence: Evidence) -> List[DetectedLayer]:
    claims = []
    for line in evidence.get("pid1_env_container") or []:
        name, _, value = line.partition("=")
        if name == "container" and value:
            reason = "The environment of process 1 has container=%s." % value
            claims.append(
                DetectedLayer(MANAGERS.get(value, _UNKNOWN_CONTAINER), reason)
            )
    manager = evidence.get("container_manager")
    if manager:
        reason = "/run/host/container-manager contains %s." % manager
        claims.append(DetectedLayer(MANAGERS.get(manager, _UNKNOWN_CONTAINER), reason))
    return claims


def _by_markers(evidence: Evidence) -> List[DetectedLayer]:
    claims = []
    if evidence.get("dockerenv"):
        claims.append(DetectedLayer("docker", "There is /.dockerenv."))
    if evidence.get("containerenv"):
        claims.append(DetectedLayer("podman", "There is /run/.containerenv."))
    if evidence.get("proc_vz") and not evidence.get("proc_bc"):
        claims.append(DetectedLayer("openvz", "There is /proc/vz and no /proc/bc."))
    for name in evidence.get("container_files") or []:
        layer = CONTAINER_FILES[name]
        claims.append(DetectedLayer(layer, "There is /%s." % name))
    for name in evidence.get("container_variables") or []:
        layer = CONTAINER_VARIABLES[name]
        claims.append(DetectedLayer(layer, "The variable %s is set." % name))
    windows = evidence.get("windows") or {}
    if windows.get("container"):
        reason = "The registry states the container type %s." % windows["container"]
        claims.append(DetectedLayer("windows-container", reason))
    return claims


def _by_root_folder(evidence: Evidence) -> List[DetectedLayer]:
    kind, options = evidence.get("root_mount") or ("", "")
    for part, layer in _ROOT_PATHS:
        if kind in _ROOT_TYPES and part in options:
            reason = "The root folder consists of layers in a folder %s." % part
            return [DetectedLayer(layer, reason)]
    return []


def _by_namespaces(evidence: Evidence) -> List[DetectedLayer]:
    """Return a container if two namespaces, or the one of users, are not the first.

    A systemd service with ProtectHostname has only another UTS namespace.
    """
    others = other_namespaces(evidence)
    if "user" not in others and len(others) < 2:
        return []
    reason = "These namespaces are not those of the machine: %s." % ", ".join(others)
    return [DetectedLayer(_UNKNOWN_CONTAINER, reason)]


def other_namespaces(evidence: Evidence) -> List[str]:
    namespaces = evidence.get("namespaces") or {}
    return [
        name
        for name, first in FIRST_NAMESPACES.items()
        if namespaces.get(name) not in (None, first)
    ]


def _is_gvisor(evidence: Evidence) -> bool:
    kernel = str(evidence.get("kernel") or "")
    is_old = kernel == _GVISOR_KERNEL and not evidence.get("clocksource")
    return is_old or kernel.endswith("-gvisor")


def _by_control_group(evidence: Evidence) -> List[DetectedLayer]:
    for line in str(evidence.get("cgroup1") or "").splitlines():
        _, _, rest = line.partition(":")
        controller, _, path = rest.partition(":")
        for part, layer in CONTROL_GROUPS:
            if part in path:
                reason = "Process 1 is in the control group %s." % path
                return [DetectedLayer(layer, reason)]
        is_main = controller in ("", "name=systemd")
        # Every path begins with "/".
        is_host = path == "/" or path.startswith(HOST_CONTROL_GROUPS[1:])
        if is_main and path and not is_host:
            reason = "Process 1 is in the control group %s." % path
            return [DetectedLayer(_UNKNOWN_CONTAINER, reason)]
    # A process of the machine may be in any group, so only known parts count.
    for part, layer in CONTROL_GROUPS:
        if part in str(evidence.get("own_cgroup") or ""):
            reason = "The agent is in a control group of %s." % layer
            return [DetectedLayer(layer, reason)]
    return []
