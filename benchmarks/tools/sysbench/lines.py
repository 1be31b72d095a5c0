"""The lines of sysbench 0.3 to 1.1 that matter."""

from __future__ import annotations

from typing import Final

from benchmarks.parsing.scanning import Scanner

_END: Final = r"[ \t]*+$"

LINES: Final = Scanner(
    banner=rf"sysbench v?(?P<version>\d[\w.-]*+)(?:: | \(|{_END})",
    start=r"Running the test with following options:",
    checkpoint=r"\[ *\d+s *\] Checkpoint report:",
    target=r"Target transaction rate: *+(?P<target>\d+)/sec",
    flags=rf"Extra file open flags: *+(?P<flags>\S+){_END}",
    each_write=r"Calling fsync\(\) after each write operation",
    threads=r"Number of threads: *+(?P<threads>\S+)",
    limit=r"(?:Prime numbers limit|Maximum prime number checked in CPU test): *+"
    r"(?P<limit>\S+)",
    doing=r"(?:Doing|Running) (?P<doing>CPU|thread|mutex|memory|(?:\S+ )?OLTP)\b"
    r"[^\n]{0,60}(?:test|benchmark)",
    files=r"Doing (?:combined )?(?P<access>random|sequential) "
    r"(?P<operation>read|write|rewrite|r/w)(?: \(creation\))? test",
    option=r"(?:Memory )?(?P<option>block size|total size|transfer size|operation|"
    rf"operations type|scope|scope type): *+(?P<setting>\S+){_END}",
    block=rf"Block size (?P<block>\d\S*+){_END}",
    total=r"(?P<total>\d\S*+) total file size",
    io=r"Using (?P<io>[^\n]{1,20}) I/O mode",
    eps=r"events(?: per second|/s \(eps\)): *+(?P<eps>\S+)",
    time=rf"(?:total time|time elapsed): *+(?P<time>\S+?)s{_END}",
    events=rf"total number of events: *+(?P<events>\S+){_END}",
    latency=r"(?P<which>min|avg|max|(?:approx\. +)?\d+(?:st|nd|rd|th)? percentile): *+"
    rf"(?P<latency>[^\s:]+?)(?P<latency_unit>ms|s)?{_END}",
    queries=rf"(?P<kind>read|write): *+(?P<count>\d+){_END}",
    rate=r"(?P<what>transactions|queries|deadlocks|read/write requests|"
    r"other operations|ignored errors|reconnects): *+(?P<n>\S+) +\((?P<rate>\S+) "
    r"per sec\.\)",
    operations=r"(?:Total operations|Operations performed): *+\d+ +"
    r"\( *+(?P<per_s>\S+) (?:ops/sec|per second)\)",
    transferred=r"\S+ Mi?B transferred \((?P<mib>\S+) Mi?B/sec\)",
    each=rf"(?P<each>read|write|fsync)s/s: *+(?P<each_rate>\S+){_END}",
    moved=rf"(?P<moved>read|written), Mi?B/s: *+(?P<moved_rate>\S+){_END}",
    both=r"(?P<both>read|write|fsync): +IOPS=(?P<both_rate>\S+)"
    r"(?: +(?P<both_moved>\S+) MiB/s [^\n]*)?$",
    sum=r"Read \S+ +Written \S+ +Total transferred \S+ +\( *+(?P<sum>\S+?)"
    r"(?P<sum_unit>[KMG]?)i?b/sec\)",
    requests=r"(?P<requests>\S+) Requests/sec executed",
    trouble=r"(?P<trouble>(?:FATAL|ALERT|ERROR|invalid option|Unknown option)\b.*+)",
)
