"""Find the browser that tests drive, or install it: `python -m running.browser`."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

# The first is the same browser without its window: the tests take a quarter less time.
HEADLESS = "chromium-headless-shell"
NAMES = (
    *(HEADLESS, "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable"),
)
PLACES = (
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
)
INSTALL = ("apt-get", "install", "--yes", "--no-install-recommends", "--quiet=2")
PACKAGES = (HEADLESS, "chromium")  # older Debians have no package of the first


def find() -> Path | None:
    """Return a Chromium or Chrome: CHROMIUM=, then the path, then the usual places."""
    if chosen := os.environ.get("CHROMIUM"):
        return Path(chosen)
    for name in NAMES:
        if found := shutil.which(name):
            return Path(found)
    return next((place for place in PLACES if place.exists()), None)


def install() -> None:
    """Install Debian's Chromium where that is allowed."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    print("installing Chromium, which the tests of the pages drive ...", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "--quiet=2"], env=environment, check=False)
    for package in PACKAGES:
        done = subprocess.run([*INSTALL, package], env=environment, check=False)
        if done.returncode == 0:
            break


def main() -> int:
    """Make sure that there is a browser; say what to type if there is none."""
    is_best = os.environ.get("CHROMIUM") or shutil.which(HEADLESS)
    if not is_best:
        install()
    if find():
        return 0
    sys.stderr.write(
        "The tests of the pages need Chromium. Install it (on Debian: "
        "sudo apt-get install chromium), or name one: "
        "make test CHROMIUM=/path/to/chromium\n"
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
