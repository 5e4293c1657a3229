"""Takes the pictures of the pages and of the README: a report, the site, and the demo as a terminal shows it.

Usage: python tools/take_screenshots.py SITE, where SITE is a built site (make docs). Needs Playwright and Chromium
(tools/install_system_parts browser). The playground's pictures are those of tests/service/test_playground.py.
"""

from __future__ import annotations

import html
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
IMAGES, PLAYGROUND = ROOT / "docs" / "images", ROOT / "build" / "playground"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
WIDE = {"width": 1280, "height": 860}
REVIEWS = ("sanitize", ROOT / "examples" / "reviews.jsonl", "--column", "text", "--keep", "stars")
TERMINAL = (
    "<body style='margin:0;background:#14171f'><pre style='color:#e6e6e6;padding:16px;font:15px/1.5 monospace'>{}</pre>"
)


def pages(site: Path, folder: Path) -> Iterator[tuple[str, Path, dict[str, int], str]]:
    """Yield the name of each picture, what it shows, its size, and the colours of the reader."""
    program = Path(sys.executable).with_name("wordveil")
    report, screen = folder / "report.html", folder / "demo.html"
    subprocess.run([program, *REVIEWS, "-o", folder / "out.jsonl", "--report", report, "--quiet"], check=True)
    said = subprocess.run([program, "demo"], check=True, capture_output=True, text=True).stdout
    screen.write_text(TERMINAL.format(html.escape(said)), encoding="utf-8")
    yield "demo", screen, {"width": 900, "height": 520}, "dark"
    yield "report", report, WIDE, "light"
    yield "site", site / "index.html", WIDE, "light"


def main(site: Path) -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        browser = running.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for name, page, size, colours in pages(site, Path(folder)):
            seen = browser.new_page(viewport=size, color_scheme=colours)
            seen.goto(page.resolve().as_uri())
            seen.screenshot(path=IMAGES / f"{name}.jpg", quality=60)
            seen.close()
        browser.close()
    for name, shot in (("playground", "page-light"), ("playground-phone", "phone-dark")):
        if (PLAYGROUND / f"{shot}.jpg").exists():
            shutil.copyfile(PLAYGROUND / f"{shot}.jpg", IMAGES / f"{name}.jpg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
