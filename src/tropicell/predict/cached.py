"""`CachedPredictor`: the paper's Algorithm 3, prediction with a cache of linear regions.

A network is one affine map on every region. The predictor finds the region of a point, looks its
map up (or works it out and keeps it), and applies it. Finding the region takes a pass through the
network's layers, so by itself the cache makes nothing faster: it says in which regions data lie and
what the network is there. To predict without running the network, find regions in another way.
"""

from __future__ import annotations

import inspect
import json
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tropicell._runtime.arrays import FloatArray
from tropicell._runtime.npz import read_npz, write_npz
from tropicell._runtime.paths import in_file, path_of
from tropicell.errors import InvalidInputError, ModelFileError, require
from tropicell.network.network import Network
from tropicell.regions.columns import PackedPatterns

if TYPE_CHECKING:
    from tropicell.predict.cache import RegionMaps
    from tropicell.predict.cached_module import CachedModule

# --- scikit-learn's conventions, without scikit-learn ---------------------------------------------


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


# --- caches of predictors in files: patterns and maps, and the network's fingerprint --------------

FORMAT, VERSION = "tropicell-cache", 1

#: Regions that are read from the file at a time.
_STEP = 1024


def save_cache(predictor: CachedPredictor, path: str | os.PathLike[str]) -> None:
    """Write a predictor's regions to an ``.npz`` file.

    Notes
    -----
    ``header`` is JSON: ``format``, ``version``, ``fingerprint`` (of the network), ``max_bytes`` and
    ``policy``. ``words`` are the packed patterns, ``maps`` the affine maps of shape (regions,
    outputs, inputs + 1), both in the order in which they would go.

    Examples
    --------
    >>> import tempfile
    >>> from tropicell.predict.cached import CachedPredictor
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     CachedPredictor(network).fit([[1.0], [-1.0]]).save(folder + "/cache.npz")
    ...     CachedPredictor.load(folder + "/cache.npz", network).size
    2
    """
    file = path_of(path)
    if file.suffix.lower() != ".npz":
        raise InvalidInputError(f"{file}: expected the suffix .npz, not {file.suffix!r}")
    words, maps = predictor.columns()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "fingerprint": predictor.network.fingerprint,
        "max_bytes": int(predictor.max_bytes),
        "policy": predictor.policy,
    }
    write_npz(file, {"header": np.array(json.dumps(header)), "words": words, "maps": maps})


def load_cache(
    kind: type[CachedPredictor],
    path: str | os.PathLike[str],
    network: Network,
    max_bytes: int | None,
    policy: str | None,
) -> CachedPredictor:
    """A predictor with the regions of a file; see `CachedPredictor.load`."""
    check_params(network, 1 if max_bytes is None else max_bytes, policy or POLICIES[0])
    file = path_of(path)
    with in_file(file):
        header, words, maps = _read(file, network)
        predictor = kind(
            network,
            header["max_bytes"] if max_bytes is None else max_bytes,
            header["policy"] if policy is None else policy,
        )
        for start in range(0, len(words), _STEP):
            part = slice(start, start + _STEP)
            predictor.extend(np.array(words[part], order="C"), np.array(maps[part], order="C"))
    return predictor


def _read(file: Path, network: Network) -> tuple[dict[str, Any], Any, Any]:
    """The header of a file, and the patterns and maps in it."""
    arrays, where = read_npz(file, mapped=True), str(file)
    try:
        header = json.loads(str(arrays["header"]))
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ModelFileError(
                f"{where}: holds no cache; expected a file of CachedPredictor.save"
            )
        if header["version"] != VERSION:
            raise ModelFileError(
                f"{where}: version {header['version']!r} of the layout is not known; this version "
                f"of tropicell reads {VERSION}"
            )
        if header["fingerprint"] != network.fingerprint:
            raise ModelFileError(
                f"{where}: the cache belongs to another network; its fingerprint is "
                f"{str(header['fingerprint'])[:12]}…, that of {network!r} is "
                f"{network.fingerprint[:12]}…; load it with the network that it was made with, or "
                "fit a new one"
            )
        return header, *_columns(arrays, network, where)
    except json.JSONDecodeError as error:
        raise ModelFileError(f"{where}: the header is not JSON: {error}") from None
    except KeyError as error:
        raise ModelFileError(f"{where}: {error} is missing; the file is damaged") from None


