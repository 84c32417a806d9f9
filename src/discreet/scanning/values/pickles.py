"""Read a pickle by its opcodes: what it holds, what it would call, and the same pickle with other texts. It is never run.

`pickletools` names each opcode and its argument. What the opcodes build is followed on a stack of our own, where a class is
its name and an object is what it would be made of.
"""

from __future__ import annotations

import pickletools
import struct
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from discreet.errors import ScanError
from discreet.scanning.values.foreign import Foreign

MAX_OPCODES: Final = 20_000_000
"""Of one pickle. Reading one takes about a microsecond."""

_PROTOCOLS: Final = range(2, 6)
_MARK: Final = object()
_TEXTS: Final = frozenset(
    {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"}
)
_BYTES: Final = frozenset({"BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"})
_NUMBERS: Final = frozenset({"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"})
_CONSTANTS: Final[Mapping[str, Any]] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY: Final[Mapping[str, Callable[[], Any]]] = {
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": list,
    "EMPTY_DICT": dict,
    "EMPTY_SET": list,
}
_TUPLES: Final[Mapping[str, int]] = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}

DANGEROUS: Final = frozenset({"eval", "exec", "compile", "__import__", "getattr", "open", "breakpoint", "input"})
"""Of `builtins`."""
DANGEROUS_MODULES: Final = frozenset(
    {
        "os",
        "posix",
        "nt",
        "subprocess",
        "sys",
        "shutil",
        "socket",
        "importlib",
        "runpy",
        "pty",
        "ctypes",
        "code",
        "pickle",
    }
)


class Literal(str):
    """A text of a pickle that knows which opcode it comes from."""

    __slots__ = ("at",)
    at: int


class LiteralBytes(bytes):
    """Bytes of a pickle, as `Literal`."""

    at: int
    in_text: bool = False
    """Whether they are written as a text of Latin-1, as protocol 2 does."""


class LiteralNumber(int):
    """A number of a pickle, as `Literal`."""

    at: int


@dataclass(slots=True)
class Pickled:
    """What a pickle holds."""

    value: Any
    imports: set[str] = field(default_factory=set)
    """What it would import: modules with a name in each."""
    data: bytes = b""
    names: set[int] = field(default_factory=set)
    """Opcodes whose texts name a module, a class or an attribute."""

    @property
    def would_run(self) -> bool:
        """Whether loading it would call something that runs commands or code."""
        for name in self.imports:
            module, _, attribute = name.rpartition(".")
            if module.split(".")[0] in DANGEROUS_MODULES or (
                module in ("builtins", "__builtin__") and attribute in DANGEROUS
            ):
                return True
        return False


def is_pickle(data: bytes) -> bool:
    """Return whether bytes begin as a pickle of protocol 2 or later does, and end as one."""
    return data[:1] == b"\x80" and len(data) > 2 and data[1] in _PROTOCOLS and data.endswith(b".")


def read_pickle(data: bytes) -> Pickled:
    """Return what is in a pickle.

    Raises:
        ScanError: It is no whole pickle, or would not load either.
    """
    try:
        return _Machine(data).run()
    except ScanError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, struct.error, RecursionError):
        # what `pickletools` and a stack say of bytes that are no pickle
        raise ScanError("no whole pickle") from None


