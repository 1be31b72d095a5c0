"""Find, start and install the browser for tests and screenshots.

So that text has the same width on every machine, the browser gets one of two font
families from packages of `requirements-dev.in`: DejaVu Sans, the widest that readers
may have, or Roboto, a narrow one.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, BrowserType, sync_playwright

# It needs a quarter less time than the full browser.
HEADLESS = "chromium-headless-shell"
NAMES = (
    *(HEADLESS, "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable"),
)
INSTALL_PATHS = (
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
)
INSTALL = (
    *("apt-get", "install", "--yes", "--no-install-recommends", "--quiet=2"),
    *("--option", "DPkg::Lock::Timeout=600"),
)
PACKAGES = (HEADLESS, "chromium")  # older Debians do not have the first package
ARGUMENTS = [
    # Chromium refuses to run as root with its sandbox.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WIDE_FONT, NARROW_FONT = "DejaVu Sans", "Roboto"
FAMILIES = (WIDE_FONT, NARROW_FONT)
# DejaVu adds a monospace font and signs like the flag, which Roboto lacks.
FILES = {
    WIDE_FONT: [("matplotlib", "mpl-data/fonts/ttf/DejaVuSans*.ttf")],
    NARROW_FONT: [
        ("matplotlib", "mpl-data/fonts/ttf/DejaVuSans*.ttf"),
        ("fontpkg_roboto", "files/*.ttf"),
    ],
}
CONFIGURATION = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>{folder}/files</dir>
  <cachedir>{folder}/cache</cachedir>
  <alias><family>sans-serif</family><prefer><family>{family}</family></prefer></alias>
  <alias><family>serif</family><prefer><family>{family}</family></prefer></alias>
  <alias>
    <family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer>
  </alias>
</fontconfig>
"""


def find_browser() -> Path | None:
    """Return $CHROMIUM, or a browser in PATH or in the usual folders of macOS."""
    if chosen := os.environ.get("CHROMIUM"):
        return Path(chosen)
    for name in NAMES:
        if path := shutil.which(name):
            return Path(path)
    return next((path for path in INSTALL_PATHS if path.exists()), None)


@contextmanager
def shared_chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright, start_browser(playwright.chromium) as browser:
        yield browser


@contextmanager
def start_browser(
    chromium: BrowserType, *arguments: str, family: str = WIDE_FONT
) -> Iterator[Browser]:
    """Run a browser that has only one font family."""
    path = find_browser()
    assert path, "Chromium is not installed. Run: python -m running.headless_browser"
    with TemporaryDirectory() as folder:
        browser = chromium.launch(
            executable_path=str(path),
            args=[*ARGUMENTS, *arguments],
            env=_font_environment(family, Path(folder)),
        )
        yield browser
        browser.close()


def _font_environment(family: str, folder: Path) -> dict[str, str | float | bool]:
    files = folder / "files"
    files.mkdir()
    for package, pattern in FILES[family]:
        spec = find_spec(package)  # without importing it
        assert spec, f"{package} is missing: make dev"
        assert spec.origin, package
        for font in Path(spec.origin).parent.glob(pattern):
            (files / font.name).symlink_to(font)
    configuration = folder / "fonts.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, family=family))
    return {**os.environ, "FONTCONFIG_FILE": str(configuration)}


def install_browser() -> None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    print("installing Chromium for the tests of pages ...", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "--quiet=2"], env=environment, check=False)
    for package in PACKAGES:
        process = subprocess.run([*INSTALL, package], env=environment, check=False)
        if process.returncode == 0:
            break


def main() -> int:
    has_preferred = os.environ.get("CHROMIUM") or shutil.which(HEADLESS)
    if not has_preferred:
        install_browser()
    if find_browser():
        return 0
    sys.stderr.write(
        "The tests of pages need Chromium. Install it (on Debian: "
        "sudo apt-get install chromium) or name one: "
        "make test CHROMIUM=/path/to/chromium\n"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
