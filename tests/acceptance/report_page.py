"""The report's page in a real browser: filters, sorting, figures, a phone, dark, print.

    report_page.py PATH-OF-TAPSTAT

Needs Chromium: that of CHROMIUM, else `chromium`, `chromium-browser` or
`google-chrome` of the system, else Playwright's own. Where there is none it says
so and ends well.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

from common import SOURCES, expect, published

RUN = "20260912T225808Z-d43b538d-tap-compare-scaling"
FIRST = "20260911T065452Z-41bfc513-tap-compare"


def launch(playwright):
    """A Chromium, or None where there is none."""
    names = ["chromium", "chromium-browser", "google-chrome"]
    own = os.environ.get("CHROMIUM")
    paths = [own] if own else [path for path in map(shutil.which, names) if path]
    for path in [*paths, None]:
        try:
            return playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except Error as error:
            print(f"report_page: {path or 'the browser of Playwright'}: {str(error).splitlines()[0]}")
    return None


class Page:
    """A page that lets nothing pass: no message, no request but for itself."""

    def __init__(self, browser, url, **options):
        self.faults = []
        self.page = browser.new_context(**options).new_page()
        self.page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("request", self.request)
        self.url = url
        self.page.goto(url)

    def request(self, request):
        here = self.url.split("#")[0]
        if request.url.split("#")[0] != here and not request.url.startswith("data:"):
            self.faults.append(f"request: {request.url}")

    def close(self):
        assert not self.faults, "\n".join(self.faults)
        self.page.context.close()


def visible_rows(page, section):
    rows = page.locator(f"#{section} tbody tr:visible")
    return [row.inner_text().split("\t") for row in rows.all()]


def choose(page, facet, value):
    page.locator(f'#filters label:has(input[name="{facet}"][value="{value}"])').click()


def wait(page, condition):
    """Waits until a condition holds. Playwright's own waits by `eval`, which the
    page's policy forbids."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"not in two seconds: {condition}")


def filters(browser, url):
    here = Page(browser, url, viewport={"width": 1400, "height": 1000})
    page = here.page
    everything = len(visible_rows(page, "tier-8"))
    page.click("#filters summary")
    choose(page, "tier", "16")
    choose(page, "class", "mix")
    assert page.locator("#tier-8").is_hidden()
    rows = visible_rows(page, "tier-16")
    assert rows and len(rows) < everything, (len(rows), everything)
    first = page.locator("#tier-16 table.keys-2 tbody tr:visible th:first-child").all_inner_texts()
    assert set(first) == {"mix"}, first
    assert "tier=16" in page.url and "class=mix" in page.url, page.url
    assert " of " in page.locator("#shown").inner_text()

    choose(page, "target", "egernia-scaling3")
    names = page.locator("#tier-16 thead .group:visible").all_inner_texts()
    assert set(names) == {"egernia-scaling3"}, names
    choose(page, "verdict", "tie")
    assert page.locator("#tier-16 table.keys-2 td.even:visible").count() == 0
    page.click("#filters button[type=reset]")
    wait(page, "document.getElementById('shown').textContent === ''")
    assert len(visible_rows(page, "tier-8")) == everything

    # The address brings the filters back, and a link within the page keeps them.
    again = Page(browser, f"{url}#tier-24?tier=24&format=csv")
    assert again.page.locator("#tier-8").is_hidden()
    assert again.page.locator("#tier-24").is_visible()
    again.page.locator('.contents a[href="#claims"]').click()
    wait(again.page, "location.hash.startsWith('#claims?')")
    assert again.page.locator("#tier-8").is_hidden()
    again.close()
    here.close()


def sorting(browser, url):
    here = Page(browser, url)
    page = here.page
    table = page.locator("#tier-8 table.keys-2").first

    def column(index):
        cells = table.locator(f"tbody tr > :nth-child({index})").all_inner_texts()
        return [float(cell.replace("▲", "").replace("≥", "").split("±")[0]) for cell in cells]

    before = column(3)
    header = table.locator("thead tr:last-child > :nth-child(3)")
    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert column(3) == sorted(before), column(3)
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert column(3) == sorted(before, reverse=True)
    header.locator("button").click()
    assert header.get_attribute("aria-sort") is None
    assert column(3) == before
    here.close()


def figures(browser, url):
    here = Page(browser, url, viewport={"width": 1400, "height": 1000})
    page = here.page
    drawing = page.locator("#figure-vertical-scaling")
    text = drawing.locator("svg").text_content()
    for part in ["egernia", "×3.64", "tier"]:
        assert part in text, f"{part} is not in {text}"
    mark = drawing.locator("g.mark").first
    mark.scroll_into_view_if_needed()
    mark.hover(force=True)
    tip = page.locator(".tip")
    tip.wait_for(state="visible")
    assert tip.inner_text() == mark.locator("title").text_content()
    fonts = page.evaluate("[...document.fonts].map(font => font.status)")
    assert fonts and set(fonts) == {"loaded"}, fonts
    here.close()


