// Template text to statements. What is not understood is one Error that names line and construct.
#pragma once

#include <string_view>

#include "model/jinja_ast.hpp"
#include "model/jinja_lexer.hpp"

namespace lynxkv::model::jinja {

// Throws Error{bad_data}. Nesting is bounded: a template is text from a stranger.
Body parse(std::string_view source);

// Moves through the tokens; shared by the two halves of the parser.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek(std::size_t ahead = 0) const {
    return tokens_[at_ + ahead < tokens_.size() ? at_ + ahead : tokens_.size() - 1];
  }
  Token next() {
    const Token token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool is_symbol(std::string_view symbol, std::size_t ahead = 0) const {
    return peek(ahead).type == TokenType::symbol && peek(ahead).text == symbol;
  }
  bool is_name(std::string_view name, std::size_t ahead = 0) const {
    return peek(ahead).type == TokenType::name && peek(ahead).text == name;
  }
  bool skip_symbol(std::string_view symbol) { return is_symbol(symbol) ? (next(), true) : false; }
  bool skip_name(std::string_view name) { return is_name(name) ? (next(), true) : false; }
  void expect_symbol(std::string_view symbol);
  std::string expect_name(std::string_view what);
  void expect(TokenType type, std::string_view what);
  // What the current token is, for messages.
  std::string found() const;
  int line() const { return peek().line; }

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  ExpressionPtr expression();
  // `a` or `a, b, ...`, which is a list.
  ExpressionPtr expression_list();
  // Without the conditional form: `for x in THIS if ...`.
  ExpressionPtr without_condition();
  // `| name(...)` filters applied to `base`, which is null in a filter block.
  ExpressionPtr filters(ExpressionPtr base);
  // A filter block's first filter, whose `|` is not written.
  ExpressionPtr filter_chain();

 private:
  class Nested;  // counts how deep we are

  ExpressionPtr make(Expression::Kind kind, std::vector<ExpressionPtr> parts, std::string text = "");
  ExpressionPtr logical_or();
  ExpressionPtr logical_and();
  ExpressionPtr logical_not();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filters);
  ExpressionPtr primary();
  ExpressionPtr bracketed();
  ExpressionPtr list_literal();
  ExpressionPtr dict_literal();
  ExpressionPtr postfix(ExpressionPtr base);
  ExpressionPtr subscript(ExpressionPtr base);
  ExpressionPtr filters_and_tests(ExpressionPtr base);
  ExpressionPtr filter(ExpressionPtr base);
  ExpressionPtr test(ExpressionPtr base);
  void arguments(Expression& call);

  TokenStream& tokens_;
  int nesting_ = 0;
};

}  // namespace lynxkv::model::jinja
