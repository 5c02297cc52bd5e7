// lynxkv detokenize: token ids to texts.
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "apps/command.hpp"
#include "apps/jsonl.hpp"
#include "base/error.hpp"
#include "model/model_file.hpp"
#include "model/tokenizer.hpp"

namespace lynxkv::apps {
namespace {

using nlohmann::json;

struct Request {
  std::string model;
  bool skip_special = false;
};

std::vector<model::TokenId> ids_of(const json& list) {
  if (!list.is_array())
    throw Error(ErrorCode::bad_data, "", "expected an array as \"ids\", found " + found_text(list));
  std::vector<model::TokenId> ids;
  for (const json& id : list) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<model::TokenId>::max());
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > most)
      throw Error(ErrorCode::bad_data, "", "expected token ids in \"ids\", found " + found_text(id));
    ids.push_back(id.get<model::TokenId>());
  }
  return ids;
}

int run(const Request& request) {
  const model::ModelFile file = model::open_model(request.model);
  if (!file.tokenizer) throw Error(ErrorCode::bad_data, file.path, file.tokenizer_problem);
  for_each_json_line([&](const json& object) {
    json out;
    out["text"] = file.tokenizer->decode(ids_of(member(object, "ids", "\"ids\"")), request.skip_special);
    std::cout << in_ascii(out) << '\n';
  });
  return 0;
}

Run set_up(CLI::App& app) {
  auto request = std::make_shared<Request>();
  app.add_option("MODEL", request->model, "a .gguf file, or a folder with config.json and *.safetensors")
      ->required();
  app.add_flag("--skip-special", request->skip_special, "leave out special tokens");
  return [request] { return run(*request); };
}

}  // namespace

extern const Command detokenize_command;
const Command detokenize_command = {"detokenize",
                                    "Token ids to texts: JSON Lines {\"ids\": [..]} on standard input",
                                    "echo '{\"ids\": [19556, 28, 905]}' | lynxkv detokenize "
                                    "$(jobs/fetch-model.sh)",
                                    set_up};

}  // namespace lynxkv::apps
