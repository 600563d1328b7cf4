"""Reads what torch.save wrote, without torch and without running anything that a file asks for.

A pickle is a program: it names functions and has them called. Here it gets the few that a file of tensors needs, all of them ours; any
other name is refused and named. Both layouts are read: a zip with data.pkl and a file for each storage, and the older one, four pickles and
the storages one after the other. Sizes are compared with the file before anything is made of them.
"""

import collections
import io
import pickle
import pickletools
import struct
import zipfile

import numpy

from layout import DTYPES, ImportFailure, Tensor

STORAGES = {"DoubleStorage": "F64", "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16", "LongStorage": "I64",
            "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8", "ByteStorage": "U8", "BoolStorage": "BOOL"}
LEGACY_MAGIC, LEGACY_PROTOCOL = 0x1950A86A20F9469CFC6C, 1001
MAX_PICKLE = 64 << 20  # bytes of the program: names and shapes, no numbers
MAX_TENSORS, MAX_DEPTH, MAX_AXES = 100_000, 4, 8
MAX_TUPLE = 10_000  # values in a tuple and in the tuples within it, each as often as it stands there
MARK = 0  # on the stack of scan(), where sizes are above 0
FILLING = ("APPEND", "APPENDS", "SETITEM", "SETITEMS", "BUILD")  # leave what they fill on the stack
NEEDLESS = {"BYTEARRAY8": "a bytearray", "FROZENSET": "a set", "EMPTY_SET": "a set", "ADDITEMS": "a set"}
MAX_GROWTH = 4  # bytes of tensors for a byte of the file: tied weights stand there twice

# What a pickle hands around; tuples, so that it cannot change them.
StorageType = collections.namedtuple("StorageType", "dtype")
Storage = collections.namedtuple("Storage", "dtype key count")
View = collections.namedtuple("View", "storage offset shape strides")


class Refused(Exception):
    """Why a file is not read."""


def is_count(value):
    return type(value) is int and 0 <= value < 1 << 62


def rebuild_tensor(storage, offset, shape, strides, *_):
    """Stands for torch._utils._rebuild_tensor_v2; what follows is about gradients."""
    shape, strides = tuple(shape), tuple(strides)
    if type(storage) is not Storage or len(shape) != len(strides) or len(shape) > MAX_AXES:
        raise Refused("a tensor that is not made of a storage, a shape and strides")
    if not all(map(is_count, (offset, *shape, *strides))):
        raise Refused("a tensor whose offset, shape or strides are no whole numbers")
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides))
    elements = 1
    for size in shape:
        elements *= size
    if elements and (last >= storage.count or elements > storage.count):
        raise Refused(f"a tensor of shape {list(shape)} that reaches beyond its storage of {storage.count} elements")
    return View(storage, offset, shape, strides)


def rebuild_parameter(view, *_):
    if type(view) is not View:
        raise Refused("a parameter that is no tensor")
    return view


ALLOWED = {("collections", "OrderedDict"): collections.OrderedDict, ("torch", "Size"): tuple,
           ("torch._utils", "_rebuild_tensor_v2"): rebuild_tensor, ("torch._utils", "_rebuild_parameter"): rebuild_parameter}
ALLOWED |= {("torch", name): StorageType(dtype) for name, dtype in STORAGES.items()}


class Reader(pickle.Unpickler):
    """Runs a pickle that can name nothing but ALLOWED. `storages` gets those that it mentions, by key."""

    def __init__(self, file, storages):
        super().__init__(file, encoding="utf-8")
        self.storages = storages

    def find_class(self, module, name):
        if (module, name) not in ALLOWED:
            raise Refused(f"its pickle asks for {module}.{name}, which a file of weights does not need")
        return ALLOWED[module, name]

    def persistent_load(self, saved):
        if type(saved) is not tuple or len(saved) not in (5, 6) or saved[0] != "storage":
            raise Refused("its pickle mentions something that is no storage")
        kind, key, count = saved[1], saved[2], saved[4]
        if type(kind) is not StorageType or type(key) is not str or not is_count(count):
            raise Refused("its pickle mentions a storage without type, name or size")
        if len(saved) == 6 and saved[5] is not None:
            raise Refused("its storages are views of others, as only very old programs wrote them")
        storage = self.storages.setdefault(key, Storage(kind.dtype, key, count))
        if storage != (kind.dtype, key, count):
            raise Refused(f"its storage {key} has two types or sizes")
        return storage


