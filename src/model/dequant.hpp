// How tensors are stored: GGUF's block types and their exact float32 values.
// Every value is what the format's reference gives, bit for bit: each product and sum is rounded once, in the
// order written, and nothing is contracted into an FMA.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace lynxkv::model {

// The numbers are GGUF's. Types without a reader are listed too, so that a file with them can be measured,
// checked and shown; `readable` says which we compute with.
enum class TensorType : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  bf16 = 30,
};

// A tensor's row is a whole number of blocks.
struct TensorTypeInfo {
  TensorType type;
  std::string_view name;       // "Q4_1"
  std::uint32_t block_values;  // consecutive values of a row in one block
  std::uint32_t block_bytes;
  bool readable;
};

// Nothing where the number names no type that we know.
std::optional<TensorTypeInfo> tensor_type_info(std::uint32_t ggml_type) noexcept;
// Of a type that is listed above.
const TensorTypeInfo& info_of(TensorType type) noexcept;

// The values of whole blocks. `blocks` holds out.size() / block_values of them; no alignment is needed.
void dequantize(TensorType type, std::span<const std::byte> blocks, std::span<float> out) noexcept;

// IEEE half to float32, exact.
float half_to_float(std::uint16_t bits) noexcept;

}  // namespace lynxkv::model
