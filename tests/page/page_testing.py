"""What tests of the page share: the program that serves it, Chromium that shows it, and the program's own numbers to compare
with. Without Chromium or Playwright a test program says so and ends with status 77, which ctest counts as skipped.

    SIGHTLINE           the program (default: build/sightline)
    SIGHTLINE_MINILM    the default model, where it is not where the launcher keeps it
    SIGHTLINE_PAGE_URL  a server that runs already, with the model of `Page.model`, instead of one of the test's own
"""
import ast
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from urllib.parse import urlencode

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("SIGHTLINE", str(ROOT / "build" / "sightline"))
TINY = ROOT / "tests" / "data" / "tiny-bert"
SENTENCE = "The animal didn't cross the street because it was too tired."
SKIPPED = 77

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


try:
    from playwright.sync_api import sync_playwright
except ImportError:
    skip("Playwright is missing: pip install -r tests/page/requirements.txt")
if CHROMIUM is None:
    skip("Chromium is missing: apt-get install chromium")


def minilm():
    """The default model's directory, or None where it was never fetched."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = pathlib.Path(os.environ.get("SIGHTLINE_MINILM") or f"{cache}/sightline/all-MiniLM-L6-v2")
    return path if (path / "model.safetensors").exists() else None


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], check=True, capture_output=True, timeout=300).stdout


def npy(path):
    """(shape, floats) of a file of numpy's format with fp32."""
    data = path.read_bytes()
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10 : 10 + length].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"]
    values = struct.unpack(f"<{(len(data) - 10 - length) // 4}f", data[10 + length :])
    return header["shape"], values


class Reference:
    """What the program itself prints of a text: the report of `look --json`, with the words' weights of one map a call."""

    def __init__(self, model, text=SENTENCE):
        self.model, self.text = model, text

    @functools.lru_cache(maxsize=None)
    def report(self, layer=1, head=1, *options):
        return json.loads(run("look", self.text, "-m", self.model, "--json", "--layer", layer, "--head", head, *options))

    def labels(self):
        return [word["label"] for word in self.report()["words"]]

    def weights(self, layer, head, *options):
        """[words][words], or [tokens][tokens] with --pieces."""
        entry = next(m for m in self.report(layer, head, *options)["maps"] if "grid" in m)
        assert (entry["layer"], entry["head"]) == (layer, head)
        return entry["grid"]["weights"]

    def mean(self, layer):
        maps = [self.weights(layer, head + 1) for head in range(self.report()["model"]["heads"])]
        words = range(len(maps[0]))
        return [[sum(m[i][j] for m in maps) / len(maps) for j in words] for i in words]

    def token(self, word):
        """First token of a word, named by its label."""
        entry = next(w for w in self.report()["words"] if w["label"] == word)
        return entry["token_begin"]


class Server:
    """`sightline serve` on a free port."""

    def __init__(self, model, *options):
        self.process = subprocess.Popen([PROGRAM, "serve", "-m", str(model), *options], stdout=subprocess.PIPE, text=True)
        self.url = re.search(r"http://\S+", self.process.stdout.readline()).group(0).rstrip("/")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=30)
        self.process.stdout.close()


class PageTest(unittest.TestCase):
    """A test with an open page. Whatever it does, the page must ask nothing of other servers and log no error."""

    model = TINY
    viewport = {"width": 1440, "height": 900}
    scheme = "light"
    server_options = ()
    expected_errors = ()  # patterns of console errors that a test provokes

    @classmethod
    def setUpClass(cls):
        if cls.model is None:
            raise unittest.SkipTest("the default model was never fetched: ./sightline look 'a text' fetches it")
        running = os.environ.get("SIGHTLINE_PAGE_URL")
        cls.server = None if running else Server(cls.model, *cls.server_options)
        cls.url = running or cls.server.url
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()
        if cls.server:
            cls.server.stop()

    def setUp(self):
        self.context = self.browser.new_context(viewport=self.viewport, color_scheme=self.scheme, locale="en-GB")
        self.page = self.context.new_page()
        self.errors, self.outside = [], []
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.errors.append(str(e)))
        self.page.on("request", self.check_request)
        self.page.on("dialog", lambda d: (self.errors.append(f"dialog: {d.message}"), d.dismiss()))

    def check_request(self, request):
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.outside.append(request.url)

    def tearDown(self):
        self.context.close()
        unexpected = [e for e in self.errors if not any(re.search(p, e) for p in self.expected_errors)]
        self.assertEqual(unexpected, [], "console errors")
        self.assertEqual(self.outside, [], "requests to other servers")

    def open(self, view="text", ready=None, **state):
        """Opens the page with a state and waits until the view is drawn."""
        self.page.goto("about:blank")
        self.page.goto(f"{self.url}/#{urlencode({'v': view, **state})}")
        self.wait(ready or view)

    def wait(self, view):
        self.page.wait_for_selector(f"body[data-ready={view}]", timeout=30000)
        self.settle()

    def settle(self):
        """Two frames: what was asked of memory is painted, and nothing moves any more."""
        self.page.wait_for_timeout(260)  # beams grow for 220 ms
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def until(self, condition, seconds=30):
        """Waits for a JavaScript expression. (Playwright's own wait evaluates strings in the page, which its policy forbids.)"""
        deadline = time.monotonic() + seconds
        while not self.page.evaluate(f"() => !!({condition})"):
            self.assertLess(time.monotonic(), deadline, f"never came true: {condition}")
            self.page.wait_for_timeout(20)
        self.settle()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)
        self.settle()

    def state(self):
        return dict(self.page.evaluate("() => [...new URLSearchParams(location.hash.slice(1))]"))

    def text(self, selector):
        return self.page.locator(selector).first.inner_text()

    def finding(self):
        return self.text("#finding")

    def question(self):
        return self.text("#question")

    def options(self):
        """Accessible names of the words: 'it → animal 0.677'."""
        return [option.get_attribute("aria-label") for option in self.page.locator("[role=option]").all()]

    def scratch(self, name):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        return pathlib.Path(folder) / name


def weight_text(weight):
    """As web/i18n.js writes a weight; computed here anew."""
    if weight == 0 or weight >= 0.0005:
        return f"{weight:.3f}"
    digits = f"{weight:.1e}"
    return f"{weight:.{1 - int(digits.split('e')[1])}f}" if weight >= 1e-6 else re.sub(r"e-0?", "e-", digits)
