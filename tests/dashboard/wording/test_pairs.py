"""Two systems in a sentence."""

from benchmarks.models import Host, System
from dashboard.wording.pairs import pair_sentence, short_names


def system(version="3.3", kind="full", host="alpha"):
    return System(
        hypervisor="Xen",
        hypervisor_version=version,
        virtualization=kind,
        host=Host(slug=host),
    )


def test_names_are_as_short_as_possible():
    assert short_names(system(), system("4.0")) == ("Xen 3.3", "Xen 4.0")
    assert short_names(system(), system(kind="paravirtual")) == (
        "Xen 3.3 full",
        "Xen 3.3 paravirtual",
    )
    on, off = system(), system()
    on.options, off.options = {"hw_virt": "on"}, {"hw_virt": "off"}
    on.guest_os = off.guest_os = "Ubuntu 9.04"
    assert short_names(on, off) == ("AMD-V / VT-x on", "AMD-V / VT-x off")
    assert short_names(system(), system(host="beta"))[1].endswith(", beta")


def test_sentence_states_the_median_by_component():
    ratios = {"CPU": [1.01], "disk": [0.8, 0.88, 0.9], "network": [3.0], "memory": []}

    sentence = pair_sentence("Xen", "KVM", ratios, 0.02)

    assert "Compared with KVM, Xen is equally fast in CPU, 12.0% slower in" in sentence
    assert "3 times as fast in network (medians of 5 benchmarks)" in sentence
    assert pair_sentence("Xen", "KVM", {"CPU": []}, 0.02) == ""
