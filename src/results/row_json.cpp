#include "results/row_json.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"

namespace lynxkv::results {
namespace {

using nlohmann::json;

// Visits every field of a row with its name; the writer and the reader below are its two visitors. The fields that
// journals of earlier versions lack come with `later`: they keep their defaults there.
constexpr bool later = true;
template <class R, class Visitor>
void visit_fields(R& row, Visitor&& visit) {
  visit("suite", row.key.suite);
  visit("task", row.key.task);
  visit("length", row.key.length);
  visit("line", row.key.line);
  visit("file_hash", row.key.file_hash);
  visit("mode", row.key.mode);
  visit("settings_hash", row.key.settings_hash);
  visit("prompt_tokens", row.prompt_tokens);
  visit("truncated_tokens", row.truncated_tokens);
  visit("output_ids", row.output_ids);
  visit("prediction", row.prediction);
  visit("references", row.references);
  visit("score", row.score);
  visit("finish", row.finish);
  visit("ttft_s", row.ttft_s);
  visit("ttft_commit_s", row.ttft_commit_s);
  visit("ttkt_s", row.ttkt_s);
  visit("commit_s", row.commit_s);
  visit("tpot_s", row.tpot_s);
  visit("latency_s", row.latency_s);
  visit("prefill_s", row.prefill_s);
  visit("drafted", row.drafted);
  visit("accepted", row.accepted);
  visit("rechecks", row.rechecks);
  visit("all_accepted", row.all_accepted);
  visit("stream_bytes", row.stream_bytes);
  visit("wire_bytes", row.wire_bytes);
  visit("anchor_ready_s", row.anchor_ready_s);
  visit("first_draft_s", row.first_draft_s);
  visit("residual_ready_s", row.residual_ready_s);
  visit("verified_s", row.verified_s);
  visit("encode_s", row.encode_s);
  visit("decode_s", row.decode_s);
  visit("clock_error_s", row.clock_error_s);
  visit("t_kv_unix_s", row.t_kv_unix_s, later);
  visit("prefill_rank", row.prefill_rank);
  visit("decode_rank", row.decode_rank);
  visit("retries", row.retries);
  visit("start", row.start);
}

[[noreturn]] void wrong(const std::string& field, const std::string& what) {
  throw Error(ErrorCode::bad_data, "row field '" + field + "'", what);
}

// One overload a kind of field. json's own conversions cut integers without a word, so ranges are checked
// here.
template <class T>
requires std::is_integral_v<T>
void read(const std::string& field, const json& value, T& out) {
  bool fits = false;
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    fits = std::in_range<T>(number);
    out = static_cast<T>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    fits = std::in_range<T>(number);
    out = static_cast<T>(number);
  } else {
    wrong(field, std::string("expected an integer, found ") + value.type_name());
  }
  if (!fits) wrong(field, "its value is out of range: " + value.dump());
}

void read(const std::string& field, const json& value, bool& out) {
  if (!value.is_boolean()) wrong(field, std::string("expected true or false, found ") + value.type_name());
  out = value.get<bool>();
}

void read(const std::string& field, const json& value, double& out) {
  if (!value.is_number()) wrong(field, std::string("expected a number, found ") + value.type_name());
  out = value.get<double>();
}

void read(const std::string& field, const json& value, std::string& out) {
  if (!value.is_string()) wrong(field, std::string("expected text, found ") + value.type_name());
  out = value.get_ref<const std::string&>();
}

template <class T>
void read(const std::string& field, const json& value, std::vector<T>& out) {
  if (!value.is_array()) wrong(field, std::string("expected a list, found ") + value.type_name());
  out.resize(value.size());
  for (std::size_t i = 0; i < out.size(); ++i) read(field, value[i], out[i]);
}

template <class T, std::size_t N>
void read(const std::string& field, const json& value, std::array<T, N>& out) {
  if (!value.is_array() || value.size() != N)
    wrong(field, "expected a list of " + std::to_string(N) + ", found " + value.type_name());
  for (std::size_t i = 0; i < N; ++i) read(field, value[i], out[i]);
}

}  // namespace

json row_to_json(const Row& row) {
  json object = json::object();
  visit_fields(row, [&](const char* name, const auto& value, bool = false) { object[name] = value; });
  return object;
}

Row row_from_json(const json& object) {
  if (!object.is_object())
    throw Error(ErrorCode::bad_data, "row", std::string("expected an object, found ") + object.type_name());
  Row row;
  visit_fields(row, [&](const char* name, auto& value, bool may_lack = false) {
    const auto found = object.find(name);
    if (found == object.end() && may_lack) return;
    if (found == object.end()) wrong(name, "is missing");
    read(name, *found, value);
  });
  if (row.ttkt_s.size() > ttkt_marks.size())
    wrong("ttkt_s", "expected at most " + std::to_string(ttkt_marks.size()) + " values, found " +
                        std::to_string(row.ttkt_s.size()));
  if (row.key.length < 0) wrong("length", "is negative");
  if (row.key.line < 0) wrong("line", "is negative");
  return row;
}

}  // namespace lynxkv::results
