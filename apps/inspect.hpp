// What `lynxkv inspect` finds out about a file, as one JSON document that is printed as it stands or as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lynxkv::apps {

using Document = nlohmann::ordered_json;

// All throw Error{bad_data}. `path` is what the user gave.
Document inspect_gguf(const std::string& path);
Document inspect_checkpoint(const std::string& path);
Document inspect_results(const std::string& path);

// The documents as text for people. `all` lists every tensor, whole values of the metadata, every attempt.
void print_model(const Document& document, bool all);
void print_results(const Document& document, bool all);

}  // namespace lynxkv::apps
