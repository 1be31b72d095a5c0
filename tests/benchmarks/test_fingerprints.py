import json
import math
import random
from dataclasses import FrozenInstanceError, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.errors import InvalidError
from benchmarks.fingerprints import (
    MAX_PARAMETERS,
    MAX_VALUE,
    SystemDescription,
    canonical_parameters,
    case_fingerprint,
    display_parameters,
    system_fingerprint,
)

XEN = SystemDescription(
    host="lmu-athlon64-x2-4800",
    hypervisor="Xen",
    hypervisor_version="3.3",
    virtualization="paravirtual",
    guest_os="Ubuntu Server 9.04",
    guest_bits=32,
    vcpus=1,
    memory_bytes=2**30,
    options={"hw_virt": "on", "swap": "off"},
)

printable = st.text(
    st.characters(exclude_categories=("C", "Z"), include_characters=" "), min_size=1
).filter(str.strip)
values = st.booleans() | st.integers(-(10**40), 10**40) | printable
values |= st.floats(allow_nan=False, allow_infinity=False)
parameter_dicts = st.dictionaries(
    st.text("abcxyz_", min_size=1, max_size=8).filter(lambda k: k.strip("_")), values
)


def canonical(value, key="x"):
    return canonical_parameters({key: value})[key]


@pytest.mark.parametrize(
    "spellings",
    [
        ["1024", 1024, 1024.0, "1.024e3", "1024.", "+1024", "1024.00"],
        ["100MiB", "102400 KiB", "104857600 B", "104857600 bytes", "100 MiB"],
        ["100MB", "0.1 GB", "1e8B"],
        ["10 min", "600s", "600 seconds", "600000 ms"],
        ["1 Gbit/s", "1000Mbps", "125 MB/s", "125 MB/sec"],
        ["10 us", "10 µs", "10 \u03bcs", "0.01ms"],
        ["50%", "50 percent", "50.0 %"],
        ["Sequential ", "sequential", "seq", "SEQ"],
        ["rand", "rnd", "Random"],
        ["reads", "Read"],
        ["writes", "write"],
        [True, "true", "Yes", "on", "ON"],
        [False, "false", "No", "off"],
        ["-tT  --direct", " -tT --direct"],
        ["0", 0, 0.0, -0.0, "-0", "0e5"],
        ["iSCSI image", "iSCSI  Image"],
        ["Rau\u0301l", "RA\u00daL"],
    ],
)
def test_spellings_of_a_value_are_equal(spellings):
    assert len({canonical(item) for item in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("100MB", "100MiB"),
        ("4k", "4K"),
        ("4k", "4096"),
        ("4k", "4000"),
        ("1M", "1MB"),
        ("100KB", "100kB"),
        ("1 Mb", "1 MB"),
        ("-t 4", "-T 4"),
        ("/data/A", "/data/a"),
        ("4k,32k", "4k, 32k"),
        ("10", "10 s"),
        ("1", True),
        ("007", "7"),
        ("50 %", "0.5"),
        ("12345678901234567890123456789012345", "12345678901234567890123456789012346"),
        (0.1, 0.1 + 2**-55),
    ],
)
def test_different_values_stay_different(one, other):
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize("text", ["4k", "1M", "100KB", "10 m", "4k,32k mean", "a=B;C"])
def test_unknown_values_are_kept(text):
    assert canonical(text) == text


@pytest.mark.parametrize(
    ("value", "spelling"),
    [
        (1e40, "1E+40"),
        ("1e300", "1E+300"),
        ("1e-25", "1E-25"),
        (10**12, "1000000000000"),
        ("0.50", "0.5"),
        ("100MiB", "104857600 B"),
        ("3 bit", "0.375 B"),
        ("2.4 GHz", "2400000000 Hz"),
        ("600,MT=4096", "600,MT=4096"),
        ("TCP_STREAM", "tcp_stream"),
        ("L1", "l1"),
    ],
)
def test_values_have_one_canonical_spelling(value, spelling):
    assert canonical(value) == spelling


def test_a_version_is_not_a_number():
    assert canonical("4.10", "kernel") != canonical("4.1", "kernel")
    assert canonical_parameters({"Tool version": "1.20"}) == {"tool_version": "1.20"}


def test_arguments_keep_their_case():
    assert canonical("fast T", "args") == "fast T"


def test_keys_are_normalized_and_sorted():
    parameters = {"Swap ": "off", "Block Size": "4k", "block-count": 2}

    assert list(canonical_parameters(parameters).items()) == [
        ("block_count", "2"),
        ("block_size", "4k"),
        ("swap", "off"),
    ]


def test_duplicate_parameter_is_rejected():
    with pytest.raises(InvalidError) as refused:
        canonical_parameters({"block size": 1, "Block-Size": 2})

    assert str(refused.value) == (
        'The parameters "block size" and "Block-Size" are the same '
        '("block_size"). Send only one of them.'
    )


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (None, 'The parameter "x" must be text, a number, true or false, not null.'),
        ([1], "not a list"),
        ({}, "not an object"),
        (math.nan, 'The parameter "x" is nan, which is not a number.'),
        (-math.inf, "is -inf, which is not a number"),
        (10**400, "has too many digits"),
        ("", 'The parameter "x" has 0 characters; between 1 and 1000 are allowed.'),
        ("  ", "has 0 characters"),
        ("x" * (MAX_VALUE + 1), "has 1001 characters"),
    ],
)
def test_invalid_parameter_is_rejected(value, sentence):
    with pytest.raises(InvalidError) as refused:
        canonical_parameters({"x": value})

    assert sentence in str(refused.value)


