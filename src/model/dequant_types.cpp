// The table of GGUF tensor types.
#include <array>

#include "base/check.hpp"
#include "model/dequant.hpp"

namespace lynxkv::model {
namespace {

constexpr TensorTypeInfo entry(std::uint32_t number, std::string_view name, std::uint32_t values,
                               std::uint32_t bytes, bool readable) {
  return {static_cast<TensorType>(number), name, values, bytes, readable};
}

constexpr std::array table = {
    entry(0, "F32", 1, 4, true),          entry(1, "F16", 1, 2, true),
    entry(2, "Q4_0", 32, 18, true),       entry(3, "Q4_1", 32, 20, true),
    entry(6, "Q5_0", 32, 22, true),       entry(7, "Q5_1", 32, 24, true),
    entry(8, "Q8_0", 32, 34, true),       entry(9, "Q8_1", 32, 36, false),
    entry(10, "Q2_K", 256, 84, true),     entry(11, "Q3_K", 256, 110, true),
    entry(12, "Q4_K", 256, 144, true),    entry(13, "Q5_K", 256, 176, true),
    entry(14, "Q6_K", 256, 210, true),    entry(15, "Q8_K", 256, 292, false),
    entry(16, "IQ2_XXS", 256, 66, false), entry(17, "IQ2_XS", 256, 74, false),
    entry(18, "IQ3_XXS", 256, 98, false), entry(19, "IQ1_S", 256, 50, false),
    entry(20, "IQ4_NL", 32, 18, false),   entry(21, "IQ3_S", 256, 110, false),
    entry(22, "IQ2_S", 256, 82, false),   entry(23, "IQ4_XS", 256, 136, false),
    entry(24, "I8", 1, 1, false),         entry(25, "I16", 1, 2, false),
    entry(26, "I32", 1, 4, false),        entry(27, "I64", 1, 8, false),
    entry(28, "F64", 1, 8, false),        entry(29, "IQ1_M", 256, 56, false),
    entry(30, "BF16", 1, 2, true),        entry(34, "TQ1_0", 256, 54, false),
    entry(35, "TQ2_0", 256, 66, false),   entry(39, "MXFP4", 32, 17, false),
};

}  // namespace

std::optional<TensorTypeInfo> tensor_type_info(std::uint32_t ggml_type) noexcept {
  for (const TensorTypeInfo& info : table)
    if (static_cast<std::uint32_t>(info.type) == ggml_type) return info;
  return std::nullopt;
}

const TensorTypeInfo& info_of(TensorType type) noexcept {
  for (const TensorTypeInfo& info : table)
    if (info.type == type) return info;
  LYNXKV_CHECK(!"a tensor type that is in the table");
  return table[0];
}

}  // namespace lynxkv::model
