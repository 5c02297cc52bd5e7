#include "kernels/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/bf16.hpp"
#include "tests/kernels/paths.hpp"

namespace lynxkv::kernels {
namespace {

using testing::on_every_path;
using testing::random_values;

// A sequence's KV in pages of given sizes, each followed by rows of NaN that nothing may read.
class Pages {
 public:
  Pages(const AttentionShape& shape, const std::vector<float>& keys, const std::vector<float>& values,
        const std::vector<int>& cuts)
      : shape_(shape) {
    int first = 0;
    for (const int tokens : cuts) {
      keys_.push_back(page(keys, first, tokens));
      values_.push_back(page(values, first, tokens));
      runs_.push_back({keys_.back().data(), values_.back().data(), first, tokens});
      first += tokens;
    }
  }
  std::span<const KvRun> runs() const { return runs_; }

 private:
  std::vector<std::byte> page(const std::vector<float>& from, int first, int tokens) const {
    const auto row = static_cast<std::size_t>(shape_.kv_heads * shape_.head_dim);
    std::vector<std::byte> bytes((static_cast<std::size_t>(tokens) + 2) * row * bytes_of(shape_.kv),
                                 std::byte{0xff});
    for (std::size_t i = 0; i < static_cast<std::size_t>(tokens) * row; ++i) {
      const float value = from[static_cast<std::size_t>(first) * row + i];
      const Bf16 narrow = to_bf16(value);
      if (shape_.kv == Element::bf16)
        std::memcpy(bytes.data() + 2 * i, &narrow, 2);
      else
        std::memcpy(bytes.data() + 4 * i, &value, 4);
    }
    return bytes;
  }

  AttentionShape shape_;
  std::vector<std::vector<std::byte>> keys_, values_;
  std::vector<KvRun> runs_;
};

struct Sequence {
  AttentionShape shape;
  int length;
  unsigned seed = 1;
  std::vector<float> keys = narrowed(1000 + seed), values = narrowed(2000 + seed);
  std::vector<float> query =
      random_values(static_cast<std::size_t>(length * shape.heads * shape.head_dim), 3000 + seed);

  std::vector<float> narrowed(unsigned from) const {
    auto x = random_values(static_cast<std::size_t>(length * shape.kv_heads * shape.head_dim), from);
    for (float& value : x) value = to_float(to_bf16(value));
    return x;
  }
  int row() const { return shape.heads * shape.head_dim; }
  // Rows [first, first + rows) in one call, over pages cut as given.
  std::vector<float> run(int first, int rows, const std::vector<int>& cuts) const {
    const Pages pages(shape, keys, values, cuts);
    std::vector<float> out(static_cast<std::size_t>(rows * row()), -1.0f);
    const AttentionRows batch[] = {{0, rows, first, pages.runs()}};
    attention(shape, batch, query.data() + first * row(), row(), 0.3f, Element::f32, out.data());
    return out;
  }
  double expected(int position, int head, int channel) const {
    const int kv_head = head / (shape.heads / shape.kv_heads), kv_row = shape.kv_heads * shape.head_dim;
    double sum = 0, value = 0;
    for (int p = 0; p <= position; ++p) {
      double score = 0;
      for (int c = 0; c < shape.head_dim; ++c)
        score +=
            static_cast<double>(
                query[static_cast<std::size_t>(position * row() + head * shape.head_dim + c)]) *
            static_cast<double>(keys[static_cast<std::size_t>(p * kv_row + kv_head * shape.head_dim + c)]);
      const double weight = std::exp(0.3 * score);
      sum += weight;
      value +=
          weight * static_cast<double>(
                       values[static_cast<std::size_t>(p * kv_row + kv_head * shape.head_dim + channel)]);
    }
    return value / sum;
  }
};

const AttentionShape shapes[] = {{4, 2, 16, Element::bf16}, {9, 3, 64, Element::bf16},
                                 {4, 1, 20, Element::bf16}, {2, 2, 80, Element::f32},
                                 {8, 2, 128, Element::f32}, {3, 3, 7, Element::f32}};

TEST(Attention, OfOnePositionIsItsValue) {
  on_every_path([] {
    const Sequence s{{2, 1, 16, Element::bf16}, 1};
    const auto out = s.run(0, 1, {1});
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], s.values[i % 16]);
  });
}

TEST(Attention, AgreesWithDoublesAtEveryAwkwardLength) {
  on_every_path([] {
    for (const AttentionShape& shape : shapes)
      for (const int length : {1, 31, 32, 33, 63, 64, 65, 255, 256, 257, 600}) {
        const Sequence s{shape, length};
        const auto out = s.run(0, length, {length});
        double worst = 0;
        for (const int position : {0, length / 2, length - 1})
          for (int head = 0; head < shape.heads; ++head)
            for (int c = 0; c < shape.head_dim; ++c)
              worst = std::max(
                  worst,
                  std::abs(
                      s.expected(position, head, c) -
                      static_cast<double>(
                          out[static_cast<std::size_t>(position * s.row() + head * shape.head_dim + c)])));
        // Where dot products are of bf16, Q and the weights are rounded to 8 bits; the tests below are exact
        // there too.
        const bool rounded = runtime_isa() <= Isa::avx512_bf16 && shape.kv == Element::bf16;
        EXPECT_LT(worst, rounded ? 2e-3 : 2e-6) << length;
      }
  });
}

