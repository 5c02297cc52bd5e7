// Opens a GGUF file of the llama family.
#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "model/chat_template.hpp"
#include "model/config.hpp"
#include "model/gguf.hpp"
#include "model/model_formats.hpp"
#include "model/tokenizer_bytelevel.hpp"
#include "model/weights.hpp"

namespace lynxkv::model {
namespace {

std::string name_of_weight(Weight weight, int layer) {
  const std::string block = "blk." + std::to_string(layer) + ".";
  switch (weight) {
    case Weight::embedding:
      return "token_embd.weight";
    case Weight::attention_norm:
      return block + "attn_norm.weight";
    case Weight::query:
      return block + "attn_q.weight";
    case Weight::key:
      return block + "attn_k.weight";
    case Weight::value:
      return block + "attn_v.weight";
    case Weight::output:
      return block + "attn_output.weight";
    case Weight::mlp_norm:
      return block + "ffn_norm.weight";
    case Weight::gate:
      return block + "ffn_gate.weight";
    case Weight::up:
      return block + "ffn_up.weight";
    case Weight::down:
      return block + "ffn_down.weight";
    case Weight::final_norm:
      return "output_norm.weight";
    case Weight::lm_head:
      return "output.weight";
  }
  return {};
}

// The rope factors are in the config by now.
bool is_ignored(const std::string& name) {
  return name == "rope_freqs.weight" || name.ends_with(".attn_rot_embd.weight");
}

std::vector<StoredTensor> stored_tensors(const Gguf& file) {
  std::vector<StoredTensor> out;
  for (const GgufTensor& tensor : file.tensors()) {
    StoredTensor stored;
    stored.name = std::string(tensor.name);
    stored.file = file.name();
    stored.type_name = std::string(tensor.type.name);
    stored.type = tensor.type.type;
    stored.shape.assign(tensor.dimensions.rbegin(), tensor.dimensions.rend());
    while (stored.shape.size() > 1 && stored.shape.front() == 1) stored.shape.erase(stored.shape.begin());
    stored.bytes = tensor.bytes;
    out.push_back(std::move(stored));
  }
  return out;
}

}  // namespace

void add_identity(Hash64& hash, std::span<const std::byte> file, std::size_t header_bytes) {
  constexpr std::size_t samples = 64, sample_bytes = 4096;
  const std::uint64_t size = file.size();
  hash.add(std::as_bytes(std::span(&size, 1)));
  header_bytes = std::min(header_bytes, file.size());
  hash.add(file.first(header_bytes));
  const auto data = file.subspan(header_bytes);
  if (data.size() <= samples * sample_bytes) return hash.add(data);
  const std::size_t last = data.size() - sample_bytes;
  for (std::size_t i = 0; i < samples; ++i) hash.add(data.subspan(last / (samples - 1) * i, sample_bytes));
}

ModelFile open_gguf(const std::string& path) {
  std::vector<MappedFile> files;
  files.emplace_back(path);
  const Gguf file(files[0].bytes(), path);
  ModelFile model;
  model.config = config_from_gguf(file);
  model.tokenizer = tokenizer_from_gguf(file, model.tokenizer_problem);
  if (model.tokenizer && model.tokenizer->vocabulary_size() != model.config.vocab)
    throw file.error("expected as many tokens as rows in 'token_embd.weight', found " +
                     std::to_string(model.tokenizer->vocabulary_size()) + " and " +
                     std::to_string(model.config.vocab));
  take_chat_template(std::string(file.text("tokenizer.chat_template").value_or("")), model);
  Hash64 hash;
  add_identity(hash, files[0].bytes(), file.data_start());
  model.content_hash = hash.digest();
  model.weights = bind_weights(model.config, path, std::move(files), stored_tensors(file),
                               {name_of_weight, is_ignored, true});
  return model;
}

}  // namespace lynxkv::model
