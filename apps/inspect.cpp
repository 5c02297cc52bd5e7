// lynxkv inspect: what is in a model file, a checkpoint folder, a results file or a journal.
#include "apps/inspect.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "apps/command.hpp"
#include "base/error.hpp"
#include "results/hdf5.hpp"
#include "results/journal.hpp"

namespace lynxkv::apps {
namespace {

namespace fs = std::filesystem;

struct Request {
  std::string path;
  bool json = false, all = false;
};

enum class FileKind { gguf, checkpoint, results };

FileKind kind_of(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw Error(ErrorCode::bad_data, path, "there is no such file or folder");
  const fs::path folder(path);
  if (fs::is_directory(path)) {
    if (fs::exists(folder / "config.json")) return FileKind::checkpoint;
    if (fs::exists(folder / results::journal_file_name) || fs::exists(folder / results::hdf5_file_name))
      return FileKind::results;
    throw Error(
        ErrorCode::bad_data, path,
        "expected a checkpoint (config.json) or an output folder (journal.lkj or results.h5), found neither");
  }
  // A file is known by its first bytes; its name counts where they are damaged, so that the reader says how.
  char start[8] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  const std::string_view magic(start, sizeof start);
  if (magic.starts_with("GGUF")) return FileKind::gguf;
  if (magic == "LYNXKVJ1" || magic == "\x89HDF\r\n\x1a\n") return FileKind::results;
  const std::string extension = folder.extension().string();
  if (extension == ".gguf") return FileKind::gguf;
  if (extension == ".lkj" || extension == ".h5") return FileKind::results;
  throw Error(
      ErrorCode::bad_data, path,
      "expected a GGUF file, a checkpoint folder, a results file (HDF5) or a journal, found none of them");
}

int run(const Request& request) {
  const FileKind kind = kind_of(request.path);
  const Document document = kind == FileKind::gguf         ? inspect_gguf(request.path)
                            : kind == FileKind::checkpoint ? inspect_checkpoint(request.path)
                                                           : inspect_results(request.path);
  if (request.json)
    std::cout << document.dump(2, ' ', false, Document::error_handler_t::replace) << '\n';
  else if (kind == FileKind::results)
    print_results(document, request.all);
  else
    print_model(document, request.all);
  return std::fflush(stdout) == 0 ? 0 : 2;
}

Run set_up(CLI::App& app) {
  auto request = std::make_shared<Request>();
  app.add_option("FILE", request->path,
                 "a .gguf file, a checkpoint folder, a results file, a journal or an output folder")
      ->required();
  app.add_flag("--json", request->json, "print one JSON document");
  app.add_flag("--all", request->all, "also every tensor, whole metadata values, configs and attempts");
  return [request] { return run(*request); };
}

}  // namespace

extern const Command inspect_command;
const Command inspect_command = {"inspect", "What is in a model, a results file or a journal",
                                 "lynxkv inspect $(jobs/fetch-model.sh)",
                                 set_up};

}  // namespace lynxkv::apps
