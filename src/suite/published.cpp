#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "suite/generate.hpp"
#include "suite/json_lines.hpp"

namespace lynxkv::suite {
namespace {

struct Kind {
  const char* prefix;  // of the task's name
  int max_tokens;
  Metric metric;
};
constexpr Kind kinds[] = {{"niah", 128, Metric::contains_all},
                          {"vt", 30, Metric::contains_all},
                          {"cwe", 120, Metric::contains_all},
                          {"fwe", 50, Metric::contains_all},
                          {"qa", 32, Metric::contains_any}};

const Kind& kind_of(const std::string& task) {
  for (const Kind& kind : kinds)
    if (task.rfind(kind.prefix, 0) == 0) return kind;
  throw Error(ErrorCode::usage, "suite.tasks",
              "a RULER file needs a task whose name begins with niah, vt, cwe, fwe or qa, so that its score "
              "is known; found '" +
                  task + "'");
}

}  // namespace

std::vector<Sample> read_published_ruler(const SuiteOptions& options, const std::string& task) {
  const Kind& kind = kind_of(task);
  const std::uint64_t file_hash = hash_file(options.file);
  std::vector<Sample> samples;
  std::int64_t longest = 0;
  read_json_lines(options.file, [&](const nlohmann::json& object, const std::string& where) {
    if (options.samples > 0 && samples.size() >= static_cast<std::size_t>(options.samples)) return;
    Sample sample;
    sample.suite = "ruler";
    sample.task = task;
    sample.file_hash = file_hash;
    sample.line = static_cast<std::int64_t>(samples.size());
    if (const auto index = object.find("index"); index != object.end() && index->is_number_integer()) {
      sample.line = index->get<std::int64_t>();
      if (sample.line < 0) throw Error(ErrorCode::bad_data, where, "field 'index' is negative");
    }
    sample.prompt = text_field(object, "input", where);
    sample.answer_prefix = text_field(object, "answer_prefix", where, "");
    sample.references = texts_field(object, "outputs", where);
    sample.use_template = false;  // the file's prompts are whole: a template, where there is one, is in them
    sample.metric = kind.metric;
    sample.max_tokens = kind.max_tokens;
    if (const auto length = object.find("length"); length != object.end() && length->is_number_integer())
      longest = std::max(longest, length->get<std::int64_t>());
    samples.push_back(std::move(sample));
  });
  // Files are made for 4096, 8192, ... tokens and filled nearly to that; the name of the length is not in
  // them.
  int nominal = 0;
  if (longest > 0 && longest <= (1 << 30))
    for (nominal = 1; nominal < longest;) nominal *= 2;
  for (Sample& sample : samples) sample.length = nominal;
  std::stable_sort(samples.begin(), samples.end(),
                   [](const Sample& a, const Sample& b) { return a.line < b.line; });
  const auto twice = std::adjacent_find(samples.begin(), samples.end(),
                                        [](const Sample& a, const Sample& b) { return a.line == b.line; });
  if (twice != samples.end())
    throw Error(ErrorCode::bad_data, options.file,
                "index " + std::to_string(twice->line) + " is there twice");
  return samples;
}

}  // namespace lynxkv::suite