def structure(browser, url):
    """What a screen reader goes by."""
    here = Page(browser, url)
    page = here.page
    found = page.evaluate("""() => {
      const all = (selector) => [...document.querySelectorAll(selector)];
      const ids = all('[id]').map((element) => element.id);
      return {
        twice: ids.filter((id, place) => ids.indexOf(id) !== place),
        scopeless: all('main th:not([scope])').length,
        captionless: all('main .block table').filter((table) => !table.caption?.textContent.trim()).length,
        nameless: all('.drawing svg').filter((svg) => !svg.getAttribute('aria-labelledby')
          .split(' ').every((id) => document.getElementById(id))).length,
        landmarks: ['header', 'nav', 'main'].filter((name) => !document.querySelector(name)),
        dead: all('nav a').filter((a) => !document.getElementById(a.hash.slice(1))).length,
        styled: all('[style]').filter((element) => !element.matches('table')).length,
        h1: all('h1').length, lang: document.documentElement.lang,
      };
    }""")
    assert found == {
        "twice": [], "scopeless": 0, "captionless": 0, "nameless": 0, "landmarks": [],
        "dead": 0, "styled": 0, "h1": 1, "lang": "en",
    }, found
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    here.close()


def without_script(browser, url):
    here = Page(browser, url, java_script_enabled=False)
    assert here.page.locator("#filters").is_hidden()
    assert here.page.locator("section:visible").count() == here.page.locator("section").count()
    here.page.context.close()


def phone(browser, url):
    here = Page(
        browser, url, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True
    )
    page = here.page
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide == 390, f"the page is {wide} px wide"
    # A table is scrolled in its own frame, and says all the while what a row is.
    page.evaluate("document.querySelector('#tier-8 table.keys-2').parentElement.scrollLeft = 300")
    places = page.evaluate("""() => {
      const row = document.querySelector('#tier-8 table.keys-2 tbody tr');
      const frame = row.closest('.scroll').getBoundingClientRect();
      return [...row.cells].slice(0, 2).map((cell) => cell.getBoundingClientRect().left - frame.left);
    }""")
    assert abs(places[0]) < 1 and 0 < places[1] < 120, places
    here.close()


def dark_and_print(browser, url, folder):
    colour = "getComputedStyle(document.body).backgroundColor"
    light = Page(browser, url, color_scheme="light")
    dark = Page(browser, url, color_scheme="dark")
    assert light.page.evaluate(colour) != dark.page.evaluate(colour)
    fill = "getComputedStyle(document.querySelector('.drawing svg text')).fill"
    assert light.page.evaluate(fill) != dark.page.evaluate(fill)
    light.page.emulate_media(media="print")
    assert light.page.locator("#filters").is_hidden()
    light.page.emulate_media(media=None)
    path = folder / "report.pdf"
    light.page.pdf(path=path, prefer_css_page_size=True)
    assert path.read_bytes().startswith(b"%PDF") and path.stat().st_size > 20_000
    light.close()
    dark.close()


def main():
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = launch(playwright)
        if browser is None:
            print("report_page: skipped, there is no Chromium (apt-get install chromium)")
            return
        folder = Path(folder)
        store = folder / "store"
        data = published()
        arguments = ["--run", RUN]
        if data:
            expect(store, "ingest", data / RUN)
            expect(store, "ingest", data / FIRST)
            arguments += ["--against", FIRST]
        else:
            expect(store, "ingest", SOURCES / "runs" / RUN)
        expect(store, "report", *arguments, "--output", folder / "report")
        url = (folder / "report" / "index.html").as_uri()
        for check in [filters, sorting, figures, structure, without_script, phone]:
            check(browser, url)
        dark_and_print(browser, url, folder)
        # The other kind of campaign: another page of the same making.
        expect(store, "ingest", SOURCES / "runs" / "20261012-adaptive-runtime")
        expect(store, "report", "--run", "20261012", "--output", folder / "instances")
        other = (folder / "instances" / "index.html").as_uri()
        structure(browser, other)
        phone_only = Page(browser, other, viewport={"width": 390, "height": 844})
        assert phone_only.page.evaluate("document.documentElement.scrollWidth") == 390
        phone_only.close()
        browser.close()
    print("report_page: filters, sorting, figures, structure, phone, dark, print: as they should be")


if __name__ == "__main__":
    sys.exit(main())
