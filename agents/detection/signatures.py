"""How hypervisors and containers sign: nothing that is not written here is believed."""

# CPUID leaves 0x40000000, 0x40000100, ...: ebx, ecx, edx as text without trailing NULs.
SIGNATURES = {
    "KVMKVMKVM": "kvm",
    "Linux KVM Hv": "kvm",
    "TCGTCGTCGTCG": "qemu-tcg",
    "XenVMMXenVMM": "xen-hvm",
    "VMwareVMware": "vmware",
    "Microsoft Hv": "hyper-v",
    "VBoxVBoxVBox": "virtualbox",
    "prl hyperv": "parallels",
    " lrpepyh vr": "parallels",
    "bhyve bhyve": "bhyve",
    "ACRNACRNACRN": "acrn",
    "Jailhouse": "jailhouse",
    "OpenBSDVMM58": "openbsd-vmm",
    "HAXMHAXMHAXM": "haxm",
    "QNXQVMBSQG": "qnx",
    "UnisysSpar64": "unisys-spar",
}

# What firmware says (vendor, board, product): the start of the text, and the layers it
# goes with. The first is what it means where nothing else speaks.
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
    ("QEMU", ("qemu", "qemu-tcg", "kvm", "xen-hvm", "xen-pvh")),
    ("Bochs", ("qemu", "qemu-tcg", "kvm", "xen-hvm")),
)

# Whose signature VirtualBox shows where a guest is to use its ways.
WORN = ("kvm", "hyper-v")

# Amazon lets whole machines (m5.metal, m7i.metal-24xl), on which nothing runs below.
AMAZON, WHOLE = "Amazon EC2", ".metal"

# Microsoft makes machines, too: only this product of theirs is a virtual one.
MICROSOFT = ("Microsoft Corporation", "Virtual Machine")

# What QEMU calls an ARM machine on KVM; others it calls "QEMU Virtual Machine".
ARM_KVM = "KVM Virtual Machine"

# Azure's machines carry this tag, whatever else their firmware says.
AZURE = "7783-7084-3265-9085-8269-3286-77"

# Bits of Hyper-V's privileges (0x40000003, ebx) and hints (0x40000004, eax). To Linux
# the root partition is who may manage CPUs and is not isolated.
HYPERV_CREATES_PARTITIONS, HYPERV_MANAGES_CPUS = 1 << 0, 1 << 12
HYPERV_ISOLATED, HYPERV_NESTED = 1 << 22, 1 << 12
# 0x4000000C, ebx: what keeps a guest's memory from its host.
ISOLATIONS = {1: "VBS", 2: "AMD SEV-SNP", 3: "Intel TDX"}

# Clock sources that a kernel offers under one hypervisor only, and who else wears them.
CLOCKSOURCES = {
    "kvm-clock": ("kvm", "virtualbox"),
    "xen": ("xen-pv", "xen-pvh", "xen-hvm", "xen-dom0"),
    "hyperv_clocksource_tsc_page": ("hyper-v", "hyper-v-root", "kvm", "xen-hvm"),
    "hyperv_clocksource_msr": ("hyper-v", "hyper-v-root", "kvm", "xen-hvm"),
}

# Where there is no CPUID: who the device tree's node "hypervisor" speaks for, and what
# s390's firmware calls a control program.
DEVICE_TREE = {"linux,kvm": "kvm", "xen": "xen-hvm", "vmware": "vmware"}
CONTROL_PROGRAMS = {"KVM": "kvm", "z/VM": "z-vm"}

# systemd-detect-virt's words for hypervisors, and ours.
SYSTEMD = {
    "kvm": "kvm",
    "amazon": "kvm",
    "google": "kvm",
    "qemu": "qemu",
    "xen": "xen-hvm",
    "vmware": "vmware",
    "microsoft": "hyper-v",
    "oracle": "virtualbox",
    "parallels": "parallels",
    "bhyve": "bhyve",
    "acrn": "acrn",
    "apple": "apple-virtualization",
    "powervm": "powervm",
    "qnx": "qnx",
    "uml": "uml",
    "zvm": "z-vm",
}

# Container managers as they call themselves, and how the reader knows them.
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
}

# Words in the path of process 1's control group.
GROUPS = (
    ("/docker", "docker"),
    ("/libpod", "podman"),
    ("/lxc", "lxc"),
    ("/kubepods", "kubernetes"),
    ("/machine.slice/machine-", "systemd-nspawn"),
)

# Where process 1 of a whole system stands.
OWN_GROUPS = ("/", "/init.scope", "/system.slice", "/user.slice")

# The kernel's numbers of the first namespaces, since Linux 3.8.
FIRST_PID_NAMESPACE = "pid:[4026531836]"