TEST(Attention, OfEqualScoresIsTheMeanOfTheValues) {
  on_every_path([] {
    for (const AttentionShape& shape : shapes)
      for (const int length : {1, 2, 31, 33, 64, 65, 256, 257, 513}) {
        Sequence s{shape, length};
        std::fill(s.query.begin(), s.query.end(), 0.0f);
        const auto out = s.run(0, length, {length});
        for (int head = 0; head < shape.heads; ++head)
          for (int c = 0; c < shape.head_dim; ++c)
            ASSERT_NEAR(out[static_cast<std::size_t>((length - 1) * s.row() + head * shape.head_dim + c)],
                        s.expected(length - 1, head, c), 1e-6);
      }
  });
}

TEST(Attention, OfOneOverwhelmingKeyIsItsValue) {
  on_every_path([] {
    for (const AttentionShape& shape : shapes) {
      const int length = 530, kv_row = shape.kv_heads * shape.head_dim;
      for (const int chosen : {0, 1, 30, 63, 64, 255, 511, 512, 529}) {
        Sequence s{shape, length};
        std::fill(s.keys.begin(), s.keys.end(), 0.0f);
        for (int i = 0; i < kv_row; ++i)
          s.keys[static_cast<std::size_t>(chosen * kv_row + i)] = i % 3 == 0 ? 4.0f : -2.0f;
        for (int head = 0; head < shape.heads; ++head)
          for (int c = 0; c < shape.head_dim; ++c) {
            const int kv_channel = head / (shape.heads / shape.kv_heads) * shape.head_dim + c;
            s.query[static_cast<std::size_t>((length - 1) * s.row() + head * shape.head_dim + c)] =
                kv_channel % 3 == 0 ? 50.0f : -25.0f;
          }
        const auto out = s.run(length - 1, 1, {300, 230});
        for (int i = 0; i < s.row(); ++i)
          ASSERT_EQ(
              out[static_cast<std::size_t>(i)],
              s.values[static_cast<std::size_t>(
                  chosen * kv_row + i / shape.head_dim / (shape.heads / shape.kv_heads) * shape.head_dim +
                  i % shape.head_dim)])
              << chosen;
      }
    }
  });
}

TEST(Attention, SurvivesScoresThatOverflowAnExponential) {
  on_every_path([] {
    Sequence s{{1, 1, 16, Element::f32}, 100};
    for (float& q : s.query) q = 1000.0f;
    const auto out = s.run(0, 100, {100});
    for (const float value : out) EXPECT_TRUE(std::isfinite(value));
  });
}

TEST(Attention, GivesARowTheSameBitsWhateverRunsWithItAndHoweverPagesAreCut) {
  on_every_path([] {
    for (const AttentionShape& shape : shapes) {
      const Sequence s{shape, 700};
      const auto whole = s.run(0, 700, {256, 256, 188});
      const std::vector<std::vector<int>> cuts = {
          {700}, {256, 256, 188}, {1, 255, 33, 256, 155}, {256, 101, 256, 87}};
      for (const int threads : {1, testing::test_threads}) {
        start_runtime(threads, runtime_isa());
        for (const auto& cut : cuts)
          for (const auto& [first, rows] :
               {std::pair{0, 700}, {0, 1}, {63, 2}, {100, 33}, {511, 1}, {512, 1}, {500, 65}, {699, 1}}) {
            const auto some = s.run(first, rows, cut);
            EXPECT_EQ(0,
                      std::memcmp(some.data(), whole.data() + first * s.row(), some.size() * sizeof(float)))
                << "rows " << first << " + " << rows << ", " << threads << " threads, head_dim "
                << shape.head_dim;
          }
      }
      start_runtime(testing::test_threads, runtime_isa());
    }
  });
}

TEST(Attention, KeepsTheSequencesOfABatchApart) {
  on_every_path([] {
    const AttentionShape shape{9, 3, 64, Element::bf16};
    const Sequence a{shape, 40, 1}, b{shape, 300, 2}, c{shape, 129, 3};
    const Pages pa(shape, a.keys, a.values, {40}), pb(shape, b.keys, b.values, {256, 44}),
        pc(shape, c.keys, c.values, {100, 29});
    std::vector<float> query(a.query.begin() + 39 * a.row(), a.query.end());
    query.insert(query.end(), b.query.begin() + 250 * b.row(), b.query.end());
    query.insert(query.end(), c.query.begin() + 120 * c.row(), c.query.end());
    const AttentionRows batch[] = {{0, 1, 39, pa.runs()}, {1, 50, 250, pb.runs()}, {51, 9, 120, pc.runs()}};
    std::vector<float> out(static_cast<std::size_t>(60 * a.row()));
    attention(shape, batch, query.data(), a.row(), 0.3f, Element::f32, out.data());
    auto expected = a.run(39, 1, {40});
    for (const auto& more : {b.run(250, 50, {300}), c.run(120, 9, {129})})
      expected.insert(expected.end(), more.begin(), more.end());
    EXPECT_EQ(0, std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)));

    std::vector<Bf16> narrow(out.size());
    attention(shape, batch, query.data(), a.row(), 0.3f, Element::bf16, narrow.data());
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(narrow[i], to_bf16(out[i]));
  });
}

}  // namespace
}  // namespace lynxkv::kernels
