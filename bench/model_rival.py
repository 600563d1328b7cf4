#!/usr/bin/env python3
"""llama.cpp and transformers as contenders of bench/models.py, each in a process of its own.

    bench/model_rival.py llama.cpp MODEL.gguf [--flash] [--context C --decode N]
    bench/model_rival.py transformers DIRECTORY [--dtype bf16] [--context C --decode N]

Speaks as model_bench does: a line of JSON that says what it is; then, for each line "IDS LOGITS" (files of 32-bit token
ids and for the fp32 logits after the last one, - for none), the seconds of process CPU time of one prefill through an
empty cache, on one thread. Loading is not counted, nor what llama-cpp-python adds to llama_decode. With --decode the
first C ids of the first line's file are the context, and the seconds are those of a token when the next N of that file
follow one by one.
"""

import argparse
import ctypes
import json
import pathlib
import sys
import time

import numpy as np

CONTEXT = 4096


def decode(rival, ids, chosen):
    """Seconds of each of the next tokens and the last one's logits; the context is prefilled first."""
    if rival.length == 0:
        rival.prefill(ids[: chosen.context])
    total = 0.0
    for token in ids[rival.length : rival.length + chosen.decode]:
        seconds, logits = rival.step(token)
        total += seconds
    return total / chosen.decode, logits


class LlamaCpp:
    def __init__(self, chosen):
        import llama_cpp

        self.api = llama_cpp
        silent = llama_cpp.llama_log_callback(lambda level, text, data: None)
        self.silent = silent  # llama.cpp keeps calling it
        llama_cpp.llama_log_set(silent, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(bytes(chosen.model), llama_cpp.llama_model_default_params())
        if not self.model:
            raise SystemExit(f"llama.cpp cannot load {chosen.model}")
        options = llama_cpp.llama_context_default_params()
        options.n_batch = max(chosen.context, CONTEXT)
        options.n_ctx = chosen.context + 512 if chosen.decode else CONTEXT
        options.n_threads = options.n_threads_batch = 1
        options.swa_full = False
        options.flash_attn_type = 1 if chosen.flash else 0
        self.context = llama_cpp.llama_init_from_model(self.model, options)
        self.length = 0
        self.vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))

    def about(self):
        flags = self.api.llama_print_system_info().decode().strip()
        return f"llama-cpp-python {self.api.__version__}: {flags}"

    def batch(self, ids, first=0):
        batch = self.api.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for n, token in enumerate(ids):
            batch.token[n], batch.pos[n], batch.n_seq_id[n], batch.seq_id[n][0] = int(token), first + n, 1, 0
            batch.logits[n] = n == len(ids) - 1
        return batch

    def pass_through(self, ids):
        batch = self.batch(ids, self.length)
        start = time.process_time()
        failed = self.api.llama_decode(self.context, batch)
        logits = self.api.llama_get_logits_ith(self.context, -1)  # waits until all is computed
        seconds = time.process_time() - start
        if failed:
            raise SystemExit(f"llama_decode gave {failed}")
        self.api.llama_batch_free(batch)
        self.length += len(ids)
        return seconds, np.ctypeslib.as_array(logits, (self.vocabulary,)).copy()

    def prefill(self, ids):
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), True)
        self.length = 0
        return self.pass_through(ids)

    def step(self, token):
        return self.pass_through([token])


class Transformers:
    def __init__(self, chosen):
        import torch
        import transformers

        torch.set_num_threads(1)
        self.torch, self.version = torch, transformers.__version__
        dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[chosen.dtype]
        load = transformers.AutoModelForCausalLM.from_pretrained
        self.model = load(chosen.model, dtype=dtype, attn_implementation="sdpa", local_files_only=True).eval()
        self.length = 0

    def about(self):
        return f"transformers {self.version}, PyTorch {self.torch.__version__}"

    def pass_through(self, ids, cache):
        given = self.torch.from_numpy(np.asarray(ids, np.int64))[None]
        with self.torch.inference_mode():
            start = time.process_time()
            result = self.model(given, past_key_values=cache, logits_to_keep=1, use_cache=True)
            seconds = time.process_time() - start
        self.length, self.cache = self.length + len(ids), result.past_key_values
        return seconds, result.logits[0, -1].float().numpy()

    def prefill(self, ids):
        self.length = 0
        return self.pass_through(ids, None)

    def step(self, token):
        return self.pass_through([token], self.cache)


RIVALS = {"llama.cpp": LlamaCpp, "transformers": Transformers}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rival", choices=RIVALS)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--flash", action="store_true", help="llama.cpp's flash attention")
    parser.add_argument("--dtype", choices=("f32", "bf16"), default="f32", help="of transformers")
    parser.add_argument("--context", type=int, default=0, metavar="C", help="tokens before those of --decode")
    parser.add_argument("--decode", type=int, default=0, metavar="N", help="tokens a line; 512 in all")
    chosen = parser.parse_args()
    try:
        rival = RIVALS[chosen.rival](chosen)
    except ImportError as error:
        print(f"not installed ({error})", file=sys.stderr)
        return 1
    print(json.dumps({"about": rival.about()}), flush=True)
    for line in sys.stdin:
        ids_file, logits_file = line.split()
        ids = np.fromfile(ids_file, np.int32)
        seconds, logits = decode(rival, ids, chosen) if chosen.decode else rival.prefill(ids)
        if logits_file != "-":
            logits.astype(np.float32).tofile(logits_file)
        print(seconds, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
