#!/usr/bin/env python3
"""generate --chat, from pipes and in a pseudo-terminal: messages, commands, interruptions, one cache."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

from screen import Terminal

PROGRAM = os.environ["SIGHTLINE"]
DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "tiny-decoder"
TEMPLATE = (
    "{% for m in messages %}{% if m.content == 'refuse' %}{{ raise_exception('not that') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


def environment(**more):
    return {"HOME": "/", "TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8", **more}


class Chat(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.model = self.path / "model"
        shutil.copytree(DATA, self.model)
        self.model.chmod(0o700)
        (self.model / "chat_template.jinja").write_text(TEMPLATE)
        config = self.model / "config.json"
        config.chmod(0o600)
        facts = json.loads(config.read_text())
        facts["max_position_embeddings"] = 1_000_000
        config.write_text(json.dumps(facts))
        # Random weights give any token anywhere: without one that ends a text, answers end where a test says.
        tokenizer = self.model / "tokenizer.json"
        tokenizer.chmod(0o600)
        tokenizer.write_text(tokenizer.read_text().replace("<|end|>", "<|mid|>"))

    def tearDown(self):
        self.folder.cleanup()

    def command(self, *more, count=6, context=20000):
        sampling = ("--temp", "3", "-s", "1", "-n", str(count), "-c", str(context))
        return [PROGRAM, "generate", "-m", str(self.model), "--chat", *sampling, *more]

    def chat(self, typed, *more, **how):
        typed = typed if isinstance(typed, bytes) else typed.encode()
        return subprocess.run(self.command(*more, **how), input=typed, capture_output=True, env=environment())

    def messages(self, typed, *more):
        """What /save wrote after the lines."""
        saved = self.path / "saved.json"
        ended = self.chat(f"{typed}/save {saved}\n", *more)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return json.loads(saved.read_text()), ended

    def test_a_message_a_line(self):
        messages, ended = self.messages("hello\nthe cat\n", "--system", "be short")
        self.assertEqual([m["role"] for m in messages], ["system", "user", "assistant", "user", "assistant"])
        self.assertEqual([m["content"] for m in messages if m["role"] != "assistant"], ["be short", "hello", "the cat"])
        answers = "".join(m["content"] + "\n" for m in messages if m["role"] == "assistant")
        self.assertEqual(ended.stdout.decode(), answers)

    def test_goes_on_from_a_conversation(self):
        begun = [{"role": "user", "content": "hello"}]
        file = self.path / "begun.json"
        file.write_text(json.dumps(begun))
        messages, _ = self.messages("", "--messages", str(file))  # its last message is answered first
        self.assertEqual([m["role"] for m in messages], ["user", "assistant"])
        file.write_text(json.dumps({"messages": messages}))
        more, _ = self.messages("so\n", "--messages", str(file))
        self.assertEqual(more["messages"][:2], messages)
        self.assertEqual(len(more["messages"]), 4)

    def test_one_cache_gives_the_tokens_of_a_fresh_one(self):
        def tokens(lines):
            records = [json.loads(line) for line in lines.splitlines()]
            ends = [at for at, record in enumerate(records) if "end" in record]
            last = records[ends[-2] + 1 if len(ends) > 1 else 0 :]
            return [record["id"] for record in last if "id" in record], last[0]["text"]

        greedy = [PROGRAM, "generate", "-m", str(self.model), "--chat", "-n", "6", "--json"]
        whole = subprocess.run(greedy, input=b"hello\nthe cat\n", capture_output=True, env=environment())
        self.assertEqual(whole.returncode, 0, whole.stderr)
        second, text = tokens(whole.stdout.decode())
        self.assertEqual(whole.stdout.count(b'"end"'), 2)
        alone = [PROGRAM, "generate", "-m", str(self.model), "-p", text, "-n", "6", "--json"]
        fresh = subprocess.run(alone, capture_output=True, env=environment())
        self.assertEqual(tokens(fresh.stdout.decode()), (second, text))

    def test_commands(self):
        messages, _ = self.messages("hello\n/reset\n//slash\ntwo \\\nlines\n\n", "--system", "s")
        self.assertEqual([m["content"] for m in messages if m["role"] != "assistant"], ["s", "/slash", "two \nlines"])
        ended = self.chat("/quit\nhello\n")
        self.assertEqual((ended.returncode, ended.stdout), (0, b""))
        self.assertIn(b"/save FILE", self.chat("/help\n").stderr)

    def test_errors_are_lines_and_the_conversation_goes_on(self):
        saved = self.path / "saved.json"
        bad = b"\xff\xfe\nrefuse\n/nonsense\nhello\n" + f"/save {saved}\n".encode()
        ended = self.chat(bad)
        self.assertEqual(ended.returncode, 1)
        for part in (b"not UTF-8", b"not that", b"there is no /nonsense", b"messages without an answer: 3"):
            self.assertIn(part, ended.stderr)
        self.assertEqual([m["role"] for m in json.loads(saved.read_text())], ["user", "assistant"])

    def test_a_full_context_takes_the_message_back(self):
        saved = self.path / "saved.json"
        ended = self.chat(f"{'cat ' * 40}\nhello\n/save {saved}\n", context=40)
        self.assertEqual(ended.returncode, 1)
        self.assertIn(b"the context holds 40", ended.stderr)
        self.assertEqual(json.loads(saved.read_text())[0]["content"], "hello")

    def test_long_lines(self):
        messages, _ = self.messages("word " * 3000 + "\n")
        self.assertEqual(len(messages[0]["content"]), 15000)

    def test_wrong_usage(self):
        for more, said in ((("--special",), b"--special"), (("-p", "-"), b"leave the - out")):
            ended = self.chat("", *more)
            self.assertEqual(ended.returncode, 2)
            self.assertIn(said, ended.stderr)
        ended = subprocess.run([PROGRAM, "generate", "-m", str(DATA), "--chat"], stdin=subprocess.DEVNULL,
                               capture_output=True, env=environment())
        self.assertEqual(ended.returncode, 1)
        self.assertIn(b"template", ended.stderr)

    def test_in_a_terminal(self):
        terminal = Terminal(self.command(), environment())
        terminal.writes("> ")
        terminal.type("hello\n")
        terminal.until(lambda: terminal.screen.plain.count("> ") == 2)
        terminal.type("/quit\n")
        self.assertEqual(terminal.end(), 0)
        self.assertTrue(terminal.kept_settings)

    def test_control_c_ends_the_answer_and_at_the_prompt_the_program(self):
        terminal = Terminal(self.command(count=-1, context=1_000_000), environment())
        terminal.writes("> ")
        terminal.type("hello\n")
        for _ in range(3):
            shown = len(terminal.screen.plain)
            terminal.until(lambda: len(terminal.screen.plain) > shown + 200)  # read strictly as UTF-8
            prompts = terminal.screen.plain.count("\n> ")
            terminal.type("\x03")
            terminal.until(lambda: terminal.screen.plain.count("\n> ") > prompts)
            terminal.type("go on\n")
        shown = len(terminal.screen.plain)
        terminal.until(lambda: len(terminal.screen.plain) > shown + 200)
        prompts = terminal.screen.plain.count("\n> ")
        terminal.type("\x03")
        terminal.until(lambda: terminal.screen.plain.count("\n> ") > prompts)
        terminal.type("\x03")
        self.assertEqual(terminal.end(), 130)

    def test_control_d_ends(self):
        terminal = Terminal(self.command(), environment())
        terminal.writes("> ")
        terminal.type("\x04")
        self.assertEqual(terminal.end(), 0)

    def test_sigterm_ends_an_answer_and_the_program(self):
        terminal = Terminal(self.command("-p", "hello", count=-1, context=1_000_000), environment())
        terminal.until(lambda: len(terminal.screen.plain) > 300)
        terminal.kill(signal.SIGTERM)
        self.assertEqual(terminal.end(), 143)

    def test_a_screen_an_answer(self):
        terminal = Terminal(self.command("--watch"), environment())
        for _ in range(2):
            terminal.until(lambda: terminal.screen.plain.endswith("> "))
            terminal.type("hello\n")
            terminal.shows("ended: length")
            self.assertIn("<user>hello", terminal.screen.text())
            terminal.type("q")
            terminal.until(lambda: not terminal.screen.alternate)
        terminal.until(lambda: terminal.screen.plain.endswith("> "))
        terminal.type("\x04")
        self.assertEqual(terminal.end(), 0)
        self.assertTrue(terminal.kept_settings)


if __name__ == "__main__":
    unittest.main()
