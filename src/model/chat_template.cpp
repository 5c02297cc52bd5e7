#include "model/chat_template.hpp"

#include "base/error.hpp"
#include "base/hash.hpp"
#include "model/jinja_evaluator.hpp"
#include "model/jinja_parser.hpp"
#include "model/unicode.hpp"

namespace lynxkv::model {
namespace {

constexpr std::size_t most_template_bytes = 1u << 20;

jinja::Value message_value(const jinja::Call& call, const ChatMessage& message) {
  return call.dict({{"role", call.string(message.role)}, {"content", call.string(message.content)}});
}

}  // namespace

struct ChatTemplate::Program {
  jinja::Body body;
  std::string bos_text, eos_text;
  std::uint64_t hash = 0;
};

ChatTemplate::ChatTemplate(std::string source, std::string bos_text, std::string eos_text)
    : program_(std::make_unique<Program>()) {
  if (source.size() > most_template_bytes)
    throw Error(ErrorCode::bad_data, "chat template",
                "expected at most " + std::to_string(most_template_bytes) + " bytes, found " +
                    std::to_string(source.size()));
  if (!is_utf8(source))
    throw Error(ErrorCode::bad_data, "chat template", "expected UTF-8 text, found other bytes");
  program_->body = jinja::parse(source);
  Hash64 hash;
  for (const std::string* text : {&source, &bos_text, &eos_text}) {
    const std::uint64_t size = text->size();
    hash.add(std::as_bytes(std::span(&size, 1)));
    hash.add(*text);
  }
  program_->hash = hash.digest();
  program_->bos_text = std::move(bos_text);
  program_->eos_text = std::move(eos_text);
}

ChatTemplate::~ChatTemplate() = default;

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages, bool add_generation_prompt) const {
  jinja::Budget outside;  // what comes in is not the template's to pay for
  const jinja::Call call{outside, 1, "messages"};
  std::vector<jinja::Value> list;
  for (const ChatMessage& message : messages) list.push_back(message_value(call, message));
  jinja::Evaluator::Variables variables;
  variables.emplace_back("messages", call.list(std::move(list)));
  variables.emplace_back("add_generation_prompt", add_generation_prompt);
  variables.emplace_back("tools", jinja::None{});
  variables.emplace_back("documents", jinja::None{});
  if (!program_->bos_text.empty()) variables.emplace_back("bos_token", program_->bos_text);
  if (!program_->eos_text.empty()) variables.emplace_back("eos_token", program_->eos_text);
  return jinja::Evaluator().render(program_->body, std::move(variables));
}

std::uint64_t ChatTemplate::hash() const noexcept {
  return program_->hash;
}

}  // namespace lynxkv::model
