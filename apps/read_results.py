#!/usr/bin/env python3
"""Prints every sample of a LynxKV results file: read_results.py OUT/results.h5"""
import sys
import h5py

with h5py.File(sys.argv[1], "r") as file:
    samples = file["samples"]
    def texts(name):
        blob, ends = samples[name][()].tobytes(), samples[name + "_offsets"][()]
        return [blob[a:b].decode() for a, b in zip(ends, ends[1:])]
    for mode, task, score, ttft in zip(texts("mode"), texts("task"), samples["score"], samples["ttft_s"]):
        print(f"{mode:12} {task:18} {score:5.2f} {ttft:8.3f} s")
