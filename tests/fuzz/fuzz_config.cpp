// Hostile config.json. One that is taken is in range throughout.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/error.hpp"
#include "model/config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lynxkv;
  try {
    const model::ModelConfig config =
        model::config_from_json({reinterpret_cast<const char*>(data), size}, "fuzz.json");
    if (config.layers < 1 || config.head_dim < 2 || config.heads % config.kv_heads != 0) std::abort();
    for (const float factor : config.rope.frequency_factors)
      if (!std::isfinite(factor) || factor <= 0) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
