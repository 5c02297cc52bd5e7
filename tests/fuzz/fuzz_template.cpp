// Hostile chat templates over a conversation that holds a piece of the template itself.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "model/chat_template.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lynxkv;
  const std::string source(reinterpret_cast<const char*>(data), size);
  try {
    const model::ChatTemplate chat(source, "<s>", "</s>");
    chat.render(
        {{"system", "Be brief."}, {"user", " Hi {{ x }} \xff \n"}, {"assistant", source.substr(0, 100)}},
        true);
  } catch (const Error&) {
  }
  return 0;
}
