// A model file or checkpoint folder as a document: hyperparameters, tokenizer, metadata, tensors.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "apps/inspect.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "model/chat_template.hpp"
#include "model/gguf.hpp"
#include "model/mapped_file.hpp"
#include "model/model_file.hpp"
#include "model/safetensors.hpp"
#include "model/tokenizer.hpp"
#include "model/unicode.hpp"

namespace lynxkv::apps {
namespace {

namespace fs = std::filesystem;
using model::Gguf;
using model::GgufKind;

constexpr std::size_t shown_elements = 8;

std::string safe(std::string_view text) {
  return model::with_replacements(text);
}

// A float32 as the shortest decimal that stands for it.
double shortest(float value) {
  char digits[32];
  *std::to_chars(digits, digits + sizeof digits - 1, value).ptr = '\0';
  return std::strtod(digits, nullptr);
}

// What the engine would see; a file that it does not take is described all the same, with the reason.
void add_model(Document& document, const std::string& path) {
  try {
    const model::ModelFile file = model::open_model(path);
    const model::ModelConfig& c = file.config;
    document["model"] = {{"family", c.family},
                         {"name", safe(c.name)},
                         {"layers", c.layers},
                         {"hidden", c.hidden},
                         {"intermediate", c.intermediate},
                         {"heads", c.heads},
                         {"kv_heads", c.kv_heads},
                         {"head_dim", c.head_dim},
                         {"vocabulary", c.vocab},
                         {"context_tokens", c.context_tokens},
                         {"rms_epsilon", shortest(c.rms_epsilon)},
                         {"tied_embeddings", c.tied_embeddings},
                         {"rope_theta", shortest(c.rope.theta)},
                         {"rope_scaled", !c.rope.frequency_factors.empty()},
                         {"kv_bytes_per_token_bf16", std::int64_t{4} * c.layers * c.kv_heads * c.head_dim}};
    document["content_hash"] = hex64(file.content_hash);
    if (file.tokenizer) {
      const model::Tokenizer& t = *file.tokenizer;
      document["tokenizer"] = {{"tokens", t.vocabulary_size()},
                               {"bos", t.bos()},
                               {"eos", t.eos()},
                               {"adds_bos", t.adds_bos()},
                               {"hash", hex64(t.hash())}};
    } else {
      document["tokenizer"] = {{"problem", safe(file.tokenizer_problem)}};
    }
    document["chat_template"] = file.chat_template ? Document{{"hash", hex64(file.chat_template->hash())}}
                                                   : Document{{"problem", safe(file.chat_template_problem)}};
  } catch (const Error& error) {
    document["problem"] = safe(error.what());
  }
}

struct Totals {
  std::uint64_t tensors = 0, values = 0, bytes = 0;
};

class TensorTable {
 public:
  void add(std::string_view name, const std::string& type, const std::vector<std::uint64_t>& shape,
           std::uint64_t bytes) {
    std::uint64_t values = 1;
    for (const std::uint64_t size : shape) values *= size;
    for (Totals* totals : {&all_, &by_type_[type]}) {
      ++totals->tensors;
      totals->values += values;
      totals->bytes += bytes;
    }
    list_.push_back({{"name", safe(name)}, {"type", type}, {"shape", shape}, {"bytes", bytes}});
  }
  void put_into(Document& document) {
    Document types = Document::array();
    for (const auto& [type, totals] : by_type_)
      types.push_back(
          {{"type", type}, {"tensors", totals.tensors}, {"values", totals.values}, {"bytes", totals.bytes}});
    document["tensors"] = {{"count", all_.tensors},
                           {"values", all_.values},
                           {"bytes", all_.bytes},
                           {"by_type", types},
                           {"list", std::move(list_)}};
  }

 private:
  Totals all_;
  std::map<std::string, Totals> by_type_;
  Document list_ = Document::array();
};

Document scalar(const Gguf& file, const model::GgufEntry& entry) {
  switch (entry.value.kind) {
    case GgufKind::string:
      return safe(*file.text(entry.key));
    case GgufKind::boolean:
      return *file.boolean(entry.key);
    case GgufKind::f32:
      return shortest(static_cast<float>(*file.number(entry.key)));
    case GgufKind::f64:
      return *file.number(entry.key);
    case GgufKind::u64: {
      std::uint64_t value = 0;
      std::memcpy(&value, entry.value.payload.data(), sizeof value);
      return value;
    }
    default:
      return *file.integer(entry.key);
  }
}

// The first elements of an array of strings or of integers up to 32 bits; others are counted only.
Document first_elements(const Gguf& file, const model::GgufEntry& entry) {
  Document out = Document::array();
  const auto take = [&](const auto& values, const auto& shown) {
    for (std::size_t i = 0; i < values->size() && i < shown_elements; ++i) out.push_back(shown((*values)[i]));
  };
  switch (entry.value.element) {
    case GgufKind::string:
      take(file.texts(entry.key), [](std::string_view text) { return safe(text); });
      break;
    case GgufKind::u8:
    case GgufKind::i8:
    case GgufKind::u16:
    case GgufKind::i16:
    case GgufKind::i32:
      take(file.integers(entry.key), [](std::int32_t value) { return value; });
      break;
    default:
      break;
  }
  return out;
}

Document metadata(const Gguf& file) {
  Document out = Document::array();
  for (const model::GgufEntry& entry : file.entries()) {
    Document line = {{"key", safe(entry.key)}, {"type", std::string(name_of(entry.value.kind))}};
    if (entry.value.kind == GgufKind::array) {
      line["element"] = std::string(name_of(entry.value.element));
      line["count"] = entry.value.count;
      line["first"] = first_elements(file, entry);
    } else {
      line["value"] = scalar(file, entry);
    }
    out.push_back(std::move(line));
  }
  return out;
}

Document header(const char* kind, const std::string& path, std::uint64_t bytes) {
  return {{"schema_version", 1}, {"kind", kind}, {"path", safe(path)}, {"bytes", bytes}};
}

}  // namespace

Document inspect_gguf(const std::string& path) {
  const model::MappedFile mapped(path);
  const Gguf file(mapped.bytes(), path);
  Document document = header("gguf", path, mapped.bytes().size());
  document["version"] = file.version();
  add_model(document, path);
  TensorTable table;
  for (const model::GgufTensor& tensor : file.tensors())
    table.add(tensor.name, std::string(tensor.type.name),
              {tensor.dimensions.rbegin(), tensor.dimensions.rend()}, tensor.bytes.size());
  document["metadata"] = metadata(file);
  table.put_into(document);
  return document;
}

Document inspect_checkpoint(const std::string& path) {
  Document files = Document::array();
  TensorTable table;
  std::uint64_t bytes = 0;
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == ".safetensors") names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const model::MappedFile mapped(name);
    const model::Safetensors shard = model::read_safetensors(mapped.bytes(), name);
    bytes += mapped.bytes().size();
    files.push_back({{"name", safe(fs::path(name).filename().string())},
                     {"bytes", mapped.bytes().size()},
                     {"tensors", shard.tensors.size()}});
    for (const model::StoredTensor& tensor : shard.tensors)
      table.add(tensor.name, tensor.type_name, tensor.shape, tensor.bytes.size());
  }
  Document document = header("checkpoint", path, bytes);
  add_model(document, path);
  document["files"] = std::move(files);
  table.put_into(document);
  return document;
}

}  // namespace lynxkv::apps
