#!/usr/bin/env python3
"""Writes the seeds of the fuzz programs for files, patterns and HTTP into corpus/ beside this file.

Seeds are small files, good and hostile, each named by what it holds. Those of tensor files are made from headers written out below
and from the files of tests/data/cases/reports.jsonl. Run again after a change here; the result is in the repository.
"""

import base64
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
REPORTS = HERE.parent / "data" / "cases" / "reports.jsonl"


def put(kind, name, content):
    folder = HERE / "corpus" / kind
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name.replace("^", "_")).write_bytes(content)


def safetensors(header, data=b"", length=None):
    header = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + data


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def files_of_reports(kind):
    """Name and content of the files of the cases KIND_accept and KIND_reject."""
    for line in REPORTS.read_text("utf-8").rstrip("\n").split("\n"):  # not splitlines: texts hold U+2028
        report = json.loads(line)
        case = report["case"]
        if case["kind"] not in (f"{kind}_accept", f"{kind}_reject"):
            continue
        for file in case.get("files", [case | {"name": "accept"}]):
            yield report["id"].lower() + "_" + file["name"], base64.b64decode(file["bytes_base64"])


SIZES = {"BOOL": 1, "U8": 1, "I8": 1, "F8_E5M2": 1, "F8_E4M3": 1, "I16": 2, "U16": 2, "F16": 2, "BF16": 2, "I32": 4, "U32": 4, "F32": 4,
         "F64": 8, "I64": 8, "U64": 8}


def every_type():
    header, begin = {"__metadata__": {"format": "pt"}}, 0
    for dtype, size in SIZES.items():
        header[dtype.lower()] = entry(dtype, [3], begin, begin + 3 * size)
        begin += 3 * size
    return safetensors(header, bytes(range(begin)))