def _columns(arrays: dict[str, Any], network: Network, where: str) -> tuple[Any, Any]:
    words, maps = arrays["words"], arrays["maps"]
    bits = PackedPatterns.aligned_bits_for(network.pieces)
    expected = {
        "words": (np.uint64, (len(words), PackedPatterns.words_for(network.n_neurons, bits))),
        "maps": (np.float64, (len(words), network.n_outputs, network.n_inputs + 1)),
    }
    for name, (kind, shape) in expected.items():
        if arrays[name].dtype != kind or arrays[name].shape != shape:
            raise ModelFileError(
                f"{where}: {name!r} has type {arrays[name].dtype} and shape {arrays[name].shape}; "
                f"expected {np.dtype(kind)} and {shape}"
            )
    return words, maps


Words = NDArray[np.uint64]
#: What happens when the cache is full: the region that was not used for longest goes, the one that
#: was found first goes, or nothing more is learnt.
POLICIES = ("lru", "fifo", "keep")


class CachedPredictor(Estimator):
    """A network as an estimator that remembers the affine maps of the regions it has seen.

    Parameters
    ----------
    network : Network
    max_bytes : int
        The most memory that the cache may take: patterns, maps, hash table, order of use. What
        a call needs for its own points comes on top.
    policy : {"lru", "fifo", "keep"}
        What happens when the cache is full. The region that was not used for longest goes, or the
        one that was found first goes, or nothing more is learnt.

    Attributes
    ----------
    hits, misses : int
        Points of `predict` whose region was known, and regions that had to be worked out for them
        (with "keep" and a full cache: points whose region is not known).

    Notes
    -----
    It follows scikit-learn's conventions (`fit`, `predict`, `get_params`, `clone`, pipelines) like
    a regressor that has been trained already: targets are not used, and `predict` gives the
    network's outputs, for classifiers the logits, always with one column for each output.

    All methods may be called from several threads at once. Regions are found without the lock;
    look-ups wait for each other.

    Predictions equal the network's outputs up to rounding: the map of a region is a product of the
    layers' matrices, which is rounded differently. Relative to the numbers that are added up on the
    way, the difference is below 1e-9 by far.

    Examples
    --------
    >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
    >>> predictor = CachedPredictor(network, max_bytes=10_000)
    >>> predictor.predict([[3.0], [4.0], [-1.0]])
    array([[3.],
           [4.],
           [2.]])
    >>> predictor.size, predictor.hits, predictor.misses
    (2, 1, 2)
    """

    def __init__(self, network: Network, max_bytes: int = 256 * 2**20, policy: str = "lru") -> None:
        self.network = network
        self.max_bytes = max_bytes
        self.policy = policy
        self._start_again()

    @property
    def n_features_in_(self) -> int:
        """Number of inputs, as scikit-learn calls it."""
        return self.network.n_inputs

    # --- Algorithm 3 --------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> FloatArray:
        """The network's outputs at points, by the maps of their regions.

        Parameters
        ----------
        X : array_like, shape (points, inputs)

        Returns
        -------
        ndarray, shape (points, outputs)

        Examples
        --------
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
        >>> CachedPredictor(network).predict([[3.0], [-1.0]])
        array([[3.],
               [2.]])
        """
        x = self._check(X)
        y = np.empty((len(x), self.network.n_outputs))
        multiply = self._maps.multiply

        def use(rows: Any, maps: FloatArray, slots: NDArray[Any]) -> None:
            if isinstance(rows, slice):
                multiply(maps, slots, x[rows], y[rows])
            else:
                part = np.empty((len(rows), y.shape[1]))
                multiply(maps, slots, x[rows], part)
                y[rows] = part

        def without(rows: NDArray[Any]) -> None:
            y[rows] = self.network(x[rows])

        hits, misses = self._maps.for_all(x, use, without)
        with self._maps.lock:
            self._hits += hits
            self._misses += misses
        return y

    # --- the cache ----------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: object = None) -> CachedPredictor:
        """Forget everything, then learn the regions of points.

        Parameters
        ----------
        X : array_like, shape (points, inputs)
        y : ignored
            For scikit-learn's sake.

        Returns
        -------
        CachedPredictor
            Itself.

        Examples
        --------
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
        >>> CachedPredictor(network).fit([[1.0], [2.0], [-1.0]]).size
        2
        """
        x = self._check(X)
        self.clear()
        return self.partial_fit(x)

    def partial_fit(self, X: ArrayLike, y: object = None) -> CachedPredictor:
        """Learn the regions of points on top of those that are known.

        Examples
        --------
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
        >>> CachedPredictor(network).fit([[1.0]]).partial_fit([[-1.0]]).size
        2
        """

        def use(rows: Any, maps: FloatArray, slots: NDArray[Any]) -> None:
            """Use points only to fill the cache; nothing is predicted."""

        def without(rows: Any) -> None:
            """The cache is full, and keeps what it has."""

        self._maps.for_all(self._check(X), use, without)
        return self

    def contains(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Whether the region of each point is in the cache; nothing is learnt or counted.

        Examples
        --------
        The paper's cached instances: test points in regions of training points.

        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
        >>> CachedPredictor(network).fit([[1.0], [2.0]]).contains([[7.0], [-7.0]])
        array([ True, False])
        """
        x = self._check(X)
        found = np.empty(len(x), dtype=np.bool_)
        for rows in self._maps.blocks(x):
            v = self._maps.regions_of(x[rows])
            with self._maps.lock:
                found[rows] = self._maps.cache.find(v.words, renew=False)[0] >= 0
        return found

    def jacobian(self, X: ArrayLike) -> FloatArray:
        """The derivative of the outputs at points: the matrices of their regions' maps.

        Regions that are not known are learnt, but not counted as misses.

        Returns
        -------
        ndarray, shape (points, outputs, inputs)

        Examples
        --------
        >>> CachedPredictor(Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])).jacobian([[3.0], [-3.0]])
        array([[[ 1.]],
               [[-2.]]])
        """
        x = self._check(X)
        found = np.empty((len(x), self.network.n_outputs, self.network.n_inputs))

        def use(rows: Any, maps: FloatArray, slots: NDArray[Any]) -> None:
            known = np.flatnonzero(slots >= 0)
            places = known + rows.start if isinstance(rows, slice) else rows[known]
            found[places] = maps[slots[known], :, :-1]

        self._maps.for_all(x, use, None)
        return found

    @property
    def hits(self) -> int:
        """Points that were predicted with a map that was known."""
        return self._hits

    @property
    def misses(self) -> int:
        """How often a region had to be worked out."""
        return self._misses

    @property
    def hit_rate(self) -> float:
        """The part of all predicted points that were hits; nan before the first prediction."""
        with self._maps.lock:
            hits, total = self._hits, self._hits + self._misses
        return hits / total if total else float("nan")

    @property
    def size(self) -> int:
        """Number of regions in the cache."""
        with self._maps.lock:
            return len(self._maps.cache)

    @property
    def nbytes(self) -> int:
        """Memory of the cache in bytes, with what is reserved for regions to come."""
        with self._maps.lock:
            return self._maps.cache.nbytes

    def clear(self) -> None:
        """Forget all regions, and start to count anew.

        Examples
        --------
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
        >>> predictor = CachedPredictor(network).fit([[1.0]])
        >>> predictor.clear()
        >>> predictor.size
        0
        """
        with self._maps.lock:
            self._maps.cache.clear()
            self._hits = self._misses = 0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the cache to an ``.npz`` file; see `load`.

        Examples
        --------
        >>> import tempfile
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     CachedPredictor(network).fit([[1.0], [-1.0]]).save(folder + "/cache.npz")
        ...     CachedPredictor.load(folder + "/cache.npz", network).size
        2
        """
        save_cache(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        network: Network,
        *,
        max_bytes: int | None = None,
        policy: str | None = None,
    ) -> CachedPredictor:
        """A predictor with the regions that `save` wrote.

        Parameters
        ----------
        path : str or path-like
        network : Network
            The one that the cache was made with.
        max_bytes, policy : optional
            Default: those of the predictor that was saved. If not all regions fit, those that would
            go first are left out.

        Raises
        ------
        ModelFileError
            If the file is missing, damaged, something else, or belongs to another network.

        Examples
        --------
        >>> import tempfile
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     CachedPredictor(network).fit([[1.0]]).save(folder + "/cache.npz")
        ...     CachedPredictor.load(folder + "/cache.npz", network, policy="fifo").policy
        'fifo'
        """
        return load_cache(cls, path, network, max_bytes, policy)

    def to_torch(self) -> CachedModule:
        """The same as a `torch.nn.Module` that shares this cache.

        Examples
        --------
        >>> import torch
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
        >>> module = CachedPredictor(network).to_torch()
        >>> module(torch.tensor([[3.0]])).item()
        3.0
        """
        from tropicell.predict.cached_module import CachedModule  # noqa: PLC0415 - needs PyTorch

        return CachedModule(self)

    def columns(self) -> tuple[Words, FloatArray]:
        """Packed patterns and maps of all regions in the cache, those that go first first.

        Examples
        --------
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
        >>> words, maps = CachedPredictor(network).fit([[-1.0]]).columns()
        >>> words, maps
        (array([[2]], dtype=uint64), array([[[-2.,  0.]]]))
        """
        with self._maps.lock:
            return self._maps.cache.columns()

    def extend(self, words: Words, maps: FloatArray) -> None:
        """Add regions with their maps, as `columns` gives them.

        Examples
        --------
        >>> network = Network.mlp([[[1.0], [-1.0]], [[1.0, 2.0]]])
        >>> first, second = CachedPredictor(network).fit([[1.0]]), CachedPredictor(network)
        >>> second.extend(*first.columns())
        >>> second.contains([[7.0], [-7.0]])
        array([ True, False])
        """
        with self._maps.lock:
            self._maps.cache.append(words, maps)

    def __repr__(self) -> str:
        return (
            f"CachedPredictor({self.network!r}, max_bytes={self.max_bytes}, policy={self.policy!r})"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"params": self.get_params(), "columns": self.columns()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state["params"])
        self._start_again()
        self.extend(*state["columns"])

    # --- inside -------------------------------------------------------------------------------

    def _start_again(self) -> None:
        from tropicell.predict.cache import RegionMaps  # noqa: PLC0415 - Numba is slow to import

        check_params(self.network, self.max_bytes, self.policy)
        self._maps: RegionMaps = RegionMaps(self.network, int(self.max_bytes), self.policy)
        self._hits = self._misses = 0

    def _check(self, points: ArrayLike) -> FloatArray:
        x = np.ascontiguousarray(self.network.check_points(points, finite=True))
        # The kernels are compiled for ordinary arrays only.
        return x if x.flags.writeable else x.copy()


def check_params(network: Any, max_bytes: Any, policy: Any) -> None:
    """Refuse what makes no predictor."""
    if not isinstance(network, Network):
        raise InvalidInputError(
            f"expected a tropicell.Network, got {type(network).__name__}; use from_torch, "
            "from_onnx, from_sklearn or load to make one"
        )
    if not isinstance(max_bytes, (int, np.integer)) or max_bytes < 1:
        raise InvalidInputError(f"max_bytes must be a positive whole number, not {max_bytes!r}")
    if policy not in POLICIES:
        raise InvalidInputError(f"unknown policy {policy!r}; expected one of {', '.join(POLICIES)}")
