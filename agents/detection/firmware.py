"""The firmware's names of hypervisors and clouds."""

from typing import Tuple

from agents.detection.findings import Evidence

# Firmware text prefix -> consistent layers, the most likely one first.
FIRMWARE = (
    ("VMware", ("vmware",)),
    ("innotek GmbH", ("virtualbox",)),
    ("VirtualBox", ("virtualbox",)),
    ("Parallels", ("parallels",)),
    ("Xen", ("xen-hvm", "xen-pvh", "xen-dom0")),
    ("BHYVE", ("bhyve",)),
    ("Amazon EC2", ("kvm", "xen-hvm", "xen-pvh", "xen-pv")),
    ("Google Compute Engine", ("kvm",)),
    ("Apple Virtualization", ("apple-virtualization",)),
    ("KubeVirt", ("kvm", "qemu-tcg")),
    ("OpenStack", ("kvm", "qemu-tcg", "xen-hvm")),
    ("Red Hat", ("kvm", "qemu-tcg")),
    ("oVirt", ("kvm", "qemu-tcg")),
    ("Nutanix", ("kvm",)),
    ("Alibaba Cloud", ("kvm", "xen-hvm")),
    ("DigitalOcean", ("kvm",)),
    ("Hetzner vServer", ("kvm",)),
    ("UpCloud", ("kvm",)),
    ("Vultr", ("kvm",)),
    ("Scaleway", ("kvm",)),
    ("Akamai", ("kvm",)),
    ("Linode", ("kvm",)),
    ("Exoscale", ("kvm",)),
    ("Tencent Cloud", ("kvm",)),
    ("Huawei Cloud", ("kvm",)),
    ("Yandex", ("kvm",)),
    ("KVM", ("kvm",)),
    ("SmartDC HVM", ("kvm", "bhyve")),
    ("Cloud Hypervisor", ("kvm", "hyper-v")),
    ("QEMU", ("qemu", "qemu-tcg", "kvm", "xen-hvm", "xen-pvh")),
    ("Bochs", ("qemu", "qemu-tcg", "kvm", "xen-hvm")),
)

# Clouds whose machines with and without a hypervisor have the same vendor.
CLOUDS = (
    *("Amazon EC2", "Google", "Alibaba Cloud", "Tencent Cloud", "Huawei Cloud"),
    "Oracle",
)

EMULATED_FIRMWARE = ("SeaBIOS", "EDK", "EFI Development", "QEMU", "OVMF")

# SMBIOS chassis types of servers, as numbers and as dmidecode prints them. Virtual
# machines report Other, Desktop or nothing.
PHYSICAL_CHASSIS = (
    *("17", "23", "25", "28", "29"),
    *("Main Server Chassis", "Rack Mount Chassis", "Multi-system", "Blade"),
    "Blade Enclosure",
)

# Amazon's machines without a hypervisor are named m5.metal or m7i.metal-24xl.
AMAZON, BARE_METAL_SUFFIX = "Amazon EC2", ".metal"

# Firmware of Hyper-V guests. Microsoft's other products are physical machines.
MICROSOFT = ("Microsoft Corporation", "Virtual Machine")

# QEMU's machine name on ARM with KVM; without KVM it is "QEMU Virtual Machine".
ARM_KVM = "KVM Virtual Machine"

# Chassis tag of virtual machines in Azure.
AZURE = "7783-7084-3265-9085-8269-3286-77"


def firmware_layers(evidence: Evidence) -> Tuple[str, Tuple[str, ...]]:
    """Return the firmware's text that names a hypervisor, and the layers that fit it.

    Return an empty text and tuple if there is none.
    """
    dmi = evidence.get("dmi") or {}
    vendor, product = str(dmi.get("sys_vendor")), str(dmi.get("product_name"))
    if is_physical_cloud(evidence):
        return "", ()
    if (vendor, product) == MICROSOFT:
        return "%s %s" % MICROSOFT, ("hyper-v", "hyper-v-root")
    if dmi.get("chassis_asset_tag") == AZURE:
        return "chassis tag of Azure", ("hyper-v", "hyper-v-root")
    if product == ARM_KVM:
        return product, ("kvm",)
    fields = (
        *(vendor, vendor + " " + product, product, dmi.get("board_vendor")),
        *(dmi.get("bios_vendor"), dmi.get("chassis_vendor")),
    )
    for text in fields:
        for start, layers in FIRMWARE:
            if text and str(text).startswith(start):
                return str(text), layers
    return "", ()


def has_physical_chassis(evidence: Evidence) -> bool:
    kind = (evidence.get("dmi") or {}).get("chassis_type")
    return str(kind).strip() in PHYSICAL_CHASSIS


def is_physical_cloud(evidence: Evidence) -> bool:
    """Return whether this is a machine of a cloud without a hypervisor.

    The firmware of such machines often has the same names as that of guests. It differs
    in the name of the machine type or in the chassis.
    """
    dmi = evidence.get("dmi") or {}
    vendor = str(dmi.get("sys_vendor"))
    if not vendor.startswith(CLOUDS):
        return False
    bits = (evidence.get("cpuid1_ecx31"), evidence.get("hypervisor_flag"))
    if vendor == AMAZON and BARE_METAL_SUFFIX in str(dmi.get("product_name")):
        return True
    if any(bits):
        return False
    # Clouds do not hide their hypervisor from guests that may use virtualization.
    is_shown = False in bits or 0 in bits
    has_virtualization = bool(evidence.get("svm_vmx") or evidence.get("dev_kvm"))
    is_emulated = str(dmi.get("bios_vendor")).startswith(EMULATED_FIRMWARE)
    is_whole = is_shown and has_virtualization and not is_emulated
    return has_physical_chassis(evidence) or is_whole
