// Texts that codec quality is measured on, as the tokens of prompts.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/model_file.hpp"
#include "model/tokenizer.hpp"

namespace lynxkv::quality {

struct Document {
  std::string name;  // of its file
  std::vector<model::TokenId> tokens;
};

// Each of `paths` is a text file, or a folder whose files are texts (those of its subfolders apart), in order of
// their names. A document is the first `tokens` tokens of its text. Throws Error{bad_data}: a path that cannot be
// read, an empty folder, a text with fewer tokens.
std::vector<Document> read_documents(const model::ModelFile& file, std::span<const std::string> paths, int tokens);

}  // namespace lynxkv::quality