class _Machine:
    """Follows what a pickle builds."""

    def __init__(self, data: bytes) -> None:
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._pickled = Pickled(None, data=data)

    def run(self) -> Pickled:
        for count, (opcode, arg, at) in enumerate(pickletools.genops(self._pickled.data)):
            if count > MAX_OPCODES:
                raise ScanError("a pickle of too many parts")
            self._step(opcode.name, arg, at or 0)
        if (at or 0) + 1 < len(self._pickled.data):  # no reader sees what stands behind it
            raise ScanError("no whole pickle")
        self._pickled.value = self._stack.pop()
        return self._pickled

    def _step(self, name: str, arg: Any, at: int) -> None:  # noqa: C901, PLR0912  # one branch a group of opcodes reads best in one place
        stack = self._stack
        if name in _TEXTS:
            stack.append(_located(Literal(arg), at))
        elif name in _BYTES:
            stack.append(_located(LiteralBytes(arg), at))
        elif name in _NUMBERS:
            stack.append(arg if isinstance(arg, (bool, float)) else _located(LiteralNumber(arg), at))
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name in _TUPLES:
            stack[-_TUPLES[name] :] = [stack[-_TUPLES[name] :]]
        elif name == "MARK":
            stack.append(_MARK)
        elif name in ("LIST", "TUPLE", "FROZENSET"):
            stack.append(self._marked())
        elif name == "DICT":
            stack.append(_pairs(self._marked()))
        elif name in ("APPEND", "SETITEM", "APPENDS", "SETITEMS", "ADDITEMS"):
            self._fill(name)
        elif name in ("POP", "POP_MARK"):
            stack.pop() if name == "POP" else self._marked()
        elif name == "DUP":
            stack.append(stack[-1])
        elif name in ("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"):
            self._memo[len(self._memo) if name == "MEMOIZE" else int(arg)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(self._memo[int(arg)])
        elif name in ("GLOBAL", "STACK_GLOBAL", "INST", "OBJ"):
            self._name(name, arg)
        elif name in ("REDUCE", "NEWOBJ", "NEWOBJ_EX", "BUILD"):
            self._make(name)
        elif name in ("PERSID", "BINPERSID", "EXT1", "EXT2", "EXT4", "NEXT_BUFFER"):
            stack.append(Foreign(f"pickle.{name.lower()}", stack.pop() if name == "BINPERSID" else None))

    def _marked(self) -> list[Any]:
        """Take what lies above the last mark."""
        at = len(self._stack) - 1
        while self._stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise ScanError("no whole pickle")
        items = self._stack[at + 1 :]
        del self._stack[at:]
        return items

    def _fill(self, name: str) -> None:
        """Put items into the list, dict or object below them."""
        if name in ("APPEND", "SETITEM"):
            count = 1 if name == "APPEND" else 2
            items = self._stack[-count:]
            del self._stack[-count:]
        else:
            items = self._marked()
        target = self._stack[-1]
        if name.startswith("SETITEM"):
            target = target if isinstance(target, dict) else _parts(target)
            more = _pairs(items)
            target.update(more) if isinstance(target, dict) else target.append(more)
        else:
            (target if isinstance(target, list) else _parts(target)).extend(items)

    def _name(self, name: str, arg: Any) -> None:
        """Push a class or function: its name."""
        made: list[Any] | None = None
        if name == "STACK_GLOBAL":
            attribute, module = self._stack.pop(), self._stack.pop()
            self._pickled.names |= {each.at for each in (attribute, module) if isinstance(each, Literal)}
        elif name == "OBJ":
            made = self._marked()
            named = made.pop(0)
            module, _, attribute = named.name.rpartition(".")
        else:
            made = self._marked() if name == "INST" else None
            module, _, attribute = str(arg).partition(" ")
        self._pickled.imports.add(f"{module}.{attribute}")
        self._stack.append(Foreign(f"{module}.{attribute}", [] if made is None else [made]))

    def _make(self, name: str) -> None:
        """Make an object of what lies on the stack: of its class, what it is called with, and its state."""
        parts = [self._stack.pop() for _ in range(2 if name == "NEWOBJ_EX" else 1)]
        below = self._stack.pop()
        if name == "BUILD":
            _parts(below).extend(parts)
            self._stack.append(below)
            return
        if not isinstance(below, Foreign):
            raise ScanError("no whole pickle")
        self._stack.append(_bytes_of(below, parts[0]) or Foreign(below.name, [*below.arg, *parts[::-1]]))


def _bytes_of(called: Foreign, args: Any) -> LiteralBytes | None:
    """Return what protocol 2 writes bytes as: a call that encodes a text."""
    if called.name != "_codecs.encode" or not isinstance(args, list) or not isinstance(args[0], Literal):
        return None
    try:
        made = LiteralBytes(args[0].encode("latin-1"))
    except UnicodeEncodeError:
        return None
    made.at, made.in_text = args[0].at, True
    return made


def _parts(value: Any) -> list[Any]:
    """Return the list of what an object is made of, to be added to."""
    if isinstance(value, Foreign) and isinstance(value.arg, list):
        return value.arg
    return value if isinstance(value, list) else []


def _pairs(items: list[Any]) -> dict[Any, Any]:
    """Return a dict of keys and values in turn. A key that can't be one here keeps what it is made of, as text would."""
    made: dict[Any, Any] = {}
    for key, value in zip(items[::2], items[1::2], strict=True):
        try:
            made[key] = value
        except TypeError:  # a tuple, or an object
            made["", len(made)] = [key, value]
    return made


def _located(value: Any, at: int) -> Any:
    value.at = at
    return value


def rewrite_pickle(
    pickled: Pickled, texts: Mapping[int, str], contents: Mapping[int, bytes], numbers: Collection[int] = ()
) -> bytes:
    """Return the pickle with other texts and bytes at some opcodes, known by their places, and 0 for some `numbers`.

    Frames, which hold sizes, go.
    """
    data, written = pickled.data, bytearray()
    ops = list(pickletools.genops(data))
    for n, (opcode, _, at) in enumerate(ops):
        begin = at or 0
        end = (ops[n + 1][2] or 0) if n + 1 < len(ops) else len(data)
        if opcode.name == "FRAME":
            continue
        if begin in texts and begin not in pickled.names:
            encoded = texts[begin].encode("utf-8", "surrogatepass")
            written += b"X" + struct.pack("<I", len(encoded)) + encoded
        elif begin in contents:
            written += b"B" + struct.pack("<I", len(contents[begin])) + contents[begin]
        else:
            written += b"K\0" if begin in numbers else data[begin:end]
    return bytes(written)
