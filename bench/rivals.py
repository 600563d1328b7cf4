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
CANNOT_BE_FORCED = {"ort-mha": "has no switch for its instruction set", "ort-attention": "has no switch for its instruction set"}


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
        return lambda: torch.cat([attend(*piece, is_causal=shape.causal, enable_gqa=grouped) for piece in pieces], dim=2)
    return lambda: attend(*tensors, is_causal=shape.causal, enable_gqa=grouped)


class Last:
    """Runs a function and keeps what it gave."""

    def __init__(self, function):
        self.function, self.result = function, None

    def __call__(self):
        self.result = self.function()


def torch_sdpa(problem, threads):
    torch = imported("torch")
    run = Last(torch_forward(problem, threads, [torch.from_numpy(array) for array in (problem.q, problem.k, problem.v)]))
    return Contender(run, lambda: {"out": run.result.numpy()})


def torch_bf16(problem, threads):
    torch = imported("torch")
    tensors = [torch.from_numpy(packing.to_bf16(array)).view(torch.bfloat16) for array in (problem.q, problem.k, problem.v)]
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


def only_plain(shape, name):
    if shape.window or shape.lengths:
        raise Unsupported(f"{name} has no windows and no packed sequences")


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
    return Last(lambda: session.run(None, inputs)[0])


def ort_mha(problem, threads):
    """The contrib operator MultiHeadAttention; its tensors are [B, n, heads * width]."""
    shape = problem.shape
    only_plain(shape, "MultiHeadAttention")
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
    run = onnx_session(node, inputs, [("", 17), ("com.microsoft", 1)], threads)
    split = (shape.batch, shape.queries, shape.query_heads, shape.value_width)
    return Contender(run, lambda: {"out": run.result.reshape(split).transpose(0, 2, 1, 3)})


def ort_attention(problem, threads):
    """The standard operator Attention of opset 23."""
    only_plain(problem.shape, "Attention")
    node = {
        "op_type": "Attention",
        "inputs": ["q", "k", "v"],
        "outputs": ["out"],
        "is_causal": int(problem.shape.causal),
    }
    inputs = {"q": problem.q, "k": problem.k, "v": problem.v}
    run = onnx_session(node, inputs, [("", 23)], threads)
    return Contender(run, lambda: {"out": run.result})


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
    request = openvino.Core().compile_model(openvino.Model([attend], parameters), "CPU", settings).create_infer_request()
    return Contender(
        lambda: request.infer(inputs, share_inputs=True), lambda: {"out": request.get_output_tensor().data}
    )


PEERS = {
    "torch": torch_sdpa,
    "torch-bf16": torch_bf16,
    "ort-mha": ort_mha,
    "ort-attention": ort_attention,
    "openvino": openvino_sdpa,
}
PACKAGES = {
    "torch": "torch",
    "torch-bf16": "torch",
    "ort-mha": "onnxruntime",
    "ort-attention": "onnxruntime",
    "openvino": "openvino",
}


def version(peer):
    return imported(PACKAGES[peer]).__version__


def force_avx2():
    """To be called before a peer is imported. Returns what cannot be forced: peer -> why."""
    os.environ.update(AVX2_SETTINGS)
    return CANNOT_BE_FORCED
