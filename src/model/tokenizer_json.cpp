#include "model/tokenizer_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "model/gguf_cursor.hpp"
#include "model/json_input.hpp"
#include "model/tokenizer_bytelevel.hpp"
#include "model/tokenizer_turns.hpp"

namespace lynxkv::model {
namespace {

using nlohmann::json;

// A kind of tokenizer that we do not have; not damage.
struct Unsupported {
  std::string what;
};

const json& member(const json& object, const char* key) {
  static const json absent;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : absent;
}

std::string text_member(const json& object, const char* key) {
  const json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

bool flag(const json& object, const char* key, bool otherwise) {
  const json& value = member(object, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

class Reader {
 public:
  Reader(const TokenizerTexts& texts, int rows) : name_(texts.name), rows_(rows) {
    parts_.where = name_;
    file_ = parse_json(texts.tokenizer, name_, "a tokenizer");
    settings_ = texts.settings.empty() ? json::object() : parse_json(texts.settings, name_, "tokenizer settings");
    generation_ = texts.generation.empty() ? json::object() : parse_json(texts.generation, name_, "generation settings");
  }

  TokenizerParts read() {
    require_supported();
    read_rule(file_["pre_tokenizer"]);
    read_vocabulary();
    read_added_tokens();
    read_merges();
    read_ends();
    return std::move(parts_);
  }

 private:
  [[noreturn]] void bad(const std::string& what) const { throw Error(ErrorCode::bad_data, name_, what); }

  void require_supported() const {
    const json& model = member(file_, "model");
    if (!model.is_object()) bad("expected a 'model' with vocabulary and merges, found " + kind_of(model));
    const std::string type = text_member(model, "type");
    if (type != "BPE" && !(type.empty() && model.contains("merges")))
      throw Unsupported{"expected a tokenizer of type 'BPE', found " + model::quoted(type)};
    for (const char* key : {"byte_fallback", "fuse_unk"})
      if (flag(model, key, false)) throw Unsupported{std::string("expected byte-level BPE, found '") + key + "'"};
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!text_member(model, key).empty()) throw Unsupported{std::string("expected byte-level BPE, found a '") + key + "'"};
    if (!member(file_, "normalizer").is_null())
      throw Unsupported{"expected no normalizer, found " + model::quoted(text_member(file_["normalizer"], "type"))};
  }

  void read_rule(const json& whole) {
    std::vector<json> steps;
    if (text_member(whole, "type") == "Sequence" && member(whole, "pretokenizers").is_array())
      steps = whole["pretokenizers"].get<std::vector<json>>();
    else
      steps = {whole};
    std::optional<SplitRule> rule;
    bool digits = false, byte_level = false;
    for (const json& step : steps) {
      const std::string type = text_member(step, "type");
      if (type == "Digits" && flag(step, "individual_digits", false)) {
        digits = true;
      } else if (type == "Split" && text_member(step, "behavior") == "Isolated" && !flag(step, "invert", false)) {
        const std::string pattern = text_member(member(step, "pattern"), "Regex");
        if (rule || !(rule = split_rule_of_pattern(pattern))) throw Unsupported{"pattern " + model::quoted(pattern) + " cuts the text"};
      } else if (type == "ByteLevel" && !flag(step, "add_prefix_space", true) && !byte_level) {
        byte_level = true;
        if (flag(step, "use_regex", true) && !rule) rule = SplitRule::gpt2;
      } else {
        throw Unsupported{"the pre-tokenizer has a step " + model::quoted(type) + " that we do not have"};
      }
    }
    if (!byte_level || !rule || (digits && *rule != SplitRule::gpt2))
      throw Unsupported{"expected byte-level BPE with the pattern of gpt2, smollm, llama3 or qwen2"};
    parts_.rule = digits ? SplitRule::smollm : *rule;
    parts_.whole_pieces_first = flag(file_["model"], "ignore_merges", false);
  }

  void place(const std::string& text, const json& id, TokenKind kind) {
    if (!id.is_number_integer() || id < 0 || id >= rows_)
      bad("token " + model::quoted(text) + ": expected an id from 0 to " + std::to_string(rows_ - 1) +
          " (rows of the embedding), found " + id.dump().substr(0, 40));
    const auto at = id.get<std::size_t>();
    if (parts_.kinds[at] != TokenKind::unused && parts_.tokens[at] != text)
      bad("id " + std::to_string(at) + " stands for both " + model::quoted(parts_.tokens[at]) + " and " + model::quoted(text));
    parts_.tokens[at] = text;
    parts_.kinds[at] = kind;
  }

  void read_vocabulary() {
    parts_.tokens.assign(static_cast<std::size_t>(rows_), "");
    parts_.kinds.assign(static_cast<std::size_t>(rows_), TokenKind::unused);
    const json& vocabulary = member(file_["model"], "vocab");
    if (!vocabulary.is_object() || vocabulary.empty()) bad("expected a vocabulary, found " + kind_of(vocabulary));
    for (const auto& [text, id] : vocabulary.items()) place(text, id, TokenKind::normal);
  }

  void read_added_tokens() {
    const json& added = member(file_, "added_tokens");
    if (added.is_null()) return;
    if (!added.is_array()) bad("expected a list as 'added_tokens', found " + kind_of(added));
    for (const json& token : added) {
      const std::string text = text_member(token, "content");
      if (text.empty()) bad("an added token has no text");
      for (const char* key : {"lstrip", "rstrip", "single_word"})
        if (flag(token, key, false)) throw Unsupported{"the added token " + model::quoted(text) + " asks for '" + key + "'"};
      place(text, member(token, "id"), flag(token, "special", false) ? TokenKind::control : TokenKind::user_defined);
    }
  }

  void read_merges() {
    const json& merges = member(file_["model"], "merges");
    if (!merges.is_array()) bad("expected a list as 'merges', found " + kind_of(merges));
    for (const json& merge : merges) {
      const std::string where = "merge " + std::to_string(parts_.merges.size());
      if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        parts_.merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
        continue;
      }
      const std::string text = merge.is_string() ? merge.get<std::string>() : std::string();
      const auto space = text.find(' ', 1);
      if (text.empty() || space == std::string::npos || space + 1 == text.size())
        bad(where + ": expected two tokens, found " + kind_of(merge));
      parts_.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
    }
  }

  TokenId id_of(const std::string& text) const {
    const auto found = std::find(parts_.tokens.begin(), parts_.tokens.end(), text);
    return text.empty() || found == parts_.tokens.end() ? -1 : static_cast<TokenId>(found - parts_.tokens.begin());
  }

  // "bos_token": "<s>", or an object with its text.
  TokenId named(const char* key) const {
    const json& value = member(settings_, key);
    return id_of(value.is_object() ? text_member(value, "content") : text_member(settings_, key));
  }

  // The post-processor may put special tokens around a text: one in front is what we do, others are not.
  void read_front(const json& step) {
    const std::string type = text_member(step, "type");
    if (type == "Sequence") {
      for (const json& inner : member(step, "processors")) read_front(inner);
    } else if (type == "TemplateProcessing") {
      bool text_seen = false;
      for (const json& piece : member(step, "single")) {
        text_seen = text_seen || piece.contains("Sequence");
        if (!piece.contains("SpecialToken")) continue;
        const TokenId id = id_of(text_member(piece["SpecialToken"], "id"));
        if (text_seen || parts_.adds_bos || id < 0) throw Unsupported{"the post-processor adds more than one token in front"};
        parts_.adds_bos = true;
        parts_.bos = id;
      }
    } else if (!type.empty() && type != "ByteLevel") {
      throw Unsupported{"the post-processor is " + model::quoted(type)};
    }
  }

  void read_ends() {
    read_front(member(file_, "post_processor"));
    if (parts_.bos < 0) parts_.bos = named("bos_token");
    if (flag(settings_, "add_bos_token", false) && parts_.bos >= 0) parts_.adds_bos = true;
    parts_.eos = named("eos_token");
    const json& ends = member(generation_, "eos_token_id");
    for (const json& id : ends.is_array() ? ends : json::array({ends})) {
      if (id.is_null()) continue;
      if (!id.is_number_integer() || id < 0 || id >= rows_) bad("expected token ids as 'eos_token_id', found " + id.dump().substr(0, 40));
      parts_.ends.push_back(id.get<TokenId>());
    }
    for (std::size_t i = 0; i < parts_.tokens.size(); ++i)
      if (parts_.kinds[i] == TokenKind::control && ends_a_turn(parts_.tokens[i])) parts_.ends.push_back(static_cast<TokenId>(i));
  }

  std::string name_;
  int rows_;
  json file_, settings_, generation_;
  TokenizerParts parts_;
};

}  // namespace

std::unique_ptr<Tokenizer> tokenizer_from_json(const TokenizerTexts& texts, int rows, std::string& problem) {
  try {
    return make_byte_level_tokenizer(Reader(texts, rows).read());
  } catch (const Unsupported& unsupported) {
    problem = texts.name + ": " + unsupported.what + ", which is not supported";
    return nullptr;
  }
}

std::string chat_template_from_json(std::string_view settings, const std::string& name) {
  if (settings.empty()) return {};
  const json file = parse_json(settings, name, "tokenizer settings");
  const json& found = member(file, "chat_template");
  if (found.is_string()) return found.get<std::string>();
  if (!found.is_array()) return {};
  for (const json& entry : found)  // several, by name
    if (text_member(entry, "name") == "default") return text_member(entry, "template");
  return {};
}

}  // namespace lynxkv::model
