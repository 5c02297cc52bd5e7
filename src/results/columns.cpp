#include "results/columns.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace lynxkv::results {
namespace {

using nlohmann::json;

constexpr const char* mark_names[] = {"ttkt_1_s",  "ttkt_2_s",  "ttkt_4_s", "ttkt_8_s",
                                      "ttkt_16_s", "ttkt_32_s", "ttkt_64_s"};
static_assert(std::size(mark_names) == ttkt_marks.size());

// Every column once, for the writer and the reader below. `get` gives the field of a row to read or to set.
#define LYNXKV_FIELD(path) \
  [](auto& row) -> auto& { \
    return row.path;       \
  }
template <class Visitor>
void visit_columns(Visitor& v) {
  v.list("suite", "", "suite", LYNXKV_FIELD(key.suite));
  v.list("task", "", "task of the suite", LYNXKV_FIELD(key.task));
  v.value("length", "token", "nominal prompt length; 0: none", LYNXKV_FIELD(key.length));
  v.value("line", "1", "number of the sample within its task and length", LYNXKV_FIELD(key.line));
  v.value("file_hash", "1", "identity of the data", LYNXKV_FIELD(key.file_hash));
  v.list("mode", "", "how the KV cache was sent", LYNXKV_FIELD(key.mode));
  v.value("settings_hash", "1", "identity of the settings that change results",
          LYNXKV_FIELD(key.settings_hash));
  v.value("prompt_tokens", "token", "tokens of the prompt", LYNXKV_FIELD(prompt_tokens));
  v.value("truncated_tokens", "token", "tokens that the truncation policy cut from the prompt",
          LYNXKV_FIELD(truncated_tokens));
  v.list("output_ids", "1", "ids of the committed tokens", LYNXKV_FIELD(output_ids));
  v.list("prediction", "", "text of the committed tokens", LYNXKV_FIELD(prediction));
  v.texts("references", "", "right answers, a JSON list", LYNXKV_FIELD(references));
  v.value("score", "1", "score of the prediction, 0 to 1", LYNXKV_FIELD(score));
  v.list("finish", "", "why it ended: stop, length or context", LYNXKV_FIELD(finish));
  v.value("ttft_s", "s",
          "first token exists, drafted or not; from the time at which the prompt's KV was computed",
          LYNXKV_FIELD(ttft_s));
  v.value("ttft_commit_s", "s", "first token committed, from the same time", LYNXKV_FIELD(ttft_commit_s));
  for (std::size_t i = 0; i < ttkt_marks.size(); ++i)
    v.mark(
        mark_names[i], "s",
        "token " + std::to_string(ttkt_marks[i]) + " exists, from the same time; NaN: so many were not made",
        i);
  v.list("commit_s", "s", "each output token committed, from the same time", LYNXKV_FIELD(commit_s));
  v.value("tpot_s", "s", "(last commit - first commit) / (tokens - 1); 0 below two tokens",
          LYNXKV_FIELD(tpot_s));
  v.value("latency_s", "s", "from submission to the last commit", LYNXKV_FIELD(latency_s));
  v.value("prefill_s", "s", "from submission until the prompt's KV was computed", LYNXKV_FIELD(prefill_s));
  v.value("drafted", "token", "tokens drafted", LYNXKV_FIELD(drafted));
  v.value("accepted", "token", "drafted tokens that verification accepted", LYNXKV_FIELD(accepted));
  v.value("rechecks", "1", "verified rows that were computed again by a single step", LYNXKV_FIELD(rechecks));
  v.value("all_accepted", "1", "1 where one draft was accepted to its last token",
          LYNXKV_FIELD(all_accepted));
  v.value("anchor_bytes", "byte", "payload of the anchor stream", LYNXKV_FIELD(stream_bytes[0]));
  v.value("residual_bytes", "byte", "payload of the residual stream", LYNXKV_FIELD(stream_bytes[1]));
  v.value("exact_bytes", "byte", "payload of the exact stream", LYNXKV_FIELD(stream_bytes[2]));
  v.value("wire_bytes", "byte", "all bytes on the link, headers included", LYNXKV_FIELD(wire_bytes));
  v.value("anchor_ready_s", "s", "all anchors decoded, from the same time as ttft_s; 0: did not happen",
          LYNXKV_FIELD(anchor_ready_s));
  v.value("first_draft_s", "s", "first draft token; 0: did not happen", LYNXKV_FIELD(first_draft_s));
  v.value("residual_ready_s", "s", "all residuals decoded; 0: did not happen",
          LYNXKV_FIELD(residual_ready_s));
  v.value("verified_s", "s", "verification done; 0: did not happen", LYNXKV_FIELD(verified_s));
  v.value("encode_s", "s", "codec seconds on the prefill rank", LYNXKV_FIELD(encode_s));
  v.value("decode_s", "s", "codec seconds on the decode rank", LYNXKV_FIELD(decode_s));
  v.value("clock_error_s", "s", "error of the offset between the two ranks' clocks",
          LYNXKV_FIELD(clock_error_s));
  v.later("t_kv_unix_s", "s",
          "when the prompt's KV was computed, seconds since 1970 by the decode host's clock; 0: not noted",
          LYNXKV_FIELD(t_kv_unix_s));
  v.value("prefill_rank", "1", "rank that computed the prompt", LYNXKV_FIELD(prefill_rank));
  v.value("decode_rank", "1", "rank that computed the output", LYNXKV_FIELD(decode_rank));
  v.value("retries", "1", "frames asked for again", LYNXKV_FIELD(retries));
  v.list("start", "", "when pages left: streaming or after_prefill", LYNXKV_FIELD(start));
}
#undef LYNXKV_FIELD

// The element type in the file.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool> || std::is_same_v<T, char>, std::uint8_t, T>;

class Writer {
 public:
  explicit Writer(const std::vector<Row>& rows) : rows_(rows) {}
  std::vector<Column> columns;

