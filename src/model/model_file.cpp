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

}  // namespace lynxkv::model
