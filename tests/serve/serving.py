"""The program as a server, for tests: started on a free port, and asked with sockets and http.client."""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("SIGHTLINE", str(ROOT / "build" / "sightline"))
TINY = ROOT / "tests" / "data" / "tiny-bert"
PATIENCE = int(os.environ.get("SIGHTLINE_TEST_PATIENCE", "60"))  # s, for what takes no time: machines may be busy
SENTENCE = "The animal didn't cross the street"


def minilm():
    """Where the default model is kept, or None."""
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    model = pathlib.Path(os.environ.get("SIGHTLINE_MINILM") or pathlib.Path(cache) / "sightline" / "all-MiniLM-L6-v2")
    return model if (model / "model.safetensors").exists() else None


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        """The code of an error, and its message."""
        error = self.json["error"]
        return error["code"], error["message"]


class Running:
    """A server that runs, and connections to it."""

    def __init__(self, process, lines):
        self.process = process
        self.lines = lines
        self.url = lines[0].split()[-1]
        self.host, port = self.url.removeprefix("http://").rstrip("/").rsplit(":", 1)
        self.host = self.host.strip("[]")
        self.port = int(port)

    def connect(self):
        return socket.create_connection((self.host, self.port), timeout=PATIENCE)

    def client(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)

    def ask(self, method, path, body=None, headers=None, client=None):
        own = client or self.client()
        try:
            own.request(method, path, body=body, headers=headers or {})
            return Answer(own.getresponse())
        finally:
            if client is None:
                own.close()

    def get(self, path, **headers):
        return self.ask("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post_look(self, text=SENTENCE, client=None, headers=None, **fields):
        body = json.dumps({"text": text} | fields)
        return self.ask("POST", "/api/look", body, {"Content-Type": "application/json"} | (headers or {}), client)

    def raw(self, request):
        """What comes back until the server closes."""
        with self.connect() as connection:
            connection.sendall(request)
            return read_all(connection)

    def end(self, how=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(timeout=PATIENCE)
        return self.process.returncode


def read_all(connection):
    chunks = []
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(65536):
            chunks.append(chunk)
    return b"".join(chunks)


def status_of(answer):
    return int(answer.split(b" ", 2)[1]) if answer else None


def start(*arguments, model=TINY, environment=None):
    """Starts a server and waits until it says where it is."""
    environment = {name: value for name, value in os.environ.items() if name != "SIGHTLINE_API_KEY"} | (environment or {})
    process = subprocess.Popen(
        [PROGRAM, "serve", "-m", str(model), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # jobs in the background ignore it
    )
    lines = []
    watch = threading.Timer(PATIENCE, process.kill)
    watch.start()
    while not lines or not lines[-1].startswith("Ctrl-C"):
        if not (line := process.stdout.readline()):
            watch.cancel()
            raise AssertionError(f"the server did not start: {process.communicate()[1]}")
        lines.append(line.rstrip("\n"))
    watch.cancel()
    return Running(process, lines)


@contextlib.contextmanager
def serving(*arguments, **options):
    server = start(*arguments, **options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.send_signal(signal.SIGINT)
            try:
                server.process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                server.process.kill()
                raise
        error = server.process.stderr.read()
        server.process.stdout.close()
        server.process.stderr.close()
        if error or server.process.returncode != 0:
            raise AssertionError(f"the server ended with {server.process.returncode}: {error}")


def wait_for(condition, what):
    ends = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > ends:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.02)


def write_long_model(folder, positions):
    """The tiny model with more positions; those added are all zero. Its looks at long texts take their time."""
    folder.mkdir(parents=True)
    for source in TINY.iterdir():
        (folder / source.name).write_bytes(source.read_bytes())
    config = json.loads((TINY / "config.json").read_text())
    config["max_position_embeddings"] = positions
    (folder / "config.json").write_text(json.dumps(config))
    data = (TINY / "model.safetensors").read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    entries = json.loads(data[8:begin])
    tensors, header = b"", {}
    for name, entry in entries.items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        content = data[begin + first : begin + last]
        if name == "embeddings.position_embeddings.weight":
            content += bytes(len(content) // entry["shape"][0] * (positions - entry["shape"][0]))
            entry["shape"][0] = positions
        header[name] = entry | {"data_offsets": [len(tensors), len(tensors) + len(content)]}
        tensors += content
    packed = json.dumps(header).encode()
    packed += b" " * (-len(packed) % 8)
    (folder / "model.safetensors").write_bytes(len(packed).to_bytes(8, "little") + packed + tensors)
    return folder