  template <class Get>
  void value(const char* name, const char* units, const char* long_name, Get get) {
    using T = Stored<std::remove_cvref_t<decltype(get(rows_[0]))>>;
    std::vector<T> values;
    for (const Row& row : rows_) values.push_back(static_cast<T>(get(row)));
    add(name, units, long_name, std::move(values));
  }
  template <class Get>
  void later(const char* name, const char* units, const char* long_name, Get get) {
    value(name, units, long_name, get);
  }
  template <class Get>
  void list(const char* name, const char* units, const char* long_name, Get get) {
    using T = Stored<typename std::remove_cvref_t<decltype(get(rows_[0]))>::value_type>;
    std::vector<T> values;
    std::vector<std::int64_t> offsets = {0};
    for (const Row& row : rows_) {
      for (const auto item : get(row)) values.push_back(static_cast<T>(item));
      offsets.push_back(static_cast<std::int64_t>(values.size()));
    }
    add(name, units, long_name, std::move(values));
    add(std::string(name) + "_offsets", "1",
        std::string("where each row's ") + name + " begins; one more: the end", std::move(offsets));
  }
  template <class Get>
  void texts(const char* name, const char* units, const char* long_name, Get get) {
    list(name, units, long_name,
         [&](const Row& row) { return json(get(row)).dump(-1, ' ', false, json::error_handler_t::replace); });
  }
  void mark(const char* name, const char* units, const std::string& long_name, std::size_t i) {
    std::vector<double> values;
    for (const Row& row : rows_)
      values.push_back(i < row.ttkt_s.size() ? row.ttkt_s[i] : std::numeric_limits<double>::quiet_NaN());
    add(name, units, long_name, std::move(values));
  }

 private:
  void add(const std::string& name, const char* units, const std::string& long_name, ColumnValues values) {
    columns.push_back({name, units, long_name, std::move(values)});
  }
  const std::vector<Row>& rows_;
};

[[noreturn]] void wrong(const std::string& name, const std::string& what) {
  throw Error(ErrorCode::bad_data, "column '" + name + "'", what);
}

class Reader {
 public:
  Reader(const std::vector<Column>& columns, std::vector<Row>& rows) : columns_(columns), rows_(rows) {}

