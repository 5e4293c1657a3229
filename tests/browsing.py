"""A real browser for tests: skipped without Playwright and Chromium (tools/install_system_parts browser)."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]
LOOKS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]


@contextmanager
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs Chromium: tools/install_system_parts browser")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


def violations(page):
    """Return what axe-core finds, in the page as it stands."""
    axe = pytest.importorskip("axe_playwright_python.base", reason="needs axe-playwright-python")
    page.evaluate(Path(axe.__file__).with_name("axe.min.js").read_text())
    found = page.evaluate("axe.run({resultTypes: ['violations']})")
    assert found["passes"]  # something was looked at
    return [(each["id"], [node["html"] for node in each["nodes"]]) for each in found["violations"]]


def faults(browser, address, width, scheme, but=()):
    """Return what is wrong with a page at a width and in a colour scheme but for rules named, and what it loads."""
    page, said = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme), []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    own = "/".join(address.split("/")[:3])
    page.on("request", lambda request: None if request.url.startswith(own) else said.append(request.url))
    page.goto(address)
    wide = page.evaluate("document.documentElement.scrollWidth")
    found = (
        said
        + [each for each in violations(page) if each[0] not in but]
        + ([f"{wide} pixels wide"] if wide > width else [])
    )
    page.close()
    return found
