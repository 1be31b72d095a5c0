"""Logs of meters and hosts: one summary each, for any length and content."""

import pytest

from benchmarks.parsing import run_extraction

TABLE = "  NAME  STATE   CPU(sec) CPU(%)     MEM(k) MEM(%)  MAXMEM(k)\n"
XEN = "   {0} -----r  {1}   {2}    1024   12.5   no limit\n"
PDH = '"(PDH-CSV 4.0) (UTC)(0)","\\\\h\\Processor(_Total)\\% Processor Time"\n'
DCMI = (
    "    Instantaneous power reading:                   {0} Watts\n"
    "    Power reading state is:                   activated\n"
)
DOMAIN = "Domain: '{0}'\n  balloon.current=1024\n  cpu.time={1}\n"
PACKET = "#d,-,2,{0},2300;\n"


def value(run, metric, **parameters):
    (only,) = [
        reading
        for reading in run.readings
        if reading.metric == metric
        and parameters.items() <= dict(reading.parameters).items()
    ]
    return only.value


def long_log(slug, rows=12_000):
    """Return a log with more samples than a run may have readings: 1, 2, 3,
    1, 2, 3 ...
    """
    samples = [1 + n % 3 for n in range(rows)]
    return {
        "power-csv": "time,watts\n"
        + "".join(f"{second},{sample}.0\n" for second, sample in enumerate(samples)),
        "watts-up": "".join(PACKET.format(sample * 10) for sample in samples),
        "ipmi-dcmi": "".join(DCMI.format(sample) for sample in samples),
        "xentop": TABLE
        + XEN.format("web", 1, "0.0")
        + "".join(TABLE + XEN.format("web", 1, f"{sample}.0") for sample in samples),
        "pdh-csv": PDH
        + "".join(f'"11/20/2026 21:44:36.000","{sample}.0"\n' for sample in samples),
    }[slug]


@pytest.mark.parametrize(
    ("slug", "metric"),
    [
        ("power-csv", "power"),
        ("watts-up", "power"),
        ("ipmi-dcmi", "power"),
        ("xentop", "CPU utilization"),
        ("pdh-csv", "CPU utilization"),
    ],
)
def test_a_long_log_is_one_summary(slug, metric):
    (run,) = run_extraction.extract_runs(long_log(slug))

    assert run.tool == slug
    assert value(run, f"{metric} mean") == pytest.approx(2, abs=1e-3)
    assert (value(run, f"{metric} min"), value(run, f"{metric} max")) == (1, 3)
    assert run.facts["samples"] == 12_000


@pytest.mark.parametrize(
    ("whole", "cut"),
    [
        ("time,watts\n0,97.2\n1,96.5\n", "2,9"),
        ("time,watts\n0,97.2\n1,96.5\n", "2"),
        (PACKET.format(972) + PACKET.format(965), "#d,-,2,97"),
        (PDH + '"11/20/2026 21:44:36.000","97.2"\n', '"11/20/2026 21:44:37.000","9'),
        (TABLE + XEN.format("a", 1, "0.0") + TABLE + XEN.format("a", 2, "97.2"), ""),
    ],
)
def test_the_row_in_which_a_logger_was_killed_is_omitted(whole, cut):
    (run,) = run_extraction.extract_runs(whole)
    (stopped,) = run_extraction.extract_runs(whole + cut)

    assert [reading.value for reading in stopped.readings] == [
        reading.value for reading in run.readings
    ]
    assert {warning.code for warning in stopped.warnings} == ({"cut"} if cut else set())


def test_a_short_gap_in_a_power_log_is_interpolated():
    rows = [f"{second},{0 if second == 5 else 100}.0\n" for second in range(10)]
    (run,) = run_extraction.extract_runs("time,watts\n" + "".join(rows))

    assert {warning.code for warning in run.warnings} == {"not_measured"}
    assert value(run, "energy") == 900
    assert value(run, "power min") == 100


