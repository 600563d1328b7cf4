"""PyTorch, ONNX Runtime and OpenVINO as contenders. Each takes a Problem and a number of threads."""

import os

import numpy as np

import packing
from engines import BF16_TOLERANCE, Contender, Unsupported
from problem import visible

# What holds an engine to AVX2; read when it is imported. ONNX Runtime's kernels ask the processor alone.
AVX2_SETTINGS = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
}
NO_SWITCH = "has no switch for its instruction set"
CANNOT_BE_FORCED = {"ort-mha": NO_SWITCH, "ort-attention": NO_SWITCH, "ort-gqa": NO_SWITCH}


def imported(name):
    try:
        return __import__(name)
    except ImportError as error:
        raise Unsupported(f"not installed ({error})") from error


def torch_with(threads):
    torch = imported("torch")
    torch.set_num_threads(threads)
    return torch


def torch_forward(problem, threads, tensors):
    """A function that attends; a window as a dense mask, packed sequences one call each."""
    torch = torch_with(threads)
    shape, attend = problem.shape, torch.nn.functional.scaled_dot_product_attention
    grouped = shape.kv_heads != shape.query_heads
    if shape.window:
        mask = torch.from_numpy(visible(shape, range(shape.queries)))
        return lambda: attend(*tensors, attn_mask=mask, enable_gqa=grouped)
    if shape.lengths:
        pieces = list(zip(*(torch.split(tensor, list(shape.lengths), dim=2) for tensor in tensors)))
        return lambda: torch.cat([attend(*p, is_causal=shape.causal, enable_gqa=grouped) for p in pieces], dim=2)
    return lambda: attend(*tensors, is_causal=shape.causal, enable_gqa=grouped)


class Last:
    """Runs a function and keeps what it gave."""

    def __init__(self, function):
        self.function, self.result = function, None

    def __call__(self):
        self.result = self.function()


def torch_sdpa(problem, threads):
    torch = imported("torch")
    tensors = [torch.from_numpy(array) for array in (problem.q, problem.k, problem.v)]
    run = Last(torch_forward(problem, threads, tensors))
    return Contender(run, lambda: {"out": run.result.numpy()})


def torch_bf16(problem, threads):
    torch = imported("torch")
    bits = [packing.to_bf16(array) for array in (problem.q, problem.k, problem.v)]
    tensors = [torch.from_numpy(array).view(torch.bfloat16) for array in bits]
    run = Last(torch_forward(problem, threads, tensors))
    return Contender(run, lambda: {"out": run.result.float().numpy()}, tolerance=BF16_TOLERANCE)


def torch_backward(problem, threads):
    """autograd's pass from a graph that is kept."""
    torch = imported("torch")
    leaves = [torch.from_numpy(array).requires_grad_() for array in (problem.q, problem.k, problem.v)]
    out = torch_forward(problem, threads, leaves)()
    dout = torch.from_numpy(problem.gradient_of_output())
    run = Last(lambda: torch.autograd.grad(out, leaves, dout, retain_graph=True))
    return Contender(run, lambda: {name: gradient.numpy() for name, gradient in zip("qkv", run.result)})


CONTRIB_OPSETS = [("", 17), ("com.microsoft", 1)]


def only_plain(shape, name):
    if shape.window or shape.lengths:
        raise Unsupported(f"{name} has no windows and no packed sequences")


def joined(array):
    """[B, H, n, D] as [B, n, H * D]."""
    batch, _, length, _ = array.shape
    return np.ascontiguousarray(array.transpose(0, 2, 1, 3)).reshape(batch, length, -1)


def split(out, shape):
    """[B, Nq, Hq * Dv] as [B, Hq, Nq, Dv]."""
    heads = (shape.batch, shape.queries, shape.query_heads, shape.value_width)
    return out.reshape(heads).transpose(0, 2, 1, 3)


def onnx_session(node, inputs, opsets, threads):
    """A session of one node, whose inputs are arrays by name."""
    onnx, onnxruntime = imported("onnx"), imported("onnxruntime")
    helper = onnx.helper

    def declare(name, dtype, shape=None):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)

    graph = helper.make_graph(
        [helper.make_node(**node, inputs=list(inputs))],
        "attention",
        [declare(name, array.dtype, array.shape) for name, array in inputs.items()],
        [declare(name, np.float32) for name in node["outputs"]],
    )
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    except Exception as error:  # the package has no common base for what it throws
        raise Unsupported(str(error).splitlines()[0]) from error


