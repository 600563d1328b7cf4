"""The page on a decoder whose heads have sinks, and windows in one layer: gpt-oss from a GGUF file."""
import unittest

from page_testing import ROOT, SENTENCE, PageTest, Reference

OSS = ROOT / "tests" / "data" / "conformance" / "gguf" / "gpt_oss.MXFP4.gguf"


class DecoderTest(PageTest):
    model = OSS

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.reference = Reference(OSS)

    def shown(self, word, layer, head, **state):
        self.open(x=SENTENCE, l=layer, h=head, w=self.reference.token(word), **state)
        return self.page.locator(".card dl").first.inner_text()

    def test_says_what_a_row_gives_to_the_sink(self):
        for layer, head in (1, 3), (2, 3):
            weights = self.reference.weights(layer, head)
            for i, word in enumerate(self.reference.labels()):
                if word not in ("The", "didn't", "tired"):
                    continue
                share = 100 * (1 - sum(weights[i]))
                card = self.shown(word, layer, head)
                self.assertIn(f"{word} to the head’s sink", card)
                percent = float(card.split("sink")[1].split("%")[0])
                self.assertLessEqual(abs(percent - share), 0.51, (layer, head, word))

    def test_a_column_has_no_sink(self):
        self.assertNotIn("sink", self.shown("didn't", 2, 3, d="in"))

    def test_white_space_reads_as_a_mark_and_is_no_word(self):
        self.assertIn(" ", self.reference.labels())
        self.open(x=SENTENCE)
        words = self.page.locator(".tok, .tall .word").all_text_contents()
        self.assertIn("␣", words)
        count = self.page.evaluate(
            "async report => new (await import('/look.js')).Look(report).textWords", self.reference.report())
        self.assertEqual(count, len([word for word in self.reference.labels() if word.strip()]))


if __name__ == "__main__":
    unittest.main()
