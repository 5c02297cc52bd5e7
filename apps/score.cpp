// lynxkv score: scores predictions that another program made.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/command.hpp"
#include "apps/commands.hpp"
#include "apps/option_checks.hpp"
#include "base/error.hpp"
#include "suite/json_lines.hpp"
#include "suite/scoring.hpp"

namespace lynxkv::apps {
namespace {

using nlohmann::json;

struct ScoreArguments {
  std::string predictions, suite, task, profile = "longbench";
  bool json = false;
};

// The first of several spellings that the object has: suites name the same thing differently.
const char* spelling(const json& object, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (object.contains(name)) return name;
  return *names.begin();
}

int run(const ScoreArguments& arguments) {
  const std::string task =
      !arguments.task.empty() ? arguments.task : std::filesystem::path(arguments.predictions).stem().string();
  const suite::ScoringRule rule = suite::scoring_rule(arguments.suite, task);
  double sum = 0;
  int samples = 0;
  suite::read_json_lines(arguments.predictions, [&](const json& object, const std::string& where) {
    suite::Sample sample;
    sample.references =
        suite::texts_field(object, spelling(object, {"answers", "outputs", "references"}), where);
    if (rule.metric == suite::Metric::classification)
      sample.classes = suite::texts_field(object, "all_classes", where);
    const std::string prediction = suite::text_field(object, spelling(object, {"pred", "prediction"}), where);
    sum += suite::score_prediction(rule, std::move(sample), prediction);
    ++samples;
  });
  const double score = 100 * sum / samples;
  if (arguments.json) {
    const json document = {{"schema_version", 1}, {"suite", arguments.suite},
                           {"task", task},        {"metric_profile", arguments.profile},
                           {"samples", samples},  {"score_percent", score}};
    std::printf("%s\n", document.dump(2).c_str());
  } else {
    std::printf("%s %s: %.*f %% over %d samples (metric profile %s)\n", arguments.suite.c_str(), task.c_str(),
                rule.digits, score, samples, arguments.profile.c_str());
  }
  return 0;
}

Run set_up(CLI::App& app) {
  auto arguments = std::make_shared<ScoreArguments>();
  app.add_option("predictions", arguments->predictions,
                 "JSONL of {pred, answers} (LongBench) or {pred, outputs} (RULER)")
      ->required();
  app.add_option("--suite", arguments->suite, "ruler, longbench or qa")->required();
  app.add_option("--task", arguments->task, "Task; default: the file's name");
  app.add_option("--metric-profile", arguments->profile, "Whose scores")->check(one_of("profile", {"longbench"}));
  app.add_flag("--json", arguments->json, "Print one JSON document");
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command score_command;
const Command score_command = {"score", "Score predictions that are already there",
                               "echo '{\"pred\": \"Paris\", \"answers\": [\"in Paris\"]}' > pred.jsonl && "
                               "lynxkv score pred.jsonl --suite longbench --task hotpotqa", set_up};

}  // namespace lynxkv::apps
