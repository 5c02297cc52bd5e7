#include "model/tokenizer_bytelevel.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "model/bpe.hpp"
#include "model/gguf_cursor.hpp"
#include "model/tokenizer_specials.hpp"
#include "model/tokenizer_spelling.hpp"
#include "model/unicode.hpp"

namespace lynxkv::model {
namespace {

using IdOfToken = std::unordered_map<std::string_view, TokenId>;

Error bad(const TokenizerParts& parts, const std::string& what) {
  return Error(ErrorCode::bad_data, parts.where, "tokenizer: " + what);
}

bool is_special(TokenKind kind) {
  return kind == TokenKind::control || kind == TokenKind::user_defined;
}

IdOfToken id_of_tokens(const TokenizerParts& parts) {
  IdOfToken ids;
  ids.reserve(parts.tokens.size());
  for (std::size_t i = 0; i < parts.tokens.size(); ++i) {
    const bool added = ids.emplace(parts.tokens[i], static_cast<TokenId>(i)).second;
    if (!added && parts.kinds[i] == TokenKind::normal)
      throw bad(parts,
                "token " + std::to_string(i) + ", " + quoted(parts.tokens[i]) + ", stands there twice");
  }
  return ids;
}

std::array<TokenId, 256> byte_tokens(const TokenizerParts& parts, const IdOfToken& ids) {
  std::array<TokenId, 256> out;
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const auto found = ids.find(spell({&c, 1}));
    const bool usable =
        found != ids.end() && !is_special(parts.kinds[static_cast<std::size_t>(found->second)]);
    out[static_cast<std::size_t>(byte)] = usable ? found->second : -1;
  }
  return out;
}

std::vector<Merge> merges_of(const TokenizerParts& parts, const IdOfToken& ids) {
  std::vector<Merge> out;
  out.reserve(parts.merges.size());
  for (const auto& [left, right] : parts.merges) {
    const auto id_of = [&](const std::string& token) {
      const auto found = ids.find(token);
      if (found == ids.end())
        throw bad(parts, "merge " + std::to_string(out.size()) +
                             ": expected tokens of the vocabulary, found " + quoted(token) +
                             ", which is none");
      return found->second;
    };
    out.push_back({id_of(left), id_of(right), id_of(left + right)});
  }
  return out;
}

void check_id(const TokenizerParts& parts, TokenId id, const char* what) {
  if (id < -1 || id >= static_cast<TokenId>(parts.tokens.size()))
    throw bad(parts, std::string("expected ids up to ") + std::to_string(parts.tokens.size() - 1) +
                         ", found " + std::to_string(id) + " as " + what);
}

class ByteLevelTokenizer final : public Tokenizer {
 public:
  explicit ByteLevelTokenizer(const TokenizerParts& parts) : ByteLevelTokenizer(parts, id_of_tokens(parts)) {}

  std::vector<TokenId> encode(std::string_view text, SpecialText special) const override {
    // What an untrusted user typed never becomes a control token; added words of the language do.
    const SpecialTexts& specials = special == SpecialText::becomes_token ? all_specials_ : user_defined_;
    std::vector<TokenId> ids;
    PieceCache cache;
    for (std::size_t at = 0; at < text.size();) {
      const SpecialTexts::Found found = specials.find(text, at);
      split(rule_, text.substr(at, found.begin - at),
            [&](std::string_view piece) { encode_piece(piece, cache, ids); });
      if (found.id >= 0) ids.push_back(found.id);
      at = found.end;
    }
    return ids;
  }

  std::string decode(std::span<const TokenId> ids, bool skip_special) const override {
    std::string bytes;
    for (const TokenId id : ids) {
      if (id < 0 || id >= vocabulary_size())
        throw Error(
            ErrorCode::bad_data, "token ids",
            "expected 0 to " + std::to_string(vocabulary_size() - 1) + ", found " + std::to_string(id));
      const auto index = static_cast<std::size_t>(id);
      if (!skip_special || !control_[index]) bytes += bytes_[index];
    }
    return with_replacements(bytes);
  }

