// Opens a folder with config.json and safetensors files.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/error.hpp"
#include "model/chat_template.hpp"
#include "model/config.hpp"
#include "model/model_formats.hpp"
#include "model/safetensors.hpp"
#include "model/tokenizer.hpp"
#include "model/tokenizer_json.hpp"
#include "model/weights.hpp"

namespace lynxkv::model {
namespace {

namespace fs = std::filesystem;

std::string name_of_weight(Weight weight, int layer) {
  const std::string block = "model.layers." + std::to_string(layer) + ".";
  switch (weight) {
    case Weight::embedding:
      return "model.embed_tokens.weight";
    case Weight::attention_norm:
      return block + "input_layernorm.weight";
    case Weight::query:
      return block + "self_attn.q_proj.weight";
    case Weight::key:
      return block + "self_attn.k_proj.weight";
    case Weight::value:
      return block + "self_attn.v_proj.weight";
    case Weight::output:
      return block + "self_attn.o_proj.weight";
    case Weight::mlp_norm:
      return block + "post_attention_layernorm.weight";
    case Weight::gate:
      return block + "mlp.gate_proj.weight";
    case Weight::up:
      return block + "mlp.up_proj.weight";
    case Weight::down:
      return block + "mlp.down_proj.weight";
    case Weight::final_norm:
      return "model.norm.weight";
    case Weight::lm_head:
      return "lm_head.weight";
  }
  return {};
}

// Old checkpoints carry the rotary frequencies, which follow from the config.
bool is_ignored(const std::string& name) {
  return name.ends_with(".rotary_emb.inv_freq");
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The shards of a checkpoint: the single file, else those of the index, else every safetensors file.
std::vector<std::string> shard_names(const fs::path& folder, std::optional<ShardIndex>& index) {
  if (fs::exists(folder / "model.safetensors")) return {"model.safetensors"};
  const fs::path index_path = folder / "model.safetensors.index.json";
  if (fs::exists(index_path)) {
    const MappedFile file(index_path.string());
    index = read_shard_index(text_of(file.bytes()), index_path.string());
    return index->files;
  }
  std::vector<std::string> names;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder, problem))
    if (entry.path().extension() == ".safetensors") names.push_back(entry.path().filename().string());
  if (problem)
    throw Error(ErrorCode::bad_data, folder.string(), "the folder cannot be listed: " + problem.message());
  if (names.empty())
    throw Error(ErrorCode::bad_data, folder.string(), "expected *.safetensors files, found none");
  std::sort(names.begin(), names.end());
  return names;
}

void check_against_index(const ShardIndex& index, const std::map<std::string, std::string>& file_of,
                         const std::string& folder) {
  for (const auto& [tensor, file] : index.file_of_tensor) {
    const auto found = file_of.find(tensor);
    if (found == file_of.end() || found->second != file)
      throw Error(ErrorCode::bad_data, folder,
                  "expected tensor '" + tensor.substr(0, 100) + "' in " + file + " by the index, found " +
                      (found == file_of.end() ? "it nowhere" : "it in " + found->second));
  }
}

std::string contents(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  const MappedFile file(path.string());
  return std::string(text_of(file.bytes()));
}

void read_tokenizer(const fs::path& folder, ModelFile& model) {
  const std::string name = (folder / "tokenizer.json").string();
  const std::string settings = contents(folder / "tokenizer_config.json");
  std::error_code ignored;
  if (fs::exists(name, ignored))
    model.tokenizer = tokenizer_from_json({name, contents(name), settings, contents(folder / "generation_config.json")},
                                          model.config.vocab, model.tokenizer_problem);
  else
    model.tokenizer_problem = "the folder has no tokenizer.json";
  // A file of its own is the newer habit and goes before the settings' text.
  std::string source = contents(folder / "chat_template.jinja");
  if (source.empty()) source = chat_template_from_json(settings, (folder / "tokenizer_config.json").string());
  take_chat_template(source, model);
}

}  // namespace

ModelFile open_checkpoint_folder(const std::string& path) {
  const fs::path folder(path);
  const std::string config_path = (folder / "config.json").string();
  if (!fs::exists(config_path))
    throw Error(ErrorCode::bad_data, path, "expected a config.json in the folder, found none");
  const MappedFile config_file(config_path);
  ModelFile model;
  model.config = config_from_json(text_of(config_file.bytes()), config_path);
  Hash64 hash;
  add_identity(hash, config_file.bytes(), config_file.bytes().size());

  std::optional<ShardIndex> index;
  std::vector<MappedFile> files;
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> file_of;  // by tensor
  for (const std::string& name : shard_names(folder, index)) {
    files.emplace_back((folder / name).string());
    Safetensors shard = read_safetensors(files.back().bytes(), files.back().path());
    add_identity(hash, files.back().bytes(), shard.header.size());
    for (StoredTensor& tensor : shard.tensors) {
      if (!file_of.emplace(tensor.name, name).second)
        throw Error(ErrorCode::bad_data, path,
                    "tensor '" + tensor.name.substr(0, 100) + "' stands in both " + file_of[tensor.name] +
                        " and " + name);
      tensors.push_back(std::move(tensor));
    }
  }
  if (index) check_against_index(*index, file_of, path);
  model.weights = bind_weights(model.config, path, std::move(files), std::move(tensors),
                               {name_of_weight, is_ignored, false});
  read_tokenizer(folder, model);
  model.content_hash = hash.digest();
  return model;
}

}  // namespace lynxkv::model
