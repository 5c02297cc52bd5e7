// lynxkv export: rows for other programs.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "apps/command.hpp"
#include "apps/commands.hpp"
#include "apps/completeness.hpp"
#include "apps/output_files.hpp"
#include "base/error.hpp"
#include "results/export.hpp"
#include "results/output.hpp"
#include "results/hdf5.hpp"
#include "results/journal.hpp"
#include "results/posix_file.hpp"

namespace lynxkv::apps {
namespace {

struct ExportArguments {
  std::string output, csv, jsonl;
  bool partial = false;
};

// What an output folder lives by is never written over, whatever folder it belongs to.
void refuse_results(const std::string& path) {
  const auto name = std::filesystem::path(path).filename();
  for (const char* kept : {results::journal_file_name, results::hdf5_file_name, "journal.lock"})
    if (name == kept)
      throw Error(ErrorCode::usage, path, "is the name of a results file, which an export would destroy: choose another");
}

void write_text(const std::string& path, const std::string& text) {
  if (path == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      throw Error(ErrorCode::usage, "standard output", "could not be written");
  } else
    results::replace_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

int run(const ExportArguments& arguments) {
  if (arguments.csv.empty() && arguments.jsonl.empty())
    throw Error(ErrorCode::usage, "export", "expected --csv DIR or --jsonl FILE");
  if (!arguments.jsonl.empty()) refuse_results(arguments.jsonl);
  if (arguments.jsonl != "-") check_outputs({arguments.jsonl});
  if (!arguments.csv.empty()) results::check_folder(arguments.csv);
  const results::Output output = results::load_output(arguments.output);
  if (!arguments.jsonl.empty()) {
    std::string text;
    for (const results::Row& row : output.rows) text += results::json_line(row);
    write_text(arguments.jsonl, text);
  }
  if (!arguments.csv.empty()) {
    results::make_folder(arguments.csv);
    write_text(arguments.csv + "/samples.csv", results::samples_csv(output.rows));
    write_text(arguments.csv + "/tokens.csv", results::tokens_csv(output.rows));
  }
  return code_for(std::span(&output, 1), arguments.partial);
}

Run set_up(CLI::App& app) {
  auto arguments = std::make_shared<ExportArguments>();
  app.add_option("output", arguments->output, "Output folder, journal or results file")->required();
  app.add_option("--csv", arguments->csv, "Write samples.csv and tokens.csv into this folder");
  app.add_option("--jsonl", arguments->jsonl,
                 "Write one JSON object a sample into this file; - is standard output");
  add_partial_option(app, arguments->partial);
  return [arguments] { return run(*arguments); };
}

}  // namespace

extern const Command export_command;
const Command export_command = {"export", "Every sample as CSV or JSONL",
                                "lynxkv export out/quickstart --jsonl samples.jsonl", set_up};

}  // namespace lynxkv::apps
