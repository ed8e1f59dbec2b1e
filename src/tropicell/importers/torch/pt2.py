"""Reads ``.pt2`` files without running anything in them.

``torch.export.load`` unpickles parts of the archive with ``weights_only=False`` and evaluates
symbolic expressions, so a file from a stranger could run code. The archive itself is plain: a zip
with the graph as JSON and every tensor as raw bytes described by JSON. That is all that is read;
a tensor stored as a pickle is refused.
"""

from __future__ import annotations

import json
import math
import operator
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from tropicell._runtime.npz import ZIP_ERRORS, refuse_bomb
from tropicell.errors import ModelFileError, ModelImportError, UnsupportedOperatorError, require
from tropicell.importers.expressions import MAX_ENTRIES, MAX_VALUES, Shape, check_shape
from tropicell.importers.operators import UNKNOWN_ADVICE
from tropicell.importers.torch.graph import Call, Graph, Ref, bind, named_outputs

#: torch's numbers for the kinds of scalars in an archive, and their NumPy names.
_DTYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32",
    8: "float64", 12: "bool", 13: "bfloat16",
}  # fmt: skip

#: Largest archive that is read, unpacked, in bytes.
_MAX_ARCHIVE = 2**32

#: Largest JSON part of an archive that is read, in bytes.
_MAX_JSON = 2**28

_ADVICE = "make one with torch.export.save(torch.export.export(module, (example,)), path)"
_TARGET = re.compile(r"torch\.ops\.aten\.(\w+)\.(\w+)")
_ASSERTIONS = re.compile(
    r"torch\.ops\.aten\.(_assert_scalar|_assert_tensor_metadata|sym_constrain_range\w*)\.\w+"
)
_ARITHMETIC = {
    f"_operator.{name}": getattr(operator, name)
    for name in ("add", "sub", "mul", "floordiv", "mod", "ge", "gt", "le", "lt", "eq", "ne")
}


