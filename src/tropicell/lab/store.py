"""What is finished stays finished: results of units of work, in files of their own."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tropicell._runtime.paths import make_folder
from tropicell._runtime.plain import plain
from tropicell.errors import ModelFileError
from tropicell.importers.files import read_npz, write_npz

Arrays = dict[str, NDArray[Any]]

#: A file of the store holds its settings under this name.
_SETTINGS = "settings"


class Store:
    """Results in a folder, found again by the settings that they come from.

    Parameters
    ----------
    folder : Path
        Made when the first result is kept.
    fixed : mapping
        What all units share, such as the seed; part of their settings.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder), {"seed": 0})
    ...     store.put("row 1", {"width": 4}, {"counts": np.array([7, 8])})
    ...     store.get("row 1", {"width": 4})["counts"], store.get("row 1", {"width": 5})
    (array([7, 8]), None)
    """

    def __init__(self, folder: Path, fixed: Mapping[str, Any]) -> None:
        self.folder = folder
        self.fixed = dict(fixed)

    def get(self, unit: str, settings: Mapping[str, Any]) -> Arrays | None:
        """The arrays of a unit with these settings, or None if it is not finished.

        Raises
        ------
        ModelFileError
            If what was kept is damaged.
        """
        file = self.file(unit, settings)
        if not file.exists():
            return None
        try:
            arrays = read_npz(file)
        except ModelFileError as error:
            raise ModelFileError(f"{error}; without it, it is worked out again") from None
        kept = arrays.pop(_SETTINGS, None)
        if kept is None or str(kept) != self._text(unit, settings):
            raise ModelFileError(
                f"{file}: holds a result of other settings; without it, it is worked out again"
            )
        return arrays

    def put(self, unit: str, settings: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Keep the arrays of a unit; the file is there as a whole or not at all."""
        make_folder(self.folder)
        text = self._text(unit, settings)
        values = {name: np.asarray(value) for name, value in arrays.items()}
        write_npz(self.file(unit, settings), values | {_SETTINGS: np.array(text)})

    def file(self, unit: str, settings: Mapping[str, Any]) -> Path:
        """Where a unit with these settings is kept."""
        digest = hashlib.sha256(self._text(unit, settings).encode()).hexdigest()
        name = re.sub(r"[^A-Za-z0-9.]+", "-", unit).strip("-")
        return self.folder / f"{name}-{digest[:12]}.npz"

    def _text(self, unit: str, settings: Mapping[str, Any]) -> str:
        whole = {"unit": unit, "settings": settings, "fixed": self.fixed}
        return json.dumps(plain(whole), sort_keys=True, ensure_ascii=False)
