// lynxkv logits MODEL --ids FILE.json: logits at chosen positions and a greedy continuation, as JSON.
#include <string_view>
#include <filesystem>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/command.hpp"
#include "apps/cpus.hpp"
#include "apps/option_checks.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "model/forward.hpp"
#include "page/pool.hpp"

namespace lynxkv::apps {
namespace {

using nlohmann::json;

struct Options {
  std::string model, ids, isa = "auto";
  bool float32 = false;
  int threads = 0, chunk = page::default_page_tokens;
};

struct Request {
  std::vector<model::TokenId> input_ids;
  std::vector<int> positions;  // whose logits are wanted
  int more = 0;                // greedy tokens to append
};

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw Error(ErrorCode::bad_data, file, what);
}

// A list of integers in [0, limit).
std::vector<int> integers(const std::string& file, const json& document, const char* key,
                          std::int64_t limit) {
  std::vector<int> values;
  if (!document.contains(key)) return values;
  if (!document[key].is_array()) refuse(file, std::string("\"") + key + "\": expected an array of integers");
  for (const json& entry : document[key]) {
    if (!entry.is_number_integer() || entry.get<std::int64_t>() < 0 || entry.get<std::int64_t>() >= limit)
      refuse(file, std::string("\"") + key + "\": expected integers from 0 to " + std::to_string(limit - 1) +
                       ", found " + entry.dump());
    values.push_back(entry.get<int>());
  }
  return values;
}

Request read_request(const std::string& file, const model::ModelConfig& config) {
  std::ifstream in(file);
  if (!in || std::filesystem::is_directory(file))
    refuse(file, "could not be opened: expected a JSON file with \"input_ids\"");
  const json document = json::parse(in, nullptr, false);
  if (!document.is_object())
    refuse(file, "expected a JSON object with \"input_ids\", \"positions\" and \"continue\"");
  constexpr std::string_view known[] = {"input_ids", "positions", "continue"};
  for (const auto& [key, value] : document.items())
    if (std::find(std::begin(known), std::end(known), key) == std::end(known)) refuse(file, unknown_name("key", key, known));
  Request request;
  request.input_ids = integers(file, document, "input_ids", config.vocab);
  if (request.input_ids.empty()) refuse(file, "\"input_ids\": expected at least one token id, found none");
  request.positions =
      integers(file, document, "positions", static_cast<std::int64_t>(request.input_ids.size()));
  if (document.contains("continue")) {
    const json& more = document["continue"];
    if (!more.is_number_integer() || more.get<std::int64_t>() < 0 ||
        more.get<std::int64_t>() > config.context_tokens)
      refuse(file, "\"continue\": expected an integer from 0 to the model's context of " +
                       std::to_string(config.context_tokens) + ", found " + more.dump());
    request.more = more.get<int>();
  }
  const auto total = static_cast<std::int64_t>(request.input_ids.size()) + request.more;
  if (total > config.context_tokens)
    refuse(file, std::to_string(request.input_ids.size()) + " input ids and " + std::to_string(request.more) +
                     " more do not fit the model's context of " + std::to_string(config.context_tokens) +
                     " tokens");
  return request;
}

json compute(model::Forward& forward, const Request& request, int chunk) {
  page::PagePool pool(forward.geometry(page::default_page_tokens, page::default_chunk_tokens),
                      forward.kv_element(), 1 << 24);
  page::SequenceKv kv(pool);
  const auto vocab = static_cast<std::size_t>(forward.config().vocab);
  const std::span<const model::TokenId> ids(request.input_ids);
  json logits = json::object();
  model::TokenId next = 0;
  for (std::size_t first = 0; first < ids.size(); first += static_cast<std::size_t>(chunk)) {
    const auto part = ids.subspan(first, std::min(static_cast<std::size_t>(chunk), ids.size() - first));
    const auto wanted = [&](int position) {
      return static_cast<std::size_t>(position) >= first &&
             static_cast<std::size_t>(position) < first + part.size();
    };
    const bool is_last = first + part.size() == ids.size();
    // Logits come for the last rows of a run: all from the first wanted one on.
    std::size_t from = is_last ? part.size() - 1 : part.size();
    for (const int position : request.positions)
      if (wanted(position)) from = std::min(from, static_cast<std::size_t>(position) - first);
    const model::SequenceRows rows[] = {{&kv, part, static_cast<int>(part.size() - from)}};
    const auto out = forward.run(rows);
    for (const int position : request.positions) {
      if (!wanted(position)) continue;
      const auto row = out.subspan((static_cast<std::size_t>(position) - first - from) * vocab, vocab);
      logits[std::to_string(position)] = std::vector<float>(row.begin(), row.end());
    }
    if (is_last) next = model::argmax(out.last(vocab));
  }
  std::vector<model::TokenId> greedy;
  while (static_cast<int>(greedy.size()) < request.more) {
    greedy.push_back(next);
    const model::SequenceRows rows[] = {{&kv, std::span(&greedy.back(), 1), 1}};
    next = model::argmax(forward.run(rows));
  }
  return {{"logits", logits}, {"greedy", greedy}};
}

int run(const Options& options) {
  const model::Isa isa = as_option("--isa", [&] { return model::isa_from(options.isa); });
  const model::ModelFile file = model::open_model(options.model);
  const Request request = read_request(options.ids, file.config);
  model::Forward forward(file, {options.float32 ? model::Precision::float32 : model::Precision::bf16, isa,
                                options.threads > 0 ? options.threads : usable_cpus()});
  std::cout << compute(forward, request, options.chunk).dump() << "\n";
  return 0;
}

Run set_up(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "a .gguf file or a folder with config.json and *.safetensors")
      ->required();
  app.add_option("--ids", options->ids, R"(JSON: {"input_ids": [..], "positions": [..], "continue": n})")
      ->required();
  app.add_flag("--float32", options->float32, "compute in float32, KV included");
  app.add_option("--chunk", options->chunk, "input tokens a forward run takes")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("--threads", options->threads, "0: every CPU that this process may use")
      ->check(whole_between(0, 512));
  app.add_option("--isa", options->isa, "kernel path: auto, amx, avx512_bf16, avx512, avx2");
  return [options] { return run(*options); };
}

}  // namespace

extern const Command logits_command;
const Command logits_command{"logits", "logits and greedy continuation of given token ids, as JSON",
                             "echo '{\"input_ids\": [1, 2, 3], \"positions\": [2], \"continue\": 8}' > "
                             "ids.json && lynxkv logits $(jobs/fetch-model.sh) --ids ids.json",
                             set_up};

}  // namespace lynxkv::apps
