"""A terminal for tests: a pseudo-terminal with a program in it, and what its screen shows."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata

PATIENCE = 60  # seconds that anything may take
SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


def columns(character):
    if unicodedata.category(character) in ("Mn", "Me") or character in "\u200c\u200d":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Screen:
    """The few sequences that the program sends, and no others: what it does not know is an error, as is a character
    beyond the last column."""

    def __init__(self, width, height):
        self.alternate = self.hidden = False
        self.wraps = True
        self.styles = set()  # numbers of SGR that came
        self.plain = ""  # what was written outside the alternate buffer
        self.resize(width, height)

    def resize(self, width, height):
        self.width, self.height = width, height
        self.rows = [""] * height
        self.row = self.column = 0

    def feed(self, text):
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = SEQUENCE.match(text, at)
                assert found, repr(text[at : at + 20])
                self.command(found[1], found[2])
                at = found.end()
            else:
                self.character(text[at])
                at += 1

    def command(self, parameters, letter):
        if letter == "H":
            row, column = (parameters or "1;1").split(";")
            assert column == "1" and 1 <= int(row), parameters
            if int(row) > self.height:  # drawn before the terminal became smaller
                row = self.height
            self.row, self.column = int(row) - 1, 0
        elif letter == "K":
            self.rows[self.row] = self.rows[self.row][: self.column]
        elif letter == "J":
            self.rows = [""] * self.height
        elif letter == "m":
            self.styles.update(int(number or 0) for number in parameters.split(";"))
        else:
            self.mode(parameters, letter == "h")

    def mode(self, parameters, on):
        if parameters == "?1049":
            self.alternate = on
            self.rows = [""] * self.height
        elif parameters == "?25":
            self.hidden = not on
        elif parameters == "?7":
            self.wraps = on
        else:
            assert parameters == "?2026", parameters

    def character(self, character):
        if not self.alternate:
            self.plain += character
            return
        assert character.isprintable() or character in "\u200c\u200d", repr(character)
        self.column += columns(character)
        assert self.column <= self.width, self.rows[self.row] + character
        self.rows[self.row] += character

    def text(self):
        return "\n".join(self.rows)


class Terminal:
    """A program that leads the session of a terminal."""

    def __init__(self, command, environment, width=80, height=24, stdin=None):
        self.screen = Screen(width, height)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            if stdin is not None:
                os.dup2(stdin, 0)
            os.execve(command[0], command, environment)
        self.resize(width, height)
        self.settings = termios.tcgetattr(self.fd)
        self.held = b""
        self.open = True

    def resize(self, width, height):
        self.screen.resize(width, height)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def read(self, seconds=0.05):
        if not self.open or not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            got = os.read(self.fd, 1 << 16)
        except OSError:
            got = b""
        self.open = bool(got)
        self.held += got
        whole = len(self.held)
        for back in range(1, min(4, whole) + 1):  # a character or a sequence that is not all there
            byte = self.held[-back]
            if byte >= 0xC0 and back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4):
                whole -= back
                break
        escape = self.held.rfind(b"\x1b", max(0, whole - 32), whole)
        if escape >= 0 and not re.match(rb"\x1b\[[?0-9;]*[A-Za-z]", self.held[escape:whole]):
            whole = escape
        if not self.open:
            whole = len(self.held)
        self.screen.feed(self.held[:whole].decode("utf-8"))
        self.held = self.held[whole:]
        return True

    def until(self, condition):
        """Reads until the condition holds."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, self.screen.text() + "\n" + self.screen.plain
            if not self.read() and not self.open:
                assert condition(), self.screen.text() + "\n" + self.screen.plain

    def shows(self, part):
        self.until(lambda: part in self.screen.text())

    def writes(self, part):
        self.until(lambda: part in self.screen.plain)

    def type(self, keys):
        os.write(self.fd, keys if isinstance(keys, bytes) else keys.encode())

    def kill(self, number):
        os.kill(self.pid, number)

    def end(self):
        """Its status, 128 + n after signal n, once it has ended."""
        end = time.monotonic() + PATIENCE
        while self.open and time.monotonic() < end:
            self.read()
        settings = None
        try:
            settings = termios.tcgetattr(self.fd)
        except termios.error:  # the last one has closed it
            pass
        pid, status = os.waitpid(self.pid, os.WNOHANG if self.open else 0)
        if pid == 0:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            raise AssertionError("it does not end:\n" + self.screen.text())
        self.kept_settings = settings is None or settings == self.settings
        os.close(self.fd)
        return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