SAFETENSORS = {
    "every_type": every_type(),
    "no_tensors": safetensors({}),
    "scalar_and_empty": safetensors({"s": entry("F32", [], 0, 4), "e": entry("F64", [2, 0], 4, 4)}, b"\0\0\x80?"),
    "padded": safetensors(b'{"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   ', b"x"),
    "gap": safetensors({"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 2, 3)}, b"abc"),
    "overlap": safetensors({"a": entry("U8", [2], 0, 2), "b": entry("U8", [2], 1, 3)}, b"abc"),
    "trailing_byte": safetensors({"a": entry("U8", [1], 0, 1)}, b"ab"),
    "product_wraps": safetensors({"a": entry("U8", [2**32, 2**32], 0, 0)}),
    "deep_shape": safetensors(b'{"t":{"dtype":"U8","shape":' + b"[" * 200 + b"]" * 200 + b',"data_offsets":[0,0]}}'),
    "metadata_number": safetensors({"__metadata__": {"a": 1}}),
    "escape_in_name": safetensors(b'{"\\u001b[2J\\n":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
}

# Value types by number: a letter of struct for numbers, None for strings and arrays.
GGUF_VALUES = ["B", "b", "H", "h", "I", "i", "f", "?", None, None, "Q", "q", "d"]


def gguf_string(text):
    return struct.pack("<Q", len(text)) + text.encode()


def gguf(pairs, records=(), data=b"", version=3):
    """Pairs are (key, type, bytes), records (name, dimensions, type, offset)."""
    file = b"GGUF" + struct.pack("<IQQ", version, len(records), len(pairs))
    for key, kind, value in pairs:
        file += gguf_string(key) + struct.pack("<I", kind) + value
    for name, dimensions, kind, offset in records:
        file += gguf_string(name) + struct.pack(f"<I{len(dimensions)}QIQ", len(dimensions), *dimensions, kind, offset)
    return file + bytes(-len(file) % 32) + data if data else file


def every_gguf_value():
    pairs = [(f"n{i}", i, struct.pack("<" + code, 1)) for i, code in enumerate(GGUF_VALUES) if code]
    arrays = [(f"a{i}", 9, struct.pack("<IQ3" + code, i, 3, 1, 0, 1)) for i, code in enumerate(GGUF_VALUES) if code]
    tokens = struct.pack("<IQ", 8, 2) + gguf_string("a") + gguf_string("b")
    return pairs + arrays + [("s", 8, gguf_string("text")), ("tokenizer.ggml.tokens", 9, tokens)]


GGUF_BLOCKS = {2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 10: (256, 84), 11: (256, 110), 12: (256, 144),
               13: (256, 176), 14: (256, 210), 20: (32, 18), 23: (256, 136), 39: (32, 17)}


def every_gguf_block():
    records, data = [], b""
    for kind, (width, size) in GGUF_BLOCKS.items():
        records.append((f"t{kind}", [width, 2], kind, len(data)))
        data += bytes(2 * size)
        data += bytes(-len(data) % 32)
    return gguf([("general.architecture", 8, gguf_string("llama"))], records, data)


GGUF = {
    "every_value": gguf(every_gguf_value()),
    "every_block": every_gguf_block(),
    "version_2": gguf([("general.alignment", 4, struct.pack("<I", 64))], [("t", [3, 2], 0, 0)], bytes(64), version=2),
    "part": gguf([("split.no", 2, bytes(2)), ("split.count", 2, struct.pack("<H", 3))]),
    "unsupported_type": gguf([], [("t", [256], 16, 0)], bytes(96)),
    "overlap": gguf([], [("a", [16], 0, 0), ("b", [8], 0, 32)], bytes(64)),
    "part_of_a_block": gguf([], [("a", [48], 8, 0)], bytes(64)),
}


def gguf_array(kind, values):
    items = b"".join(gguf_string(v) if kind == 8 else struct.pack("<" + GGUF_VALUES[kind], v) for v in values)
    return struct.pack("<IQ", kind, len(values)) + items


def gguf_tokenizer(model, tokens, more=()):
    """Tokens are (piece, type, score)."""
    pieces, types, scores = zip(*tokens)
    keys = [("model", 8, gguf_string(model)), ("tokens", 9, gguf_array(8, pieces)), ("token_type", 9, gguf_array(5, types)),
            ("scores", 9, gguf_array(6, scores)), *more]
    return gguf([("tokenizer.ggml." + key, kind, value) for key, kind, value in keys])


def number(value):
    return 4, struct.pack("<I", value)


MERGES = ("merges", 9, gguf_array(8, ["a b", "\u0120 a"]))
BYTE_LEVEL = [(piece, 1, 0) for piece in ("a", "b", "ab", "\u0120", "\u0120a", "\u00c3", "\u00a9")] + [("<|im_end|>", 4, 0), ("<s>", 3, 0)]
SCORED = [("<unk>", 2, 0), ("<s>", 3, 0), ("<0xC3>", 6, 0), ("<0xA9>", 6, 0), ("\u2581", 1, -3), ("a", 1, -2), ("\u2581a", 1, -1)]
GGUF_TOKENIZERS = {
    **{f"gpt2_{pre}": gguf_tokenizer("gpt2", BYTE_LEVEL, [MERGES, ("pre", 8, gguf_string(pre)), ("bos_token_id", *number(8)),
                                                          ("add_bos_token", 7, b"\1")])
       for pre in ("default", "llama-bpe", "qwen2", "gpt-4o", "tekken", "deepseek-llm", "deepseek-v3", "falcon", "nope")},
    "llama": gguf_tokenizer("llama", SCORED, [("unknown_token_id", *number(0)), ("bos_token_id", *number(1))]),
    "t5": gguf_tokenizer("t5", SCORED, [("unknown_token_id", *number(0)), ("eos_token_id", *number(1)),
                                        ("precompiled_charsmap", 9, gguf_array(0, bytes(8)))]),
    "bert": gguf_tokenizer("bert", [("[UNK]", 3, 0), ("[CLS]", 3, 0), ("\u2581a", 1, 0), ("b", 1, 0)],
                           [("unknown_token_id", *number(0)), ("cls_token_id", *number(1)), ("seperator_token_id", *number(1))]),
    "id_beyond": gguf_tokenizer("llama", SCORED, [("bos_token_id", *number(99))]),
}

REGEX = {
    "gpt2": ("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+", "It's  n\u00e9 12!\n"),
    "llama3": ("(?i:'s|'t|'re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+", "WE'RE \u017f 12345\r\n"),
    "classes": ("[a-z&&[^b]]|[[:punct:]]|\\p{Han}|[^\\W\\d-]++", "abc-\u5b57_1"),
    "runs_away": ("(a+)+$|(?:a|a)*(?=b)", "a" * 40 + "!"),
    "lookbehind": ("(?<=a|bc)d|\\b.\\B|^x|y$|\\Az\\Z", "ad\nbcd\ny"),
    "empty": ("x*|", "axxb"),
}


def gguf_model(architecture, **more):
    def pair(key, value):
        if isinstance(value, str):
            return (key, 8, gguf_string(value))
        if isinstance(value, bool):
            return (key, 7, struct.pack("<?", value))
        if isinstance(value, float):
            return (key, 6, struct.pack("<f", value))
        if isinstance(value, list):
            return (key, 9, gguf_array(4, value))
        return (key, 4, struct.pack("<I", value))

    settings = {"block_count": 3, "embedding_length": 16, "feed_forward_length": 24, "context_length": 32, "attention.head_count": 4,
                "attention.head_count_kv": 2, "attention.layer_norm_rms_epsilon": 1e-6, "vocab_size": 40}
    settings.update({key.replace("__", "."): value for key, value in more.items()})
    return gguf([("general.architecture", 8, gguf_string(architecture))] + [pair(f"{architecture}.{k}", v) for k, v in settings.items()])


WINDOW = {"attention__sliding_window": 8}
YARN = {"rope__scaling__type": "yarn", "rope__scaling__factor": 4.0, "rope__scaling__original_context_length": 8}

GGUF_CONFIG = {
    "llama": gguf_model("llama", rope__freq_base=500000.0, rope__dimension_count=4),
    "qwen2": gguf_model("qwen2", **YARN),
    "qwen3": gguf_model("qwen3", attention__key_length=8, attention__value_length=8),
    "gpt2": gguf_model("gpt2", attention__layer_norm_epsilon=1e-5),
    "gemma2": gguf_model("gemma2", attn_logit_softcapping=50.0, final_logit_softcapping=30.0, **WINDOW),
    "gemma3": gguf_model("gemma3", attention__sliding_window_pattern=2, rope__freq_base_swa=10000.0, **WINDOW),
    "gemma3_flags": gguf_model("gemma3", attention__sliding_window_pattern=[1, 1, 0], rope__scaling__type="linear",
                               rope__scaling__factor=8.0, **WINDOW),
    "phi3": gguf_model("phi3", rope__scaling__attn_factor=1.19, rope__scaling__original_context_length=8, attention__sliding_window=0),
    "gpt_oss": gguf_model("gpt-oss", expert_count=4, expert_used_count=2, expert_feed_forward_length=8, **WINDOW, **YARN),
    "uneven_heads": gguf_model("llama", attention__head_count_kv=[2, 2, 1]),
    "no_width": gguf_model("llama", embedding_length=0),
}

JSON = {
    "config": json.dumps({"architectures": ["BertModel"], "hidden_size": 384, "layer_norm_eps": 1e-12, "torch_dtype": "float32",
                          "rope_scaling": None, "use_cache": True, "id2label": {"0": "LABEL_0"}}).encode(),
    "index": json.dumps({"metadata": {"total_size": 16}, "weight_map": {"a": "model-00001-of-00002.safetensors"}}).encode(),
    "tokenizer": json.dumps({"version": "1.0", "added_tokens": [{"id": 0, "content": "[PAD]", "special": True}],
                             "model": {"type": "WordPiece", "vocab": {"[UNK]": 1, "##a": 2, "\u00e9": 3}}}).encode(),
    "numbers": b"[0, -0, 1.5, -2e-3, 18446744073709551615, -9223372036854775808, 18446744073709551616, 1e308]",
    "escapes": b'["\\u00e9\\ud83d\\ude00\\n\\t\\"\\\\\\/\\b\\f\\r\\u0000", "\xf0\x9f\x98\x80"]',
    "deep_arrays": b"[" * 65 + b"]" * 65,
    "deep_objects": b'{"a":' * 70 + b"1" + b"}" * 70,
    "deepest_allowed": b"[" * 64 + b"]" * 64,
    "duplicate": b'{"a": {"b": 1, "b": 2}}',
    "duplicate_by_escape": b'{"a": 1, "\\u0061": 2}',
    "nul_after_end": b"{}\0{}",
    "ill_formed_utf8": b'{"\xff": "\xc0\xaf"}',
    "lone_surrogate": b'["\\ud800"]',
    "byte_order_mark": b"\xef\xbb\xbf{}",
    "overflow": b"[1e999]",
    "cut": b'{"a": [1, 2, {"b": "x',
    "wrong_types": b'{"hidden_size": "x", "layers": 1.0, "heads": -1, "flag": 0, "list": {}, "object": []}',
}

LOOK = "look=0123456789abcdef0123456789abcdef"  # which fuzz_http.cc replaces by the id of a look that is kept


def request(line, *headers, body=b""):
    return "\r\n".join([line + " HTTP/1.1", "Host: localhost:80", *headers, "", ""]).encode() + body


def post(body, path="/api/look", *headers):
    return request("POST " + path, "Content-Type: application/json", f"Content-Length: {len(body)}", *headers, body=body)


def chunked(*lines):
    return request("POST /api/look", "Content-Type: application/json", "Transfer-Encoding: chunked", body=b"\r\n".join(lines))


HTTP = {
    "page": request("GET /", "Accept-Encoding: br, gzip;q=0.5", 'If-None-Match: W/"x"', "Connection: close"),
    "pipelined": request("GET /health") + b"\r\n" + request("HEAD /api/model") + b"GET /main.js HTTP/1.0\r\nHost: localhost:80\r\n\r\n",
    "key": request("GET /?key=a%0d%0aX:y") + request("GET /api/model", "Authorization: Bearer x", "Cookie: a=b; sightline_key=x"),
    "encoded_path": request("GET /%61pi/model") + request("GET /api%2fmodel") + request("GET /%u0061pi/model"),
    "fragment": request("GET /#pi/tile?a=b"),
    "paths": request("GET /..%2f..%2fetc/passwd") + request("GET //api/model") + request("GET /index.html%00.js"),
    "look": post(b'{"text": "the animal was tired", "truncate": true, "keep_layers": [1, 2]}'),
    "look_texts": post(b'{"text": "\\u0000\\u202e</script>\\ud83d\\ude00 \xf0\x9f\x98\x80"}') + post(b'{"text": "\\ud800"}')
    + post(b'{"text": "\xff"}') + post(b'{"text": " \\t"}') + post(b"[" * 20),
    "chunks": chunked(b"7;a=b", b'{"text"', b"8", b':"tired"', b"1", b"}", b"0", b"T: x", b"", b""),
    "chunk_line_feed": chunked(b"2;a\nb", b"{}", b"0", b"", b""),
    "chunk_sizes": chunked(b"ffffffffffffffff", b"") + chunked(b"-1", b""),
    "two_lengths": request("POST /api/look", "Content-Length: 2", "Transfer-Encoding: chunked", body=b"{}"),
    "expect": request("POST /api/look", "Expect: 100-continue", "Content-Length: 2", body=b"{}"),
    "look_again": request(f"GET /api/look?{LOOK}&explain=L2H1:1&lists=L1H2&only=explanations"),
    "one_file": request(f"GET /api/look?{LOOK}&html=1&maps=L1,L2H2"),
    "tile": request(f"GET /api/tile?{LOOK}&maps=all&rows=0:3&keys=1:4&step=2&mean=1"),
    "tile_numbers": request(f"GET /api/tile?{LOOK}&maps=L1H1&step=1073741824&rows=0:9223372036854775807")
    + request(f"GET /api/tile?{LOOK}&maps=L99999999999999999999&step=0&keys=-1:2"),
    "tile_letters": request(f"GET /api/tile?{LOOK}&maps=%ff%fe&rows=%00&%c0%ae=+&maps=L1"),
}

CHARSMAP = json.loads((HERE.parent / "data" / "tokenizer" / "charsmap.json").read_text())["precompiled_charsmap"]


def node_a(value, forms, units=256):
    """A table of one key, "a"."""
    trie = [0] * units
    trie[0], trie[1 ^ ord("a")] = 1 << 10, 2 << 10 | 1 << 8 | ord("a")
    trie[1 ^ ord("a") ^ 2] = value | 1 << 31
    return struct.pack(f"<I{units}I", 4 * units, *trie) + forms


def with_text(text, table):
    return bytes([len(text)]) + text + table


CHARSMAPS = {
    "of_rules": with_text("A\u00e9e\u0301\ufb01\u337f\u2168 \r\n".encode(), base64.b64decode(CHARSMAP)),
    "one_key": with_text(b"banana", node_a(2, b"x\0yz\0")),
    "outside": with_text(b"a", node_a(9, b"x")),
    "within_a_character": with_text(b"a", node_a(1, "\u00e9".encode())),
    "growing": with_text(b"aaaa", node_a(0, b"b" * 600)),
    "deleting": with_text(b"aba", node_a(0, b"\0")),
    "longer_than_it_is": with_text(b"", struct.pack("<I", 2**32 - 4)),
    "no_units": with_text(b"", struct.pack("<I", 0)),
}


def unigram(normalizer, metaspace, **model):
    decoder = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}, metaspace]}
    vocab = [["<unk>", 0], ["<0xC3>", -9], ["<0xA9>", -9], ["\u2581", -3.5], ["\u2581a", -2], ["a", -2.5], ["\u5b57a", -4], ["12", -3.25]]
    return json.dumps({"version": "1.0", "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": metaspace, "post_processor": None,
                       "decoder": decoder, "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab, **model}}, ensure_ascii=False).encode()


METASPACE = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True}
T5 = {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": base64.b64encode(node_a(0, b"bc\0")).decode()},
                                          {"type": "Strip", "strip_left": False, "strip_right": True}, {"type": "Nmt"},
                                          {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u2581"}]}
TOKENIZERS = {
    "unigram_t5": unigram(T5, METASPACE, byte_fallback=False) + b"\0a  b\xc3\xa9",
    "unigram_bytes": unigram(None, {**METASPACE, "prepend_scheme": "always", "split": False}, byte_fallback=True) + b"\0a \xc3\xa9\xc3\xa9a",
    "unigram_no_unknown": unigram(None, METASPACE, unk_id=None),
    "unigram_legacy": unigram(None, {"type": "Metaspace", "replacement": "_", "add_prefix_space": True, "str_rep": "_"}),
}

KNOCK_OUTS = {
    "plain": "it->street@L4H2",
    "ranges": " #3-9 -> /2 @ L3-5H1-2, H7,all",
    "segments": "*->:generated@L1",
    "quoted": '"a->\\"b\\u00e9":2->"c@d"/1@h2',
    "open": '"a->b',
    "ends": "it->street@L4H2,",
}


def word(number, form, head, relation):
    """A line of CoNLL-U."""
    return "\t".join([number, form, "_", "NOUN", "_", "_", head, relation, "_", "_"]) + "\n"


ROOT = word("1", "a", "0", "root")
RANGE = word("1-2", "don't", "_", "_") + word("1", "do", "3", "aux") + word("2", "n't", "3", "advmod")
CONLLU = {
    "sentences": "# sent_id = 1\n# text = Dogs bark\n" + word("1", "Dogs", "2", "nsubj") + word("2", "bark", "0", "root") + "\n"
                 + word("1", "Ça", "2", "nsubj:pass") + word("2", "va", "0", "root") + "\n",
    "ranges": word("0.1", "so", "_", "_") + RANGE + word("3", "go", "0", "root") + word("3.1", "on", "_", "_"),
    "windows": "\ufeff" + (word("1", "a", "2", "dep") + word("2", "b", "1", "dep") + "\n").replace("\n", "\r\n"),
    "no_end": ROOT[:-1],
    "out_of_order": ROOT + word("3", "b", "1", "dep"),
    "head_beyond": word("1", "a", "9", "dep"),
    "huge_number": word("18446744073709551616", "a", "0", "root"),
    "range_beyond": word("1-18446744073709551615", "a", "_", "_") + ROOT,
    "columns": "1\ta\n",
    "not_utf8": ROOT.replace("a", "\udcc3", 1),
}

GAP_COLUMNS = "ID Text Pronoun Pronoun-offset A A-offset A-coref B B-offset B-coref URL".replace(" ", "\t") + "\n"
GAP_ROW = "t-1\tAda met Zoë, and she smiled.\tshe\t17\tAda\t0\tFALSE\tZoë\t8\tTRUE\thttp://x\n"
GAP = {
    "rows": GAP_COLUMNS + GAP_ROW + 't-2\t"Ann" saw "Bea"; she ran\tshe\t17\tAnn\t1\tTRUE\tBea\t11\tTRUE\t\n',
    "windows": "\ufeff" + (GAP_COLUMNS + GAP_ROW).replace("\n", "\r\n"),
    "no_end": (GAP_COLUMNS + GAP_ROW)[:-1],
    "beyond": GAP_COLUMNS + GAP_ROW.replace("17", "2147483647"),
    "columns": GAP_COLUMNS + "t\ta\n",
    "no_header": GAP_ROW,
    "not_true": GAP_COLUMNS + GAP_ROW.replace("TRUE", "yes"),
    "empty_name": GAP_COLUMNS + GAP_ROW.replace("Ada\t0", "\t0"),
}


if __name__ == "__main__":
    for name, content in {**dict(files_of_reports("safetensors")), **SAFETENSORS}.items():
        put("safetensors", name, content)
    for name, content in {**dict(files_of_reports("gguf")), **GGUF}.items():
        put("gguf", name, content)
    for name, content in GGUF_TOKENIZERS.items():
        put("gguf_tokenizer", name, content)
    for name, (pattern, text) in REGEX.items():
        put("regex", name, pattern.encode() + b"\0" + text.encode())
    for name, content in GGUF_CONFIG.items():
        put("gguf_config", name, content)
    for name, content in JSON.items():
        put("json", name, content)
    for name, content in HTTP.items():
        put("http", name, content)
    for name, content in CHARSMAPS.items():
        put("charsmap", name, content)
    for name, spec in KNOCK_OUTS.items():
        put("knock_out", name, spec.encode())
    for name, content in TOKENIZERS.items():
        put("tokenizer", name, content)
    for kind, seeds in (("conllu", CONLLU), ("gap", GAP)):
        for name, content in seeds.items():
            put(kind, name, content.encode("utf-8", "surrogateescape"))
