#include "results/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "results/link_settings.hpp"

namespace lynxkv::results {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// Documentation order; a mode that is not listed comes after these.
constexpr const char* mode_order[] = {"bf16",         "int8",          "int4",           "int8-channel",
                                      "int4-channel", "lynx-int4",     "lynx-int8",      "lynx",
                                      "lynx-exact",   "cachegen-code", "cachegen-paper", "quantspec"};
std::size_t rank_of(const std::string& mode) {
  return static_cast<std::size_t>(std::find(std::begin(mode_order), std::end(mode_order), mode) -
                                  std::begin(mode_order));
}

struct ModeOrder {
  bool operator()(const std::string& a, const std::string& b) const {
    return std::tuple(rank_of(a), a) < std::tuple(rank_of(b), b);
  }
};

using SampleId = std::pair<std::int64_t, std::uint64_t>;  // line, file hash
using Rows = std::map<SampleId, const Row*>;
using GroupId = std::tuple<std::string, std::string, int>;
using ByOutput = std::map<std::size_t, Rows>;
using ByMode = std::map<std::string, ByOutput, ModeOrder>;

SampleId id_of(const Row& row) {
  return {row.key.line, row.key.file_hash};
}

// KV elements of one token, as the run's facts state them; 0 where they do not.
double elements_per_token(const Output& output) {
  const auto facts = nlohmann::json::parse(output.facts_json, nullptr, false);
  if (!facts.is_object()) return 0;
  const auto found = facts.find("kv_elements_per_token");
  return found != facts.end() && found->is_number() ? found->get<double>() : 0;
}

template <class Get>
double mean_of(const std::vector<const Row*>& rows, Get get) {
  double sum = 0;
  for (const Row* row : rows) sum += static_cast<double>(get(*row));
  return rows.empty() ? unknown : sum / static_cast<double>(rows.size());
}
template <class Get>
double median_of(const std::vector<const Row*>& rows, Get get) {
  std::vector<double> values;
  for (const Row* row : rows) values.push_back(get(*row));
  return median(std::move(values));
}

void compare_with_bf16(const std::vector<const Row*>& rows, std::size_t output, const ByMode& modes,
                       ReportLine& line) {
  const auto bf16 = modes.find("bf16");
  double tokens = 0, identical = 0;
  for (const Row* row : rows) {
    const Row* partner = nullptr;
    if (bf16 != modes.end())
      for (const auto& [other, others] : bf16->second)
        if (const auto found = others.find(id_of(*row));
            found != others.end() && (partner == nullptr || other == output))
          partner = found->second;
    if (partner == nullptr) continue;
    ++line.compared;
    tokens += token_agreement(row->output_ids, partner->output_ids);
    identical += row->output_ids == partner->output_ids ? 1 : 0;
  }
  const auto compared = static_cast<double>(line.compared);
  line.same_tokens_percent = line.compared == 0 ? unknown : 100 * tokens / compared;
  line.same_outputs_percent = line.compared == 0 ? unknown : 100 * identical / compared;
}

void take_times(const std::vector<const Row*>& rows, ReportLine& line) {
  line.ttft_s = median_of(rows, [](const Row& row) { return row.ttft_s; });
  line.ttft_commit_s = median_of(rows, [](const Row& row) { return row.ttft_commit_s; });
  line.latency_s = median_of(rows, [](const Row& row) { return row.latency_s; });
  line.prefill_s = median_of(rows, [](const Row& row) { return row.prefill_s; });
  for (std::size_t k = 0; k < ttkt_marks.size(); ++k) {
    std::vector<double> values;
    for (const Row* row : rows)
      if (row->ttkt_s.size() > k) values.push_back(row->ttkt_s[k]);
    line.ttkt_samples[k] = static_cast<std::int64_t>(values.size());
    line.ttkt_s[k] = median(std::move(values));
  }
  std::vector<double> tpot;
  for (const Row* row : rows)
    if (row->output_ids.size() > 1) tpot.push_back(row->tpot_s);
  line.tpot_s = median(std::move(tpot));
}

void take_traffic(const std::vector<const Row*>& rows, double elements, ReportLine& line) {
  for (std::size_t s = 0; s < line.stream_bytes.size(); ++s)
    line.stream_bytes[s] = mean_of(rows, [&](const Row& row) { return row.stream_bytes[s]; });
  line.wire_bytes = mean_of(rows, [](const Row& row) { return row.wire_bytes; });
  // Pages carry the prompt without its last token.
  const double kv = elements * mean_of(rows, [](const Row& row) { return row.prompt_tokens - 1; });
  const double payload = line.stream_bytes[0] + line.stream_bytes[1] + line.stream_bytes[2];
  line.bits_per_element = kv > 0 ? 8 * payload / kv : unknown;
  line.retries = 0;
  for (const Row* row : rows) line.retries += row->retries;
}

void take_drafts(const std::vector<const Row*>& rows, ReportLine& line) {
  line.drafted = mean_of(rows, [](const Row& row) { return row.drafted; });
  line.accepted = mean_of(rows, [](const Row& row) { return row.accepted; });
  double drafting = 0, all = 0;
  for (const Row* row : rows) {
    drafting += row->drafted > 0 ? 1 : 0;
    all += row->drafted > 0 && row->all_accepted ? 1 : 0;
  }
  line.accepted_percent = line.drafted > 0 ? 100 * line.accepted / line.drafted : unknown;
  line.all_accepted_percent = drafting > 0 ? 100 * all / drafting : unknown;
}

ReportLine make_line(const std::vector<const Row*>& rows, std::size_t output, double elements,
                     const ByMode& modes) {
  ReportLine line;
  line.output = output;
  line.mode = rows.front()->key.mode;
  line.start = rows.front()->start;
  line.samples = static_cast<std::int64_t>(rows.size());
  for (const Row* row : rows) {
    if (row->start != line.start) line.start = "mixed";
    line.truncated += row->truncated_tokens > 0 ? 1 : 0;
  }
  line.score_percent = 100 * mean_of(rows, [](const Row& row) { return row.score; });
  line.prompt_tokens = mean_of(rows, [](const Row& row) { return row.prompt_tokens; });
  line.output_tokens = mean_of(rows, [](const Row& row) { return row.output_ids.size(); });
  compare_with_bf16(rows, output, modes, line);
  take_times(rows, line);
  take_traffic(rows, elements, line);
  take_drafts(rows, line);
  return line;
}

// Samples that all of these lines hold; none where they share none.
std::set<SampleId> shared_samples(const std::vector<const Rows*>& lines) {
  std::set<SampleId> shared;
  if (lines.empty()) return shared;
  for (const auto& sample : *lines.front())
    if (std::all_of(lines.begin(), lines.end(), [&](const Rows* line) { return line->contains(sample.first); }))
      shared.insert(sample.first);
  return shared;
}

// What the lines of several outputs are paired by: the samples that every output holds in some mode and, of those,
// the ones that all outputs with this mode hold in it.
std::set<SampleId> paired_samples(const ByMode& modes, const ByOutput& same_mode) {
  std::map<std::size_t, Rows> by_output;
  for (const auto& [mode, outputs] : modes)
    for (const auto& [output, rows] : outputs) by_output[output].insert(rows.begin(), rows.end());
  std::vector<const Rows*> lines;
  for (const auto& [output, rows] : same_mode) lines.push_back(&rows);
  const auto alike = shared_samples(lines);
  for (const auto& [output, rows] : by_output) lines.push_back(&rows);
  const auto everywhere = shared_samples(lines);
  return everywhere.empty() ? alike : everywhere;
}

ReportGroup make_group(const GroupId& id, const ByMode& modes, const std::vector<double>& elements,
                       std::vector<std::string>& notes) {
  ReportGroup group;
  std::tie(group.suite, group.task, group.length) = id;
  const std::string name =
      group.suite + "/" + group.task + (group.length > 0 ? " at " + std::to_string(group.length) : "");
  std::set<std::int64_t> counts;
  for (const auto& [mode, outputs] : modes) {
    const auto shared = paired_samples(modes, outputs);
    if (shared.empty() && outputs.size() > 1)
      notes.push_back(name + ", " + mode + ": the outputs share no sample; the lines are not paired");
    for (const auto& [output, rows] : outputs) {
      std::vector<const Row*> counted;
      for (const auto& [sample, row] : rows)
        if (shared.empty() || shared.contains(sample)) counted.push_back(row);
      group.lines.push_back(make_line(counted, output, elements[output], modes));
      ReportLine& line = group.lines.back();
      line.left_out = static_cast<std::int64_t>(rows.size() - counted.size());
      counts.insert(line.samples);
      const std::string which = name + ", " + mode;
      if (line.left_out > 0)
        notes.push_back(which + ": " + std::to_string(line.left_out) +
                        " samples that not every output holds are left out");
      if (line.truncated > 0)
        notes.push_back(which + ": " + std::to_string(line.truncated) +
                        " prompts were cut by the truncation policy");
      if (line.retries > 0)
        notes.push_back(which + ": " + std::to_string(line.retries) + " frames were asked for again");
    }
  }
  if (counts.size() > 1) notes.push_back(name + ": the modes do not have the same samples yet");
  return group;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return unknown;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double token_agreement(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  const std::size_t shorter = std::min(a.size(), b.size()), longer = std::max(a.size(), b.size());
  if (longer == 0) return 1;
  std::size_t equal = 0;
  for (std::size_t i = 0; i < shorter; ++i) equal += a[i] == b[i] ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(longer);
}

Report make_report(const std::vector<Output>& outputs) {
  Report report;
  std::vector<double> elements;
  std::vector<std::string> configs;
  std::map<GroupId, ByMode> groups;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Output& output = outputs[i];
    report.outputs.push_back(output.name);
    elements.push_back(elements_per_token(output));
    if (output.complete == false)
      report.notes.push_back(output.name + ": incomplete; run the same command again to do what is missing");
    const Transfers transfers = transfers_of(output.rows);
    report.links.push_back(fit_link(transfers));
    report.link_uses.push_back({transfers.requests, transfers.shared});
    configs.push_back(output.result_config);
    for (const Row& row : output.rows)
      groups[{row.key.suite, row.key.task, row.key.length}][row.key.mode][i][id_of(row)] = &row;
  }
  report.link_settings = link_settings(configs);
  for (const auto& [id, modes] : groups)
    report.groups.push_back(make_group(id, modes, elements, report.notes));
  if (report.groups.empty()) report.notes.push_back("no sample is finished yet");
  return report;
}

}  // namespace lynxkv::results
