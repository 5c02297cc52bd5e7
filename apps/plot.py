#!/usr/bin/env python3
"""Draws a results file: time to the k-th token by mode, first tokens, and bytes sent against agreement with bf16.

Usage: plot.py OUT/results.h5 FIGURE.png [--task TASK] [--length TOKENS]
Needs h5py and matplotlib. Medians over samples; times from the moment at which the prompt's KV was computed.
"""
import argparse
import sys

import h5py
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

MARKS = (1, 2, 4, 8, 16, 32, 64)
ORDER = ("bf16", "int8", "int4", "int8-channel", "int4-channel", "lynx-int4", "lynx-int8", "lynx", "lynx-exact",
         "cachegen-code", "cachegen-paper", "quantspec")
# Okabe and Ito's palette: told apart with any colour vision. Progressive modes get the strong colours.
COLOURS = ("#000000", "#0072B2", "#56B4E9", "#999999", "#BBBBBB", "#E69F00", "#009E73", "#D55E00", "#CC79A7",
           "#8C8C00", "#6A6A00", "#5D3A9B")


def refuse(code, text):
    """Ends with lynxkv's exit codes: 2 usage, 3 bad data."""
    print(f"plot: {text}".replace("\n", " "), file=sys.stderr)
    sys.exit(code)


def read(path):
    """Columns by name; texts as lists of str, token ids as a list of arrays."""
    with h5py.File(path, "r") as file:
        if file.attrs.get("format") != "lynxkv results":
            refuse(3, f"{path}: not a results file of lynxkv")
        samples = file["samples"]
        columns = {}
        for name, column in samples.items():
            if name.endswith("_offsets"):
                continue
            values = column[()]
            if name + "_offsets" in samples:
                ends = samples[name + "_offsets"][()]
                pieces = [values[a:b] for a, b in zip(ends, ends[1:])]
                values = [piece.tobytes().decode("utf-8", "replace") for piece in pieces] if values.dtype == np.uint8 else pieces
            columns[name] = values
        return columns


def agreement(a, b):
    longer, shorter = max(len(a), len(b)), min(len(a), len(b))
    return 1.0 if longer == 0 else float(np.sum(a[:shorter] == b[:shorter])) / longer


def choose(columns, task, length):
    """Rows of one task and length: those asked for, else the ones with the most rows."""
    pairs = list(zip(columns["task"], columns["length"]))
    wanted = [p for p in pairs if (task is None or p[0] == task) and (length is None or p[1] == length)]
    if not wanted:
        known = ", ".join(sorted({f"{t} at {n}" for t, n in pairs})) or "none"
        refuse(2, f"no rows of that task and length; the file holds: {known}")
    most = max(sorted(set(wanted)), key=wanted.count)
    return most, [i for i, pair in enumerate(pairs) if pair == most]


def by_mode(columns, rows):
    groups = {}
    for i in rows:
        groups.setdefault(columns["mode"][i], []).append(i)
    known = [mode for mode in ORDER if mode in groups]
    return {mode: groups[mode] for mode in known + sorted(set(groups) - set(known))}


def plain(axes):
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)


def draw_ttkt(axes, columns, groups, colour):
    for mode, rows in groups.items():
        ks, times = [], []
        for k in MARKS:
            values = columns[f"ttkt_{k}_s"][rows]
            values = values[~np.isnan(values)]
            if 2 * len(values) >= len(rows) and len(values):
                ks.append(k)
                times.append(np.median(values))
        axes.plot(ks, times, marker="o", markersize=3.5, linewidth=1.6, color=colour[mode], label=mode)
    axes.set_xscale("log", base=2)
    axes.set_xticks(MARKS, [str(k) for k in MARKS])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("token k")
    axes.set_ylabel("time to token k, s")
    axes.set_title("Time to the k-th token", loc="left", fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    plain(axes)


def draw_ttft(axes, columns, groups, colour):
    modes = list(groups)
    places = np.arange(len(modes))
    draft = [np.median(columns["ttft_s"][groups[mode]]) for mode in modes]
    commit = [np.median(columns["ttft_commit_s"][groups[mode]]) for mode in modes]
    axes.bar(places, commit, width=0.7, color="white", edgecolor=[colour[m] for m in modes], linewidth=1.2)
    axes.bar(places, draft, width=0.7, color=[colour[m] for m in modes])
    for place, value in zip(places, draft):
        axes.annotate(f"{value:.2f}", (place, value), ha="center", va="bottom", fontsize=7, xytext=(0, 1),
                      textcoords="offset points")
    axes.set_xticks(places, modes, rotation=35, ha="right", fontsize=8)
    axes.set_ylabel("s")
    axes.set_title("First token: exists (filled), committed (outline)", loc="left", fontsize=10)
    plain(axes)


def draw_bytes(axes, columns, groups, colour):
    outputs = columns["output_ids"]
    base = {(columns["line"][i], columns["file_hash"][i]): i for i in groups.get("bf16", [])}
    labels = []  # (megabytes, share, names): modes whose points would lie on each other share a label
    for mode, rows in groups.items():
        megabytes = np.mean(columns["anchor_bytes"][rows].astype(float) + columns["residual_bytes"][rows] + columns["exact_bytes"][rows]) / 1e6
        pairs = [(i, base[key]) for i in rows if (key := (columns["line"][i], columns["file_hash"][i])) in base]
        if not pairs:
            continue
        share = 100 * np.mean([agreement(outputs[i], outputs[j]) for i, j in pairs])
        axes.plot(megabytes, share, marker="o", markersize=6, color=colour[mode])
        near = next((label for label in labels if abs(label[0] - megabytes) < 0.05 * label[0] and abs(label[1] - share) < 2), None)
        if near:
            near[2].append(mode)
        else:
            labels.append((megabytes, share, [mode]))
    for megabytes, share, names in labels:
        axes.annotate("\n".join(names), (megabytes, share), xytext=(0, 7), textcoords="offset points", fontsize=8, ha="center")
    axes.margins(x=0.2, y=0.35)
    axes.set_xlabel("sent, MB a sample")
    axes.set_ylabel("output tokens equal to bf16's, %")
    axes.set_title("Bytes against agreement", loc="left", fontsize=10)
    plain(axes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results")
    parser.add_argument("figure")
    parser.add_argument("--task")
    parser.add_argument("--length", type=int)
    arguments = parser.parse_args()
    try:
        columns = read(arguments.results)
    except (OSError, KeyError) as error:
        refuse(3, f"{arguments.results}: {error}")
    (task, length), rows = choose(columns, arguments.task, arguments.length)
    groups = by_mode(columns, rows)
    fallback = iter(COLOURS[::-1] * 4)
    colour = {mode: COLOURS[ORDER.index(mode)] if mode in ORDER else next(fallback) for mode in groups}

    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    draw_ttkt(axes[0], columns, groups, colour)
    draw_ttft(axes[1], columns, groups, colour)
    draw_bytes(axes[2], columns, groups, colour)
    starts = sorted({columns["start"][i] for i in rows})
    samples = max(len(group) for group in groups.values())
    figure.suptitle(f"{task}, {length} tokens, {samples} samples a mode, start: {', '.join(starts)}", x=0.01, ha="left", fontsize=11)
    try:
        figure.savefig(arguments.figure, dpi=150)
    except (OSError, ValueError) as error:  # a folder that is not there, a kind of picture that matplotlib has not
        refuse(2, f"{arguments.figure}: {error}")


if __name__ == "__main__":
    main()
