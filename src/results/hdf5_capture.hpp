// A model's KV of one text as an HDF5 file: what codecs are measured on, and what anyone may look at with h5py.
//   /key, /value   uint16 [layers here][tokens][channels], the bits of bfloat16 (attribute dtype = "bfloat16"); channels:
//                  KV heads side by side
//   /layers        int32, which layers of the model these are; /token_ids: int32 [tokens]
// Root attributes: format = "lynxkv kv", schema_version, model, text, model_layers, kv_heads, head_dim and, written
// last, complete. Texts there are of fixed length (h5py gives bytes). Arrays lie in the file as they are: no chunks, no filters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace lynxkv::results {

struct KvFile {
  std::string model, text;  // names, for people
  int model_layers = 0;
  int kv_heads = 0;
  int head_dim = 0;
  std::vector<std::int32_t> layers;     // ascending, each below model_layers
  std::vector<std::int32_t> token_ids;  // [tokens]
  std::vector<std::uint16_t> key, value;
};

// Puts the file at `path` whole or not at all. Throws as write_hdf5 does.
void write_kv_file(const std::string& path, const KvFile& capture);

// Error{bad_data} that names the path: not such a file, or one whose parts do not fit each other.
Result<KvFile> read_kv_file(const std::string& path);
// The same for a file's bytes; `path` is for the error.
Result<KvFile> parse_kv_file(std::vector<std::byte> bytes, const std::string& path);

// Whether the file at `path` begins as HDF5 files do.
bool is_hdf5_file(const std::string& path);

}  // namespace lynxkv::results
