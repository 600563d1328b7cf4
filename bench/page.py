#!/usr/bin/env python3
"""Times the page in Chromium: a cold load, and from asking for a sentence of 12 words to seeing it.

    bench/page.py [--program build/sightline] [--repeats 10]

Needs Playwright (tools/dev/page_tools.sh gets it: build-page/bin/python bench/page.py). A cold load is that of a new browser
profile, from the address to the drawn view and the frame after it. What is asked for is a new sentence each time, so
that the model runs.
"""

import argparse
import os
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "page"))

WORDS = "dog cat horse bear mouse lion goat duck frog wolf fox hen".split()
DRAWN = "body[data-ready=text]"
FRAME = "() => new Promise(done => requestAnimationFrame(() => done(performance.now())))"
# Types a sentence, sends it, and waits until its second word stands in the picture and a frame has been drawn.
ASK = """text => new Promise(done => {
  const area = document.querySelector('textarea'), word = text.split(' ')[1], began = performance.now();
  const look = () => {
    const there = [...document.querySelectorAll('[role=option]')].some(option => option.textContent.includes(word));
    requestAnimationFrame(there ? () => done(performance.now() - began) : look);
  };
  area.focus();
  area.value = text;
  area.dispatchEvent(new Event('input', { bubbles: true }));
  area.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
  look();
})"""


def new_page(browser):
    return browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB").new_page()


def cold_load(browser, url):
    page = new_page(browser)
    page.goto(url)
    page.wait_for_selector(DRAWN)
    milliseconds = page.evaluate(FRAME)
    page.context.close()
    return milliseconds


def row(name, milliseconds):
    print(f"| {name} | {min(milliseconds):.0f} | {statistics.median(milliseconds):.0f} | {max(milliseconds):.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=ROOT / "build" / "sightline")
    parser.add_argument("--repeats", type=int, default=10, choices=range(1, len(WORDS) + 1), metavar="N")
    chosen = parser.parse_args()
    os.environ["SIGHTLINE"] = str(chosen.program)
    from page_testing import CHROMIUM, Server, minilm, sync_playwright

    server = Server(minilm())
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            cold = [cold_load(browser, server.url) for _ in range(chosen.repeats)]
            page = new_page(browser)
            page.goto(server.url)
            page.wait_for_selector(DRAWN)
            asked = [page.evaluate(ASK, f"The {word} didn't cross the street because it was too tired.")
                     for word in WORDS[: chosen.repeats]]
            browser.close()
    finally:
        server.stop()
    print("| milliseconds | least | median | most |\n|---|---|---|---|")
    row("cold load", cold)
    row("asked to seen, 12 words", asked)


if __name__ == "__main__":
    main()
