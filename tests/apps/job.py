"""Starts the program as a user does, alone or under mpirun, and reads what it leaves behind."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

LYNXKV = os.environ.get("LYNXKV_BINARY", "build/bin/lynxkv")
MODEL = os.environ.get("LYNXKV_TEST_MODEL", "")
ROOT_MAY_RUN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

# Short prompts, so that a job takes seconds; a paced link, so that drafting has time to happen.
SMALL = {
    "model.path": MODEL,
    "transfer.modes": "[bf16, int8, lynx-int8, lynx, lynx-exact]",
    "transfer.start": "after_prefill",
    "link.gbps": "0.2",
    "suite.lengths": "[300]",
    "suite.samples": "3",
    "suite.max_tokens": "12",
}


def environment(**more):
    env = dict(os.environ, **ROOT_MAY_RUN_MPI)
    env.update(more)
    return env


def launcher(ranks):
    return ["mpirun", "-n", str(ranks), "--bind-to", "none", "--oversubscribe"] if ranks else []


def command(*arguments, ranks=0):
    return launcher(ranks) + [LYNXKV, *arguments]


def run_arguments(out, settings):
    merged = dict(SMALL, **settings)
    flags = []
    for key, value in merged.items():
        flags += ["--set", f"{key}={value}"]
    return ["run", "--out", str(out), *flags]


def ranks_of(launcher):
    """The process ids of the ranks that mpirun has started, by rank. Not by name: the program may have started itself anew."""
    found = subprocess.run(["pgrep", "-P", str(launcher)], capture_output=True, text=True).stdout
    return sorted(int(pid) for pid in found.split())


def call(*arguments, ranks=0, timeout=240, **more):
    return subprocess.run(command(*arguments, ranks=ranks), capture_output=True, text=True, timeout=timeout,
                          env=environment(**more))


def run(out, ranks=0, timeout=240, **settings):
    """settings: keys with __ for the dot."""
    dotted = {key.replace("__", "."): value for key, value in settings.items()}
    return call(*run_arguments(out, dotted), ranks=ranks, timeout=timeout)


def rows(out, partial=False):
    """The finished samples, as `export --jsonl` gives them, by (line, mode)."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "rows.jsonl"
        done = call("export", str(out), "--jsonl", str(file), *(["--partial"] if partial else []))
        if done.returncode != 0:
            raise AssertionError(f"export failed: {done.stderr}")
        found = [json.loads(line) for line in file.read_text().splitlines()]
    keyed = {(row["suite"], row["task"], row["line"], row["mode"]): row for row in found}
    if len(keyed) != len(found):
        raise AssertionError("a sample is there twice")
    return keyed


class OutputFolder:
    """A fresh folder for results, removed at the end."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="lynxkv-out-"))
        return self.path / "out"

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)
