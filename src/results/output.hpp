// The output of a run, from whatever of it is there: its folder, its journal or its HDF5 file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/row.hpp"

namespace lynxkv::results {

struct Output {
  std::string name;  // as the user gave it
  std::vector<Row> rows;
  std::optional<bool> complete;       // of the HDF5 file; a journal does not know what was planned
  std::string config;                 // YAML or JSON (which is YAML)
  std::string result_config;          // the keys that change results, JSON; empty where it is not known
  std::string facts_json;             // of the last attempt
  std::vector<std::string> attempts;  // facts of every attempt; the HDF5 file has the last one's only
  std::uint64_t settings_hash = 0;
};

// A folder is read by its journal, which is the truth, else by its results.h5. Throws Error{bad_data} where
// nothing is there, and for a file that is neither.
Output load_output(const std::string& path);

}  // namespace lynxkv::results