def read_pt2(path: Path) -> Graph:
    """The graph of a ``.pt2`` file, its inputs with a batch of one."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _Archive(archive, path).graph()
    except ZIP_ERRORS as error:
        raise ModelFileError(f"{path}: not a .pt2 archive ({error}); {_ADVICE}") from None
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, (ModelFileError, ModelImportError)):
            raise
        raise ModelFileError(
            f"{path}: the archive is not laid out as torch 2.9 and later do it "
            f"({type(error).__name__}: {error}); {_ADVICE}"
        ) from error


class _UnknownSizeError(UnsupportedOperatorError):
    """A size that a file does not say; only an operator that takes it is refused."""


class _Archive:
    """One open archive."""

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self.torch = require("torch", extra="torch", why="reading a .pt2 file")
        self.archive, self.path = archive, path
        names = archive.namelist()
        if sum(info.file_size for info in archive.infolist()) > _MAX_ARCHIVE:
            raise ModelFileError(f"{path}: unpacks to more than {_MAX_ARCHIVE} bytes")
        refuse_bomb(archive, path)
        models = [n for n in names if re.fullmatch(r"[^/]+/models/[^/]+\.json", n)]
        if len(models) != 1:
            raise ModelFileError(
                f"{path}: expected one model of an exported program in the archive, found "
                f"{len(models)}; {_ADVICE} (torch 2.9 or later)"
            )
        self.root, _, self.model = models[0].split("/")
        self.model = self.model.removesuffix(".json")
        self.symbols: dict[str, Any] = {}
        self.unknown: dict[str, _UnknownSizeError] = {}
        self.shapes: dict[str, Shape] = {}

    def graph(self) -> Graph:
        module = self.read_json(f"models/{self.model}.json")["graph_module"]
        body, signature = module["graph"], module["signature"]
        weights = self.read_tensors("weights")
        constants = self.read_tensors("constants")
        stored: dict[str, Any] = {}
        inputs: list[str] = []
        for spec in signature["input_specs"]:
            ((kind, content),) = spec.items()
            if kind == "user_input":
                if "as_tensor" not in content["arg"]:
                    raise ModelImportError("the model has an input that is not a tensor")
                inputs.append(content["arg"]["as_tensor"]["name"])
            elif kind in ("parameter", "buffer", "tensor_constant"):
                key = content[f"{kind}_name"]
                stored[content["arg"]["name"]] = weights[key] if key in weights else constants[key]
            else:
                raise ModelFileError(f"{self.path}: the model takes an input of kind {kind!r}")
        outputs = [s["user_output"]["arg"] for s in signature["output_specs"] if "user_output" in s]
        sizes = body["tensor_values"]
        self.shapes = {name: self.input_shape(sizes[name]["sizes"]) for name in inputs}
        graph = Graph(stored, self.shapes)
        graph.outputs = named_outputs([o.get("as_tensor", {}).get("name") for o in outputs])
        for node in body["nodes"]:
            self.add(graph, node)
        return graph

    def input_shape(self, sizes: list[dict[str, Any]]) -> Shape:
        shape = [size.get("as_int") for size in sizes]
        if None in shape[1:]:
            raise ModelImportError(
                "the input has an axis of unknown length after the first; export "
                "the module with fixed shapes"
            )
        return check_shape([1 if n is None else n for n in shape])

    def add(self, graph: Graph, node: dict[str, Any]) -> None:
        """Append one node's call to the graph; arithmetic on sizes is done at once."""
        target = node["target"]
        names = [name for output in node["outputs"] for name in _output_names(output)]
        where = f"node {node.get('name') or '/'.join(names)!r}"
        if _ASSERTIONS.fullmatch(target):
            return
        try:
            arguments = {item["name"]: self.argument(item["arg"]) for item in node["inputs"]}
        except _UnknownSizeError as error:
            if target not in _ARITHMETIC:
                raise
            self.unknown[names[0]] = error
            return
        if target in _ARITHMETIC:
            self.symbols[names[0]] = _ARITHMETIC[target](*arguments.values())
            return
        found = _TARGET.fullmatch(target)
        if found is None:
            raise UnsupportedOperatorError(target, where, UNKNOWN_ADVICE)
        name, overload = found.groups()
        if name == "sym_size":
            shape = self.shapes.get(getattr(arguments["self"], "name", ""))
            if shape is None:  # an error where it is used
                self.unknown[names[0]] = _UnknownSizeError(
                    target, where, "export the module with fixed shapes (no dynamic batch)"
                )
                return
            self.symbols[names[0]] = shape[arguments["dim"]]
            return
        packet = getattr(self.torch.ops.aten, name, None)
        function = getattr(packet, overload, None)
        if function is None:
            raise UnsupportedOperatorError(target, where, "this version of torch does not know it")
        graph.calls.append(Call(function, bind(function, (), arguments), tuple(names), where))

    def argument(self, content: dict[str, Any]) -> Any:
        """One argument of a node."""
        ((kind, value),) = ((k, v) for k, v in content.items() if v is not None)
        if kind == "as_tensor":
            return Ref(value["name"])
        if kind == "as_tensors":
            return [Ref(item["name"]) for item in value]
        if kind == "as_optional_tensors":
            return [Ref(v["as_tensor"]["name"]) if "as_tensor" in v else None for v in value]
        if kind == "as_none":
            return None
        if kind == "as_float":
            return float(value)  # infinity is written as a string
        if kind in ("as_int", "as_ints", "as_floats", "as_bool", "as_bools",
                    "as_string", "as_strings"):  # fmt: skip
            return value
        if kind == "as_scalar_type":
            return getattr(self.torch, _DTYPES[value])
        if kind in ("as_sym_int", "as_sym_bool"):
            return self.symbol(value)
        if kind == "as_sym_ints":
            return [self.symbol(item) for item in value]
        if kind in ("as_memory_format", "as_layout", "as_device"):
            return None  # how a tensor is stored does not change its numbers
        raise ModelFileError(f"{self.path}: an argument of kind {kind!r} is not supported")

    def symbol(self, value: dict[str, Any]) -> Any:
        if value.get("as_name") in self.unknown:
            raise self.unknown[value["as_name"]]
        if "as_name" in value:
            return self.symbols[value["as_name"]]
        return value["as_int"] if "as_int" in value else value["as_bool"]

    def read_json(self, name: str) -> dict[str, Any]:
        info = self.archive.getinfo(f"{self.root}/{name}")
        if info.file_size > _MAX_JSON:
            raise ModelFileError(f"{self.path}: {name} is larger than {_MAX_JSON} bytes")
        content = json.loads(self.archive.read(info))
        if not isinstance(content, dict):
            raise ModelFileError(f"{self.path}: {name} is not a JSON object")
        return content

    def read_tensors(self, folder: str) -> dict[str, Any]:
        config = self.read_json(f"data/{folder}/{self.model}_{folder}_config.json")["config"]
        return {key: self.read_tensor(folder, key, entry) for key, entry in config.items()}

    def read_tensor(self, folder: str, key: str, entry: dict[str, Any]) -> Any:
        if entry["use_pickle"]:
            raise ModelFileError(
                f"{self.path}: {key!r} is stored as a pickle, which could run code; export a "
                "module whose parameters are plain tensors"
            )
        meta = entry["tensor_meta"]
        sizes = [size["as_int"] for size in meta["sizes"]]
        strides = [stride["as_int"] for stride in meta["strides"]]
        offset = meta["storage_offset"]["as_int"]
        name = _DTYPES[meta["dtype"]]
        info = self.archive.getinfo(f"{self.root}/data/{folder}/{entry['path_name']}")
        if info.file_size > 8 * MAX_ENTRIES or math.prod(sizes) > MAX_ENTRIES:
            raise ModelFileError(f"{self.path}: {key!r} has more than {MAX_ENTRIES} entries")
        stored = np.dtype("uint16" if name == "bfloat16" else name).newbyteorder("<")
        flat = np.frombuffer(self.archive.read(info), dtype=stored)
        if name == "bfloat16":
            flat = (flat.astype(np.uint32) << 16).view(np.float32)
        last = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
        if math.prod(sizes) and not (offset >= 0 and min([*strides, 0]) >= 0 and last < flat.size):
            raise ModelFileError(f"{self.path}: {key!r} claims more numbers than the file holds")
        if math.prod(sizes) > max(flat.size, MAX_VALUES):
            raise ModelFileError(f"{self.path}: {key!r} repeats few numbers many times")
        at = np.full((), offset, dtype=np.intp)
        for n, stride in zip(sizes, strides, strict=True):
            at = at[..., None] + np.arange(n) * stride
        values = flat[at] if flat.size else np.zeros(sizes, flat.dtype)
        return self.torch.from_numpy(np.array(values, dtype=values.dtype.newbyteorder("=")))


def _output_names(output: dict[str, Any]) -> list[str]:
    ((kind, value),) = output.items()
    if kind == "as_tensors":
        return [item["name"] for item in value]
    if kind in ("as_sym_int", "as_sym_bool"):
        return [value["as_name"]]
    return [value["name"]] if isinstance(value, dict) and "name" in value else []
