"""Kernels that are guests by their own statement, and kernels that imitate Linux."""

from typing import List

from agents.detection.findings import DetectedLayer, Evidence

# FreeBSD's kern.vm_guest -> layers.
VM_GUESTS = {
    "kvm": "kvm",
    "hv": "hyper-v",
    "xen": "xen-hvm",
    "vmware": "vmware",
    "bhyve": "bhyve",
    "parallels": "parallels",
    "vbox": "virtualbox",
    "nvmm": "nvmm",
}
# Prefixes of Apple's model names of guests -> layers.
MODELS = {
    "VirtualMac": "apple-virtualization",
    "VMware": "vmware",
    "Parallels": "parallels",
}


def operating_system_layers(evidence: Evidence) -> List[DetectedLayer]:
    version = "%s %s" % (evidence.get("version"), evidence.get("uname_version"))
    if evidence.get("system") == "VMkernel":
        return [DetectedLayer("esxi-shell", "This is the shell of ESXi itself.")]
    layers = _guests(evidence)
    if evidence.get("jailed") == "1":
        layers.append(DetectedLayer("freebsd-jail", "The kernel states a jail."))
    if "BrandZ" in version:
        reason = "The kernel is illumos, which imitates Linux (LX zone)."
        layers.append(DetectedLayer("lx-zone", reason))
    is_freebsd = "freebsd" in version.lower() or evidence.get("linprocfs")
    if is_freebsd and evidence.get("system") in (None, "Linux"):
        reason = "The kernel is FreeBSD's, which imitates Linux (Linuxulator)."
        layers.append(DetectedLayer("linuxulator", reason))
    return layers


def _guests(evidence: Evidence) -> List[DetectedLayer]:
    if evidence.get("leaves") and evidence.get("cpuid1_ecx31"):
        return []  # CPUID has named the hypervisor
    guest, model = evidence.get("vm_guest"), str(evidence.get("apple_model"))
    for start, layer in MODELS.items():
        if model.startswith(start):
            return [DetectedLayer(layer, "The machine's model is %s." % model)]
    if guest in (None, "none", "0", ""):
        return []
    layer = VM_GUESTS.get(str(guest), "unknown-hypervisor")
    return [DetectedLayer(layer, "The kernel states that it is a guest.")]
