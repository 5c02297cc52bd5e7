// A journal, a results file or an output folder as a document.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "apps/inspect.hpp"
#include "base/error.hpp"
#include "base/hash.hpp"
#include "model/mapped_file.hpp"
#include "results/hdf5.hpp"
#include "results/hdf5_capture.hpp"
#include "results/journal.hpp"

namespace lynxkv::apps {
namespace {

namespace fs = std::filesystem;

// Facts are JSON that some run wrote; what does not parse is shown as text.
Document facts(const std::string& text) {
  Document parsed = Document::parse(text, nullptr, false);
  return parsed.is_discarded() ? Document(text) : parsed;
}

void add_rows(Document& document, const std::vector<results::Row>& rows) {
  std::map<std::array<std::string, 4>, std::int64_t> counts;  // suite, task, length, mode
  for (const results::Row& row : rows) {
    const std::string length = std::to_string(row.key.length);
    ++counts[{row.key.suite, row.key.task,
              std::string(length.size() < 10 ? 10 - length.size() : 0, '0') + length, row.key.mode}];
  }
  Document groups = Document::array();
  for (const auto& [key, samples] : counts)
    groups.push_back({{"suite", key[0]},
                      {"task", key[1]},
                      {"length", std::stoll(key[2])},
                      {"mode", key[3]},
                      {"samples", samples}});
  document["samples"] = rows.size();
  document["groups"] = std::move(groups);
}

Document header(const char* kind, const std::string& path) {
  std::error_code ignored;
  const auto bytes = fs::file_size(path, ignored);
  return {{"schema_version", 1}, {"kind", kind}, {"path", path}, {"bytes", ignored ? 0 : bytes}};
}

Document journal(const std::string& path) {
  const results::JournalContents contents = results::read_journal(path).take();
  Document document = header("journal", path);
  document["settings_hash"] = hex64(contents.header.settings_hash);
  document["result_config"] = facts(contents.header.result_config);
  Document attempts = Document::array();
  for (const std::string& attempt : contents.attempts) attempts.push_back(facts(attempt));
  document["attempts"] = std::move(attempts);
  document["duplicate_rows"] = contents.duplicate_rows;
  document["torn_bytes"] = contents.torn_bytes;
  document["damaged_bytes"] = contents.damaged_bytes;
  add_rows(document, contents.rows);
  return document;
}

Document capture(const std::string& path, const results::KvFile& kv) {
  Document document = header("capture", path);
  document["model"] = kv.model;
  document["text"] = kv.text;
  document["model_layers"] = kv.model_layers;
  document["layers"] = kv.layers;
  document["tokens"] = kv.token_ids.size();
  document["kv_heads"] = kv.kv_heads;
  document["head_dim"] = kv.head_dim;
  return document;
}

Document hdf5(const std::string& path) {
  auto read = results::read_hdf5_meta(path);
  if (!read)
    if (const auto kv = results::read_kv_file(path)) return capture(path, kv.value());
  const results::Hdf5Meta meta = std::move(read).take();
  const std::vector<results::Row> rows = results::read_hdf5(path).take();
  Document document = header("results", path);
  document["complete"] = meta.complete;
  document["config_yaml"] = meta.config_yaml;
  document["facts"] = facts(meta.facts_json);
  add_rows(document, rows);
  return document;
}

}  // namespace

Document inspect_results(const std::string& path) {
  if (fs::is_directory(path)) {
    const std::string journal_path = (fs::path(path) / results::journal_file_name).string();
    return fs::exists(journal_path) ? journal(journal_path)
                                    : hdf5((fs::path(path) / results::hdf5_file_name).string());
  }
  const model::MappedFile mapped(path);
  const auto bytes = mapped.bytes();
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                               std::min<std::size_t>(bytes.size(), 8));
  return start == "\x89HDF\r\n\x1a\n" ? hdf5(path) : journal(path);
}

}  // namespace lynxkv::apps