@pytest.mark.parametrize("key", ["", " ", "x" * 65])
def test_invalid_key_is_rejected(key):
    with pytest.raises(InvalidError, match="must have between 1 and 64"):
        canonical_parameters({key: 1})


def test_too_many_parameters_are_rejected():
    with pytest.raises(
        InvalidError, match="There are 65 parameters; at most 64 are allowed"
    ):
        canonical_parameters({f"p{n}": n for n in range(MAX_PARAMETERS + 1)})


@pytest.mark.parametrize("character", ["\x00", "\u202e", "\u2066", "\ud800", "\n"])
def test_hidden_characters_in_parameters_are_rejected(character):
    with pytest.raises(InvalidError, match='The parameter "x" contains'):
        canonical_parameters({"x": f"a{character}"})
    with pytest.raises(InvalidError, match="The parameter name contains"):
        display_parameters({f"a{character}": "x"})


def test_display_parameters_keep_their_spelling():
    parameters = {"Level": "L1", "size": " 100  MiB", "n": 2000.0, "direct": True}

    assert display_parameters(parameters) == {
        "direct": "on",
        "level": "L1",
        "n": "2000",
        "size": "100 MiB",
    }


@given(parameter_dicts)
def test_display_parameters_have_the_same_canonical_form(parameters):
    shown = display_parameters(parameters)
    assert canonical_parameters(shown) == canonical_parameters(parameters)


@given(parameter_dicts)
def test_canonicalization_is_idempotent(parameters):
    once = canonical_parameters(parameters)
    assert canonical_parameters(once) == once


@given(parameter_dicts, st.randoms(use_true_random=False))
def test_the_order_does_not_matter(parameters, shuffler: random.Random):
    items = list(parameters.items())
    shuffler.shuffle(items)
    assert case_fingerprint("t", "m", dict(items)) == case_fingerprint(
        "t", "m", parameters
    )


@given(parameter_dicts)
def test_fingerprint_is_stable_after_json(parameters):
    travelled = json.loads(json.dumps(parameters))
    assert case_fingerprint("t", "m", travelled) == case_fingerprint(
        "t", "m", parameters
    )


def answer_to(parameters):
    try:
        return case_fingerprint("t", "m", parameters)
    except InvalidError as refused:
        return str(refused)


@given(st.text(), st.text() | st.from_regex(r"[0-9.eE+-]{1,9} ?[A-Za-z%/]{0,5}"))
def test_any_text_is_accepted_or_rejected_with_a_message(key, text):
    answer = answer_to({key: text})

    assert answer.isprintable()
    assert len(answer) == 64 or answer.endswith(".")


def test_tool_metric_and_parameters_identify_the_case():
    prints = {
        case_fingerprint("netperf", "throughput", {}),
        case_fingerprint("iperf", "throughput", {}),
        case_fingerprint("netperf", "rate", {}),
        case_fingerprint("netperf", "throughput", {"n": 1}),
    }
    assert len(prints) == 4
    assert all(len(item) == 64 for item in prints)


@pytest.mark.parametrize(
    "changes",
    [
        {"hypervisor": "XEN hypervisor"},
        {"virtualization": "pv"},
        {"guest_os": "ubuntu  server 9.04 "},
        {"options": {"SWAP": False, "hw-virt": True}},
    ],
)
def test_spellings_of_a_system_are_equal(changes):
    assert system_fingerprint(replace(XEN, **changes)) == system_fingerprint(XEN)


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "other"},
        {"hypervisor": "KVM"},
        {"hypervisor_version": "3.4"},
        {"virtualization": "hvm"},
        {"guest_os": "Ubuntu Server 9.10"},
        {"guest_bits": 64},
        {"guest_bits": None},
        {"vcpus": 2},
        {"memory_bytes": 10**9},
        {"options": {"hw_virt": "on"}},
        {"options": {"hw_virt": "off", "swap": "off"}},
    ],
)
def test_every_field_changes_the_system_fingerprint(changes):
    assert system_fingerprint(replace(XEN, **changes)) != system_fingerprint(XEN)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"guest_bits": 16}, "guest_bits is 16. Send 32, 64 or null."),
        ({"vcpus": 0}, "vcpus is 0. Send a whole number above 0, or null."),
        ({"vcpus": True}, "vcpus is True. Send a whole number above 0, or null."),
        ({"memory_bytes": -1}, "memory_bytes is -1"),
    ],
)
def test_invalid_system_is_rejected(changes, sentence):
    with pytest.raises(InvalidError) as refused:
        system_fingerprint(replace(XEN, **changes))

    assert sentence in str(refused.value)


def test_hidden_characters_in_a_system_are_rejected():
    with pytest.raises(InvalidError, match="The guest OS contains"):
        system_fingerprint(replace(XEN, guest_os="Ubuntu\u202e"))


def test_a_system_description_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        XEN.vcpus = 2
