#!/usr/bin/env python3
"""Wrong usage of sightline-conform: one line that names the program, and exit status 2."""

import os
import subprocess
import unittest

PROGRAM = os.environ["SIGHTLINE_CONFORM"]
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


class Usage(unittest.TestCase):
    def test_wrong_usage_takes_one_line(self):
        for arguments in ([], ["/nowhere"], [DATA, "--nonsense"], [DATA, "--filter"], [__file__]):
            ended = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True)
            with self.subTest(arguments=arguments, error=ended.stderr):
                self.assertEqual(ended.returncode, 2)
                self.assertEqual(ended.stdout, "")
                self.assertTrue(ended.stderr.startswith("sightline-conform: "))
                self.assertEqual(ended.stderr.count("\n"), 1)
                self.assertTrue(ended.stderr.endswith("\n"))

    def test_help_is_no_error(self):
        ended = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0)
        self.assertEqual(ended.stderr, "")
        self.assertIn("DIR", ended.stdout)


if __name__ == "__main__":
    unittest.main()
