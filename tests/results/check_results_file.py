#!/usr/bin/env python3
"""Checks the layout of a results file with h5py: check_results_file.py FILE ROWS. Silent where all is well."""
import json
import sys
import h5py
import numpy as np

path, rows = sys.argv[1], int(sys.argv[2])
with h5py.File(path, "r") as file:
    attributes = dict(file.attrs)
    assert attributes["format"] == "lynxkv results", attributes
    assert attributes["schema_version"] == 1 and attributes["complete"] == 1, attributes
    assert attributes["git"] == "abc" and attributes["restarts"] == 2 and attributes["share"] == 0.5, attributes
    assert json.loads(attributes["seeds"]) == [1, 2] and json.loads(attributes["facts_json"])["ok"] is True
    assert attributes["config_yaml"] == "model: {path: a}\n"
    samples = file["samples"]
    for name, column in samples.items():
        assert isinstance(column.attrs["units"], str) and column.attrs["long_name"], name
        assert column.ndim == 1 and column.chunks and column.shuffle and column.compression == "gzip", name
        if name + "_offsets" in samples:
            ends = samples[name + "_offsets"]
            assert len(ends) == rows + 1 and ends[0] == 0 and ends[-1] == len(column), name
            assert np.all(np.diff(ends) >= 0), name
        elif not name.endswith("_offsets"):
            assert len(column) == rows, name
    assert samples["output_ids"].dtype == np.int32 and samples["file_hash"].dtype == np.uint64
    assert samples["file_hash"][0] == 0xFEDCBA9876543210
    assert np.isnan(samples["ttkt_64_s"][0]) and samples["ttkt_64_s"][2] == 7.0
    assert list(samples["all_accepted"]) == [0, 1, 0]
    blob, ends = samples["prediction"][()].tobytes(), samples["prediction_offsets"][()]
    assert blob[ends[0]:ends[1]].decode() == "The number is 12\u00e9." and ends[1] == ends[2]
    blob, ends = samples["references"][()].tobytes(), samples["references_offsets"][()]
    assert json.loads(blob[ends[0]:ends[1]]) == ["12", "twelve"]
