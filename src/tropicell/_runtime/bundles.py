"""Bundles of arrays that kernels hand to each other by their place in memory.

The state of an engine is some named tuples with hundreds of arrays. Numba hands a tuple over as all
the numbers that it is made of, several for each array: a call has thousands of arguments, and most
of the time that compiling takes goes into taking tuples apart and putting them together. So the
tuples of this package that Python gives to a kernel lie in memory, and kernels give each other one
address; what they read of a tuple are the arrays that they use.

A bundle does not change as long as a kernel runs (the arrays do), and LLVM is told so: what was
read once need not be read again after a store to an array. What fills the bundle is another
function, which is not copied into the kernel.
"""

from __future__ import annotations

import hashlib
from contextlib import ExitStack
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils, imputils
from numba.core.datamodel import models
from numba.core.typing import templates
from numba.core.typing.typeof import Purpose

# Numba has no types.
_types: Any = types
_extending: Any = extending
_cgutils: Any = cgutils
_models: Any = models
_templates: Any = templates
_borrowed: Any = imputils.impl_ret_borrowed
_typeof_tuple: Any = _extending.typeof_impl.dispatch(tuple)

_BYTE = ir.IntType(8)

#: Everything in a bundle begins at a multiple of so many bytes.
_ALIGNED = 8


class Bundle(_types.Type):  # type: ignore[misc]
    """The type of a named tuple that lies in memory.

    Parameters
    ----------
    kind : str
        The tuple's class.
    fields : tuple of str
    members : tuple of numba.types.Type
    """

    def __init__(self, kind: str, fields: tuple[str, ...], members: tuple[Any, ...]) -> None:
        self.fields = fields
        self.members = members
        # Names of types become parts of names of functions: so it is short.
        content = hashlib.sha256(repr((fields, [str(one) for one in members])).encode())
        super().__init__(name=f"{kind}.{content.hexdigest()[:16]}")


def _typeof(value: Any, context: Any) -> Any:
    kind = type(value)
    ours = hasattr(kind, "_fields") and kind.__module__.startswith("tropicell.")
    if not ours or context.purpose is not Purpose.argument:
        return _typeof_tuple(value, context)
    members = tuple(_extending.typeof_impl(one, context) for one in value)
    if None in members:
        return None
    return Bundle(kind.__qualname__, kind._fields, members)


class _Model(_models.PrimitiveModel):  # type: ignore[misc]
    """In kernels a bundle is an address."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _BYTE.as_pointer())


class _Attributes(_templates.AttributeTemplate):  # type: ignore[misc]
    key = Bundle

    def generic_resolve(self, kind: Any, name: str) -> Any:
        return kind.members[kind.fields.index(name)] if name in kind.fields else None


#: Where the members of a bundle begin, in bytes, and its size.
_offsets: dict[Bundle, list[int]] = {}


def _layout(context: Any, kind: Bundle) -> list[int]:
    """How a bundle lies in memory; bundles within it are parts of it."""
    if kind not in _offsets:
        offsets = [0]
        for one in kind.members:
            if isinstance(one, Bundle):
                size = _layout(context, one)[-1]
            else:
                size = context.get_abi_sizeof(context.get_data_type(one))
            offsets.append(offsets[-1] + -(-size // _ALIGNED) * _ALIGNED)
        _offsets[kind] = offsets
    return _offsets[kind]


def _place(context: Any, builder: Any, kind: Bundle, bundle: Any, field: int) -> Any:
    """The address of a member."""
    offset = ir.IntType(64)(_layout(context, kind)[field])
    return builder.gep(bundle, [offset], inbounds=True)


def _get(context: Any, builder: Any, kind: Bundle, bundle: Any, name: str) -> Any:
    field = kind.fields.index(name)
    member = kind.members[field]
    place = _place(context, builder, kind, bundle, field)
    if isinstance(member, Bundle):
        return place
    found = _load(context, builder, member, place, _constant(builder.module))
    return _borrowed(context, builder, member, found)


def _load(context: Any, builder: Any, member: Any, place: Any, metadata: Any = None) -> Any:
    """What lies at a place."""
    model = context.data_model_manager[member]
    address = builder.bitcast(place, model.get_data_type().as_pointer())
    found = builder.load(address, align=_ALIGNED)
    if metadata is not None:
        found.set_metadata("tbaa", metadata)
    if model.get_data_type() != model.get_value_type():
        found = model.from_data(builder, found)
    return found


def _constant(module: Any) -> Any:
    """Metadata of LLVM that say: what is read here is the same as long as the kernel runs."""
    root = module.add_metadata(["tropicell"])
    kind = module.add_metadata(["bundle", root, ir.IntType(64)(0)])
    return module.add_metadata([kind, kind, ir.IntType(64)(0), ir.IntType(64)(1)])


def _unbox(kind: Bundle, value: Any, c: Any) -> Any:
    words = _layout(c.context, kind)[-1] // _ALIGNED
    room = _cgutils.alloca_once(c.builder, ir.ArrayType(ir.IntType(64), max(words, 1)))
    bundle = c.builder.bitcast(room, _BYTE.as_pointer())
    is_error = _cgutils.alloca_once_value(c.builder, _cgutils.false_bit)
    with ExitStack() as stack:
        _fill(kind, value, bundle, is_error, c, stack)
    _may_be_read(c.builder, bundle)
    return _extending.NativeValue(
        bundle, cleanup=lambda: _let_go(kind, bundle, c), is_error=c.builder.load(is_error)
    )


def _let_go(kind: Bundle, bundle: Any, c: Any) -> None:
    """After a call: where references are counted, the bundle has held one to each array."""
    if c.context.enable_nrt:
        for name, member in zip(kind.fields, kind.members, strict=True):
            place = _place(c.context, c.builder, kind, bundle, kind.fields.index(name))
            if isinstance(member, Bundle):
                _let_go(member, place, c)
            else:
                c.context.nrt.decref(c.builder, member, _load(c.context, c.builder, member, place))


def _may_be_read(builder: Any, bundle: Any) -> None:
    """Keep LLVM from concluding that nobody reads this: no instruction, but it might."""
    nothing = ir.FunctionType(ir.VoidType(), [bundle.type])
    builder.asm(nothing, "", "r,~{memory}", [bundle], side_effect=True)


def _fill(
    kind: Bundle,
    value: Any,
    bundle: Any,
    is_error: Any,
    c: Any,
    stack: ExitStack,
) -> None:
    """Write what a Python tuple has to its places."""
    for k, member in enumerate(kind.members):
        item = c.pyapi.tuple_getitem(value, k)
        place = _place(c.context, c.builder, kind, bundle, k)
        if isinstance(member, Bundle):
            _fill(member, item, place, is_error, c, stack)
            continue
        native = c.unbox(member, item)
        with _cgutils.early_exit_if(c.builder, stack, native.is_error):
            c.builder.store(_cgutils.true_bit, is_error)
        model = c.context.data_model_manager[member]
        stored = native.value
        if model.get_data_type() != model.get_value_type():
            stored = model.as_data(c.builder, stored)
        address = c.builder.bitcast(place, model.get_data_type().as_pointer())
        c.builder.store(stored, address, align=_ALIGNED)


_extending.typeof_impl.register(tuple)(_typeof)
_extending.register_model(Bundle)(_Model)
_extending.infer_getattr(_Attributes)
_extending.lower_getattr_generic(Bundle)(_get)
_extending.unbox(Bundle)(_unbox)
