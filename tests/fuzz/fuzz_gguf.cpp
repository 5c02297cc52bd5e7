// Hostile GGUF files. What the reader takes can be walked through whole, and its config and tokenizer are
// made or refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/error.hpp"
#include "model/config.hpp"
#include "model/gguf.hpp"
#include "model/tokenizer_bytelevel.hpp"

namespace {

using namespace lynxkv;

template <class Call>
void refused_or_done(const Call& call) {
  try {
    call();
  } catch (const Error&) {
  }
}

void read_all(const model::Gguf& file, std::span<const std::byte> bytes) {
  for (const model::GgufEntry& entry : file.entries()) {
    refused_or_done([&] { file.text(entry.key); });
    refused_or_done([&] { file.integer(entry.key); });
    refused_or_done([&] { file.number(entry.key); });
    refused_or_done([&] { file.texts(entry.key); });
    refused_or_done([&] { file.integers(entry.key); });
  }
  for (const model::GgufTensor& tensor : file.tensors()) {
    const std::byte* end = tensor.bytes.data() + tensor.bytes.size();
    if (tensor.bytes.data() < bytes.data() || end > bytes.data() + bytes.size()) std::abort();
    if (file.tensor(tensor.name) != &tensor) std::abort();
    if (!tensor.type.readable || tensor.bytes.size() > 4096) continue;
    std::vector<float> values(tensor.rows() * tensor.columns());
    model::dequantize(tensor.type.type, tensor.bytes, values);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  refused_or_done([&] {
    const model::Gguf file(bytes, "fuzz.gguf");
    read_all(file, bytes);
    refused_or_done([&] { model::config_from_gguf(file); });
    std::string problem;
    const auto tokenizer = model::tokenizer_from_gguf(file, problem);
    if (!tokenizer) return;
    const auto ids = tokenizer->encode("ab 1 \xc3\xa9!", model::SpecialText::becomes_token);
    tokenizer->decode(ids);
  });
  return 0;
}