  template <class Get>
  void value(const char* name, const char*, const char*, Get get) {
    using T = std::remove_cvref_t<decltype(get(rows_[0]))>;
    const auto& values = find<Stored<T>>(name, rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) get(rows_[i]) = static_cast<T>(values[i]);
  }
  // A column that files of earlier versions lack: the field keeps its default there.
  template <class Get>
  void later(const char* name, const char* units, const char* long_name, Get get) {
    const auto is_it = [&](const Column& column) { return column.name == name; };
    if (std::any_of(columns_.begin(), columns_.end(), is_it)) value(name, units, long_name, get);
  }
  template <class Get>
  void list(const char* name, const char*, const char*, Get get) {
    using List = std::remove_cvref_t<decltype(get(rows_[0]))>;
    const auto& values = find<Stored<typename List::value_type>>(name);
    const auto& offsets = offsets_of(name, values.size());
    for (std::size_t i = 0; i < rows_.size(); ++i)
      get(rows_[i]) = List(values.begin() + offsets[i], values.begin() + offsets[i + 1]);
  }
  template <class Get>
  void texts(const char* name, const char*, const char*, Get get) {
    const auto& values = find<std::uint8_t>(name);
    const auto& offsets = offsets_of(name, values.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const json list =
          json::parse(values.begin() + offsets[i], values.begin() + offsets[i + 1], nullptr, false);
      if (!list.is_array()) wrong(name, "expected a JSON list in row " + std::to_string(i));
      for (const json& item : list) {
        if (!item.is_string()) wrong(name, "expected a list of texts in row " + std::to_string(i));
        get(rows_[i]).push_back(item.get<std::string>());
      }
    }
  }
  void mark(const char* name, const char*, const std::string&, std::size_t i) {
    const auto& values = find<double>(name, rows_.size());
    for (std::size_t r = 0; r < rows_.size(); ++r)
      if (!std::isnan(values[r]) && rows_[r].ttkt_s.size() == i) rows_[r].ttkt_s.push_back(values[r]);
  }

  template <class T>
  const std::vector<T>& find(const std::string& name) const {
    for (const Column& column : columns_)
      if (column.name == name) {
        if (const auto* values = std::get_if<std::vector<T>>(&column.values)) return *values;
        wrong(name, "has values of another type");
      }
    wrong(name, "is missing");
  }

 private:
  template <class T>
  const std::vector<T>& find(const std::string& name, std::size_t expected) const {
    const auto& values = find<T>(name);
    if (values.size() != expected)
      wrong(name, "expected " + std::to_string(expected) + " values, found " + std::to_string(values.size()));
    return values;
  }
  const std::vector<std::int64_t>& offsets_of(const std::string& name, std::size_t end) const {
    const auto& offsets = find<std::int64_t>(name + "_offsets", rows_.size() + 1);
    std::int64_t before = 0;
    for (const std::int64_t offset : offsets) {
      if (offset < before) wrong(name + "_offsets", "does not rise");
      before = offset;
    }
    if (offsets.front() != 0 || static_cast<std::uint64_t>(before) != end)
      wrong(name + "_offsets", "expected 0 to " + std::to_string(end) + ", found " +
                                   std::to_string(offsets.front()) + " to " + std::to_string(before));
    return offsets;
  }
  const std::vector<Column>& columns_;
  std::vector<Row>& rows_;
};

}  // namespace

std::vector<Column> columns_of(const std::vector<Row>& rows) {
  Writer writer(rows);
  visit_columns(writer);
  return std::move(writer.columns);
}

Result<std::vector<Row>> rows_of(const std::vector<Column>& columns) {
  std::vector<Row> rows;
  Reader reader(columns, rows);
  try {
    rows.resize(reader.find<std::int64_t>("line").size());
    visit_columns(reader);
  } catch (const Error& error) {
    return error;
  }
  return rows;
}

}  // namespace lynxkv::results
