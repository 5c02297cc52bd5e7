#include "model/forward.hpp"

#include <cmath>
#include <string>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "kernels/argmax.hpp"
#include "kernels/attention.hpp"
#include "kernels/placement.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/rope.hpp"
#include "kernels/swiglu.hpp"
#include "model/forward_batch.hpp"
#include "model/forward_weights.hpp"

namespace lynxkv::model {
namespace {

using kernels::Element;

// Angle of each rotary pair per position, rounded as the published models do.
std::vector<float> rope_frequencies(const RopeConfig& rope) {
  std::vector<float> frequencies;
  for (int i = 0; i < rope.rotary_dim / 2; ++i) {
    const double exponent = 2.0 * i / rope.rotary_dim;
    auto frequency = static_cast<float>(1.0 / std::pow(static_cast<double>(rope.theta), exponent));
    if (!rope.frequency_factors.empty()) frequency /= rope.frequency_factors[static_cast<std::size_t>(i)];
    frequencies.push_back(frequency);
  }
  return frequencies;
}

// What flows between the kernels, one row a token. `Inputs` are matrix inputs: of the weights' element.
using Floats = std::vector<float>;
struct Inputs {
  Element element;
  std::vector<std::byte> bytes;
  void fit(int rows, int columns) {
    const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * bytes_of(element);
    if (bytes.size() < size) bytes.resize(size);
  }
  void* data() { return bytes.data(); }
};

void fit(Floats& floats, int rows, int columns) {
  const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  if (floats.size() < size) floats.resize(size);
}

}  // namespace

struct Forward::State {
  ModelConfig config;
  ForwardOptions options;
  Element element;
  std::vector<float> frequencies;  // [rotary_dim / 2]
  ForwardWeights weights;

  Floats x;                // [rows][hidden]: the residual stream
  Inputs normed;           // [rows][hidden]
  Floats query_key_value;  // [rows][(heads + 2 kv_heads) * head_dim]
  Floats cosines, sines;   // [rows][rotary_dim / 2]
  Inputs attended;         // [rows][heads * head_dim]
  Floats gate_up;          // [rows][2 * intermediate]
  Inputs gated;            // [rows][intermediate]
  Floats last;             // [logit rows][hidden]
  Floats logits;           // [logit rows][vocab]

  State(const ModelFile& file, const ForwardOptions& wanted)
      : config(file.config),
        options(wanted),
        element(wanted.precision == Precision::bf16 ? Element::bf16 : Element::f32),
        frequencies(rope_frequencies(file.config.rope)),
        normed{element, {}},
        attended{element, {}},
        gated{element, {}} {}

  int query_columns() const { return config.heads * config.head_dim; }
  int kv_columns() const { return config.kv_heads * config.head_dim; }
  int fused_columns() const { return query_columns() + 2 * kv_columns(); }

  void make_room(int rows, int logit_rows);
  void embed(std::span<const TokenId> tokens);
  void attention_block(ForwardBatch& batch, int layer, const LayerHook& after_layer,
                       const QueryHook& before_attention);
  void mlp_block(int rows, int layer);
  void head(std::span<const int> rows);
};

void Forward::State::make_room(int rows, int logit_rows) {
  const int room = kernels::padded_rows(std::max(rows, logit_rows));
  fit(x, room, config.hidden);
  normed.fit(room, config.hidden);
  fit(query_key_value, room, fused_columns());
  fit(cosines, rows, config.rope.rotary_dim / 2);
  fit(sines, rows, config.rope.rotary_dim / 2);
  attended.fit(room, query_columns());
  fit(gate_up, room, 2 * config.intermediate);
  gated.fit(room, config.intermediate);
  fit(last, logit_rows, config.hidden);
  fit(logits, kernels::padded_rows(logit_rows), config.vocab);
}

void Forward::State::embed(std::span<const TokenId> tokens) {
  float* row = x.data();
  for (const TokenId token : tokens) {
    LYNXKV_CHECK(token >= 0 && token < config.vocab);
    weights.embed(config, element, token, row);
    row += config.hidden;
  }
}

void Forward::State::attention_block(ForwardBatch& batch, int layer, const LayerHook& after_layer,
                                     const QueryHook& before_attention) {
  const LayerWeights& w = weights.layers[static_cast<std::size_t>(layer)];
  const int rows = batch.rows(), stride = fused_columns();
  float* query = query_key_value.data();
  float* key = query + query_columns();
  float* value = key + kv_columns();

  kernels::rms_norm(rows, config.hidden, x.data(), w.attention_norm.data(), config.rms_epsilon, element,
                    normed.data());
  w.query_key_value.run(rows, normed.data(), query);
  // Q and K heads lie side by side, so one call turns both.
  kernels::rope(rows, query, stride, config.heads + config.kv_heads, config.head_dim, config.rope.rotary_dim,
                cosines.data(), sines.data());
  kernels::store_rows(rows, key, stride, kv_columns(), element,
                      batch.new_rows(layer, page::Kind::key).data());
  kernels::store_rows(rows, value, stride, kv_columns(), element,
                      batch.new_rows(layer, page::Kind::value).data());
  if (after_layer) after_layer(layer);
  if (before_attention) before_attention({layer, rows, query, stride});

  const kernels::AttentionShape shape{config.heads, config.kv_heads, config.head_dim, element};
  const float scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim));
  kernels::attention(shape, batch.attention(layer), query, stride, scale, element, attended.data());
  w.output.run(rows, attended.data(), x.data(), true);
}

