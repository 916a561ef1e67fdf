"""Data sets from OpenML and from the UCI archive, as tables whose last column is the target.

A source is plain data: where the raw table is, which column is the target, which labels are class
1, and which columns are no features. Nothing is fetched before :func:`fetch` is called.
"""

import io
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
import pandas as pd

TARGET = "target"
TIMEOUT = 120


@dataclass(frozen=True)
class OpenML:
    """A data set of OpenML, read by scikit-learn's ``fetch_openml``, which checks its checksum."""

    data_id: int
    target: str
    positive: tuple[str, ...] = ()
    """Labels of class 1; none keeps the target as it is."""
    drop: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Names of the features, where OpenML only numbers them."""

    def __str__(self) -> str:
        return f"OpenML {self.data_id} (https://www.openml.org/d/{self.data_id})"

    def read(self) -> pd.DataFrame:
        """Return the raw table, target included."""
        from sklearn.datasets import fetch_openml

        # the parser "pandas" of scikit-learn 1.9 fails on classes 1 and 2 with pandas 3.1
        options = {"as_frame": True, "parser": "liac-arff", "target_column": None, "cache": False}
        return fetch_openml(data_id=self.data_id, **options).frame


@dataclass(frozen=True)
class Archive:
    """Text files in a zip file, or in a zip file within it; a plain file serves as well."""

    url: str
    members: tuple[str, ...]
    target: str
    positive: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Names of the features, which the files then do not hold themselves; the target is last."""
    separator: str = ","
    label: str = ""
    """A feature to add, which says from which member a row came; its values are ``labels``."""
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.url} ({', '.join(self.members)})"

    def read(self) -> pd.DataFrame:
        """Return the raw table, target included; the members' rows one after the other."""
        with urllib.request.urlopen(self.url, timeout=TIMEOUT) as answer:
            content = answer.read()
        tables = []
        for k, member in enumerate(self.members):
            table = self._parse(_find_member(content, member, self.url))
            if self.label:
                table.insert(0, self.label, self.labels[k])
            tables.append(table)
        return pd.concat(tables, ignore_index=True)

    def _parse(self, text: bytes) -> pd.DataFrame:
        names = [*self.names, self.target] if self.names else None
        return pd.read_csv(
            io.BytesIO(text),
            sep=self.separator,
            names=names,
            header=None if names else 0,
            na_values="?",
            skipinitialspace=True,
        )


@dataclass(frozen=True)
class Manual:
    """A data set that everyone has to get for himself."""

    text: str

    def __str__(self) -> str:
        return self.text


Source = OpenML | Archive | Manual


def _find_member(content: bytes, member: str, url: str) -> bytes:
    """Return a file of a zip file, wherever in it; content that is no zip file is the file."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return content
    found = _search_zip(content, member)
    if found is None:
        raise ValueError(f"{url} holds no file {member!r}")
    return found


def _search_zip(content: bytes, member: str) -> bytes | None:
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        names = [name for name in files.namelist() if not name.startswith("__MACOSX")]
        for name in names:
            if PurePosixPath(name).name == member:
                return files.read(name)
        for name in names:
            if name.endswith(".zip"):
                found = _search_zip(files.read(name), member)
                if found is not None:
                    return found
    return None


def fetch(source: Source) -> pd.DataFrame:
    """Return the features and, last, the target of a source; this needs the network."""
    if isinstance(source, Manual):
        raise TypeError(f"this data set cannot be downloaded: {source}")
    return arrange(source.read(), source)


def arrange(raw: pd.DataFrame, source: OpenML | Archive) -> pd.DataFrame:
    """Return a raw table in the form of our files: features, then the target, 0/1 or a number."""
    raw = raw.rename(columns=lambda name: str(name).strip(" :'\""))
    lower = {name.lower(): name for name in raw.columns}
    if source.target.lower() not in lower:
        raise ValueError(f"{source}: no column {source.target!r} among {list(raw.columns)}")
    y = raw[lower[source.target.lower()]]
    others = {name.lower() for name in (source.target, *source.drop)}
    frame = raw[[name for key, name in lower.items() if key not in others]]
    if source.names and isinstance(source, OpenML):
        if len(source.names) != frame.shape[1]:
            raise ValueError(f"{source}: {frame.shape[1]} features, not {len(source.names)}")
        frame = frame.set_axis(list(source.names), axis=1)
    if source.positive:
        y = np.isin([_spell(value) for value in y], source.positive).astype(int)
    return frame.assign(**{TARGET: np.asarray(y)})


def _spell(value: object) -> str:
    """Return a label as text, whole numbers without a point."""
    return f"{value:g}" if isinstance(value, (int, float)) else str(value).strip(" .'\"")
