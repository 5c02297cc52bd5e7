// The chat template that a model file carries (Jinja), rendered as its authors' tool renders it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lynxkv::model {

struct ChatMessage {
  std::string role;  // system, user, assistant
  std::string content;
};

class ChatTemplate {
 public:
  // Parses the template. Throws Error{bad_data} that names line and construct where it is not understood.
  // `bos_text`, `eos_text`: what the template's bos_token and eos_token stand for.
  ChatTemplate(std::string source, std::string bos_text, std::string eos_text);
  ~ChatTemplate();
  ChatTemplate(const ChatTemplate&) = delete;
  ChatTemplate& operator=(const ChatTemplate&) = delete;

  // The whole conversation as text; with `add_generation_prompt`, ready for the assistant's reply.
  std::string render(const std::vector<ChatMessage>& messages, bool add_generation_prompt) const;
  std::uint64_t hash() const noexcept;

 private:
  struct Program;
  std::unique_ptr<Program> program_;
};

}  // namespace lynxkv::model
