// The two forms in which a model is opened, and the sampling that identifies its content. Internal to the
// room.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/hash.hpp"
#include "model/model_file.hpp"

namespace lynxkv::model {

ModelFile open_gguf(const std::string& path);
ModelFile open_checkpoint_folder(const std::string& path);

// Adds a file's identity: its size, all of its first `header_bytes`, and samples spread evenly over the rest.
// Cheap for files of any size. Two files that differ only between the samples count as equal.
void add_identity(Hash64& hash, std::span<const std::byte> file, std::size_t header_bytes);

// Parses the model's template for conversations; empty: it has none. One that we do not understand is no reason to
// refuse the model, only conversations need it.
void take_chat_template(const std::string& source, ModelFile& model);

}  // namespace lynxkv::model
