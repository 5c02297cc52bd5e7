#include "engine/prompt.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "model/chat_template.hpp"

namespace lynxkv::engine {
namespace {

using model::SpecialText;
using model::TokenId;

std::vector<TokenId> to_ids(const std::string& text, const model::ModelFile& model) {
  std::vector<TokenId> ids = model.tokenizer->encode(text, SpecialText::becomes_token);
  // Exactly one BOS where the model wants one: a template may have written it already.
  const TokenId bos = model.tokenizer->bos();
  if (model.tokenizer->adds_bos() && bos >= 0 && (ids.empty() || ids.front() != bos)) ids.insert(ids.begin(), bos);
  return ids;
}

// The text with tokens cut out of it so that `keep` remain: from its middle, or from its front.
std::string shortened(const std::string& text, int keep, const std::string& policy, const model::Tokenizer& tokenizer) {
  const std::vector<TokenId> ids = tokenizer.encode(text, SpecialText::is_plain);
  const auto size = static_cast<int>(ids.size());
  keep = std::clamp(keep, 0, size);
  const auto part = [&](int from, int count) {
    return tokenizer.decode(std::span(ids).subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(count)));
  };
  if (policy == "left") return part(size - keep, keep);
  const int front = keep / 2;
  return part(0, front) + part(size - (keep - front), keep - front);
}

}  // namespace

std::string render_prompt(const suite::Sample& sample, const std::string& text, const model::ModelFile& model,
                          const SuiteSection& options) {
  if (!sample.use_template || options.chat_template == "none" || model.chat_template == nullptr)
    return text + sample.answer_prefix;
  return model.chat_template->render({{"user", text}}, true) + sample.answer_prefix;
}

Prompt build_prompt(const suite::Sample& sample, const model::ModelFile& model, const SuiteSection& options) {
  const std::string where = sample.suite + "/" + sample.task + " line " + std::to_string(sample.line);
  if (model.tokenizer == nullptr) throw Error(ErrorCode::bad_data, model.path, "has no tokenizer that we read");
  Prompt prompt;
  prompt.ids = to_ids(render_prompt(sample, sample.prompt, model, options), model);
  if (prompt.ids.empty()) throw Error(ErrorCode::bad_data, where, "the prompt has no tokens");
  const int room = model.config.context_tokens - sample.max_tokens;
  if (static_cast<int>(prompt.ids.size()) <= room) return prompt;
  if (options.truncation == "error" || room <= 0)
    throw Error(ErrorCode::bad_data, where,
                "the prompt has " + std::to_string(prompt.ids.size()) + " tokens and the answer up to " +
                    std::to_string(sample.max_tokens) + ", but the model's context is " +
                    std::to_string(model.config.context_tokens) +
                    "; choose a shorter length, or set suite.truncation to middle or left");
  // Cutting moves token borders, so the count may come out a little high: cut again by what is over.
  const auto before = static_cast<std::int64_t>(prompt.ids.size());
  int keep = static_cast<int>(model.tokenizer->encode(sample.prompt, SpecialText::is_plain).size());
  for (int attempt = 0; attempt < 16 && static_cast<int>(prompt.ids.size()) > room && keep > 0; ++attempt) {
    keep -= static_cast<int>(prompt.ids.size()) - room;
    const std::string text = shortened(sample.prompt, keep, options.truncation, *model.tokenizer);
    prompt.ids = to_ids(render_prompt(sample, text, model, options), model);
  }
  if (static_cast<int>(prompt.ids.size()) > room)
    throw Error(ErrorCode::bad_data, where, "cannot be cut to the model's context: the template alone is too long");
  prompt.truncated_tokens = before - static_cast<std::int64_t>(prompt.ids.size());
  return prompt;
}

}  // namespace lynxkv::engine