  int vocabulary_size() const noexcept override { return static_cast<int>(bytes_.size()); }
  bool adds_bos() const noexcept override { return adds_bos_; }
  TokenId bos() const noexcept override { return bos_; }
  TokenId eos() const noexcept override { return eos_; }
  bool is_end(TokenId id) const noexcept override {
    return std::find(ends_.begin(), ends_.end(), id) != ends_.end();
  }
  std::uint64_t hash() const noexcept override { return hash_; }

 private:
  // Text repeats its words: pieces of one call are merged once. Views into the text that is being encoded.
  using PieceCache = std::unordered_map<std::string_view, std::vector<TokenId>>;
  static constexpr std::size_t longest_cached_bytes = 64;

  ByteLevelTokenizer(const TokenizerParts& parts, const IdOfToken& ids)
      : rule_(parts.rule),
        bpe_(byte_tokens(parts, ids), merges_of(parts, ids)),
        adds_bos_(parts.adds_bos),
        bos_(parts.bos),
        eos_(parts.eos),
        ends_(parts.ends) {
    for (std::size_t i = 0; i < parts.tokens.size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      const TokenKind kind = parts.kinds[i];
      control_.push_back(kind == TokenKind::control);
      if (is_special(kind)) {
        all_specials_.add(parts.tokens[i], id);
        if (kind == TokenKind::user_defined) user_defined_.add(parts.tokens[i], id);
        bytes_.push_back(parts.tokens[i]);
        continue;
      }
      bytes_.push_back(unspell(parts.tokens[i]).value_or(parts.tokens[i]));
      if (parts.whole_pieces_first) whole_pieces_.emplace(bytes_.back(), id);
    }
    if (eos_ >= 0) ends_.push_back(eos_);
    hash_ = hash_of(parts);
  }

  static std::uint64_t hash_of(const TokenizerParts& parts) {
    Hash64 hash;
    const auto add = [&](std::string_view text) {
      const std::uint64_t size = text.size();
      hash.add(std::as_bytes(std::span(&size, 1)));
      hash.add(text);
    };
    for (const std::string& token : parts.tokens) add(token);
    hash.add(std::as_bytes(std::span(parts.kinds)));
    for (const auto& [left, right] : parts.merges) {
      add(left);
      add(right);
    }
    const std::array<std::int32_t, 5> settings = {static_cast<std::int32_t>(parts.rule),
                                                  parts.whole_pieces_first, parts.adds_bos, parts.bos,
                                                  parts.eos};
    hash.add(std::as_bytes(std::span(settings)));
    return hash.digest();
  }

  void encode_piece(std::string_view piece, PieceCache& cache, std::vector<TokenId>& ids) const {
    if (!whole_pieces_.empty())
      if (const auto whole = whole_pieces_.find(std::string(piece)); whole != whole_pieces_.end())
        return ids.push_back(whole->second);
    if (piece.size() > longest_cached_bytes) return bpe_.encode(piece, ids);
    const auto [entry, added] = cache.try_emplace(piece);
    if (added) bpe_.encode(piece, entry->second);
    ids.insert(ids.end(), entry->second.begin(), entry->second.end());
  }

  SplitRule rule_;
  Bpe bpe_;
  SpecialTexts all_specials_, user_defined_;
  std::vector<std::string> bytes_;  // what each token stands for
  std::vector<bool> control_;
  std::unordered_map<std::string, TokenId> whole_pieces_;
  bool adds_bos_;
  TokenId bos_, eos_;
  std::vector<TokenId> ends_;
  std::uint64_t hash_ = 0;
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_level_tokenizer(TokenizerParts parts) {
  if (parts.tokens.empty()) throw bad(parts, "expected a vocabulary, found an empty one");
  if (parts.tokens.size() > (1u << 24))
    throw bad(parts, "expected at most 2^24 tokens, found " + std::to_string(parts.tokens.size()));
  if (parts.kinds.size() != parts.tokens.size())
    throw bad(parts, "expected " + std::to_string(parts.tokens.size()) +
                         " token types, one for each token, found " + std::to_string(parts.kinds.size()));
  check_id(parts, parts.bos, "the begin-of-text token");
  check_id(parts, parts.eos, "the end-of-text token");
  for (const TokenId id : parts.ends) check_id(parts, id, "an end token");
  return std::make_unique<ByteLevelTokenizer>(parts);
}

}  // namespace lynxkv::model
