// Statements, and the text and output between them.
#include "model/jinja_parser.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace lynxkv::model::jinja {

void TokenStream::expect_symbol(std::string_view symbol) {
  if (!skip_symbol(symbol)) fail(line(), "expected '" + std::string(symbol) + "', found " + found());
}

std::string TokenStream::expect_name(std::string_view what) {
  if (peek().type != TokenType::name) fail(line(), "expected " + std::string(what) + ", found " + found());
  return next().text;
}

void TokenStream::expect(TokenType type, std::string_view what) {
  if (peek().type != type) fail(line(), "expected " + std::string(what) + ", found " + found());
  next();
}

std::string TokenStream::found() const {
  const Token& token = peek();
  switch (token.type) {
    case TokenType::text:
      return "text";
    case TokenType::begin_output:
      return "'{{'";
    case TokenType::end_output:
      return "'}}'";
    case TokenType::begin_block:
      return "'{%'";
    case TokenType::end_block:
      return "'%}'";
    case TokenType::string:
      return "a string";
    case TokenType::end:
      return "the end of the template";
    default:
      return "'" + token.text.substr(0, 40) + "'";
  }
}

namespace {

constexpr int most_nesting = 60;

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(lex(source)), expressions_(tokens_) {}

  Body run() {
    Body body = statements({});
    if (tokens_.peek().type != TokenType::end) fail(tokens_.line(), "unexpected " + tokens_.found());
    return body;
  }

 private:
  using Ends = std::initializer_list<std::string_view>;