def test_a_machine_that_was_off_has_no_known_energy():
    rows = [f"{second},{0 if 5 < second < 50 else 100}.0\n" for second in range(60)]
    (run,) = run_extraction.extract_runs("time,watts\n" + "".join(rows))

    assert {warning.code for warning in run.warnings} == {"not_measured", "gap"}
    assert {reading.metric for reading in run.readings} == {
        "power mean",
        "power min",
        "power max",
    }


def test_a_log_of_zeros_is_rejected():
    (run,) = run_extraction.extract_runs("time,watts\n0,0\n1,0\n2,0\n")

    assert run.status == "rejected"


def test_a_row_with_a_remark_is_not_a_comment():
    (run,) = run_extraction.extract_runs(
        "time,watts\n0,97.2\n1,96.5 # started\n2,98.1\n"
    )

    assert run.status == "rejected"
    assert run.problem.line == 3


def test_an_error_late_in_a_log_names_its_line():
    rows = "".join(f"{second},97.2\n" for second in range(30_000))
    (run,) = run_extraction.extract_runs(f"time,watts\n{rows}x,1\n")

    assert run.problem.line == 30_002


def test_a_restarted_domain_has_no_first_row():
    tables = [("1", "0.0"), ("9", "80.0"), ("1", "0.0"), ("5", "60.0")]
    rows = "".join(
        TABLE + XEN.format("dom0", second, "5.0") + XEN.format("web", seconds, cpu)
        for second, (seconds, cpu) in enumerate(tables)
    )
    (run,) = run_extraction.extract_runs(rows)

    assert value(run, "CPU utilization mean", domain="web") == 70


def test_a_counter_without_a_value_is_not_a_sample():
    rows = [
        f'"11/20/2026 21:44:3{second}.000","{cpu}"\n'
        for second, cpu in ((0, 1), (1, 5))
    ]
    blank = '"11/20/2026 21:44:39.000","-1"\n'
    (run,) = run_extraction.extract_runs(PDH + "".join(rows) + blank)

    assert value(run, "CPU utilization mean") == 3
    assert {warning.code for warning in run.warnings} == {"not_measured"}


def test_a_long_log_of_counters_may_end_with_a_blank_sample():
    row = '"11/20/2026 21:44:36.000","{}"\n'
    (run,) = run_extraction.extract_runs(PDH + row.format(4) * 9_000 + row.format(""))

    assert value(run, "CPU utilization mean") == 4
    assert {warning.code for warning in run.warnings} == {"not_measured"}


def test_counters_of_a_machine_are_read_as_increases():
    log = "".join(DOMAIN.format("web", cpu) for cpu in (5, 7, 10, 2, 3))
    (run,) = run_extraction.extract_runs(log)

    assert value(run, "CPU time", domain="web") == 6
    assert {warning.code for warning in run.warnings} == {"restarted"}


def test_a_machine_that_did_not_wait_has_a_reading_of_0():
    log = "Domain: 'web'\n  vcpu.0.delay=7\n" * 2
    (run,) = run_extraction.extract_runs(log)

    assert value(run, "vCPU delay") == 0


RAPL = "time,package-0 energy_uj{0}\n0,9000000{1}\n2,1000000{1}\n"


def test_a_wrapped_counter_continues_at_its_range():
    (run,) = run_extraction.extract_runs(
        RAPL.format(",max_energy_range_uj", ",10000000")
    )

    assert value(run, "energy", part="package-0") == 2
    assert value(run, "power mean", part="package-0") == 1


def test_a_wrapped_counter_without_a_known_range_is_rejected():
    (run,) = run_extraction.extract_runs(RAPL.format("", ""))

    assert run.problem.line == 3


def test_a_part_that_could_not_be_counted_is_missing():
    text = (
        "   <not supported> Joules power/energy-gpu/\n  3.5 Joules power/energy-pkg/\n"
    )
    (run,) = run_extraction.extract_runs(text)

    assert value(run, "energy", part="package") == 3.5
    assert {warning.code for warning in run.warnings} == {"not_measured"}


