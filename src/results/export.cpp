#include "results/export.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"

namespace lynxkv::results {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* stream_names[] = {"anchor", "residual", "exact"};

json finite(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

json finite(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) list.push_back(finite(value));
  return list;
}

json object_of(const Row& row) {
  json object;
  object["suite"] = row.key.suite;
  object["task"] = row.key.task;
  object["length"] = row.key.length;
  object["line"] = row.key.line;
  object["mode"] = row.key.mode;
  object["file_hash"] = hex64(row.key.file_hash);
  object["settings_hash"] = hex64(row.key.settings_hash);
  object["prompt_tokens"] = row.prompt_tokens;
  object["truncated_tokens"] = row.truncated_tokens;
  object["output_ids"] = row.output_ids;
  object["prediction"] = row.prediction;
  object["references"] = row.references;
  object["score"] = finite(row.score);
  object["finish"] = row.finish;
  object["ttft_s"] = finite(row.ttft_s);
  object["ttft_commit_s"] = finite(row.ttft_commit_s);
  object["ttkt_s"] = json::object();
  for (std::size_t k = 0; k < row.ttkt_s.size(); ++k)
    object["ttkt_s"][std::to_string(ttkt_marks[k])] = finite(row.ttkt_s[k]);
  object["commit_s"] = finite(row.commit_s);
  object["tpot_s"] = finite(row.tpot_s);
  object["latency_s"] = finite(row.latency_s);
  object["prefill_s"] = finite(row.prefill_s);
  object["drafted"] = row.drafted;
  object["accepted"] = row.accepted;
  object["rechecks"] = row.rechecks;
  object["all_accepted"] = row.all_accepted;
  for (std::size_t s = 0; s < row.stream_bytes.size(); ++s)
    object["bytes"][stream_names[s]] = row.stream_bytes[s];
  object["wire_bytes"] = row.wire_bytes;
  object["anchor_ready_s"] = finite(row.anchor_ready_s);
  object["first_draft_s"] = finite(row.first_draft_s);
  object["residual_ready_s"] = finite(row.residual_ready_s);
  object["verified_s"] = finite(row.verified_s);
  object["encode_s"] = finite(row.encode_s);
  object["decode_s"] = finite(row.decode_s);
  object["clock_error_s"] = finite(row.clock_error_s);
  object["t_kv_unix_s"] = finite(row.t_kv_unix_s);
  object["prefill_rank"] = row.prefill_rank;
  object["decode_rank"] = row.decode_rank;
  object["retries"] = row.retries;
  object["start"] = row.start;
  return object;
}

std::string dumped(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string cell(const json& value) {
  if (value.is_null()) return "";
  return quoted(value.is_string() ? value.get<std::string>() : dumped(value));
}

// Objects become a column for each of their entries, all of them in every row.
json flat(const Row& row) {
  json object = object_of(row);
  json out;
  for (auto& [name, value] : object.items()) {
    if (name == "ttkt_s") {
      for (std::size_t k = 0; k < ttkt_marks.size(); ++k)
        out[fmt::format("ttkt_{}_s", ttkt_marks[k])] =
            k < row.ttkt_s.size() ? finite(row.ttkt_s[k]) : json(nullptr);
    } else if (name == "bytes") {
      for (auto& [stream, bytes] : value.items()) out[stream + "_bytes"] = bytes;
    } else {
      out[name] = std::move(value);
    }
  }
  return out;
}

}  // namespace

std::string json_line(const Row& row) {
  return dumped(object_of(row)) + "\n";
}

std::string samples_csv(const std::vector<Row>& rows) {
  std::string text, separator;
  const json names = flat(Row{});
  for (const auto& [name, value] : names.items()) {
    text += separator + name;
    separator = ",";
  }
  text += "\n";
  for (const Row& row : rows) {
    separator.clear();
    const json cells = flat(row);
    for (const auto& [name, value] : cells.items()) {
      text += separator + cell(value);
      separator = ",";
    }
    text += "\n";
  }
  return text;
}

std::string tokens_csv(const std::vector<Row>& rows) {
  std::string text = "suite,task,length,line,mode,position,id,commit_s\n";
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.output_ids.size(); ++i) {
      const double commit = i < row.commit_s.size() ? row.commit_s[i] : std::nan("");
      text += fmt::format("{},{},{},{},{},{},{},{}\n", quoted(row.key.suite), quoted(row.key.task),
                          row.key.length, row.key.line, quoted(row.key.mode), i, row.output_ids[i],
                          cell(finite(commit)));
    }
  return text;
}

}  // namespace lynxkv::results
