#include "results/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace lynxkv::results {
namespace {

using nlohmann::json;

std::string number(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

// The marks worth a column: of those after the first token, 8 and the last that half of some line's samples
// reached.
std::vector<std::size_t> marks_of(const ReportGroup& group) {
  std::vector<std::size_t> marks;
  for (std::size_t k = 1; k < ttkt_marks.size(); ++k) {
    const bool reached = std::any_of(group.lines.begin(), group.lines.end(), [&](const ReportLine& line) {
      return line.ttkt_samples[k] > 0 && 2 * line.ttkt_samples[k] >= line.samples;
    });
    if (!reached) continue;
    if (!marks.empty() && ttkt_marks[marks.back()] != 8) marks.pop_back();
    marks.push_back(k);
  }
  return marks;
}

// ", link.gbps 0.5", or by output where they differ; empty where all is as by default.
std::string link_settings_of(const Report& report, const ReportGroup& group) {
  std::set<std::size_t> outputs;
  for (const ReportLine& line : group.lines) outputs.insert(line.output);
  std::set<std::string> different;
  for (const std::size_t output : outputs) different.insert(report.link_settings[output]);
  if (different.size() == 1) return different.begin()->empty() ? "" : ", " + *different.begin();
  std::string text;
  for (const std::size_t output : outputs)
    text += (text.empty() ? "; " : " | ") + report.outputs[output] + ": " + report.link_settings[output];
  return text;
}

std::string title_of(const Report& report, const ReportGroup& group) {
  std::string title = group.suite + " / " + group.task;
  if (group.length > 0) title += fmt::format(", {} tokens", group.length);
  const auto& lines = group.lines;
  const bool one_start = std::all_of(
      lines.begin(), lines.end(), [&](const ReportLine& line) { return line.start == lines.front().start; });
  if (one_start && report.outputs.size() == 1 && !lines.empty()) title += ", start: " + lines.front().start;
  return title + link_settings_of(report, group);
}

ReportTable make_table(const Report& report, const ReportGroup& group) {
  ReportTable table;
  table.title = title_of(report, group);
  const bool several = report.outputs.size() > 1;
  const auto marks = marks_of(group);
  const bool bits = std::any_of(group.lines.begin(), group.lines.end(),
                                [](const ReportLine& line) { return std::isfinite(line.bits_per_element); });
  table.columns = {{"mode", ""}};
  if (several) table.columns.insert(table.columns.end(), {{"output", ""}, {"start", ""}});
  table.columns.insert(table.columns.end(), {{"samples", ""},
                                             {"score", "%"},
                                             {"tokens as bf16", "%"},
                                             {"outputs as bf16", "%"},
                                             {"TTFT draft", "s"},
                                             {"TTFT commit", "s"}});
  for (const std::size_t k : marks) table.columns.push_back({fmt::format("TT{}T", ttkt_marks[k]), "s"});
  table.columns.insert(table.columns.end(), {{"TPOT", "ms"}, {"sent", "MB/sample"}});
  if (bits) table.columns.push_back({"KV size", "bits/value"});
  table.columns.insert(table.columns.end(),
                       {{"drafted", "/sample"}, {"accepted", "/sample"}, {"all accepted", "%"}});

  for (const ReportLine& line : group.lines) {
    std::vector<std::string> row = {line.mode};
    if (several) row.insert(row.end(), {report.outputs[line.output], line.start});
    row.insert(row.end(), {std::to_string(line.samples), number(line.score_percent, 1),
                           number(line.same_tokens_percent, 1), number(line.same_outputs_percent, 1),
                           number(line.ttft_s, 3), number(line.ttft_commit_s, 3)});
    for (const std::size_t k : marks)
      row.push_back(2 * line.ttkt_samples[k] >= line.samples ? number(line.ttkt_s[k], 3) : "-");
    const double sent = line.stream_bytes[0] + line.stream_bytes[1] + line.stream_bytes[2];
    row.insert(row.end(), {number(1e3 * line.tpot_s, 1), number(1e-6 * sent, 2)});
    if (bits) row.push_back(number(line.bits_per_element, 3));
    row.insert(row.end(),
               {number(line.drafted, 1), number(line.accepted, 1), number(line.all_accepted_percent, 0)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

const char* const legend =
    "Medians over samples (score, bytes and drafts: means); times from the moment at which the prompt's KV was computed. "
    "Score: by the suite's own measure, 100 at best. As bf16: equal to the bf16 output of the same sample. TTFT draft: "
    "the first token exists; commit: it is verified. TTnT: token n exists, where half of the samples came so far. TPOT: "
    "(last - first commit) / (tokens - 1); drafts are committed many at once, so that it can be 0 where a mode drafts: "
    "compare modes by TTnT. KV size: bits sent for each value of the prompt's KV, those sent again included. Drafted: "
    "tokens made before the whole KV was there; accepted: of these, those that the whole KV confirmed. All accepted: of "
    "the samples that drafted, those that lost no draft.";

// Names wrap at a blank so that a narrow column of numbers stays narrow.
std::vector<std::string> header_lines(const ReportTable::Column& column) {
  const std::size_t blank = column.name.find(' ');
  if (blank == std::string::npos) return {"", column.name, column.unit};
  return {column.name.substr(0, blank), column.name.substr(blank + 1), column.unit};
}

// Columns of text are aligned left, numbers right.
bool is_text(const ReportTable::Column& column) {
  return column.name == "mode" || column.name == "output" || column.name == "start";
}

std::string aligned(const ReportTable& table) {
  std::vector<std::vector<std::string>> lines(3);
  for (const auto& column : table.columns) {
    const auto header = header_lines(column);
    for (std::size_t i = 0; i < 3; ++i) lines[i].push_back(header[i]);
  }
  lines.insert(lines.end(), table.rows.begin(), table.rows.end());
  std::vector<std::size_t> widths(table.columns.size());
  for (const auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  std::string text = table.title + "\n";
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t c = 0; c < line.size(); ++c)
      row += (c == 0 ? "" : "  ") + (is_text(table.columns[c]) ? fmt::format("{:<{}}", line[c], widths[c])
                                                               : fmt::format("{:>{}}", line[c], widths[c]));
    row.erase(row.find_last_not_of(' ') + 1);
    if (!row.empty()) text += row + "\n";
  }
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

json finite(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

json line_json(const Report& report, const ReportLine& line) {
  json ttkt = json::object(), ttkt_samples = json::object();
  for (std::size_t k = 0; k < ttkt_marks.size(); ++k) {
    ttkt[std::to_string(ttkt_marks[k])] = finite(line.ttkt_s[k]);
    ttkt_samples[std::to_string(ttkt_marks[k])] = line.ttkt_samples[k];
  }
  return {{"output", report.outputs[line.output]},
          {"mode", line.mode},
          {"start", line.start},
          {"samples", line.samples},
          {"samples_left_out", line.left_out},
          {"score_percent", finite(line.score_percent)},
          {"compared_with_bf16", line.compared},
          {"tokens_as_bf16_percent", finite(line.same_tokens_percent)},
          {"outputs_as_bf16_percent", finite(line.same_outputs_percent)},
          {"ttft_s", finite(line.ttft_s)},
          {"ttft_commit_s", finite(line.ttft_commit_s)},
          {"ttkt_s", ttkt},
          {"ttkt_samples", ttkt_samples},
          {"tpot_s", finite(line.tpot_s)},
          {"latency_s", finite(line.latency_s)},
          {"prefill_s", finite(line.prefill_s)},
          {"prompt_tokens", finite(line.prompt_tokens)},
          {"output_tokens", finite(line.output_tokens)},
          {"bytes",
           {{"anchor", finite(line.stream_bytes[0])},
            {"residual", finite(line.stream_bytes[1])},
            {"exact", finite(line.stream_bytes[2])}}},
          {"wire_bytes", finite(line.wire_bytes)},
          {"bits_per_value", finite(line.bits_per_element)},
          {"drafted", finite(line.drafted)},
          {"accepted", finite(line.accepted)},
          {"accepted_percent", finite(line.accepted_percent)},
          {"all_accepted_percent", finite(line.all_accepted_percent)},
          {"truncated", line.truncated},
          {"retries", line.retries}};
}

// What the transfers say of the link, of each output.
std::vector<std::string> link_lines(const Report& report) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < report.links.size(); ++i) {
    const std::string link = "link" + (report.links.size() > 1 ? " of " + report.outputs[i] : std::string());
    const auto& [requests, shared] = report.link_uses[i];
    if (shared > 0)
      lines.push_back(fmt::format("{}, shared: {} of {} samples were sent while another one was; their times include waiting "
                                  "for it (engine.max_batch: 1 sends one at a time)", link, shared, requests));
    if (const std::string said = describe(report.links[i]); !said.empty()) lines.push_back(link + ", " + said);
  }
  return lines;
}

json link_json(const LinkModel& model) {
  if (!model.known()) return nullptr;
  return {{"latency_s", model.latency_s},       {"bytes_per_s", model.bytes_per_s}, {"transfers", model.transfers},           {"measured", model.measured},
          {"apart_median", model.apart_median}, {"apart_p90", model.apart_p90}};
}

}  // namespace

std::vector<ReportTable> make_tables(const Report& report) {
  std::vector<ReportTable> tables;
  for (const ReportGroup& group : report.groups) tables.push_back(make_table(report, group));
  return tables;
}

std::string to_text(const Report& report) {
  std::string text;
  for (const ReportTable& table : make_tables(report)) text += (text.empty() ? "" : "\n") + aligned(table);
  if (!report.groups.empty()) text += std::string("\n") + legend + "\n";
  for (const std::string& line : link_lines(report)) text += line + "\n";
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  return text;
}

std::string to_markdown(const Report& report) {
  std::string text;
  for (const ReportTable& table : make_tables(report)) {
    text += (text.empty() ? "**" : "\n**") + escaped(table.title) + "**\n\n|";
    for (const auto& column : table.columns)
      text += " " + column.name + (column.unit.empty() ? "" : ", " + column.unit) + " |";
    text += "\n|";
    for (const auto& column : table.columns) text += is_text(column) ? " --- |" : " ---: |";
    for (const auto& row : table.rows) {
      text += "\n|";
      for (const std::string& cell : row) text += " " + escaped(cell) + " |";
    }
    text += "\n";
  }
  if (!report.groups.empty()) text += std::string("\n") + legend + "\n";
  for (const std::string& line : link_lines(report)) text += "\n" + line + "\n";
  for (const std::string& note : report.notes) text += "\nNote: " + note + "\n";
  return text;
}

std::string to_json(const Report& report) {
  json groups = json::array();
  for (const ReportGroup& group : report.groups) {
    json lines = json::array();
    for (const ReportLine& line : group.lines) lines.push_back(line_json(report, line));
    groups.push_back(
        {{"suite", group.suite}, {"task", group.task}, {"length", group.length}, {"lines", lines}});
  }
  json links = json::array();
  for (const LinkModel& model : report.links) links.push_back(link_json(model));
  json uses = json::array();
  for (const LinkUse& use : report.link_uses) uses.push_back({{"samples", use.requests}, {"shared", use.shared}});
  const json document = {
      {"schema_version", 1}, {"outputs", report.outputs}, {"groups", groups}, {"links", links},
      {"link_uses", uses},   {"link_settings", report.link_settings}, {"notes", report.notes}};
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace lynxkv::results
