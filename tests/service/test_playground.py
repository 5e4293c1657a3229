"""The playground in a real browser; without Chromium or Playwright these tests are skipped."""

import re
import shutil

import httpx
import pytest

pytestmark = pytest.mark.slow

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Chromium: tools/install_system_parts browser")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=chromium, args=FLAGS)
        yield opened
        opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_paragraph_is_released_by_keyboard_at_phone_width(served, browser, scheme):
    page = browser.new_page(viewport={"width": 360, "height": 740}, color_scheme=scheme)
    problems, elsewhere = [], []
    page.on("console", lambda said: problems.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda r: None if r.url.startswith(served.address) else elsewhere.append(r.url))
    page.goto(f"{served.address}/#key={served.key}")
    assert served.key not in page.url
    page.locator("#text").fill("Maria was diagnosed with depression <img src=x onerror=alert(1)> in March.")
    page.locator("#samples").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("#result").wait_for(state="visible", timeout=30_000)
    assert page.locator("#texts article").count() == 3  # the original and two releases
    assert page.locator("#texts mark").count() > 2
    assert page.locator("#texts img").count() == 0
    assert "cost" in page.locator("#status").inner_text()
    among = page.locator("dt:text-is('depression') + dd").inner_text()
    assert len(among.split(", ")) == 16
    assert "local DP (proved)" in page.locator("#promise").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    unnamed = "e => ![...e.labels].length"
    for field in page.locator("textarea, input, select").element_handles():
        assert not field.evaluate(unnamed)
    assert problems == elsewhere == []
    page.close()


def test_a_refusal_is_told_with_account_and_rest(served, browser):
    page = browser.new_page()
    page.goto(f"{served.address}/#key={served.key}")
    page.locator("#key").fill("wv_nobody")
    page.locator("button").click()
    page.locator("#status:has-text('key of this service')").wait_for(timeout=30_000)
    assert page.locator("#result").is_hidden()
    page.close()


def test_the_page_asks_for_nothing_from_elsewhere(served):
    pages = [httpx.get(f"{served.address}/{name}").text for name in ("", "playground.js", "playground.css")]
    assert all(pages)
    assert not any(re.search(r"https?://|//cdn|innerHTML|eval\(|style=", page) for page in pages)
