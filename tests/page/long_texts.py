"""Long texts and a model of two layers of random weights that reads them; the passages that the page must name."""
import random
import subprocess
import sys
import tempfile

from page_testing import PageTest, ROOT

WORDS = "the animal didn cross street because it was too tired wide a cat sat on mat and hello world un".split()
PASSAGE = 16


def words(count):
    draw = random.Random(5)
    return [draw.choice(WORDS) for _ in range(count)]


def make_model(positions, *shape):
    """A model of two layers that reads so many tokens. shape: options of tools/make_tiny_model.py."""
    folder = tempfile.TemporaryDirectory()
    subprocess.run([sys.executable, ROOT / "tools" / "make_tiny_model.py", folder.name, "--positions", str(positions), *shape],
                   check=True)
    return folder


class LongText(PageTest):
    """`words` are the text; before them stands [CLS], after them [SEP]."""

    tokens = 0
    shape = ("--heads", "2", "--head-width", "16")

    @classmethod
    def setUpClass(cls):
        cls.folder = make_model(cls.tokens, *cls.shape)
        cls.model = cls.folder.name
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def best_passages(self, row, count=3):
        sums = [(sum(row[a : a + PASSAGE]), a) for a in range(0, len(row), PASSAGE)]
        best = []
        for mass, begin in sorted(sums, key=lambda s: (-s[0], s[1])):
            if len(best) < count and all(abs(begin - other) >= 3 * PASSAGE for _, other in best):
                best.append((mass, begin))
        return best

    def check_passages(self, row):
        shown = self.page.locator(".passages li")
        expected = self.best_passages(row, shown.count())
        self.assertGreaterEqual(shown.count(), 3)
        for i, (mass, begin) in enumerate(expected):
            self.assertAlmostEqual(float(shown.nth(i).locator(".mass").inner_text()), mass, delta=0.00052)
            end = min(len(row), begin + PASSAGE)
            self.assertEqual(shown.nth(i).locator("small").inner_text(), f"words {begin + 1:,}–{end:,}")
            read = shown.nth(i).locator(".run").inner_text().split()
            labels = ["[CLS]", *self.words, "[SEP]"][begin:end]
            self.assertEqual(read, labels)
