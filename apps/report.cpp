// lynxkv report: tables of what runs left behind.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "apps/command.hpp"
#include "apps/commands.hpp"
#include "apps/print_report.hpp"
#include "results/report_text.hpp"

namespace lynxkv::apps {

void print_report(const std::vector<std::string>& outputs, ReportFormat format) {
  std::vector<results::Output> loaded;
  for (const std::string& path : outputs) loaded.push_back(results::load_output(path));
  const results::Report report = results::make_report(loaded);
  const std::string text = format == ReportFormat::json       ? results::to_json(report)
                           : format == ReportFormat::markdown ? results::to_markdown(report)
                                                              : results::to_text(report);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

namespace {

struct ReportArguments {
  std::vector<std::string> outputs;
  bool json = false;
  bool markdown = false;
};

Run set_up(CLI::App& app) {
  auto arguments = std::make_shared<ReportArguments>();
  app.add_option("outputs", arguments->outputs,
                 "Output folders, journals or results files; several are paired by sample")
      ->required();
  auto* json = app.add_flag("--json", arguments->json, "Print one JSON document");
  app.add_flag("--md", arguments->markdown, "Print Markdown")->excludes(json);
  return [arguments] {
    print_report(arguments->outputs, arguments->json       ? ReportFormat::json
                                     : arguments->markdown ? ReportFormat::markdown
                                                           : ReportFormat::text);
    return 0;
  };
}

}  // namespace

extern const Command report_command;
const Command report_command = {"report", "Tables by mode: score, agreement, times, bytes, drafts",
                                "lynxkv report out/quickstart out/quickstart-streaming", set_up};

}  // namespace lynxkv::apps
