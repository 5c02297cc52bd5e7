#include "quality/document.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.hpp"

namespace lynxkv::quality {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const std::string& path) {
  std::error_code failed;
  if (!fs::is_directory(path, failed)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path, failed))
    if (entry.is_regular_file()) files.push_back(entry.path());
  if (files.empty()) throw Error(ErrorCode::bad_data, path, "expected a folder with text files, found none in it");
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || !fs::is_regular_file(path))
    throw Error(ErrorCode::bad_data, path.string(), "could not be opened: expected a text file");
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) throw Error(ErrorCode::bad_data, path.string(), "could not be read to its end");
  return text;
}

Document read_document(const model::ModelFile& file, const fs::path& path, int tokens) {
  Document document{path.filename().string(), file.tokenizer->encode(read_text(path), model::SpecialText::is_plain)};
  auto& ids = document.tokens;
  if (file.tokenizer->adds_bos()) ids.insert(ids.begin(), file.tokenizer->bos());
  if (ids.size() < static_cast<std::size_t>(tokens))
    throw Error(ErrorCode::bad_data, path.string(),
                "expected a text of at least " + std::to_string(tokens) + " tokens, found " + std::to_string(ids.size()));
  ids.resize(static_cast<std::size_t>(tokens));
  return document;
}

}  // namespace

std::vector<Document> read_documents(const model::ModelFile& file, std::span<const std::string> paths, int tokens) {
  if (!file.tokenizer) throw Error(ErrorCode::bad_data, file.path, file.tokenizer_problem);
  std::vector<Document> documents;
  for (const std::string& path : paths)
    for (const fs::path& text : files_of(path)) documents.push_back(read_document(file, text, tokens));
  return documents;
}

}  // namespace lynxkv::quality
