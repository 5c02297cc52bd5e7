// lynxkv tokenize: texts or conversations to token ids.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "apps/command.hpp"
#include "apps/jsonl.hpp"
#include "base/error.hpp"
#include "model/chat_template.hpp"
#include "model/model_file.hpp"
#include "model/tokenizer.hpp"

namespace lynxkv::apps {
namespace {

using nlohmann::json;

struct Request {
  std::string model;
  bool chat = false, plain = false, render = false;
};

std::vector<model::ChatMessage> messages_of(const json& list) {
  if (!list.is_array())
    throw Error(ErrorCode::bad_data, "", "expected an array as \"messages\", found " + found_text(list));
  std::vector<model::ChatMessage> messages;
  for (const json& message : list) {
    if (!message.is_object())
      throw Error(ErrorCode::bad_data, "",
                  "expected objects with role and content in \"messages\", found " + found_text(message));
    messages.push_back({string_of(member(message, "role", "a role in each message"), "role"),
                        string_of(member(message, "content", "a content in each message"), "content")});
  }
  return messages;
}

bool adds_prompt(const json& object) {
  const auto found = object.find("add_generation_prompt");
  if (found == object.end()) return true;
  if (!found->is_boolean())
    throw Error(ErrorCode::bad_data, "",
                "expected true or false as \"add_generation_prompt\", found " + found_text(*found));
  return found->get<bool>();
}

std::string rendered(const model::ModelFile& file, const std::vector<model::ChatMessage>& messages,
                     bool add_prompt) {
  if (!file.chat_template) throw Error(ErrorCode::bad_data, file.path, file.chat_template_problem);
  return file.chat_template->render(messages, add_prompt);
}

int run(const Request& request) {
  const model::ModelFile file = model::open_model(request.model);
  if (!file.tokenizer) throw Error(ErrorCode::bad_data, file.path, file.tokenizer_problem);
  for_each_json_line([&](const json& object) {
    std::string text;
    bool conversation = true;
    if (object.contains("messages")) {
      text = rendered(file, messages_of(object["messages"]), adds_prompt(object));
    } else {
      text = string_of(member(object, "text", "\"text\" or \"messages\""), "\"text\"");
      conversation = request.chat;
      if (conversation) text = rendered(file, {{"user", text}}, adds_prompt(object));
    }
    const bool plain = request.plain && !conversation;
    json out;
    out["ids"] = file.tokenizer->encode(
        text, plain ? model::SpecialText::is_plain : model::SpecialText::becomes_token);
    if (request.render) out["text"] = text;
    std::cout << in_ascii(out) << '\n';
  });
  return 0;
}

Run set_up(CLI::App& app) {
  auto request = std::make_shared<Request>();
  app.add_option("MODEL", request->model, "a .gguf file, or a folder with config.json and *.safetensors")
      ->required();
  app.add_flag("--chat", request->chat,
               "read each {\"text\": ..} as a user's message and render the model's chat template");
  app.add_flag("--plain", request->plain,
               "read text such as <|im_end|> in {\"text\": ..} as ordinary characters");
  app.add_flag("--render", request->render, "also print the text that was tokenised");
  return [request] { return run(*request); };
}

}  // namespace

extern const Command tokenize_command;
const Command tokenize_command = {"tokenize",
                                  "Texts or conversations to token ids: JSON Lines {\"text\": ..} or "
                                  "{\"messages\": [..]} on standard input",
                                  "echo '{\"text\": \"Hello, world\"}' | lynxkv tokenize "
                                  "$(jobs/fetch-model.sh)",
                                  set_up};

}  // namespace lynxkv::apps
