# SPDX-License-Identifier: MIT
"""Reads the files of the tools: tensors, series, tables and manifests."""
import collections.abc
import csv
import errno
import io
import json
import os

from ._tools import run

# NumPy's names of the safetensors types. NumPy has no BF16: it is read as integers and widened.
_TYPES = {"U8": "u1", "U32": "<u4", "U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2"}
# Text columns of tables; the others hold numbers.
_TEXT = {"run", "digest", "id", "owner", "metric", "unit", "note", "source", "model"}
_WHOLE = {"step", "epoch"}


class Tensors(dict):
    """Arrays by name. `metadata`: the strings of the file."""

    def __init__(self, arrays, metadata):
        super().__init__(arrays)
        self.metadata = metadata


class Folder(collections.abc.Mapping):
    """The files and folders of a folder, by name without ending. They are read on access:
    folder["train/model"] reads train/model.st.zst."""

    def __init__(self, path):
        self.path = path

    def __getitem__(self, name):
        path = os.path.join(self.path, name)
        for ending in ("",) + _ENDINGS:
            if os.path.exists(path + ending):
                return read(path + ending)
        raise KeyError(name)

    def __iter__(self):
        names = [name for name in sorted(os.listdir(self.path)) if not name.startswith(".")]
        for name in names:
            ending = _ending_of(name)
            if ending or os.path.isdir(os.path.join(self.path, name)):
                yield name[: len(name) - len(ending)]

    def __len__(self):
        return sum(1 for _ in self)

    def __contains__(self, name):
        return any(os.path.exists(os.path.join(self.path, name) + ending) for ending in ("",) + _ENDINGS)

    def __repr__(self):
        return "<%s: %s>" % (self.path, ", ".join(self))


def read(path):
    """Returns the content of a file or folder:

    a folder                    a Folder: a mapping that reads its entries on demand
    steps.st.zst                the series of a training, a row per step
    *.st.zst, *.safetensors     Tensors: a dict of NumPy arrays
    *.csv                       the figures of a report
    *.yaml                      a dict
    *.json                      the facts of a report: a dict

    Series and figures are a pandas DataFrame if pandas is installed, and otherwise a dict of NumPy arrays.
    Raises FileNotFoundError, ValueError for another kind of file, and ToolError for a file that a tool refuses."""
    path = os.fspath(path)
    if os.path.isdir(path):
        return Folder(path)
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    ending = _ending_of(path)
    if not ending:
        raise ValueError("cannot read '%s': expected a folder, or a file that ends in %s" % (path, ", ".join(_ENDINGS)))
    if os.path.basename(path) == "steps.st.zst":
        return _table(run("tensor", "export", "--format", "csv", _plain(path)).decode())
    return _READERS[ending](path)


def _plain(path):
    """A path that a tool does not mistake for an option."""
    return os.path.join(".", path) if path.startswith("-") else path


def _read_tensors(path):
    import numpy

    about = json.loads(run("tensor", "info", "--json", _plain(path)))
    listed = about["tensors"]
    if not listed:
        return Tensors({}, about["metadata"])
    data = bytearray(run("tensor", "cat", _plain(path), "--", *[entry["name"] for entry in listed]))
    if len(data) != sum(entry["bytes"] for entry in listed):
        raise ValueError("cannot read '%s': it was replaced meanwhile" % path)
    arrays, offset = {}, 0
    for entry in listed:
        dtype = numpy.dtype(_TYPES[entry["dtype"]])
        array = numpy.ndarray(entry["shape"], dtype, data, offset)
        arrays[entry["name"]] = (array.astype("<u4") << 16).view("<f4") if entry["dtype"] == "BF16" else array
        offset += entry["bytes"]
    return Tensors(arrays, about["metadata"])


def _read_yaml(path):
    return json.loads(run("manifest", "get", "--json", _plain(path)))


def _read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return _table(file.read())


def _table(text):
    import numpy

    rows = list(csv.reader(io.StringIO(text)))
    columns = {}
    for name, values in zip(rows[0], zip(*rows[1:]) if rows[1:] else [()] * len(rows[0])):
        if name in _TEXT:
            columns[name] = numpy.array(values, dtype=object)
        elif name in _WHOLE:
            columns[name] = numpy.array(values, dtype="i8")
        else:
            columns[name] = numpy.array([value or "nan" for value in values], dtype="f8")
    try:
        import pandas
    except ImportError:
        return columns
    return pandas.DataFrame(columns)


def runs(artifacts="artifacts"):
    """The kept runs, a row each: key, name, date, accuracy, seconds_per_epoch, executions, path, and every setting under
    its name in an experiment ("optimizer.lr"). A pandas DataFrame if pandas is installed, else a list of dicts."""
    rows = []
    for entry in json.loads(run("pipeline", "runs", "--json", "ARTIFACTS=" + os.fspath(artifacts))):
        settings = _flat(entry.pop("parameters", {}))
        rows.append({**entry, **{name: value for name, value in settings.items() if name not in entry}})
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def _flat(mapping, before=""):
    """A mapping of mappings as one with dotted names; lists stay as they are."""
    flat = {}
    for name, value in mapping.items():
        if isinstance(value, dict):
            flat.update(_flat(value, before + name + "."))
        else:
            flat[before + name] = value
    return flat


_READERS = {".st.zst": _read_tensors, ".safetensors": _read_tensors, ".csv": _read_csv, ".yaml": _read_yaml,
            ".json": _read_json}
_ENDINGS = tuple(_READERS)


def _ending_of(name):
    return next((ending for ending in _ENDINGS if name.endswith(ending)), "")