void Forward::State::mlp_block(int rows, int layer) {
  const LayerWeights& w = weights.layers[static_cast<std::size_t>(layer)];
  kernels::rms_norm(rows, config.hidden, x.data(), w.mlp_norm.data(), config.rms_epsilon, element,
                    normed.data());
  w.gate_up.run(rows, normed.data(), gate_up.data());
  kernels::swiglu(rows, config.intermediate, gate_up.data(), element, gated.data());
  w.down.run(rows, gated.data(), x.data(), true);
}

void Forward::State::head(std::span<const int> rows) {
  const auto hidden = static_cast<std::size_t>(config.hidden);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(x.data() + static_cast<std::size_t>(rows[i]) * hidden, hidden, last.data() + i * hidden);
  const int count = static_cast<int>(rows.size());
  kernels::rms_norm(count, config.hidden, last.data(), weights.final_norm.data(), config.rms_epsilon, element,
                    normed.data());
  weights.lm_head->run(count, normed.data(), logits.data());
}

Forward::Forward(const ModelFile& file, const ForwardOptions& options,
                 const std::function<void(double)>& progress)
    : state_(std::make_unique<State>(file, options)) {
  kernels::start_runtime(options.threads, options.isa);
  state_->weights = load_weights(file, state_->element, progress);
}

Forward::~Forward() = default;

const ModelConfig& Forward::config() const noexcept {
  return state_->config;
}
const ForwardOptions& Forward::options() const noexcept {
  return state_->options;
}
std::size_t Forward::weight_bytes() const noexcept {
  return state_->weights.bytes();
}

page::Geometry Forward::geometry(int page_tokens, int chunk_tokens) const noexcept {
  return {config().layers, config().kv_heads, config().head_dim, page_tokens, chunk_tokens};
}

page::Element Forward::kv_element() const noexcept {
  return state_->element == Element::bf16 ? page::Element::bf16 : page::Element::f32;
}

std::span<const float> Forward::run(std::span<const SequenceRows> sequences, const LayerHook& after_layer,
                                    const QueryHook& before_attention) {
  State& s = *state_;
  for (const SequenceRows& sequence : sequences) {
    LYNXKV_CHECK(sequence.kv != nullptr && sequence.kv->element() == kv_element());
    const page::Geometry& have = sequence.kv->geometry();
    LYNXKV_CHECK(have == geometry(have.page_tokens, have.chunk_tokens));
  }
  ForwardBatch batch(sequences);
  if (batch.rows() == 0) return {};
  const kernels::KeepToOneCore keep;
  const auto logit_count = batch.logit_rows().size();
  s.make_room(batch.rows(), static_cast<int>(logit_count));

  s.embed(batch.tokens());
  kernels::rope_angles(batch.positions(), s.frequencies, s.cosines.data(), s.sines.data());
  for (int layer = 0; layer < s.config.layers; ++layer) {
    s.attention_block(batch, layer, after_layer, before_attention);
    s.mlp_block(batch.rows(), layer);
  }
  if (logit_count > 0) s.head(batch.logit_rows());
  return std::span(s.logits).first(logit_count * static_cast<std::size_t>(s.config.vocab));
}

Isa isa_from(std::string_view name) {
  if (name == "auto") return best_isa();
  std::vector<std::string_view> names = {"auto"};
  for (const Isa isa : {Isa::amx, Isa::avx512_bf16, Isa::avx512, Isa::avx2}) {
    if (name == name_of(isa)) return isa;
    names.push_back(name_of(isa));
  }
  throw Error(ErrorCode::usage, "engine.isa", unknown_name("isa", name, names));
}

TokenId argmax(std::span<const float> logits) noexcept {
  return kernels::argmax(static_cast<int>(logits.size()), logits.data());
}

}  // namespace lynxkv::model
