// Hostile HDF5 files: captured KV and results. Nothing may crash, hang or take more memory than the bytes can be worth, and
// what is taken is of one piece. The library itself is not built with checks: what it does to its own memory shows as a
// crash only.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "results/hdf5.hpp"
#include "results/hdf5_capture.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lynxkv;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto kv = results::parse_kv_file({bytes.begin(), bytes.end()}, "fuzz");
  if (kv.ok()) {
    const results::KvFile& found = kv.value();
    const std::size_t values = found.layers.size() * found.token_ids.size() * static_cast<std::size_t>(found.kv_heads) *
                               static_cast<std::size_t>(found.head_dim);
    if (found.key.size() != values || found.value.size() != values || 4 * values > size) std::abort();
  } else if (kv.error().code() != ErrorCode::bad_data) {
    std::abort();
  }
  const auto rows = results::parse_hdf5(std::vector(bytes.begin(), bytes.end()), "fuzz");
  if (!rows.ok() && rows.error().code() != ErrorCode::bad_data) std::abort();
  return 0;
}
