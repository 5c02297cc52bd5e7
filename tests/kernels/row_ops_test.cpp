#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/bf16.hpp"
#include "kernels/argmax.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rope.hpp"
#include "kernels/swiglu.hpp"
#include "tests/kernels/paths.hpp"

namespace lynxkv::kernels {
namespace {

using testing::on_every_path;
using testing::random_values;
constexpr int sizes[] = {1, 2, 15, 16, 31, 32, 33, 255, 256, 257};

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  on_every_path([] {
    const float x[] = {3, 4}, weight[] = {2, 10};  // mean square 12.5
    float out[2];
    rms_norm(1, 2, x, weight, 0.0f, Element::f32, out);
    EXPECT_NEAR(out[0], 6 / std::sqrt(12.5), 1e-6);
    EXPECT_NEAR(out[1], 40 / std::sqrt(12.5), 1e-5);
    const float zero[] = {0, 0};
    rms_norm(1, 2, zero, weight, 1e-5f, Element::f32, out);
    EXPECT_EQ(out[0], 0.0f);
  });
}

TEST(RmsNorm, AgreesWithDoublesAndRoundsBf16ToNearest) {
  on_every_path([] {
    for (const int columns : sizes) {
      const int rows = 35;
      const auto width = static_cast<std::size_t>(columns);
      const auto x = random_values(rows * width, 1), weight = random_values(width, 2);
      std::vector<float> out(rows * width);
      std::vector<Bf16> narrow(rows * width);
      rms_norm(rows, columns, x.data(), weight.data(), 1e-5f, Element::f32, out.data());
      rms_norm(rows, columns, x.data(), weight.data(), 1e-5f, Element::bf16, narrow.data());
      for (std::size_t r = 0; r < rows; ++r) {
        double mean = 0;
        for (std::size_t c = 0; c < width; ++c)
          mean += std::pow(static_cast<double>(x[r * width + c]), 2) / columns;
        for (std::size_t c = 0; c < width; ++c) {
          const std::size_t i = r * width + c;
          EXPECT_NEAR(out[i],
                      static_cast<double>(x[i]) / std::sqrt(mean + 1e-5) * static_cast<double>(weight[c]),
                      4e-6);
          EXPECT_EQ(narrow[i], to_bf16(out[i]));
        }
      }
    }
  });
}

TEST(SwiGlu, AgreesWithDoublesFarIntoBothTails) {
  on_every_path([] {
    for (const int columns : sizes) {
      const auto width = static_cast<std::size_t>(columns);
      auto gate_up = random_values(2 * 2 * width, 3);
      for (std::size_t i = 0; i < width; ++i) gate_up[i] *= 100.0f;
      std::vector<float> out(2 * width);
      std::vector<Bf16> narrow(2 * width);
      swiglu(2, columns, gate_up.data(), Element::f32, out.data());
      swiglu(2, columns, gate_up.data(), Element::bf16, narrow.data());
      for (std::size_t r = 0; r < 2; ++r)
        for (std::size_t c = 0; c < width; ++c) {
          const double gate = static_cast<double>(gate_up[r * 2 * width + c]);
          const double up = static_cast<double>(gate_up[r * 2 * width + width + c]);
          const double expected = gate / (1 + std::exp(-gate)) * up;
          EXPECT_NEAR(out[r * width + c], expected, 1e-6 * (1 + std::abs(expected)));
          EXPECT_EQ(narrow[r * width + c], to_bf16(out[r * width + c]));
        }
    }
  });
}

TEST(Rope, TurnsHalvesByPositionTimesFrequency) {
  on_every_path([] {
    for (const int half : {1, 4, 8, 16, 20, 32}) {
      const int heads = 3, head_dim = 2 * half + 5, stride = heads * head_dim + 7;  // five channels that stay
      const std::vector<int> positions = {0, 1, 511, 100000};
      std::vector<float> frequency(static_cast<std::size_t>(half));
      for (int i = 0; i < half; ++i)
        frequency[static_cast<std::size_t>(i)] =
            std::pow(10000.0f, -static_cast<float>(i) / static_cast<float>(half));
      auto x = random_values(positions.size() * static_cast<std::size_t>(stride), 4);
      const auto before = x;
      std::vector<float> cosines(positions.size() * frequency.size()), sines(cosines.size());
      rope_angles(positions, frequency, cosines.data(), sines.data());
      rope(static_cast<int>(positions.size()), x.data(), stride, heads, head_dim, 2 * half, cosines.data(),
           sines.data());
      for (std::size_t row = 0; row < positions.size(); ++row)
        for (int i = 0; i < stride; ++i) {
          const std::size_t at = row * static_cast<std::size_t>(stride) + static_cast<std::size_t>(i);
          const int channel = i % head_dim;
          if (i >= heads * head_dim || channel >= 2 * half) {
            EXPECT_EQ(x[at], before[at]);
            continue;
          }
          const int pair = channel % half;
          const auto angle = static_cast<double>(static_cast<float>(positions[row]) *
                                                 frequency[static_cast<std::size_t>(pair)]);
          const double expected =
              channel < half
                  ? static_cast<double>(before[at]) * std::cos(angle) -
                        static_cast<double>(before[at + static_cast<std::size_t>(half)]) * std::sin(angle)
                  : static_cast<double>(before[at]) * std::cos(angle) +
                        static_cast<double>(before[at - static_cast<std::size_t>(half)]) * std::sin(angle);
          EXPECT_NEAR(x[at], expected, 1e-6);
        }
    }
  });
}

TEST(StoreRows, RoundsToNearestEvenAndKeepsNotANumber) {
  on_every_path([] {
    for (const int columns : sizes) {
      const auto width = static_cast<std::size_t>(columns);
      auto x = random_values(2 * (width + 3), 5);
      x[0] = std::nanf("");
      x[width - 1] = 1.00390625f;  // half way between two bf16 values
      std::vector<Bf16> first(width), second(width);
      void* out[] = {first.data(), second.data()};
      store_rows(2, x.data(), columns + 3, columns, Element::bf16, out);
      for (std::size_t c = 0; c < width; ++c) {
        EXPECT_EQ(first[c], to_bf16(x[c]));
        EXPECT_EQ(second[c], to_bf16(x[width + 3 + c]));
      }
      std::vector<float> wide(2 * width);
      void* wide_out[] = {wide.data(), wide.data() + width};
      store_rows(2, x.data(), columns + 3, columns, Element::f32, wide_out);
      EXPECT_EQ(0, std::memcmp(wide.data() + width, x.data() + width + 3, width * sizeof(float)));
    }
  });
}

TEST(ArgMax, FindsTheFirstOfTheLargestWhereverItIs) {
  on_every_path([] {
    for (const int count : sizes)
      for (const int at : {0, count / 2, count - 1}) {
        std::vector<float> x(static_cast<std::size_t>(count), -3.0f);
        x[static_cast<std::size_t>(at)] = 2.0f;
        EXPECT_EQ(argmax(count, x.data()), at);
        x[static_cast<std::size_t>(count - 1)] = 2.0f;
        EXPECT_EQ(argmax(count, x.data()), at);
        if (at != 0) x[0] = std::nanf("");
        EXPECT_EQ(argmax(count, x.data()), at);
      }
  });
}

}  // namespace
}  // namespace lynxkv::kernels
