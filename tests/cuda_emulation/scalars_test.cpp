// Device functions one value at a time, against the scalar source that defines them.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/cuda/codec_encode_rows.cuh"
#include "kernels/cuda/codec_encode_scalars.cuh"
#include "kernels/cuda/codec_uniform.cuh"

namespace lynxkv::kernels::cuda {
namespace {

TEST(CudaScalars, FindTheLogScalarNextToEveryEntryOfTheTable) {
  const LynxCoding coding = make_lynx_coding(0.05f, 112, LynxCentre::mid, LynxSigma::log);
  const float* table = coding.tables.scalar;
  for (int round = 0; round < 20; ++round)  // the logarithm's error is drawn
    for (int k = 0; k < 255; ++k)
      for (const float s : {std::nextafter(table[k], 0.0f), table[k], std::fmin(std::nextafter(table[k], 2.0f), 1.0f)})
        ASSERT_EQ(log_scalar(s, table), lynx_log_scalar(s, table)) << s;
  for (const float s : {0.0f, 1e-45f, 1e-30f, 1.0f}) EXPECT_EQ(log_scalar(s, table), lynx_log_scalar(s, table)) << s;
}

Bf16 drawn_finite(std::mt19937& draw) {
  Bf16 x{static_cast<std::uint16_t>(draw())};
  while (lynx_needs_raw(x)) x.bits = static_cast<std::uint16_t>(draw());
  return x;
}

TEST(CudaScalars, NormaliseAsADivisionDoesWhereTheScaleIsSafe) {
  std::mt19937 draw(60);
  int safe = 0;
  for (int i = 0; i < 2000000; ++i) {
    Bf16 x = drawn_finite(draw), y = drawn_finite(draw);
    if (i % 2 == 0) y.bits = static_cast<std::uint16_t>(x.bits + draw() % 600);  // the same magnitude
    if (lynx_needs_raw(y)) continue;
    const bool swapped = to_float(y) < to_float(x);
    const LynxScale scale = lynx_scale(swapped ? y : x, swapped ? x : y);
    const float gmin = to_float(scale.gmin), gscale = to_float(scale.gscale);
    if (!safe_scale(gscale)) continue;
    ++safe;
    const Bf16 between = to_bf16(gmin + (to_float(swapped ? x : y) - gmin) * static_cast<float>(draw() % 1000) / 999.0f);
    if (to_float(between) < gmin || to_float(between) > to_float(swapped ? x : y)) continue;
    const float expected = lynx_normalise(between, gmin, gscale);
    if (std::fabs(expected) < 0x1p-58f) continue;  // where no rule tells values apart
    ASSERT_EQ(normalised(to_float(between), gmin, gscale, reciprocal_or_zero(gscale)), expected) << to_float(between) << " " << gmin << " " << gscale;
  }
  EXPECT_GT(safe, 100000);
}

TEST(CudaScalars, CodeIntegersAsTheirDefinitionDoes) {
  std::mt19937 draw(61);
  for (int i = 0; i < 500000; ++i) {
    Bf16 least = drawn_finite(draw), largest = drawn_finite(draw);
    if (to_float(largest) < to_float(least)) std::swap(least, largest);
    const int largest_code = i % 2 == 0 ? 15 : 255;
    const UniformScale scale = uniform_scale(least, largest, largest_code);
    const Bf16 x = to_bf16(to_float(least) + (to_float(largest) - to_float(least)) * static_cast<float>(draw() % 512) / 511.0f);
    if (to_float(x) < to_float(least) || to_float(x) > to_float(largest)) continue;
    ASSERT_EQ(UniformTerms(scale).code(x, largest_code), uniform_code(x, to_float(scale.lo), to_float(scale.step), largest_code));
  }
}

template <GuessForm kForm>
void expect_near(float alpha) {
  const LynxCoding coding = make_lynx_coding(alpha, 112, LynxCentre::mid, LynxSigma::log);
  for (int i = 0; i <= 20000; ++i) {
    const float u = static_cast<float>(i) / 20000.0f;
    const double right = std::log1p(static_cast<double>(alpha) * u) * 112 / std::log1p(static_cast<double>(alpha));
    ASSERT_LE(std::fabs(guess_magnitude<kForm>(u, coding.guess, alpha) - right), coding.guess.near) << alpha << " " << u;
  }
}
TEST(CudaScalars, GuessMagnitudesWithinTheDistanceThatTheCodingStates) {
  expect_near<GuessForm::cubic>(0.05f);
  expect_near<GuessForm::seventh_degree>(1.0f);
  expect_near<GuessForm::logarithm>(255.0f);
}

}  // namespace
}  // namespace lynxkv::kernels::cuda
