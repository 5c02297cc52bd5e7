// lynxkv capture MODEL --text FILE OUT: the KV that a model makes of a text, as an HDF5 file, or one file a page tensor.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/command.hpp"
#include "apps/cpus.hpp"
#include "apps/option_checks.hpp"
#include "apps/output_files.hpp"
#include "base/bf16.hpp"
#include "base/error.hpp"
#include "model/forward.hpp"
#include "model/tokenizer.hpp"
#include "quality/prefill.hpp"
#include "results/hdf5_capture.hpp"

namespace lynxkv::apps {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Options {
  std::string model, text, out, pages, isa = "auto";
  std::vector<int> layers;
  int tokens = 2048, threads = 0;
};

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in || !fs::is_regular_file(path))
    throw Error(ErrorCode::bad_data, path, "could not be opened: expected a text file");
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<model::TokenId> tokens_of(const model::ModelFile& file, const Options& options) {
  if (!file.tokenizer) throw Error(ErrorCode::bad_data, file.path, file.tokenizer_problem);
  std::vector<model::TokenId> ids =
      file.tokenizer->encode(read_text(options.text), model::SpecialText::is_plain);
  if (file.tokenizer->adds_bos()) ids.insert(ids.begin(), file.tokenizer->bos());
  if (ids.empty()) throw Error(ErrorCode::bad_data, options.text, "expected text, found none");
  const int most = std::min(options.tokens, file.config.context_tokens);
  if (ids.size() > static_cast<std::size_t>(most)) ids.resize(static_cast<std::size_t>(most));
  return ids;
}

std::vector<int> layers_of(const model::ModelFile& file, const Options& options) {
  std::vector<int> layers = options.layers;
  for (const int layer : layers)
    if (layer < 0 || layer >= file.config.layers)
      throw Error(
          ErrorCode::usage, "--layers",
          "expected 0 to " + std::to_string(file.config.layers - 1) + ", found " + std::to_string(layer));
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  for (int layer = 0; options.layers.empty() && layer < file.config.layers; ++layer) layers.push_back(layer);
  return layers;
}

void write_file(const fs::path& path, const char* bytes, std::size_t size) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes, static_cast<std::streamsize>(size));
  out.close();
  if (!out)
    throw Error(ErrorCode::incomplete, path.string(),
                std::string("could not be written: ") + std::strerror(errno));
}

// The folder, made if need be. The index is written last, so a folder that has one is whole.
fs::path open_folder(const std::string& path) {
  const fs::path folder(path);
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed || !fs::is_directory(folder))
    throw Error(ErrorCode::usage, path,
                "cannot be made a folder" + (failed ? ": " + failed.message() : std::string()));
  if (fs::exists(folder / "index.json"))
    throw Error(ErrorCode::usage, path, "holds a capture already; remove it or name another folder");
  return folder;
}

json write_pages(const quality::Capture& capture, const fs::path& folder) {
  json cases = json::array();
  for (std::size_t index = 0; index < capture.layers.size(); ++index)
    for (const page::Kind kind : {page::Kind::key, page::Kind::value})
      for (int page = 0; page < capture.pages(); ++page) {
        const codec::TensorShape shape = capture.shape(index, kind, page);
        const std::span<const Bf16> rows = capture.rows(index, kind, page);
        const char* letter = kind == page::Kind::key ? "k" : "v";
        const std::string name = "l" + std::to_string(shape.layer) + "_" + letter + "_p" + std::to_string(page);
        write_file(folder / (name + ".kv.bin"), reinterpret_cast<const char*>(rows.data()), rows.size_bytes());
        cases.push_back({{"name", name},
                         {"tokens", shape.tokens},
                         {"channels", shape.channels},
                         {"head_dim", shape.head_dim},
                         {"first_position", shape.first_position},
                         {"layer", shape.layer},
                         {"kind", letter}});
      }
  return cases;
}

