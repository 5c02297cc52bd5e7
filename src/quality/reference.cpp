#include "quality/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "base/check.hpp"
#include "quality/prefill.hpp"

namespace lynxkv::quality {
namespace {

double log_sum_of(std::span<const float> logits) {
  const float largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float x : logits) sum += std::exp(x - largest);  // a float's exp: its rounding is far below the sum's
  return std::log(sum) + largest;
}

double divergence(std::span<const float> p, double log_sum_p, std::span<const float> q) {
  const double shift = log_sum_of(q) - log_sum_p;
  const auto base = static_cast<float>(log_sum_p);
  double sum = 0, weight = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double share = std::exp(p[i] - base);
    sum += share * (static_cast<double>(p[i]) - static_cast<double>(q[i]));
    weight += share;
  }
  return std::max(0.0, sum / weight + shift);
}

void fill_page(page::SequenceKv& kv, int layer, page::Kind kind, int page, std::span<const Bf16> rows) {
  std::byte* to = kv.page_data(layer, kind, page);
  if (kv.element() == page::Element::bf16) {
    std::memcpy(to, rows.data(), rows.size_bytes());
    return;
  }
  auto* floats = reinterpret_cast<float*>(to);
  for (std::size_t i = 0; i < rows.size(); ++i) floats[i] = to_float(rows[i]);
}

}  // namespace

double divergence(std::span<const float> p, std::span<const float> q) {
  LYNXKV_CHECK(p.size() == q.size() && !p.empty());
  return divergence(p, log_sum_of(p), q);
}

Reference::Reference(model::Forward& forward, const Document& document, int continuation)
    : forward_(forward),
      pool_(forward.geometry(page::default_page_tokens, page::default_chunk_tokens), forward.kv_element(), 1 << 24),
      kv_(pool_),
      tokens_(static_cast<int>(document.tokens.size())) {
  LYNXKV_CHECK(tokens_ > 0 && continuation > 0);
  const auto vocab = static_cast<std::size_t>(forward.config().vocab);
  const auto rows = static_cast<std::size_t>(continuation);
  const std::span<const float> last = prefill(forward, document, continuation, kv_);
  prompt_pages_ = kv_.page_count();
  capture_ = capture_of(kv_, tokens_, all_layers(kv_.geometry()));
  continuation_.push_back(model::argmax(last));
  queries_.resize(static_cast<std::size_t>(forward.config().layers));
  const auto width = static_cast<std::size_t>(forward.config().heads * forward.config().head_dim);
  const auto keep = [&](const model::QueryView& view) {
    auto& kept = queries_[static_cast<std::size_t>(view.layer)];
    kept.insert(kept.end(), view.query, view.query + width);
  };
  while (true) {
    const model::SequenceRows batch[] = {{&kv_, std::span(continuation_).last(1), 1}};
    const auto answer = forward_.run(batch, {}, keep);
    logits_.insert(logits_.end(), answer.begin(), answer.end());
    if (continuation_.size() == rows) break;
    continuation_.push_back(model::argmax(answer));
  }
  for (std::size_t row = 0; row < rows; ++row) log_sum_.push_back(log_sum_of(std::span(logits_).subspan(row * vocab, vocab)));
}

// The prompt's pages of `prompt`, the unquantised rows behind them.
std::vector<kernels::KvRun> Reference::runs(const page::SequenceKv& prompt, int layer) const {
  std::vector<kernels::KvRun> runs;
  for (int page = 0; page < kv_.page_count(); ++page) {
    const page::SequenceKv& from = page < prompt_pages_ ? prompt : kv_;
    runs.push_back({from.page_data(layer, page::Kind::key, page), from.page_data(layer, page::Kind::value, page),
                    kv_.page_first_position(page), kv_.page_tokens(page)});
  }
  return runs;
}

void Reference::attend(const page::SequenceKv& prompt, int layer, std::vector<float>& out) const {
  const model::ModelConfig& config = forward_.config();
  const auto element = kv_.element() == page::Element::bf16 ? kernels::Element::bf16 : kernels::Element::f32;
  const kernels::AttentionShape shape{config.heads, config.kv_heads, config.head_dim, element};
  const std::vector<kernels::KvRun> placed = runs(prompt, layer);
  const kernels::AttentionRows rows[] = {{0, static_cast<int>(continuation_.size()), tokens_, placed}};
  const auto& query = queries_[static_cast<std::size_t>(layer)];
  out.resize(query.size());
  kernels::attention(shape, rows, query.data(), config.heads * config.head_dim,
                     1.0f / std::sqrt(static_cast<float>(config.head_dim)), kernels::Element::f32, out.data());
}

Agreement Reference::agreement_of(page::SequenceKv& prompt) {
  Agreement agreement;
  const int layers = forward_.config().layers;
  std::vector<float> before, after;
  for (int layer = 0; layer < layers; ++layer) {
    attend(kv_, layer, before);
    attend(prompt, layer, after);
    double error = 0, energy = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double x = before[i], off = static_cast<double>(after[i]) - x;
      error += off * off;
      energy += x * x;
    }
    agreement.attention += error > 0 ? error / energy / layers : 0;
  }
  const model::SequenceRows batch[] = {{&prompt, continuation_, static_cast<int>(continuation_.size())}};
  const auto answer = forward_.run(batch);
  const std::size_t rows = continuation_.size(), vocab = answer.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto p = std::span<const float>(logits_).subspan(row * vocab, vocab), q = answer.subspan(row * vocab, vocab);
    agreement.kl += divergence(p, log_sum_[row], q) / static_cast<double>(rows);
    agreement.argmax += model::argmax(p) == model::argmax(q) ? 1.0 / static_cast<double>(rows) : 0;
  }
  prompt.truncate(tokens_);
  prompt.seal();
  return agreement;
}

Outcome Reference::examine(const codec::Codec& codec) { return examine(codec, levels_of(codec)); }

Outcome Reference::examine(const codec::Codec& codec, std::span<const codec::Level> wanted) {
  std::map<codec::Level, page::SequenceKv> prompts;
  for (const codec::Level level : wanted) {
    const auto placed = prompts.emplace(level, pool_).first;
    placed->second.extend(tokens_);
    placed->second.seal();
  }
  const CodecDistortion measured =
      run_codec(codec, capture_, [&](codec::Level level, std::size_t index, page::Kind kind, int page, std::span<const Bf16> rows) {
        if (const auto found = prompts.find(level); found != prompts.end())
          fill_page(found->second, capture_.layers[index], kind, page, rows);
      });
  Outcome outcome{measured.bits, {}};
  for (const LevelDistortion& level : measured.levels) {
    const auto found = prompts.find(level.level);
    outcome.levels.push_back({level, found != prompts.end() ? agreement_of(found->second) : Agreement{}});
  }
  return outcome;
}

}  // namespace lynxkv::quality
