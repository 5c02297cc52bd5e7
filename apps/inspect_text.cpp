// The documents of `lynxkv inspect` as text for people.
#include <cstdio>
#include <string>

#include "apps/inspect.hpp"

namespace lynxkv::apps {
namespace {

// One line of at most `most` bytes, cut between characters.
std::string shortened(std::string text, std::size_t most) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string plain(const Document& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, Document::error_handler_t::replace);
}

void line(const char* label, const std::string& text) {
  std::printf("%-24s %s\n", label, text.c_str());
}

// "key value, key value" of an object's scalars.
std::string joined(const Document& object) {
  std::string out;
  for (const auto& [key, value] : object.items()) out += (out.empty() ? "" : ", ") + key + " " + plain(value);
  return out;
}

void print_tensors(const Document& tensors, bool all) {
  std::printf("\n%-8s %10s %16s %16s\n", "# type", "tensors", "values", "bytes");
  for (const Document& type : tensors["by_type"])
    std::printf("%-8s %10s %16s %16s\n", plain(type["type"]).c_str(), plain(type["tensors"]).c_str(),
                plain(type["values"]).c_str(), plain(type["bytes"]).c_str());
  std::printf("%-8s %10s %16s %16s\n", "all", plain(tensors["count"]).c_str(),
              plain(tensors["values"]).c_str(), plain(tensors["bytes"]).c_str());
  if (!all) return;
  std::printf("\n%-44s %-8s %-20s %14s\n", "# tensor", "type", "shape", "bytes");
  for (const Document& tensor : tensors["list"])
    std::printf("%-44s %-8s %-20s %14s\n", shortened(plain(tensor["name"]), 200).c_str(),
                plain(tensor["type"]).c_str(), plain(tensor["shape"]).c_str(),
                plain(tensor["bytes"]).c_str());
}

void print_metadata(const Document& metadata, bool all) {
  const std::size_t most = all ? std::size_t{1} << 20 : 70;
  std::printf("\n%-44s %-8s %s\n", "# metadata", "type", "value");
  for (const Document& entry : metadata) {
    std::string value;
    if (entry.contains("count"))
      value = plain(entry["count"]) + " x " + plain(entry["element"]) + " " +
              shortened(plain(entry["first"]), most);
    else
      value = shortened(plain(entry["value"]), most);
    std::printf("%-44s %-8s %s\n", shortened(plain(entry["key"]), 200).c_str(), plain(entry["type"]).c_str(),
                value.c_str());
  }
}

}  // namespace

void print_model(const Document& document, bool all) {
  line("file", shortened(plain(document["path"]), 1000));
  line("kind",
       document["kind"] == "gguf" ? "GGUF, version " + plain(document["version"]) : "checkpoint folder");
  line("bytes", plain(document["bytes"]));
  if (document.contains("problem")) line("not usable", shortened(plain(document["problem"]), 1000));
  if (document.contains("model")) {
    for (const auto& [key, value] : document["model"].items())
      line(key.c_str(), shortened(plain(value), 200));
    line("tokenizer", shortened(joined(document["tokenizer"]), 300));
    line("template", shortened(joined(document["chat_template"]), 300));
    line("content hash", plain(document["content_hash"]));
  }
  if (document.contains("files"))
    for (const Document& file : document["files"]) line("shard", joined(file));
  if (document.contains("metadata")) print_metadata(document["metadata"], all);
  print_tensors(document["tensors"], all);
}

void print_capture(const Document& document) {
  line("file", shortened(plain(document["path"]), 1000));
  line("kind", "KV of a text, as lynxkv capture writes it (HDF5)");
  for (const char* key : {"bytes", "model", "text", "model_layers", "tokens", "kv_heads", "head_dim"})
    line(key, shortened(plain(document[key]), 200));
  line("layers", std::to_string(document["layers"].size()) + " of them");
}

void print_results(const Document& document, bool all) {
  if (document["kind"] == "capture") return print_capture(document);
  const bool is_journal = document["kind"] == "journal";
  line("file", shortened(plain(document["path"]), 1000));
  line("kind", is_journal ? "journal" : "results (HDF5)");
  line("bytes", plain(document["bytes"]));
  if (is_journal) {
    line("settings hash", plain(document["settings_hash"]));
    line("attempts", std::to_string(document["attempts"].size()));
    line("rows twice", plain(document["duplicate_rows"]));
    line("torn bytes", plain(document["torn_bytes"]));
    line("damaged bytes", plain(document["damaged_bytes"]));
    if (all) line("config", plain(document["result_config"]));
    if (all)
      for (const Document& attempt : document["attempts"]) line("attempt", plain(attempt));
  } else {
    line("complete",
         document["complete"].get<bool>() ? "yes" : "no: samples are missing; run the same command again");
    if (all) line("facts", plain(document["facts"]));
    if (all) std::printf("config:\n%s\n", plain(document["config_yaml"]).c_str());
  }
  std::printf("\n%-16s %-20s %10s %-14s %8s\n", "# suite", "task", "length", "mode", "samples");
  for (const Document& group : document["groups"])
    std::printf("%-16s %-20s %10s %-14s %8s\n", shortened(plain(group["suite"]), 60).c_str(),
                shortened(plain(group["task"]), 60).c_str(), plain(group["length"]).c_str(),
                shortened(plain(group["mode"]), 60).c_str(), plain(group["samples"]).c_str());
  std::printf("%-16s %-20s %10s %-14s %8s\n", "all", "", "", "", plain(document["samples"]).c_str());
}

}  // namespace lynxkv::apps
