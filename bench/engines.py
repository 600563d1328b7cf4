"""What is timed: Sightline, and the engines beside it. Each takes a Problem and gives a Contender."""

import ctypes
import dataclasses
import pathlib
from collections.abc import Callable

import numpy as np

import sightline_c

TOP_KEYS = 4
OVERVIEW_BINS = 64


class Unsupported(Exception):
    """The engine is not installed, or cannot do the problem; the text says which."""


@dataclasses.dataclass
class Contender:
    run: Callable[[], None]
    output: Callable[[], np.ndarray]  # of the last run, [B, Hq, Nq, Dv]
    observed: dict = dataclasses.field(default_factory=dict)  # Sightline's: name -> array
    tolerance: float = 1e-4  # largest difference from fp64, as a share of the largest value
    difference: float = 0.0  # what it is


def tensor(array):
    return sightline_c.Tensor.dense(array.ctypes.data, array.shape)


BASIC = ("lse", "row_max", "entropy", "position")
SINGLE = ("distance", "offsets", "key_mass", "segments", "overview")
# What can be asked for; docs/performance.md lists it.
LEVELS = {
    "none": (),
    "basic": BASIC,
    "top4": (*BASIC, "top_k"),
    "all": (*BASIC, "top_k", *SINGLE),
    **{name: (name,) for name in SINGLE},
}


def observations(shape, level):
    """Arrays and counts of a level, by field name of the arguments."""
    rows, arrays, counts = shape.output_shape()[:3], {}, {}
    for name in LEVELS[level]:
        if name == "top_k":
            counts["top_k"] = TOP_KEYS
            arrays["topk_index"] = np.empty((*rows, TOP_KEYS), np.int32)
            arrays["topk_weight"] = np.empty((*rows, TOP_KEYS), np.float32)
        elif name == "offsets":
            arrays["offsets"] = np.array([-1, 0, 1])
            counts["offset_count"] = len(arrays["offsets"])
            arrays["offset_mass"] = np.empty((*rows, len(arrays["offsets"])), np.float32)
        elif name == "key_mass":
            arrays["key_mass"] = np.empty((*rows[:2], shape.keys), np.float32)
        elif name == "segments":
            # Two, the ends of the sequence and the rest, as special tokens would be.
            arrays["segment_of_key"] = np.zeros(shape.keys, np.int32)
            arrays["segment_of_key"][[0, -1]] = 1
            counts |= {"segment_key_count": shape.keys, "segments": 2}
            arrays["segment_mass"] = np.empty((*rows, 2), np.float32)
        elif name == "overview":
            bins = min(OVERVIEW_BINS, shape.queries), min(OVERVIEW_BINS, shape.keys)
            counts["overview_rows"], counts["overview_cols"] = bins
            arrays["overview"] = np.empty((*rows[:2], *bins), np.float32)
        else:
            arrays[name] = np.empty(rows, np.float32)
    return arrays, counts


def sightline(problem, threads, library, level="none"):
    out = np.empty(problem.shape.output_shape(), np.float32)
    arrays, counts = observations(problem.shape, level)
    args = sightline_c.AttentionArgs(
        q=tensor(problem.q),
        k=tensor(problem.k),
        v=tensor(problem.v),
        out=tensor(out),
        threads=threads,
        causal=int(problem.shape.causal),
        alignment=sightline_c.TOP_LEFT,
        **{name: array.ctypes.data_as(ctypes.c_void_p).value for name, array in arrays.items()},
        **counts,
    )
    return Contender(lambda: library.attention(args), lambda: out, arrays)


BF16_TOLERANCE = 0.05


def to_bf16(array):
    """The bits of the nearest bf16, ties to even."""
    bits = array.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def sightline_fast(problem, threads, build):
    """Precision::fast, all tensors bf16."""
    shape = problem.shape
    library = ctypes.CDLL(str(pathlib.Path(build) / "bench" / "libsightline_fast_pass.so"))
    tensors = [to_bf16(array) for array in (problem.q, problem.k, problem.v)]
    addresses = (ctypes.c_void_p * 3)(*(array.ctypes.data for array in tensors))
    out = np.zeros(shape.output_shape(), np.uint16)
    order = (shape.batch, shape.query_heads, shape.kv_heads, shape.queries, shape.keys, shape.width, shape.value_width)
    sizes = (ctypes.c_int64 * 7)(*order)
    output = ctypes.c_void_p(out.ctypes.data)

    def run():
        if library.sightline_fast_pass(addresses, output, sizes, int(shape.causal), threads) != 0:
            raise Unsupported("see above")

    def widened(tensors=tensors):  # which live as long as the contender
        return (out.astype(np.uint32) << 16).view(np.float32)

    return Contender(run, widened, tolerance=BF16_TOLERANCE)


