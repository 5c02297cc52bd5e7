#include "results/merge.hpp"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/check.hpp"
#include "base/error.hpp"
#include "results/hdf5.hpp"
#include "results/journal.hpp"
#include "results/settings_difference.hpp"

namespace lynxkv::results {
namespace {

using nlohmann::json;

json parsed(const std::string& text) {
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(text) : value;
}

void check_alike(const std::vector<Output>& outputs, const std::string& into) {
  for (const Output& output : outputs) {
    std::error_code ignored;
    if (std::filesystem::equivalent(output.name, into, ignored))
      throw Error(ErrorCode::usage, into, "is one of the outputs to merge; choose another folder for --into");
    if (output.settings_hash == outputs.front().settings_hash) continue;
    std::string difference = settings_difference(outputs.front().result_config, output.result_config);
    if (difference.empty()) difference = "the model, tokenizer or data changed";
    throw Error(ErrorCode::usage, output.name,
                "is of other settings than " + outputs.front().name + ": " + difference);
  }
}

}  // namespace

MergeOutcome merge_outputs(const std::vector<Output>& outputs, const std::string& into) {
  LYNXKV_CHECK(!outputs.empty());
  check_alike(outputs, into);
  MergeOutcome outcome;
  outcome.complete = true;
  std::map<RowKey, const Row*> rows;
  json attempts = json::array();
  for (const Output& output : outputs) {
    outcome.complete = outcome.complete && output.complete.value_or(false);
    for (const std::string& attempt : output.attempts) attempts.push_back(parsed(attempt));
    for (const Row& row : output.rows) {
      const auto [place, is_new] = rows.emplace(row.key, &row);
      if (is_new) continue;
      ++outcome.duplicates;
      outcome.conflicts += place->second->output_ids == row.output_ids ? 0 : 1;
    }
  }

  json facts = parsed(outputs.front().facts_json);
  if (!facts.is_object()) facts = json::object();
  for (const Output& output : outputs) facts["merged_from"].push_back(output.name);
  facts["attempts"] = attempts;
  const std::string facts_json = facts.dump(-1, ' ', false, json::error_handler_t::replace);

  Journal journal(into, {1, outputs.front().result_config, outputs.front().settings_hash, facts_json}, 3600);
  std::vector<Row> all = journal.before().rows;
  for (const Row& row : all) rows.erase(row.key);
  for (const auto& [key, row] : rows) {
    journal.append(*row);
    all.push_back(*row);
  }
  journal.sync(true);
  outcome.rows = all.size();
  write_hdf5(into + "/" + hdf5_file_name, all, {outcome.complete, outputs.front().config, facts_json});
  return outcome;
}

}  // namespace lynxkv::results
