#include "results/output.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/log.hpp"
#include "results/hdf5.hpp"
#include "results/journal.hpp"

namespace lynxkv::results {
namespace {

namespace fs = std::filesystem;

void take_journal(const std::string& path, Output& output) {
  auto contents = read_journal(path).take();
  if (contents.torn_bytes > 0)
    log::warning("{}: {} bytes at its end are no whole record: a run is going on, or was cut short", path,
                 contents.torn_bytes);
  if (contents.damaged_bytes > 0)
    log::warning("{}: stepped over {} damaged bytes", path, contents.damaged_bytes);
  output.rows = std::move(contents.rows);
  output.config = output.result_config = contents.header.result_config;
  output.settings_hash = contents.header.settings_hash;
  output.attempts = std::move(contents.attempts);
  if (!output.attempts.empty()) output.facts_json = output.attempts.back();
}

void take_hdf5(const std::string& path, Output& output, bool with_rows) {
  auto meta = read_hdf5_meta(path).take();
  if (with_rows) output.rows = read_hdf5(path).take();
  output.complete = meta.complete;
  output.config = meta.config_yaml;
  output.facts_json = meta.facts_json;
  const auto facts = nlohmann::json::parse(meta.facts_json, nullptr, false);
  if (facts.is_object() && facts.contains("result_config")) output.result_config = facts["result_config"].dump();
  if (output.attempts.empty()) output.attempts = {meta.facts_json};
  if (output.settings_hash == 0 && !output.rows.empty())
    output.settings_hash = output.rows.front().key.settings_hash;
}

bool begins_with(const std::string& path, std::string_view magic) {
  std::array<char, 8> first{};
  std::ifstream(path, std::ios::binary).read(first.data(), first.size());
  return std::string_view(first.data(), magic.size()) == magic;
}

}  // namespace

Output load_output(const std::string& path) {
  Output output;
  output.name = path;
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    throw Error(ErrorCode::bad_data, path,
                "does not exist; expected an output folder, a journal or a results file");
  if (!fs::is_directory(path, ignored)) {
    if (begins_with(path, "\x89HDF\r\n\x1a\n"))
      take_hdf5(path, output, true);
    else if (begins_with(path, "LYNXKVJ1"))
      take_journal(path, output);
    else
      throw Error(ErrorCode::bad_data, path,
                  "is neither a journal (journal.lkj) nor a results file (results.h5)");
    return output;
  }
  const std::string journal = path + "/" + journal_file_name, hdf5 = path + "/" + hdf5_file_name;
  const bool has_journal = fs::exists(journal, ignored), has_hdf5 = fs::exists(hdf5, ignored);
  if (!has_journal && !has_hdf5)
    throw Error(ErrorCode::bad_data, path, "holds neither journal.lkj nor results.h5");
  if (has_journal) take_journal(journal, output);
  if (has_hdf5) {
    // The derived file may be of an earlier attempt: it adds the full config, the rows are the journal's.
    Output derived;
    try {
      take_hdf5(hdf5, derived, !has_journal);
    } catch (const Error& error) {
      if (!has_journal) throw;
      log::warning("{}", error.what());
      return output;
    }
    output.complete = derived.complete;
    output.config = derived.config;
    output.facts_json = derived.facts_json;
    if (!has_journal) {
      output.rows = std::move(derived.rows);
      output.result_config = std::move(derived.result_config);
      output.attempts = std::move(derived.attempts);
      output.settings_hash = derived.settings_hash;
    }
  }
  return output;
}

}  // namespace lynxkv::results
