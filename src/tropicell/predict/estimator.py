"""scikit-learn's conventions, without scikit-learn."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any, Self

from tropicell.errors import InvalidInputError, require


class Estimator(ABC):
    """What scikit-learn expects of an estimator, for one whose network was trained before.

    A subclass keeps its constructor's arguments as attributes of the same names, and has a method
    `_start_again` that checks them and forgets everything.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's arguments.

        Examples
        --------
        >>> from tropicell import CachedPredictor, Network
        >>> CachedPredictor(Network.mlp([[[1.0]]]), max_bytes=1000).get_params()
        {'network': Network(1 → 1), 'max_bytes': 1000, 'policy': 'lru'}
        """
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> Self:
        """Change some of the constructor's arguments, and forget everything.

        Examples
        --------
        >>> from tropicell import CachedPredictor, Network
        >>> CachedPredictor(Network.mlp([[[1.0]]])).set_params(policy="fifo").policy
        'fifo'
        """
        before = self.get_params()
        for name in params:
            if name not in before:
                raise InvalidInputError(
                    f"no parameter is called {name!r}; there are {', '.join(before)}"
                )
        try:
            vars(self).update(params)
            self._start_again()
        except InvalidInputError:
            vars(self).update(before)
            raise
        return self

    @abstractmethod
    def _start_again(self) -> None:
        """Check the parameters and forget everything."""

    def __sklearn_clone__(self) -> Self:
        return type(self)(**self.get_params())

    def __sklearn_is_fitted__(self) -> bool:
        return True  # the network was trained before

    def __sklearn_tags__(self) -> Any:
        utils: Any = require("sklearn.utils", extra="sklearn", why="scikit-learn's tags")
        return utils.Tags(
            estimator_type="regressor",
            target_tags=utils.TargetTags(required=False, multi_output=True),
            regressor_tags=utils.RegressorTags(),
            requires_fit=False,
        )