def test_intervals_of_perf_are_added():
    rows = "".join(
        f"  {second}.000 10.50 Joules power/energy-pkg/\n" for second in (1, 2, 3)
    )
    (run,) = run_extraction.extract_runs(rows)

    assert value(run, "energy") == 31.5
    assert value(run, "meter time") == 3


@pytest.mark.parametrize("separator", [",", ";", "\t", ", "])
def test_a_power_log_may_use_any_separator(separator):
    rows = (("time", "watts"), ("0", "97"), ("1", "98"))
    (run,) = run_extraction.extract_runs(
        "".join(f"{separator.join(row)}\n" for row in rows)
    )

    assert value(run, "energy") == 97.5


@pytest.mark.parametrize(
    ("log", "locale", "line"),
    [
        ("timestamp;watts\n0;97,2\n1;98,4\n", None, 2),
        ("time,watts\n0,97,2\n1,98,4\n", "de_DE", 2),
        ("time,watts\n0,97\n1,98\n", "de_DE", 3),
        ("time,watts\n0,97\n1,ERR\n2,98\n", None, 3),
        ("time,watts\n0,1,097.5\n", None, 2),
    ],
)
def test_ambiguous_power_logs_are_rejected(log, locale, line):
    (run,) = run_extraction.extract_runs(log, locale=locale)

    assert run.status == "rejected"
    assert run.problem.line == line


def test_each_counter_wraps_at_its_own_range():
    log = (
        "time,pkg energy_uj,pkg max_energy_range_uj,ram energy_uj,"
        "ram max_energy_range_uj\n"
        "0,9000000,10000000,4000000,5000000\n1,1000000,10000000,1000000,5000000\n"
    )
    (run,) = run_extraction.extract_runs(log)

    assert value(run, "energy", part="package") == 2
    assert value(run, "energy", part="ram") == 2
    assert value(run, "meter time") == 1


GERMAN = {
    "Prozessor(_Total)\\Prozessorzeit (%)": ("Processor", "Processor Time"),
    "Prozessorinformationen(_Total)\\Prozessorzeit (%)": (
        *("Processor Information", "Processor Time"),
    ),
    "Logischer Prozessor für Hyper-V-Hypervisor(_Total)\\% Gesamtausführungszeit": (
        *("Hyper-V Hypervisor Logical Processor", "Total Run Time"),
    ),
    "Hyper-V Hypervisor: logischer Prozessor(_Total)\\% Gastlaufzeit": (
        *("Hyper-V Hypervisor Logical Processor", "Guest Run Time"),
    ),
    "Hyper-V-Hypervisor \u2013 Stamm des virtuellen Prozessors(x)\\% Gesamtlaufzeit": (
        *("Hyper-V Hypervisor Root Virtual Processor", "Total Run Time"),
    ),
    "Hyper-V Hypervisor: virtueller Prozessor(web:Hv VP 0)\\% Hypervisorlaufzeit": (
        *("Hyper-V Hypervisor Virtual Processor", "Hypervisor Run Time"),
    ),
}
GERMAN_HEADER = '"(PDH-CSV 4.0) (MEZ)(-60)"{0}"\\\\h\\{1}"\n'


@pytest.mark.parametrize("name", GERMAN)
@pytest.mark.parametrize("separator", [",", ";"])
def test_german_counters_have_english_names(name, separator):
    rows = "".join(
        f'"20.11.2026 21:44:3{n}.000"{separator}"{n},5"\n' for n in range(1, 4)
    )
    (run,) = run_extraction.extract_runs(GERMAN_HEADER.format(separator, name) + rows)

    counted, counter = GERMAN[name]
    means = {"object": counted, "counter": counter}
    assert value(run, "CPU utilization mean", **means) == 2.5


def test_other_german_counters_are_not_read():
    header = GERMAN_HEADER.format(",", "Arbeitsspeicher\\Verfügbare MB")
    (run,) = run_extraction.extract_runs(header + '"20.11.2026 21:44:31.000","1,5"\n')

    assert run.status == "rejected"
