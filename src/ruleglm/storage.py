"""Where large arrays live: in memory, or in temporary files that are mapped into it.

A temporary file has no name, where the system can do without one, so that nothing of it is left
when the arrays on it are gone, however the process ends. Pages of such a file are the system's to
keep in memory or not.
"""

import mmap
import tempfile
import weakref
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike

from ruleglm.dtypes import AnyArray


class _Mapping(mmap.mmap):
    """The memory of a file, and the folder that it is in."""

    folder: str


class GrowingRows:
    """Rows of equal length that are appended one after the other.

    Parameters
    ----------
    length : int
        Length of each row.
    dtype : data-type
    folder : str or None
        Where a temporary file is to hold the rows; None for memory.
    """

    def __init__(self, length: int, dtype: DTypeLike, folder: str | None = None) -> None:
        self._length = length
        self._count = 0
        self._folder = folder
        self._held = np.empty((0, length), dtype)
        self._file: IO[bytes] | None = None
        if folder is not None:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
            weakref.finalize(self, self._file.close)

    def append(self, row: AnyArray) -> None:
        """Append a row.

        Raises
        ------
        OSError
            If the folder has no room for it; the message says which, and how to choose another.
        """
        self._count += 1
        if self._file is None:
            self._held.resize((self._count, self._length), refcheck=False)  # never two of it
            self._held[-1] = row
            return
        try:
            self._file.write(np.ascontiguousarray(row, self._held.dtype).data)
            self._file.flush()
        except OSError as error:
            raise OSError(
                error.errno,
                f"the temporary files of a fit do not fit into {self._folder!r} ({error.strerror});"
                " choose another folder as `workdir`",
            ) from error

    def array(self) -> AnyArray:
        """Return the rows, to which no more can be appended."""
        if self._file is None:
            return self._held
        shape = self._count, self._length
        if 0 in shape:
            return np.empty(shape, self._held.dtype)
        with self._file as file:
            memory = _Mapping(file.fileno(), 0)
        memory.folder = str(self._folder)
        return np.ndarray(shape, self._held.dtype, memory)


def rows_beside(array: AnyArray, length: int | None = None) -> GrowingRows:
    """Return rows of the same type, and length if none is given, that live where an array does."""
    return GrowingRows(array.shape[-1] if length is None else length, array.dtype, home(array))


def home(array: AnyArray) -> str | None:
    """Return the folder of the temporary file that holds an array, None if it is in memory."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base.folder if isinstance(base, _Mapping) else None


def check_folder(folder: str | Path | None) -> str:
    """Return a folder for temporary files, the system's own by default, or say why not."""
    chosen = Path(tempfile.gettempdir() if folder is None else folder)
    if not chosen.is_dir():
        raise ValueError(f"`workdir` is {str(chosen)!r}, which is no folder; make it, or give one.")
    return str(chosen)
