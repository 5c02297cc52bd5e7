"""Writes files that nobody should trust, each a sound one with one thing wrong: hostile_hdf5.py kv|results SOUND FOLDER."""
import os
import shutil
import sys

import h5py
import numpy as np

kind, sound, folder = sys.argv[1:]
with h5py.File(sound) as f:
    NAME = "key" if kind == "kv" else "samples/line"
    SHAPE, TYPE = f[NAME].shape, f[NAME].dtype
SIZE = int(np.prod(SHAPE)) * TYPE.itemsize
PIPE = os.path.join(folder, "pipe")  # whoever opens it hangs
os.mkfifo(PIPE)
OTHER = os.path.join(folder, "other")
shutil.copy(sound, OTHER)


def file(name, change):
    path = os.path.join(folder, name + ".h5")
    shutil.copy(sound, path)
    with h5py.File(path, "r+") as f:
        change(f)


def instead(name, make):
    """The dataset NAME is replaced by what make(file) puts there."""
    def change(f):
        del f[NAME]
        make(f)
    file(name, change)


def dataset(name, shape=SHAPE, dtype=TYPE, **how):
    if kind == "results" and shape and len(shape) > 0 and "external" not in how:
        how.setdefault("chunks", tuple(max(1, min(s, 64)) for s in shape))
    instead(name, lambda f: f.create_dataset(NAME, shape=shape, dtype=dtype, **how))


def moved(f):
    f.move(NAME, "/elsewhere")


def link(name, make):
    def change(f):
        moved(f)
        f[NAME] = make(f)
    file(name, change)


def virtual(source):
    def make(f):
        layout = h5py.VirtualLayout(shape=SHAPE, dtype=TYPE)
        layout[:] = h5py.VirtualSource(source, NAME, shape=SHAPE)
        f.create_virtual_dataset(NAME, layout)
    return make


link("external_link", lambda f: h5py.ExternalLink(OTHER, NAME))
link("external_link_to_a_pipe", lambda f: h5py.ExternalLink(PIPE, NAME))
link("soft_link", lambda f: h5py.SoftLink("/elsewhere"))
link("soft_link_cycle", lambda f: h5py.SoftLink("/" + NAME))
link("soft_link_to_nothing", lambda f: h5py.SoftLink("/nothing"))
link("hard_link_to_the_root", lambda f: f["/"])
instead("group", lambda f: f.create_group(NAME))
instead("named_type", lambda f: f.__setitem__(NAME, np.dtype("u2")))
dataset("external_storage", external=[(OTHER, 0, SIZE)])
dataset("external_storage_in_a_pipe", external=[(PIPE, 0, SIZE)])
instead("virtual", virtual(OTHER))
instead("virtual_of_a_pipe", virtual(PIPE))
dataset("floats", dtype="f4")
dataset("other_integers", dtype="u4")
dataset("opaque", dtype="V2")
dataset("compound", dtype=np.dtype([("a", "u1"), ("b", "u1")]))
dataset("fixed_strings", dtype="S2")
dataset("texts", dtype=h5py.string_dtype())
dataset("lists", dtype=h5py.vlen_dtype("u2"))
dataset("references", dtype=h5py.ref_dtype)
dataset("enumeration", dtype=h5py.enum_dtype({"a": 1, "b": 2}, basetype=TYPE))
dataset("arrays", dtype=np.dtype((TYPE, (4,))))
dataset("scalar", shape=())
instead("nothing_in_it", lambda f: f.create_dataset(NAME, data=h5py.Empty(TYPE)))
dataset("rank_32", shape=(1,) * 32)
dataset("one_rank_more", shape=SHAPE + (1,))
dataset("empty", shape=(0,) * len(SHAPE), maxshape=(None,) * len(SHAPE), chunks=(1,) * len(SHAPE))
dataset("huge", shape=(1 << 40,) * len(SHAPE), chunks=(1,) * len(SHAPE))
dataset("huge_chunks", shape=(1 << 40,) * len(SHAPE), chunks=(1 << 27,) + (1,) * (len(SHAPE) - 1), compression="gzip")
dataset("largest", shape=((1 << 63) - 1,) + (1,) * (len(SHAPE) - 1), chunks=(1,) * len(SHAPE))
dataset("lzf", compression="lzf", chunks=SHAPE)
dataset("checksummed", fletcher32=True, chunks=SHAPE)
dataset("scaled", scaleoffset=0, chunks=SHAPE)


def attribute(name, value, of):
    def change(f):
        del f.attrs[of]
        if value is not None:
            f.attrs[of] = value
    file(f"attribute_{of}_{name}", change)


for of in ["schema_version", "complete"] + (["model_layers", "kv_heads", "head_dim"] if kind == "kv" else []):
    for name, value in {"gone": None, "text": "1", "float": 1.0, "two": [1, 1], "nothing": h5py.Empty("i8"), "wide_text": np.bytes_(b"1" * 5000)}.items():
        attribute(name, value, of)
for of in ["model_layers", "kv_heads", "head_dim"] if kind == "kv" else []:
    for name, value in {"negative": -1, "zero": 0, "smallest": np.int64(-(1 << 63)), "largest": np.uint64((1 << 64) - 1), "large": 1 << 40}.items():
        attribute(name, value, of)
if kind == "kv":
    for name, value in {"variable": "lynxkv kv", "other": np.bytes_(b"lynxkv"), "number": 1, "texts": np.array([b"lynxkv kv"] * 2), "nothing": h5py.Empty("S9")}.items():
        attribute(name, value, "format")
else:
    def group(name, make):
        def change(f):
            f.move("samples", "/elsewhere")
            f["samples"] = make(f)
        file("group_" + name, change)

    group("external_link", lambda f: h5py.ExternalLink(OTHER, "samples"))
    group("soft_link", lambda f: h5py.SoftLink("/elsewhere"))
    group("soft_link_cycle", lambda f: h5py.SoftLink("/samples"))
    group("dataset", lambda f: f["/elsewhere/line"])

    def many_names(f):
        """A few bytes that come to many, under many names."""
        f.create_dataset("bomb", data=np.zeros(4 << 20, "u1"), chunks=(1 << 20,), compression="gzip", compression_opts=9)
        for i in range(10000):
            f[f"samples/x{i}"] = f["bomb"]
    file("the_same_values_under_many_names", many_names)
