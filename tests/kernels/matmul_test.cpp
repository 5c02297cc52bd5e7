#include "kernels/matmul.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/bf16.hpp"
#include "tests/kernels/paths.hpp"

namespace lynxkv::kernels {
namespace {

using testing::on_every_path;
using testing::random_values;

// Values that both element types hold, so that the reference sees what the kernel sees.
std::vector<float> bf16_values(std::size_t count, unsigned seed) {
  auto values = random_values(count, seed);
  for (float& value : values) value = to_float(to_bf16(value));
  return values;
}

struct Case {
  int outputs, inputs;
  Element element;
  std::vector<float> weights =
      bf16_values(static_cast<std::size_t>(outputs) * static_cast<std::size_t>(inputs), 1);

  Matmul matmul() const {
    Matmul made(outputs, inputs, element);
    const int half = outputs / 2;
    made.pack_rows(0, half, weights.data());
    made.pack_rows(half, outputs - half,
                   weights.data() + static_cast<std::size_t>(half) * static_cast<std::size_t>(inputs));
    return made;
  }
  // Runs rows of x (floats that a bf16 holds), with the room that the kernel asks for.
  std::vector<float> run(const Matmul& matmul, const float* x, int rows, const float* start = nullptr) const {
    const auto padded = static_cast<std::size_t>(padded_rows(rows));
    const std::size_t used = static_cast<std::size_t>(rows) * static_cast<std::size_t>(inputs);
    std::vector<float> y(padded * static_cast<std::size_t>(outputs), -7.0f);
    const std::size_t results = static_cast<std::size_t>(rows) * static_cast<std::size_t>(outputs);
    if (start != nullptr) std::copy_n(start, results, y.begin());
    if (element == Element::bf16) {
      std::vector<Bf16> narrow(padded * static_cast<std::size_t>(inputs), Bf16{0x3f80});
      for (std::size_t i = 0; i < used; ++i) narrow[i] = to_bf16(x[i]);
      matmul.run(rows, narrow.data(), y.data(), start != nullptr);
    } else {
      std::vector<float> wide(padded * static_cast<std::size_t>(inputs), 1.0f);
      std::copy_n(x, used, wide.begin());
      matmul.run(rows, wide.data(), y.data(), start != nullptr);
    }
    y.resize(results);
    return y;
  }
};

TEST(Matmul, MultipliesByHand) {
  on_every_path([] {
    for (const Element element : {Element::bf16, Element::f32}) {
      const Case c{2, 3, element, {1, 2, 3, -4, 5, 0.5f}};
      const Matmul matmul = c.matmul();
      const float x[] = {1, 10, 100, 2, 0, -1};
      EXPECT_EQ(c.run(matmul, x, 2), (std::vector<float>{321, 96, -1, -8.5f}));
      const float start[] = {1000, 2000, 3000, 4000};
      EXPECT_EQ(c.run(matmul, x, 2, start), (std::vector<float>{1321, 2096, 2999, 3991.5f}));
    }
  });
}

TEST(Matmul, AgreesWithDoublesAtEveryAwkwardSize) {
  on_every_path([] {
    for (const Element element : {Element::bf16, Element::f32})
      for (const auto& [outputs, inputs] :
           {std::pair{1, 1}, {31, 33}, {32, 31}, {33, 32}, {255, 257}, {256, 64}, {257, 255}})
        for (const int rows : {1, 2, 31, 33, 256, 257}) {
          const Case c{outputs, inputs, element};
          const auto x = bf16_values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(inputs), 2);
          const auto y = c.run(c.matmul(), x.data(), rows);
          double worst = 0;
          for (int r = 0; r < rows; ++r)
            for (int o = 0; o < outputs; ++o) {
              double sum = 0;
              for (int i = 0; i < inputs; ++i)
                sum += static_cast<double>(x[static_cast<std::size_t>(r * inputs + i)]) *
                       static_cast<double>(c.weights[static_cast<std::size_t>(o * inputs + i)]);
              worst = std::max(
                  worst, std::abs(sum - static_cast<double>(y[static_cast<std::size_t>(r * outputs + o)])));
            }
          EXPECT_LT(worst, 1e-4) << outputs << " x " << inputs << ", " << rows << " rows";
        }
  });
}

TEST(Matmul, GivesARowTheSameBitsWhateverRunsWithIt) {
  on_every_path([] {
    for (const Element element : {Element::bf16, Element::f32})
      for (const auto& [outputs, inputs] : {std::pair{960, 576}, {576, 1536}, {96, 64}, {333, 112}}) {
        const Case c{outputs, inputs, element};
        const Matmul matmul = c.matmul();
        const int most = 257;
        const auto x = bf16_values(static_cast<std::size_t>(most) * static_cast<std::size_t>(inputs), 3);
        start_runtime(testing::test_threads, runtime_isa());
        const auto all = c.run(matmul, x.data(), most);
        for (const int threads : {1, 2, testing::test_threads}) {
          start_runtime(threads, runtime_isa());
          for (const int rows : {1, 2, 3, 5, 8, 9, 17, 31, 32, 33, 65, 128, 255, 256})
            for (const int first : {0, 1, 13}) {
              if (first + rows > most) continue;
              const auto some = c.run(matmul, x.data() + first * inputs, rows);
              EXPECT_EQ(0,
                        std::memcmp(some.data(), all.data() + first * outputs, some.size() * sizeof(float)))
                  << outputs << " x " << inputs << ", rows " << first << " + " << rows << ", " << threads
                  << " threads";
            }
        }
      }
  });
}

TEST(Matmul, GivesItsWeightsBack) {
  on_every_path([] {
    for (const Element element : {Element::bf16, Element::f32}) {
      const Case c{67, 45, element};
      const Matmul matmul = c.matmul();
      std::vector<float> row(45);
      for (int o = 0; o < 67; ++o) {
        matmul.unpack_row(o, row.data());
        EXPECT_EQ(0, std::memcmp(row.data(), c.weights.data() + o * 45, 45 * sizeof(float))) << o;
      }
    }
  });
}

TEST(Matmul, KeepsNoSecondCopyOfTheWeights) {
  on_every_path([] {
    EXPECT_LE(Matmul(1024, 512, Element::bf16).weight_bytes(), 1024u * 512 * 2 + 4096);
    EXPECT_LE(Matmul(1024, 512, Element::f32).weight_bytes(), 1024u * 512 * 4 + 4096);
  });
}

}  // namespace
}  // namespace lynxkv::kernels
