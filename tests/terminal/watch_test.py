#!/usr/bin/env python3
"""generate --watch in a pseudo-terminal: what is on the screen, keys, sizes, and the terminal after every end."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from screen import Terminal

PROGRAM = os.environ["SIGHTLINE"]
DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "tiny-decoder"
COLOURS = {str(number) for number in (*range(30, 50), *range(90, 108))}
CLUSTERS = "the cat 他没有过马路 e\u0301 ابجد sat"


def environment(**more):
    return {"HOME": "/", "TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8", **more}


def command(*more, model=DATA, prompt="the cat sat on the mat"):
    return [PROGRAM, "generate", "-m", str(model), "-p", prompt, "--watch", *more]


def random_text(tokens, seed=1):
    return ("-n", str(tokens), "--temp", "3", "-s", str(seed))


def plain_text(*more, prompt="the cat sat on the mat"):
    """The text as a terminal without a screen gets it."""
    terminal = Terminal([PROGRAM, "generate", "-m", str(DATA), "-p", prompt, *more], environment())
    assert terminal.end() == 0
    # What a slow machine says meanwhile is gone when the text comes.
    return re.sub(r"(\rreading the prompt: \d+ %)+\r", "", terminal.screen.plain)


class Watch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.long = pathlib.Path(cls.folder.name) / "model"
        shutil.copytree(DATA, cls.long)
        config = cls.long / "config.json"
        config.chmod(0o600)
        facts = json.loads(config.read_text())
        facts["max_position_embeddings"] = 1_000_000  # longer than a test waits
        config.write_text(json.dumps(facts))
        # Random weights give any token anywhere: without one that ends a text, texts end where a test says.
        tokenizer = cls.long / "tokenizer.json"
        tokenizer.chmod(0o600)
        tokenizer.write_text(tokenizer.read_text().replace("<|end|>", "<|mid|>"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def restored(self, terminal, status):
        self.assertEqual(terminal.end(), status, terminal.screen.plain)
        self.assertFalse(terminal.screen.alternate)
        self.assertFalse(terminal.screen.hidden)
        self.assertTrue(terminal.screen.wraps)
        self.assertTrue(terminal.kept_settings)

    def endless(self, width=80, height=24, **more):
        terminal = Terminal(command("-c", "1000000", "--temp", "3", "-s", "2", model=self.long), environment(**more),
                            width, height)
        terminal.shows("tok/s")
        return terminal

    def test_shows_the_text_and_leaves_it(self):
        terminal = Terminal(command(*random_text(60), prompt=CLUSTERS), environment())
        terminal.shows("ended: length")
        terminal.shows("q leave")
        self.assertIn("mean of 2 × 4 maps", terminal.screen.rows[0])
        self.assertIn("他没有过马路", terminal.screen.text())
        self.assertTrue(terminal.screen.alternate and terminal.screen.hidden)
        self.assertEqual(terminal.screen.plain, "sightline: seed 1\r\n")
        terminal.type("q")
        self.restored(terminal, 0)
        self.assertEqual(terminal.screen.plain, plain_text(*random_text(60), prompt=CLUSTERS))

    def test_keys_look_around(self):
        terminal = Terminal(command(*random_text(40)), environment())
        terminal.shows("token 40  ")
        for keys, shown in (("\x1b[D\x1b[D", "token 38 of 40"), ("\x1b[C", "token 39 of 40"), ("l", "mean of L1"),
                            ("hh", "L1H2"), ("H", "L1H1"), ("m", "mean of 2 × 4"), ("\x1b[F", "token 40  ")):
            terminal.type(keys)
            terminal.shows(shown)
        terminal.type("\r")
        self.restored(terminal, 0)

    def test_scrolls(self):
        terminal = Terminal(command(*random_text(200)), environment(), 40, 8)
        terminal.shows("ended")
        self.assertNotIn("the cat sat", terminal.screen.text())
        terminal.type("\x1b[H")
        terminal.shows("the cat sat")
        first = terminal.screen.rows[2]
        terminal.type("\x1b[B")
        terminal.until(lambda: terminal.screen.rows[1] == first)
        terminal.type("\x1b[F")
        terminal.until(lambda: "the cat sat" not in terminal.screen.text())
        terminal.type("q")
        self.restored(terminal, 0)

    def test_pauses(self):
        terminal = self.endless()
        terminal.type(" ")
        terminal.shows("paused")
        while terminal.read(0.3):
            pass
        still = terminal.screen.text()
        terminal.read(0.5)
        self.assertEqual(terminal.screen.text(), still)
        terminal.type(" ")
        terminal.until(lambda: "paused" not in terminal.screen.text())
        terminal.type("q")
        self.restored(terminal, 0)

    def test_every_size(self):
        terminal = self.endless()
        for width, height in ((40, 10), (19, 4), (7, 3), (2, 2), (1, 1), (200, 50)):
            terminal.type(" ")  # so that no frame of the old size is on its way
            while terminal.read(0.2):
                pass
            terminal.resize(width, height)
            terminal.until(lambda: terminal.screen.rows[-1] or terminal.screen.rows[0])
            terminal.type(" ")
        terminal.shows("tok/s")
        self.assertEqual(len(terminal.screen.rows), 50)
        terminal.type("q")
        self.restored(terminal, 0)

    def test_without_utf8_all_is_ascii(self):
        terminal = Terminal(command(*random_text(60), prompt=CLUSTERS), environment(LC_ALL="C"))
        terminal.shows("ended: length")
        self.assertIn("mean of 2 x 4 maps", terminal.screen.rows[0])
        self.assertIn("\\u4ed6", terminal.screen.text())
        terminal.type("q")
        self.restored(terminal, 0)
        self.assertTrue((terminal.screen.text() + terminal.screen.plain).isascii())

    def test_colours(self):
        for more, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
            terminal = Terminal(command(*random_text(20)), environment(**more))
            terminal.shows("ended: length")
            terminal.type("q")
            self.restored(terminal, 0)
            styles = {str(style) for style in terminal.screen.styles}
            self.assertEqual(bool(styles & COLOURS), coloured)
            self.assertIn("7", styles)  # the newest token
            if not coloured:
                self.assertIn("4", styles)  # the heaviest words

    def test_signals_give_the_terminal_back(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(signal=number):
                terminal = self.endless()
                terminal.kill(number)
                self.restored(terminal, 128 + number)
                self.assertGreater(len(terminal.screen.plain), 10)  # the text so far

    def test_control_c_leaves_whole_characters(self):
        terminal = self.endless()
        terminal.type("\x03")
        self.restored(terminal, 130)  # what is read is decoded strictly

    def test_control_z_gives_the_terminal_back_and_takes_it_again(self):
        # A shell between: what leads the session of its terminal is never stopped.
        shell = ("import os,sys,signal\n"
                 "child = os.fork()\n"
                 "if child == 0:\n"
                 "    os.setpgid(0, 0)\n"
                 "    signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n"
                 "    os.tcsetpgrp(0, os.getpid())\n"
                 "    signal.signal(signal.SIGTTOU, signal.SIG_DFL)\n"
                 "    os.execv(sys.argv[1], sys.argv[1:])\n"
                 "signal.signal(signal.SIGTTOU, signal.SIG_IGN)\n"
                 "status = os.waitpid(child, os.WUNTRACED)[1]\n"
                 "os.tcsetpgrp(0, os.getpid())\n"
                 "print('stopped', os.WIFSTOPPED(status), flush=True)\n"
                 "sys.stdin.readline()\n"
                 "os.tcsetpgrp(0, child)\n"
                 "os.kill(child, signal.SIGCONT)\n"
                 "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n")
        python = shutil.which("python3")
        terminal = Terminal([python, "-c", shell, *command("-c", "1000000", model=self.long)], environment())
        terminal.shows("tok/s")
        terminal.type("\x1a")
        terminal.writes("stopped True")
        self.assertFalse(terminal.screen.alternate or terminal.screen.hidden)
        terminal.type("\n")
        terminal.until(lambda: terminal.screen.alternate)
        terminal.shows("tok/s")
        terminal.type("q")
        self.restored(terminal, 0)

    def test_keys_come_from_the_terminal_where_the_prompt_is_piped(self):
        reading, writing = os.pipe()
        os.write(writing, b"the cat")
        os.close(writing)
        arguments = [PROGRAM, "generate", "-m", str(DATA), "--watch", *random_text(20)]
        terminal = Terminal(arguments, environment(), stdin=reading)
        os.close(reading)
        terminal.shows("ended: length")
        terminal.type("q")
        self.restored(terminal, 0)

    def test_errors_come_after_the_screen(self):
        terminal = Terminal(command("-c", "12"), environment())
        terminal.shows("ended: context full")
        terminal.type("q")
        self.restored(terminal, 1)
        self.assertIn("sightline: the context is full", terminal.screen.plain)


class Lines(unittest.TestCase):
    def test_a_line_a_token(self):
        ended = subprocess.run(command("-n", "7", "--top", "2"), capture_output=True, text=True, env=environment())
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        lines = ended.stdout.splitlines()
        self.assertEqual(len(lines), 7)
        for position, line in enumerate(lines, 6):
            self.assertRegex(line, rf"^ +{position}  .* \d+\.\d\d nats  .* \d+ %, .* \d+ %  \| ")

    def test_on_a_dumb_terminal_too(self):
        terminal = Terminal(command("-n", "3"), environment(TERM="dumb"))
        self.assertEqual(terminal.end(), 0)
        self.assertEqual(terminal.screen.plain.count(" nats "), 3)

    def test_ends_where_nobody_reads(self):
        reading, writing = os.pipe()
        os.close(reading)
        ended = subprocess.run(command("-n", "50"), stdout=writing, stderr=subprocess.PIPE, env=environment())
        os.close(writing)
        self.assertIn(ended.returncode, (128 + signal.SIGPIPE, -signal.SIGPIPE))
        self.assertEqual(ended.stderr, b"")

    def test_not_with_json(self):
        ended = subprocess.run(command("--json"), capture_output=True, text=True, env=environment())
        self.assertEqual(ended.returncode, 2)
        self.assertIn("--json and --watch", ended.stderr)


if __name__ == "__main__":
    unittest.main()
