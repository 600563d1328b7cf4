#!/usr/bin/env python3
"""Requests that schemathesis makes up from serve/openapi.json. Exit status 77 where it is not installed."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import serving

SKIPPED = 77
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance," \
         "response_headers_conformance,negative_data_rejection,unsupported_method,missing_required_header"


def with_look(document, look):
    """The description, with the id of a look that is kept: no made-up one would be."""
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", []):
                if parameter["name"] == "look":
                    parameter["schema"] = {"type": "string", "enum": [look]}
    return document


def main():
    program = shutil.which("schemathesis", path=pathlib.Path(sys.executable).parent) or shutil.which("schemathesis")
    if program is None:
        print("skipped: schemathesis is missing: pip install -r tests/serve/requirements.txt")
        return SKIPPED
    with serving.serving() as server, tempfile.TemporaryDirectory() as folder:
        document = pathlib.Path(folder) / "openapi.json"
        document.write_text(json.dumps(with_look(server.get("/openapi.json").json, server.post_look().json["look"])))
        command = [program, "run", str(document), "--url", server.url.rstrip("/"), "--checks", CHECKS,
                   "--max-examples", "60", "--seed", "1", "--no-color", "--generation-database", "none"]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL,
                               cwd=folder)  # where it leaves notes of its own
        if ended.returncode != 0:
            print(ended.stdout[-8000:], ended.stderr[-2000:])
        else:
            print(ended.stdout.strip().splitlines()[-1])
        return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
