#include "model/chat_template.hpp"

#include "base/error.hpp"

namespace lynxkv::model {

struct ChatTemplate::Program {
  std::string source;
};

ChatTemplate::ChatTemplate(std::string source, std::string, std::string)
    : program_(new Program{std::move(source)}) {}
ChatTemplate::~ChatTemplate() = default;
std::string ChatTemplate::render(const std::vector<ChatMessage>&, bool) const {
  throw Error(ErrorCode::bad_data, "chat template", "not supported");
}
std::uint64_t ChatTemplate::hash() const noexcept { return 0; }

}  // namespace lynxkv::model
