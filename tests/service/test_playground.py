"""The playground in a real browser; without Chromium or Playwright these tests are skipped."""

import re
from pathlib import Path

import pytest
from tests.browsing import violations

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "build" / "playground"
pytestmark = pytest.mark.slow


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
    assert "epsilon=8.0, k=16" in page.locator("#offered").inner_text()
    assert page.locator("#texts mark").count() > 2
    assert page.locator("#texts img").count() == 0
    assert "cost" in page.locator("#status").inner_text()
    among = page.locator("dt:text-is('depression') + dd").inner_text()
    assert len(among.split(", ")) == 16
    assert "local DP (proved)" in page.locator("#promise").inner_text()
    spent = [line for line in page.locator("#spent li").all_inner_texts() if "one token" in line]
    pattern = r"key:\w+, local DP for one token of .*: [\d.]+ nats, [\d.]+ left; filled up to 10000 every day"
    assert re.fullmatch(pattern, spent[0])
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.locator("#named li").first.wait_for(timeout=60_000)
    assert re.search(r"is expected to name \d+ % of its words", page.locator("#attacker").inner_text())
    assert all("% sure" in line for line in page.locator("#named li").all_inner_texts())
    assert page.locator("#curve path.line").count() == 3
    assert violations(page) == []
    SHOTS.mkdir(parents=True, exist_ok=True)  # docs/images holds copies
    clip = {"x": 0, "y": 0, "width": 360, "height": 1700}
    page.screenshot(path=SHOTS / f"phone-{scheme}.jpg", quality=60, full_page=True, clip=clip)
    page.set_viewport_size({"width": 1000, "height": 900})
    assert violations(page) == []
    page.screenshot(
        path=SHOTS / f"page-{scheme}.jpg", quality=60, full_page=True, clip=clip | {"width": 1000, "height": 1150}
    )
    assert problems == elsewhere == []
    page.close()


def test_a_setting_without_a_budget_and_a_key_that_is_none_are_told(served, browser):
    page = browser.new_page()
    page.goto(f"{served.address}/#key={served.key}")
    page.locator("#setting option:text-is('far')").wait_for(state="attached")
    page.locator("#setting").select_option("far")
    assert "TEM" in page.locator("#offered").inner_text()
    for key, told in ((served.key, "has 0 nats left"), ("wv_nobody", "key of this service")):
        page.locator("#key").fill(key)
        page.locator("button").click()
        page.locator(f"#status:has-text('{told}')").wait_for(timeout=60_000)
        assert page.locator("#result").is_hidden()
    page.close()


def test_what_a_redaction_keeps_and_what_it_hides_have_two_colours(served, browser):
    page = browser.new_page()
    page.goto(f"{served.address}/#key={served.key}")
    page.locator("#setting option:text-is('readable')").wait_for(state="attached")
    page.locator("#setting").select_option("readable")
    page.locator("#text").fill("Please call Maria Garcia at 555-0147.")
    page.locator("button").click()
    page.locator("#result").wait_for(state="visible", timeout=30_000)
    shown = {tag: page.locator(f"#texts {tag}") for tag in ("ins", "mark")}
    texts = {tag: found.evaluate_all("all => all.map((one) => one.textContent)") for tag, found in shown.items()}
    assert texts == {"ins": ["Please call ", " at ", "."], "mark": ["[name]", "[number]"]}
    looks = [found.first.evaluate("(one) => getComputedStyle(one).color + getComputedStyle(one).backgroundColor")
             for found in shown.values()]  # fmt: skip
    assert len(set(looks)) == 2
    assert page.locator("#texts article").count() == 2
    assert "[word]" in page.locator("dt:text-is('maria') + dd").inner_text()
    page.close()


def test_a_key_leaves_the_address_also_where_a_link_brings_it_to_the_open_page(served, browser):
    page = browser.new_page()
    page.goto(served.address)
    for number, key in enumerate([served.key, "wv_somebody"]):
        page.evaluate("key => { location.hash = `key=${key}` }", key)  # no reload: what a link to the page does
        page.wait_for_function("() => !location.hash")
        assert key not in page.url
        assert page.locator("#key").input_value() == served.key, number  # another's does not take its place
    page.go_back()
    assert "wv_" not in page.url
    page.locator("#setting option:text-is('far')").wait_for(state="attached")  # the key is used
    page.close()
