// Hostile safetensors files, and hostile JSON as a shard index.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/error.hpp"
#include "model/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lynxkv;
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const model::Safetensors file = model::read_safetensors(bytes, "fuzz.safetensors");
    std::size_t total = file.header.size();
    for (const model::StoredTensor& tensor : file.tensors) {
      if (tensor.bytes.data() != bytes.data() + total) std::abort();  // they fill the file in order
      total += tensor.bytes.size();
    }
    if (total != size) std::abort();
  } catch (const Error&) {
  }
  try {
    for (const auto& name :
         model::read_shard_index({reinterpret_cast<const char*>(data), size}, "fuzz.json").files)
      if (name.find('/') != std::string::npos || name == "..") std::abort();
  } catch (const Error&) {
  }
  return 0;
}