def tuple_size(opcode, parts):
    """Steps that hashing what `opcode` makes of `parts` may take. Tuples do not keep their hash, so that one which names
    another twice, and so on, takes twice as long at every level; whatever else holds values cannot be hashed."""
    if opcode.name in ("TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "REDUCE", "BINPERSID"):
        return 1 + sum(parts)
    return 1


def scan(file):
    """Refuses a pickle that takes more memory or time than its length tells: Python's reader sets memory aside for
    bytes that need not follow (a bytearray) and for all numbers up to that of a remembered value, and cannot be
    interrupted while it hashes."""
    begin = file.tell()
    stack, remembered = [], {}
    for opcode, argument, _ in pickletools.genops(file):
        if opcode.name in NEEDLESS:
            raise Refused(f"its pickle holds {NEEDLESS[opcode.name]}, which a file of weights does not need")
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT"):
            if argument > file.tell():
                raise Refused(f"its pickle remembers a value under the number {argument}")
            remembered[argument] = stack[-1]
        elif opcode.name == "MEMOIZE":
            remembered[len(remembered)] = stack[-1]
        elif opcode.name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(remembered[argument])
        elif opcode.name == "DUP":
            stack.append(stack[-1])
        elif opcode.name != "POP":
            parts = popped(stack, opcode.stack_before)
            made = parts[0] if opcode.name in FILLING else tuple_size(opcode, parts)
            if made > MAX_TUPLE:
                raise Refused(f"its pickle nests tuples of more than {MAX_TUPLE} values")
            stack += [MARK if after is pickletools.markobject else made for after in opcode.stack_after]
        else:
            stack.pop()
    file.seek(begin)


def popped(stack, before):
    """What an opcode takes off the stack: so many values, or all down to the last mark and what stands below it."""
    if pickletools.markobject not in before:
        return [stack.pop() for _ in before][::-1]
    parts = []
    while stack[-1] != MARK:
        parts.append(stack.pop())
    stack.pop()
    below = before.index(pickletools.markobject)
    return [stack.pop() for _ in range(below)][::-1] + parts[::-1]


def run(file, storages):
    """The value of the pickle that begins where `file` stands; of a file in memory, so that no length is believed."""
    try:
        scan(file)
        return Reader(file, storages).load()
    except Refused:
        raise
    except RecursionError:
        raise Refused("its pickle is nested too deep") from None
    except MemoryError:
        raise Refused("its pickle asks for more memory than there is") from None
    except Exception as error:  # a broken pickle may raise nearly all of them
        raise Refused(f"its pickle is damaged: {error or type(error).__name__}") from None


class ZipStorages:
    """The storages of the zip layout."""

    def __init__(self, path):
        self.archive = zipfile.ZipFile(path)
        names = self.archive.namelist()
        if len(set(names)) != len(names):
            raise Refused("its zip holds a name twice")
        pickles = [name for name in names if name.endswith("/data.pkl") and name.count("/") == 1]
        if len(pickles) != 1:
            raise Refused("a zip without data.pkl: not written by torch.save")
        self.root = pickles[0].removesuffix("data.pkl")
        if self.root + "byteorder" in names and self.entry("byteorder", 16) != b"little":
            raise Refused("written on a big-endian machine")
        self.storages = {}
        self.value = run(io.BytesIO(self.entry("data.pkl", MAX_PICKLE)), self.storages)

    def entry(self, name, largest):
        """The bytes of a file of the zip. torch does not compress them, so that what is read is never more than the file."""
        try:
            info = self.archive.getinfo(self.root + name)
        except KeyError:
            raise Refused(f"its {name} is missing") from None
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise Refused(f"its {name} is compressed, which torch.save never does")
        if info.file_size > largest:
            raise Refused(f"its {name} has {info.file_size} bytes, more than the {largest} that it may have")
        return self.archive.read(info)

    def read(self, storage):
        size = storage.count * numpy.dtype(DTYPES[storage.dtype]).itemsize
        data = self.entry(f"data/{storage.key}", size)
        if len(data) != size:
            raise Refused(f"its data/{storage.key} has {len(data)} bytes, not {size}")
        return numpy.frombuffer(data, DTYPES[storage.dtype])

    def check(self):
        for storage in self.storages.values():
            size = storage.count * numpy.dtype(DTYPES[storage.dtype]).itemsize
            names = self.archive.NameToInfo
            info = names.get(f"{self.root}data/{storage.key}")
            if info is None or info.file_size != size:
                raise Refused(f"its data/{storage.key} is missing or has not the {size} bytes that its pickle says")


class LegacyStorages:
    """The storages of the older layout."""

    def __init__(self, path):
        self.path, none = path, {}
        with open(path, "rb") as file:
            head = io.BytesIO(file.read(MAX_PICKLE))
        if run(head, none) != LEGACY_MAGIC or run(head, none) != LEGACY_PROTOCOL:
            raise Refused("not written by torch.save")
        machine = run(head, none)
        if type(machine) is not dict or machine.get("little_endian") is not True:
            raise Refused("written on a big-endian machine")
        self.storages, self.places = {}, {}
        self.value = run(head, self.storages)
        keys = run(head, none)
        with open(path, "rb") as file:
            self.find(keys, file, head.tell())

    def find(self, keys, file, at):
        """Where each storage lies, from `at` on: an int64 of its size, then its elements, in the order of `keys`."""
        named = type(keys) is list and all(type(key) is str for key in keys)
        if not named or set(keys) != set(self.storages) or len(keys) != len(self.storages):
            raise Refused("its list of storages is not that of its pickle")
        end = file.seek(0, io.SEEK_END)
        for key in keys:
            storage = self.storages[key]
            size = storage.count * numpy.dtype(DTYPES[storage.dtype]).itemsize
            file.seek(at)
            count = file.read(8)
            if len(count) != 8 or struct.unpack("<q", count)[0] != storage.count or size > end - at - 8:
                raise Refused(f"its storage {key} has not the {storage.count} elements that its pickle says: cut short?")
            self.places[key] = at + 8
            at += 8 + size

    def read(self, storage):
        return numpy.fromfile(self.path, DTYPES[storage.dtype], storage.count, offset=self.places[storage.key])

    def check(self):
        pass  # find() did


def named_views(value, prefix="", depth=0, found=None):
    """Tensors by dotted name, and names of what else there is. Bounded: a pickle can mention one dictionary many times."""
    found = ({}, []) if found is None else found
    views, others = found
    for key, item in dict.items(value):  # the pickle may have given the object an `items` of its own
        name = prefix + (str(key)[:1000] if type(key) is str or is_count(key) else type(key).__name__)
        if len(views) + len(others) > MAX_TENSORS:
            raise Refused(f"more than {MAX_TENSORS} values")
        if type(item) is View:
            if views.setdefault(name, item) is not item:
                raise Refused(f"two tensors of the name {name}")
        elif isinstance(item, dict) and depth < MAX_DEPTH:
            others.append(name + ".")
            named_views(item, name + ".", depth + 1, found)
        else:
            others.append(name)
    return found


def state_of(value):
    """The dictionary of the weights: the file's own, or that under the usual names of training programs."""
    if not isinstance(value, dict):
        raise Refused("no dictionary of tensors")
    for name in ("state_dict", "model_state_dict", "model"):
        if isinstance(dict.get(value, name), dict):
            value = dict.get(value, name)
    views, _ = named_views(value)
    if not views:
        raise Refused("no tensor is in it")
    for prefix in ("_orig_mod.", "module."):  # of torch.compile and DataParallel
        if all(name.startswith(prefix) for name in views):
            views = {name.removeprefix(prefix): view for name, view in views.items()}
    return views


def read_tensors(path):
    """The tensors of a file by name, read when they are written. Throws ImportFailure."""
    try:
        with open(path, "rb") as file:
            begin = file.read(4)
            length = file.seek(0, io.SEEK_END)
        source = ZipStorages(path) if begin == b"PK\x03\x04" else LegacyStorages(path)
        source.check()
        views = state_of(source.value)
        tensors = {name: Tensor(view.storage.dtype, view.shape, reader(source, view, path)) for name, view in views.items()}
        total = sum(tensor.size for tensor in tensors.values())
        if total > MAX_GROWTH * length:
            raise Refused(f"its tensors take {total} bytes, for which a file of {length} is too short")
        return tensors
    except (Refused, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise ImportFailure(f"{path}: {error}") from None


def reader(source, view, path):
    def read():
        try:
            data = source.read(view.storage)
        except (Refused, zipfile.BadZipFile) as error:
            raise ImportFailure(f"{path}: {error}") from None
        step = data.itemsize
        strides = [stride * step for stride in view.strides]
        if not all(view.shape):
            return numpy.empty(view.shape, data.dtype)
        return numpy.lib.stride_tricks.as_strided(data[view.offset :], view.shape, strides, writeable=False)

    return read
