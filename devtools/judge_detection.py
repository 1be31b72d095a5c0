"""Judge the agent's detection on a table of real machine types.

    python -m devtools.judge_detection TABLE.tsv [--show]

The table has one machine type per line: the texts of lscpu and DMI, whether /dev/kvm is
usable, and the true platform (KVM, Hyper-V, Xen or native). ``--show`` lists the
machines that are not right.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from agents.detection.layers import Detection, detect_layers

# Hypervisor of lscpu -> its CPUID signature.
_SIGNATURES = {
    "KVM": "KVMKVMKVM",
    "Microsoft": "Microsoft Hv",
    "Xen": "XenVMMXenVMM",
    "VMware": "VMwareVMware",
}
_NAMES = {"kvm": "KVM", "hyper-v": "Hyper-V", "xen-hvm": "Xen"}
_DMI = {
    "sys_vendor": "sys_vendor",
    "product": "product_name",
    "product_version": "product_version",
    "bios_vendor": "bios_vendor",
    "board_vendor": "board_vendor",
    "chassis_vendor": "chassis_vendor",
    "chassis_type": "chassis_type",
    "chassis_tag": "chassis_asset_tag",
}
RIGHT, WRONG, UNKNOWN, FALSE_NATIVE = "right", "wrong", "unknown", "false native"


class Judgement(NamedTuple):
    machine: str
    truth: str
    detected: str
    outcome: str


def evidence_of(row: Mapping[str, str]) -> dict[str, Any]:
    """Return the evidence that the agent would read on this machine."""
    is_x86 = row["arch"] == "x86_64"
    dmi = {name: row[column] or None for column, name in _DMI.items()}
    if row["product"] == "=":  # the product is the name of the machine type
        dmi["product_name"] = row["id"].rpartition("/")[2]
    signature = _SIGNATURES.get(row["lscpu_hypervisor"], "")
    has_flag = {"yes": True, "no": False}.get(row["hypervisor_flag"])
    leaves = {"0x40000000": ["0x40000001" if signature else "0x0", signature]}
    return {
        "leaves": leaves if is_x86 else {},
        "cpuid1_ecx31": int(has_flag) if is_x86 and has_flag is not None else None,
        "hypervisor_flag": has_flag,
        "svm_vmx": [row["vmx_svm"]] if row["vmx_svm"] else [],
        "dev_kvm": row["kvm_ok"] == "yes",
        "dmi": dmi,
    }


def judge(row: Mapping[str, str]) -> Judgement:
    detection = detect_layers(evidence_of(row))
    detected = _name(detection)
    if detected == row["truth"]:
        outcome = RIGHT
    elif detected == "native":
        outcome = FALSE_NATIVE
    else:
        outcome = UNKNOWN if detected == "unknown" else WRONG
    return Judgement(row["id"], row["truth"], detected, outcome)


def _name(detection: Detection) -> str:
    if detection.conflict:
        return "unknown"
    if not detection.layers:
        return "native"
    inner = detection.layers[-1]
    return "unknown" if inner.startswith("unknown") else _NAMES.get(inner, inner)


def judge_table(lines: Iterable[str]) -> list[Judgement]:
    return [judge(row) for row in csv.DictReader(lines, delimiter="\t")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    with open(options.table, encoding="utf-8") as file:
        judgements = judge_table(file)
    counts = Counter(judgement.outcome for judgement in judgements)
    for outcome in (RIGHT, WRONG, UNKNOWN, FALSE_NATIVE):
        print(f"{outcome:14}{counts[outcome]:6}")
    print(f"{'share right':14}{100 * counts[RIGHT] / max(1, len(judgements)):6.2f} %")
    for machine, truth, detected, outcome in judgements:
        if options.show and outcome != RIGHT:
            print(f"{machine}: {outcome}: {detected} instead of {truth}")


if __name__ == "__main__":
    main()
