// A safetensors file: u64 header length, a JSON header {name: {dtype, shape, data_offsets}}, then the data
// that the offsets count from. The tensors fill the data without gap or overlap; all of it is checked.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/weights.hpp"

namespace lynxkv::model {

struct Safetensors {
  std::vector<StoredTensor> tensors;  // in file order; bytes are views into the file
  std::span<const std::byte> header;  // length and JSON
};

// `name` is for messages. Throws Error{bad_data}.
Safetensors read_safetensors(std::span<const std::byte> file, const std::string& name);

// Of "model.safetensors.index.json": the files that hold the tensors, each once, sorted, and for each tensor
// its file. File names are plain names in the same folder; anything else is refused.
struct ShardIndex {
  std::vector<std::string> files;
  std::vector<std::pair<std::string, std::string>> file_of_tensor;  // sorted by tensor
};
ShardIndex read_shard_index(std::string_view json, const std::string& name);

}  // namespace lynxkv::model
