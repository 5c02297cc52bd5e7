// Hostile tokenizer.json files: read as a typed error or as a tokenizer that works.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "model/tokenizer_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lynxkv;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    std::string problem;
    const auto tokenizer = model::tokenizer_from_json({"fuzz", text, text, text}, 16, problem);
    if (tokenizer != nullptr)
      static_cast<void>(tokenizer->decode(tokenizer->encode("ab <s> 12 ab\n", model::SpecialText::becomes_token)));
    static_cast<void>(model::chat_template_from_json(text, "fuzz"));
  } catch (const Error&) {
  }
  return 0;
}
