// The HDF5 file, derived from the journal: one-dimensional columns of equal length under /samples (and
// /transfers, /ranks, /steps as they come), texts as a uint8 blob with int64 offsets, token ids likewise. /texts has
// config_yaml and facts_json as bytes: what we read; the attributes of these names are for people.
// Every dataset has `units` and `long_name`; root has `schema_version` and, written last, `complete`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "results/journal.hpp"

namespace lynxkv::results {

struct Hdf5Meta {
  bool complete = false;    // every planned sample is in
  std::string config_yaml;  // full effective config
  std::string facts_json;   // versions, hashes, seeds, placement, Slurm ids, restart count; an object, whose
                            // entries become attributes of the root
};

constexpr const char* hdf5_file_name = "results.h5";

// Puts the file at `path` whole or not at all. Rows are sorted by suite, task, length, line and mode. Throws
// Error{incomplete} where the disk is full, Error{usage} where the folder cannot be written.
void write_hdf5(const std::string& path, const std::vector<Row>& rows, const Hdf5Meta& meta);

// Reads the rows back. Error{bad_data} for a file that is not ours or not whole.
Result<std::vector<Row>> read_hdf5(const std::string& path);
// The same for a file's bytes; `path` is for the error.
Result<std::vector<Row>> parse_hdf5(Result<std::vector<std::byte>> bytes, const std::string& path);
Result<Hdf5Meta> read_hdf5_meta(const std::string& path);

}  // namespace lynxkv::results
