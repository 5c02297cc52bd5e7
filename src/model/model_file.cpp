#include "model/model_file.hpp"

#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "model/chat_template.hpp"
#include "model/model_formats.hpp"
#include "model/tokenizer.hpp"

namespace lynxkv::model {

ModelFile::ModelFile() = default;
ModelFile::ModelFile(ModelFile&&) noexcept = default;
ModelFile& ModelFile::operator=(ModelFile&&) noexcept = default;
ModelFile::~ModelFile() = default;

ModelFile open_model(const std::string& path) {
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  if (!std::filesystem::exists(status))
    throw Error(
        ErrorCode::bad_data, path,
        "expected a model (a .gguf file, or a folder with config.json and *.safetensors), found nothing");
  ModelFile model = std::filesystem::is_directory(status) ? open_checkpoint_folder(path) : open_gguf(path);
  model.path = path;
  if (model.config.name.empty())
    model.config.name = std::filesystem::path(path).lexically_normal().filename().string();
  return model;
}

void take_chat_template(const std::string& source, ModelFile& model) {
  if (source.empty()) {
    model.chat_template_problem = "the model has no chat template";
    return;
  }
  const auto text_of = [&](TokenId id) { return id < 0 ? std::string() : model.tokenizer->decode(std::span(&id, 1)); };
  try {
    model.chat_template =
        std::make_unique<ChatTemplate>(source, model.tokenizer ? text_of(model.tokenizer->bos()) : "",
                                       model.tokenizer ? text_of(model.tokenizer->eos()) : "");
  } catch (const Error& error) {
    model.chat_template_problem = error.what();
  }
}

}  // namespace lynxkv::model
