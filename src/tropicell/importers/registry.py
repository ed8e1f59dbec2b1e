"""Ties the handlers of a front end to the table of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from tropicell.importers.operators import FrontEnd, spellings

Handler = TypeVar("Handler", bound=Callable[..., object])


class Registry(Generic[Handler]):
    """The handlers of one front end, by spelling; each must have a row in the table.

    Examples
    --------
    >>> Registry("onnx").handles("NoSuchOperator")
    Traceback (most recent call last):
    ...
    LookupError: 'NoSuchOperator' has no row in the table of operators
    """

    def __init__(self, front_end: FrontEnd) -> None:
        self.front_end = front_end
        self.handlers: dict[str, Handler] = {}

    def handles(self, *names: str) -> Callable[[Handler], Handler]:
        """Register a function for one or more spellings."""
        for name in names:
            if name not in spellings(self.front_end):
                raise LookupError(f"{name!r} has no row in the table of operators")

        def register(function: Handler) -> Handler:
            for name in names:
                if name in self.handlers:
                    raise LookupError(f"{name!r} has two handlers")
                self.handlers[name] = function
            return function

        return register

    def missing(self) -> set[str]:
        """Spellings of the table that have no handler."""
        return set(spellings(self.front_end)) - set(self.handlers)