def ort_mha(problem, threads):
    """The contrib operator MultiHeadAttention; its tensors are [B, n, heads * width]."""
    shape = problem.shape
    only_plain(shape, "MultiHeadAttention")
    if shape.kv_heads != shape.query_heads:
        raise Unsupported("MultiHeadAttention has no grouped heads")
    node = {
        "op_type": "MultiHeadAttention",
        "outputs": ["out"],
        "domain": "com.microsoft",
        "num_heads": shape.query_heads,
        "unidirectional": int(shape.causal),
    }
    inputs = {"q": joined(problem.q), "k": joined(problem.k), "v": joined(problem.v)}
    session = onnx_session(node, inputs, CONTRIB_OPSETS, threads)
    run = Last(lambda: session.run(None, inputs)[0])
    return Contender(run, lambda: {"out": split(run.result, shape)})


def ort_attention(problem, threads):
    """The standard operator Attention of opset 23."""
    only_plain(problem.shape, "Attention")
    node = {
        "op_type": "Attention",
        "outputs": ["out"],
        "is_causal": int(problem.shape.causal),
    }
    inputs = {"q": problem.q, "k": problem.k, "v": problem.v}
    session = onnx_session(node, inputs, [("", 23)], threads)
    run = Last(lambda: session.run(None, inputs)[0])
    return Contender(run, lambda: {"out": run.result})


def ort_gqa(problem, threads):
    """The contrib operator GroupQueryAttention, for causal prompts and steps of decoding: it appends the keys of the
    queries to those before, in place, as decoding with bound buffers does."""
    shape = problem.shape
    only_plain(shape, "GroupQueryAttention")
    if shape.queries != 1 and not (shape.causal and shape.queries == shape.keys):
        raise Unsupported("GroupQueryAttention is always causal")
    node = {
        "op_type": "GroupQueryAttention",
        "outputs": ["out", "present_k", "present_v"],
        "domain": "com.microsoft",
        "num_heads": shape.query_heads,
        "kv_num_heads": shape.kv_heads,
    }
    inputs = {
        "q": joined(problem.q),
        "k": joined(problem.k[:, :, -shape.queries :]),
        "v": joined(problem.v[:, :, -shape.queries :]),
        "past_k": problem.k.copy(),
        "past_v": problem.v.copy(),
        "last": np.full(shape.batch, shape.keys - 1, np.int32),
        "total": np.array([shape.keys], np.int32),
    }
    session = onnx_session(node, inputs, CONTRIB_OPSETS, threads)
    out = np.zeros((shape.batch, shape.queries, shape.query_heads * shape.value_width), np.float32)
    arrays = {**inputs, "out": out}
    values = {name: imported("onnxruntime").OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()}
    binding = session.io_binding()
    for name in inputs:
        binding.bind_ortvalue_input(name, values[name])
    for name, value in {"out": "out", "present_k": "past_k", "present_v": "past_v"}.items():
        binding.bind_ortvalue_output(name, values[value])
    return Contender(
        run=lambda: session.run_with_iobinding(binding),
        output=lambda: {"out": split(values["out"].numpy(), shape)},
        state=arrays,
    )


def openvino_sdpa(problem, threads):
    openvino = imported("openvino")
    operators = imported("openvino.opset13").opset13
    shape = problem.shape
    only_plain(shape, "scaled_dot_product_attention")
    if shape.kv_heads != shape.query_heads:
        raise Unsupported("scaled_dot_product_attention has no grouped heads")
    inputs = [problem.q, problem.k, problem.v]
    parameters = [operators.parameter([*array.shape[:2], -1, array.shape[3]], np.float32) for array in inputs]
    attend = operators.scaled_dot_product_attention(*parameters, causal=shape.causal)
    settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    model = openvino.Core().compile_model(openvino.Model([attend], parameters), "CPU", settings)
    request = model.create_infer_request()
    return Contender(
        lambda: request.infer(inputs, share_inputs=True), lambda: {"out": request.get_output_tensor().data}
    )


PEERS = {
    "torch": torch_sdpa,
    "torch-bf16": torch_bf16,
    "ort-mha": ort_mha,
    "ort-attention": ort_attention,
    "ort-gqa": ort_gqa,
    "openvino": openvino_sdpa,
}
PACKAGES = {
    "torch": "torch",
    "torch-bf16": "torch",
    "ort-mha": "onnxruntime",
    "ort-attention": "onnxruntime",
    "ort-gqa": "onnxruntime",
    "openvino": "openvino",
}


def version(peer):
    return imported(PACKAGES[peer]).__version__


def force_avx2():
    """To be called before a peer is imported. Returns what cannot be forced: peer -> why."""
    os.environ.update(AVX2_SETTINGS)
    return CANNOT_BE_FORCED