def imported(name):
    try:
        return __import__(name)
    except ImportError as error:
        raise Unsupported(f"not installed ({error})") from error


def torch_sdpa(problem, threads):
    torch = imported("torch")
    torch.set_num_threads(threads)
    q, k, v = (torch.from_numpy(array) for array in (problem.q, problem.k, problem.v))
    shape, last = problem.shape, {}
    attend = torch.nn.functional.scaled_dot_product_attention

    def run():
        last["out"] = attend(q, k, v, is_causal=shape.causal, enable_gqa=shape.kv_heads != shape.query_heads)

    return Contender(run, lambda: last["out"].numpy())


def torch_bf16(problem, threads):
    torch = imported("torch")
    torch.set_num_threads(threads)
    q, k, v = (torch.from_numpy(array).bfloat16() for array in (problem.q, problem.k, problem.v))
    shape, last = problem.shape, {}
    attend = torch.nn.functional.scaled_dot_product_attention

    def run():
        last["out"] = attend(q, k, v, is_causal=shape.causal, enable_gqa=shape.kv_heads != shape.query_heads)

    return Contender(run, lambda: last["out"].float().numpy(), tolerance=BF16_TOLERANCE)


def onnx_session(node, inputs, opsets, threads):
    onnx, onnxruntime = imported("onnx"), imported("onnxruntime")
    helper = onnx.helper

    def declare(name, shape):
        return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        [helper.make_node(**node)], "attention", [declare(name, array.shape) for name, array in inputs.items()],
        [declare("out", None)],
    )
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    except Exception as error:  # the package has no common base for what it throws
        raise Unsupported(str(error).splitlines()[0]) from error
    last = {}

    def run():
        last["out"] = session.run(None, inputs)[0]

    return run, last


def ort_mha(problem, threads):
    """The contrib operator MultiHeadAttention; its tensors are [B, n, heads * width]."""
    shape = problem.shape
    if shape.kv_heads != shape.query_heads:
        raise Unsupported("MultiHeadAttention has no grouped heads")

    def joined(array):
        return np.ascontiguousarray(array.transpose(0, 2, 1, 3)).reshape(shape.batch, array.shape[2], -1)

    node = {
        "op_type": "MultiHeadAttention",
        "inputs": ["q", "k", "v"],
        "outputs": ["out"],
        "domain": "com.microsoft",
        "num_heads": shape.query_heads,
        "unidirectional": int(shape.causal),
    }
    inputs = {"q": joined(problem.q), "k": joined(problem.k), "v": joined(problem.v)}
    run, last = onnx_session(node, inputs, [("", 17), ("com.microsoft", 1)], threads)
    split = (shape.batch, shape.queries, shape.query_heads, shape.value_width)
    return Contender(run, lambda: last["out"].reshape(split).transpose(0, 2, 1, 3))


def ort_attention(problem, threads):
    """The standard operator Attention of opset 23."""
    node = {
        "op_type": "Attention",
        "inputs": ["q", "k", "v"],
        "outputs": ["out"],
        "is_causal": int(problem.shape.causal),
    }
    inputs = {"q": problem.q, "k": problem.k, "v": problem.v}
    run, last = onnx_session(node, inputs, [("", 23)], threads)
    return Contender(run, lambda: last["out"])


def openvino_sdpa(problem, threads):
    openvino = imported("openvino")
    operators = imported("openvino.opset13").opset13
    shape = problem.shape
    if shape.kv_heads != shape.query_heads:
        raise Unsupported("scaled_dot_product_attention has no grouped heads")
    inputs = [problem.q, problem.k, problem.v]
    parameters = [operators.parameter([*array.shape[:2], -1, array.shape[3]], np.float32) for array in inputs]
    attend = operators.scaled_dot_product_attention(*parameters, causal=shape.causal)
    settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    request = openvino.Core().compile_model(openvino.Model([attend], parameters), "CPU", settings).create_infer_request()
    return Contender(lambda: request.infer(inputs, share_inputs=True), lambda: request.get_output_tensor().data)


PEERS = {"torch": torch_sdpa, "torch-bf16": torch_bf16, "ort-mha": ort_mha, "ort-attention": ort_attention, "openvino": openvino_sdpa}
PACKAGES = {"torch": "torch", "torch-bf16": "torch", "ort-mha": "onnxruntime", "ort-attention": "onnxruntime", "openvino": "openvino"}


def version(peer):
    return imported(PACKAGES[peer]).__version__
