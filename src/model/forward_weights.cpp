#include "model/forward_weights.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>

#include "base/bf16.hpp"
#include "kernels/parallel.hpp"

namespace lynxkv::model {
namespace {

using kernels::Element;
using kernels::Matmul;

// Rows read at a time: the float copy of a weight is never larger than this many rows a thread.
constexpr int rows_at_a_time = 64;

class Loader {
 public:
  Loader(const ModelFile& file, Element element)
      : config_(file.config), source_(*file.weights), element_(element) {}

  std::vector<float> vector(Weight weight, int layer) const {
    std::vector<float> values(static_cast<std::size_t>(shape_of(config_, weight).rows));
    source_.read_rows(weight, layer, 0, static_cast<int>(values.size()), values.data());
    return values;
  }

  // The weights' rows, one below the other, as one matrix.
  Matmul matrix(std::initializer_list<Weight> weights, int layer) const {
    int rows = 0;
    for (const Weight weight : weights) rows += shape_of(config_, weight).rows;
    Matmul matmul(rows, shape_of(config_, *weights.begin()).columns, element_);
    int first = 0;
    for (const Weight weight : weights) {
      read(weight, layer,
           [&](int row, int count, const float* values) { matmul.pack_rows(first + row, count, values); });
      first += shape_of(config_, weight).rows;
    }
    return matmul;
  }

  std::vector<std::byte> table(Weight weight) const {
    const auto columns = static_cast<std::size_t>(shape_of(config_, weight).columns);
    std::vector<std::byte> bytes(static_cast<std::size_t>(shape_of(config_, weight).rows) * columns *
                                 bytes_of(element_));
    read(weight, 0, [&](int row, int count, const float* values) {
      std::byte* out = bytes.data() + static_cast<std::size_t>(row) * columns * bytes_of(element_);
      const std::size_t size = static_cast<std::size_t>(count) * columns;
      if (element_ == Element::f32) {
        std::memcpy(out, values, size * sizeof(float));
      } else {
        std::transform(values, values + size, reinterpret_cast<Bf16*>(out),
                       [](float value) { return to_bf16(value); });
      }
    });
    return bytes;
  }

 private:
  template <class Take>
  void read(Weight weight, int layer, Take&& take) const {
    const WeightShape shape = shape_of(config_, weight);
    std::exception_ptr failure;
    std::mutex failing;
    kernels::parallel_for((shape.rows + rows_at_a_time - 1) / rows_at_a_time, [&](int task, int) {
      try {
        static thread_local std::vector<float> values;
        const int first = task * rows_at_a_time;
        const int count = std::min(rows_at_a_time, shape.rows - first);
        values.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(shape.columns));
        source_.read_rows(weight, layer, first, count, values.data());
        take(first, count, values.data());
      } catch (...) {
        const std::lock_guard lock(failing);
        failure = std::current_exception();
      }
    });
    if (failure) std::rethrow_exception(failure);
  }

  const ModelConfig& config_;
  const WeightSource& source_;
  Element element_;
};

}  // namespace

std::size_t ForwardWeights::bytes() const noexcept {
  std::size_t sum = embedding.size() + final_norm.size() * sizeof(float) + lm_head->weight_bytes();
  for (const LayerWeights& layer : layers)
    sum += (layer.attention_norm.size() + layer.mlp_norm.size()) * sizeof(float) +
           layer.query_key_value.weight_bytes() + layer.output.weight_bytes() + layer.gate_up.weight_bytes() +
           layer.down.weight_bytes();
  return sum;
}

void ForwardWeights::embed(const ModelConfig& config, Element element, int token, float* out) const {
  if (embedding.empty()) return lm_head->unpack_row(token, out);
  const auto columns = static_cast<std::size_t>(config.hidden);
  const std::byte* row = embedding.data() + static_cast<std::size_t>(token) * columns * bytes_of(element);
  if (element == Element::f32) {
    std::memcpy(out, row, columns * sizeof(float));
  } else {
    const auto* narrow = reinterpret_cast<const Bf16*>(row);
    std::transform(narrow, narrow + columns, out, [](Bf16 value) { return to_float(value); });
  }
}

ForwardWeights load_weights(const ModelFile& file, Element element,
                            const std::function<void(double)>& progress) {
  const Loader loader(file, element);
  const ModelConfig& config = file.config;
  const double steps = config.layers + 1;
  ForwardWeights weights;
  weights.layers.reserve(static_cast<std::size_t>(config.layers));
  for (int layer = 0; layer < config.layers; ++layer) {
    weights.layers.push_back({loader.vector(Weight::attention_norm, layer),
                              loader.matrix({Weight::query, Weight::key, Weight::value}, layer),
                              loader.matrix({Weight::output}, layer), loader.vector(Weight::mlp_norm, layer),
                              loader.matrix({Weight::gate, Weight::up}, layer),
                              loader.matrix({Weight::down}, layer)});
    if (progress) progress((layer + 1) / steps);
  }
  weights.final_norm = loader.vector(Weight::final_norm, 0);
  if (config.tied_embeddings) {
    weights.lm_head = loader.matrix({Weight::embedding}, 0);
  } else {
    weights.embedding = loader.table(Weight::embedding);
    weights.lm_head = loader.matrix({Weight::lm_head}, 0);
  }
  if (progress) progress(1.0);
  return weights;
}

}  // namespace lynxkv::model