results::KvFile file_of(const quality::Capture& capture, const Options& options, std::span<const model::TokenId> ids) {
  results::KvFile file;
  file.model = fs::path(options.model).filename().string();
  file.text = fs::path(options.text).filename().string();
  file.model_layers = capture.geometry.layers;
  file.kv_heads = capture.geometry.kv_heads;
  file.head_dim = capture.geometry.head_dim;
  file.layers.assign(capture.layers.begin(), capture.layers.end());
  file.token_ids.assign(ids.begin(), ids.end());
  for (const Bf16 x : capture.keys) file.key.push_back(x.bits);
  for (const Bf16 x : capture.values) file.value.push_back(x.bits);
  return file;
}

int run(const Options& options) {
  if (options.out.empty() && options.pages.empty())
    throw Error(ErrorCode::usage, "capture", "name the HDF5 file to write, or a folder with --pages");
  if (fs::is_directory(options.out))
    throw Error(ErrorCode::usage, options.out, "is a folder: name the HDF5 file to write; --pages takes a folder");
  check_outputs({options.out});
  const model::Isa isa = as_option("--isa", [&] { return model::isa_from(options.isa); });
  const model::ModelFile file = model::open_model(options.model);
  const std::vector<model::TokenId> ids = tokens_of(file, options);
  const std::vector<int> layers = layers_of(file, options);
  const fs::path folder = options.pages.empty() ? fs::path() : open_folder(options.pages);
  model::Forward forward(file, {model::Precision::bf16, isa,
                                options.threads > 0 ? options.threads : usable_cpus()});
  const quality::Capture capture = quality::prefilled(forward, {fs::path(options.text).filename().string(), ids}, layers);
  if (!options.out.empty()) {
    results::write_kv_file(options.out, file_of(capture, options, ids));
    std::cout << "wrote K and V of " << layers.size() << " layers and " << ids.size() << " tokens to " << options.out << "\n";
  }
  if (options.pages.empty()) return 0;
  const json cases = write_pages(capture, folder);
  const json index = {
      {"layout", "NAME.kv.bin: bfloat16, little-endian, [tokens][channels]; channels: KV heads side by side"},
      {"model", fs::path(options.model).filename().string()},
      {"text", fs::path(options.text).filename().string()},
      {"tokens", ids.size()},
      {"layers", file.config.layers},
      {"cases", cases}};
  const std::string text = index.dump(1) + "\n";
  write_file(folder / "index.json", text.data(), text.size());
  std::cout << "wrote " << cases.size() << " page tensors of " << ids.size() << " tokens to " << folder.string() << "\n";
  return 0;
}

Run set_up(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "a .gguf file or a folder with config.json and *.safetensors")
      ->required();
  app.add_option("OUT", options->out, "the HDF5 file to write: key and value [layers][tokens][channels], bfloat16 bits");
  app.add_option("--pages", options->pages, "a folder for NAME.kv.bin of each page tensor, and index.json");
  app.add_option("--text", options->text, "a text file; its first --tokens tokens are read")->required();
  app.add_option("--tokens", options->tokens, "the most tokens to read")
      ->check(at_least(1))
      ->capture_default_str();
  app.add_option("--layers", options->layers, "which layers to write, as 0,15,29; all where it is not given")
      ->delimiter(',');
  app.add_option("--threads", options->threads, "0: every CPU that this process may use")
      ->check(whole_between(0, 512));
  app.add_option("--isa", options->isa, "kernel path: auto, amx, avx512_bf16, avx512, avx2");
  return [options] { return run(*options); };
}

}  // namespace

extern const Command capture_command;
const Command capture_command{
    "capture", "the KV that a model makes of a text, for h5py, `lynxkv codec` and `lynxkv bench codec --kv`",
    "echo 'The valley lies between two rivers.' > text.txt && lynxkv capture $(jobs/fetch-model.sh) captured.h5 --text "
    "text.txt",
    set_up};

}  // namespace lynxkv::apps
