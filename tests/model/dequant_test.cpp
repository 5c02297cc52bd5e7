#include "model/dequant.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/support/test_data.hpp"

namespace lynxkv::model {
namespace {

struct Case {
  const char* name;
  TensorType type;
};

class GgufBlocks : public ::testing::TestWithParam<Case> {};

TEST_P(GgufBlocks, GiveTheReferenceValuesBitForBit) {
  const std::string stem = testing::data_path(std::string("gguf_blocks/") + GetParam().name);
  const auto blocks = testing::read_file(stem + ".bin");
  const auto expected = testing::read_file(stem + ".f32.bin");
  std::vector<float> values(expected.size() / sizeof(float), -1.0f);
  ASSERT_GT(values.size(), 0u);
  dequantize(GetParam().type, blocks, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, expected.data() + 4 * i, 4);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), bits) << GetParam().name << " value " << i;
  }
}

TEST_P(GgufBlocks, DoNotNeedAlignedBytes) {
  const std::string stem = testing::data_path(std::string("gguf_blocks/") + GetParam().name);
  const auto blocks = testing::read_file(stem + ".bin");
  const TensorTypeInfo& info = info_of(GetParam().type);
  std::vector<std::byte> shifted(info.block_bytes + 1);
  std::memcpy(shifted.data() + 1, blocks.data(), info.block_bytes);
  std::vector<float> there(info.block_values), here(info.block_values);
  dequantize(GetParam().type, std::span(blocks).first(info.block_bytes), there);
  dequantize(GetParam().type, std::span(shifted).subspan(1), here);
  EXPECT_EQ(std::memcmp(there.data(), here.data(), here.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(EveryType, GgufBlocks,
                         ::testing::Values(Case{"F16", TensorType::f16}, Case{"BF16", TensorType::bf16},
                                           Case{"Q4_0", TensorType::q4_0}, Case{"Q4_1", TensorType::q4_1},
                                           Case{"Q5_0", TensorType::q5_0}, Case{"Q5_1", TensorType::q5_1},
                                           Case{"Q8_0", TensorType::q8_0}, Case{"Q2_K", TensorType::q2_k},
                                           Case{"Q3_K", TensorType::q3_k}, Case{"Q4_K", TensorType::q4_k},
                                           Case{"Q5_K", TensorType::q5_k}, Case{"Q6_K", TensorType::q6_k}),
                         [](const auto& param_info) { return std::string(param_info.param.name); });

TEST(Half, BecomesTheFloatOfTheSameValue) {
  EXPECT_EQ(half_to_float(0x3c00), 1.0f);
  EXPECT_EQ(half_to_float(0xc000), -2.0f);
  EXPECT_EQ(half_to_float(0x7bff), 65504.0f);
  EXPECT_EQ(half_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(half_to_float(0x83ff), -1023 * 0x1p-24f);
  EXPECT_TRUE(std::signbit(half_to_float(0x8000)));
  EXPECT_EQ(half_to_float(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(half_to_float(0x7e00)));
}

TEST(TensorTypes, SayTheirBlockSizes) {
  EXPECT_EQ(tensor_type_info(3)->name, "Q4_1");
  EXPECT_EQ(tensor_type_info(3)->block_bytes, 20u);
  EXPECT_FALSE(tensor_type_info(4).has_value());  // a type that was withdrawn
  EXPECT_FALSE(tensor_type_info(0xffffffffu).has_value());
}

}  // namespace
}  // namespace lynxkv::model