  bool at_block(Ends names) const {
    return tokens_.peek().type == TokenType::begin_block &&
           std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return tokens_.is_name(name, 1); });
  }

  // Up to one of the blocks named, which is left unread.
  Body statements(Ends ends) {
    if (++nesting_ > most_nesting) fail(tokens_.line(), "blocks are nested too deeply");
    Body body;
    while (tokens_.peek().type != TokenType::end && !at_block(ends)) body.push_back(statement());
    --nesting_;
    return body;
  }

  // The same, and the block's end is required and read.
  Body body_until(std::string_view end, int opened) {
    Body body = statements({end});
    close(end, opened);
    return body;
  }
  void close(std::string_view end, int opened) {
    if (!at_block({end})) {
      fail(tokens_.line(), "expected '" + std::string(end) + "' for the block that begins on line " +
                               std::to_string(opened) + ", found " + tokens_.found());
    }
    tokens_.next();
    tokens_.next();
    if (tokens_.peek().type == TokenType::name) tokens_.next();  // "endmacro name"
    end_block();
  }
  void end_block() { tokens_.expect(TokenType::end_block, "'%}'"); }

  Statement make(Statement::Kind kind) const {
    Statement statement;
    statement.kind = kind;
    statement.line = tokens_.line();
    return statement;
  }

  Statement statement() {
    if (tokens_.peek().type == TokenType::text) {
      Statement text = make(Statement::Kind::text);
      text.text = tokens_.next().text;
      return text;
    }
    if (tokens_.peek().type == TokenType::begin_output) {
      tokens_.next();
      Statement output = make(Statement::Kind::output);
      output.expression = expressions_.expression_list();
      tokens_.expect(TokenType::end_output, "'}}'");
      return output;
    }
    if (tokens_.peek().type != TokenType::begin_block) fail(tokens_.line(), "unexpected " + tokens_.found());
    tokens_.next();
    return block();
  }

  Statement block() {
    const int line = tokens_.line();
    const std::string name = tokens_.expect_name("a statement");
    if (name == "if") return if_else();
    if (name == "for") return for_loop(line);
    if (name == "set") return set(line);
    if (name == "macro") return macro(line);
    if (name == "filter") return filter(line);
    if (name == "with") return with(line);
    if (name == "generation") {  // marks the assistant's text for training; prints what is inside
      end_block();
      Statement inner = make(Statement::Kind::block);
      inner.bodies.push_back(body_until("endgeneration", line));
      return inner;
    }
    if (name == "break" || name == "continue") {
      if (loops_ == 0) fail(line, "'" + name + "' outside a loop");
      end_block();
      return make(name == "break" ? Statement::Kind::break_loop : Statement::Kind::continue_loop);
    }
    fail(line, "the statement '" + name.substr(0, 40) + "' is not supported here");
  }

  Statement if_else() {
    Statement node = make(Statement::Kind::if_else);
    const int opened = node.line;
    node.conditions.push_back(expressions_.expression_list());
    end_block();
    while (true) {
      node.bodies.push_back(statements({"elif", "else", "endif"}));
      if (at_block({"elif"})) {
        tokens_.next();
        tokens_.next();
        node.conditions.push_back(expressions_.expression_list());
        end_block();
        continue;
      }
      if (at_block({"else"})) {
        tokens_.next();
        tokens_.next();
        end_block();
        node.bodies.push_back(statements({"endif"}));
      }
      close("endif", opened);
      return node;
    }
  }

  std::vector<std::string> names(std::string_view what) {
    std::vector<std::string> out;
    const bool bracket = tokens_.skip_symbol("(");
    do {
      if (!out.empty() && tokens_.peek().type != TokenType::name) break;  // "a, = ..."
      out.push_back(tokens_.expect_name(what));
    } while (tokens_.skip_symbol(","));
    if (bracket) tokens_.expect_symbol(")");
    return out;
  }

  Statement for_loop(int opened) {
    Statement node = make(Statement::Kind::for_loop);
    node.targets = names("a loop variable");
    if (!tokens_.skip_name("in")) fail(tokens_.line(), "expected 'in', found " + tokens_.found());
    node.expression = expressions_.without_condition();
    if (tokens_.skip_name("if")) node.conditions.push_back(expressions_.expression());
    if (tokens_.is_name("recursive")) fail(tokens_.line(), "a recursive loop is not supported");
    end_block();
    ++loops_;
    node.bodies.push_back(statements({"else", "endfor"}));
    --loops_;
    node.bodies.emplace_back();
    if (at_block({"else"})) {
      tokens_.next();
      tokens_.next();
      end_block();
      node.bodies[1] = statements({"endfor"});
    }
    close("endfor", opened);
    return node;
  }

  Statement set(int opened) {
    Statement node = make(Statement::Kind::set);
    node.targets = names("a variable");
    if (node.targets.size() == 1 && tokens_.skip_symbol(".")) {
      node.text = node.targets[0];
      node.targets[0] = tokens_.expect_name("a field's name");
    }
    if (tokens_.skip_symbol("=")) {
      node.expression = expressions_.expression_list();
      end_block();
      return node;
    }
    if (node.targets.size() != 1 || !node.text.empty())
      fail(tokens_.line(), "expected '=', found " + tokens_.found());
    node.kind = Statement::Kind::set_block;
    if (tokens_.is_symbol("|")) node.expression = expressions_.filters(nullptr);
    end_block();
    node.bodies.push_back(body_until("endset", opened));
    return node;
  }

  Statement macro(int opened) {
    Statement node = make(Statement::Kind::macro);
    node.text = tokens_.expect_name("a macro's name");
    tokens_.expect_symbol("(");
    while (!tokens_.skip_symbol(")")) {
      if (!node.parameters.empty()) tokens_.expect_symbol(",");
      if (tokens_.skip_symbol(")")) break;
      Parameter parameter;
      parameter.name = tokens_.expect_name("a parameter's name");
      if (tokens_.skip_symbol("=")) parameter.fallback = expressions_.expression();
      node.parameters.push_back(std::move(parameter));
    }
    end_block();
    const int loops = std::exchange(loops_, 0);
    node.bodies.push_back(body_until("endmacro", opened));
    loops_ = loops;
    return node;
  }

  Statement filter(int opened) {
    Statement node = make(Statement::Kind::filter);
    node.expression = expressions_.filter_chain();
    end_block();
    node.bodies.push_back(body_until("endfilter", opened));
    return node;
  }

  Statement with(int opened) {
    Statement node = make(Statement::Kind::with);
    while (tokens_.peek().type != TokenType::end_block) {
      if (!node.targets.empty()) tokens_.expect_symbol(",");
      node.targets.push_back(tokens_.expect_name("a variable"));
      tokens_.expect_symbol("=");
      node.conditions.push_back(expressions_.expression());
    }
    end_block();
    node.bodies.push_back(body_until("endwith", opened));
    return node;
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int nesting_ = 0;
  int loops_ = 0;
};

}  // namespace

Body parse(std::string_view source) {
  return Parser(source).run();
}

}  // namespace lynxkv::model::jinja
