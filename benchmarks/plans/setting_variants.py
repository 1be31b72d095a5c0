"""Variants of a guest that differ in one setting each, for plans."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from benchmarks.system_options import find_option

# The first level is that of the reference. QEMU accepts aio=native only without the
# host's page cache, so the reference has cache=none.
SETTING_LEVELS: Final[Mapping[str, tuple[str, ...]]] = {
    "disk_io": ("threads", "native", "io_uring"),
    "iothreads": ("0", "1"),
    "disk_cache": ("none", "writeback"),
    "pinning": ("off", "on"),
    "hugepages": ("off", "2 MiB"),
}


def setting_variants(
    options: Mapping[str, object], settings: Collection[str]
) -> Iterator[dict[str, str]]:
    """Yield the options of the reference system, then those of each variant.

    All of them state all settings. Levels that ``options`` state are the reference's.
    """
    keys = {find_option(name).name: name for name in options}
    defaults = {name: SETTING_LEVELS[name][0] for name in settings}
    stated = {name: str(options[key]) for name, key in keys.items()}
    reference = {**defaults, **stated}
    variants = [
        {**reference, name: level}
        for name in settings
        for level in SETTING_LEVELS[name]
        if level != reference[name]
    ]
    for variant in (reference, *variants):
        is_cached = variant.get("disk_cache") not in (None, "none", "directsync")
        if not (is_cached and variant.get("disk_io") == "native"):
            yield {keys.get(name, name): level for name, level in variant.items()}
