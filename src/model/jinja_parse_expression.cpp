// Expressions, loosest binding first, in the order that the template language has.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "model/jinja_parser.hpp"

namespace lynxkv::model::jinja {
namespace {

constexpr int most_nesting = 100;
constexpr int most_depth = 400;

}  // namespace

class ExpressionParser::Nested {
 public:
  explicit Nested(ExpressionParser& parser) : nesting_(parser.nesting_) {
    if (++nesting_ > most_nesting) fail(parser.tokens_.line(), "expressions are nested too deeply");
  }
  ~Nested() { --nesting_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  int& nesting_;
};

ExpressionPtr ExpressionParser::make(Expression::Kind kind, std::vector<ExpressionPtr> parts,
                                     std::string text) {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = tokens_.line();
  node->text = std::move(text);
  for (const ExpressionPtr& part : parts)
    if (part) node->depth = std::max(node->depth, part->depth + 1);
  if (node->depth > most_depth) fail(node->line, "an expression has too many parts");
  node->parts = std::move(parts);
  return node;
}

namespace {

template <class... Parts>
std::vector<ExpressionPtr> list_of(Parts... parts) {
  std::vector<ExpressionPtr> out;
  (out.push_back(std::move(parts)), ...);
  return out;
}

}  // namespace

ExpressionPtr ExpressionParser::expression() {
  const Nested nested(*this);
  ExpressionPtr value = logical_or();
  while (tokens_.skip_name("if")) {
    ExpressionPtr condition = logical_or();
    ExpressionPtr otherwise;
    if (tokens_.skip_name("else")) otherwise = expression();
    value = make(Expression::Kind::conditional,
                 list_of(std::move(condition), std::move(value), std::move(otherwise)));
  }
  return value;
}

ExpressionPtr ExpressionParser::expression_list() {
  ExpressionPtr first = expression();
  if (!tokens_.is_symbol(",")) return first;
  std::vector<ExpressionPtr> parts = list_of(std::move(first));
  while (tokens_.skip_symbol(",")) {
    const TokenType type = tokens_.peek().type;
    if (type == TokenType::end_block || type == TokenType::end_output || tokens_.is_symbol(")")) break;
    parts.push_back(expression());
  }
  return make(Expression::Kind::list, std::move(parts));
}

ExpressionPtr ExpressionParser::without_condition() {
  ExpressionPtr first = logical_or();
  if (!tokens_.is_symbol(",")) return first;
  std::vector<ExpressionPtr> parts = list_of(std::move(first));
  while (tokens_.skip_symbol(",")) parts.push_back(logical_or());
  return make(Expression::Kind::list, std::move(parts));
}

ExpressionPtr ExpressionParser::logical_or() {
  ExpressionPtr left = logical_and();
  while (tokens_.skip_name("or"))
    left = make(Expression::Kind::logical_or, list_of(std::move(left), logical_and()));
  return left;
}

ExpressionPtr ExpressionParser::logical_and() {
  ExpressionPtr left = logical_not();
  while (tokens_.skip_name("and"))
    left = make(Expression::Kind::logical_and, list_of(std::move(left), logical_not()));
  return left;
}

ExpressionPtr ExpressionParser::logical_not() {
  const Nested nested(*this);
  if (tokens_.is_name("not") && !tokens_.is_name("in", 1)) {
    tokens_.next();
    return make(Expression::Kind::logical_not, list_of(logical_not()));
  }
  return comparison();
}

ExpressionPtr ExpressionParser::comparison() {
  constexpr std::array<std::string_view, 6> comparisons = {"==", "!=", "<", "<=", ">", ">="};
  std::vector<ExpressionPtr> parts = list_of(sum());
  std::vector<std::string> operators;
  while (true) {
    const Token& token = tokens_.peek();
    if (token.type == TokenType::symbol &&
        std::find(comparisons.begin(), comparisons.end(), token.text) != comparisons.end()) {
      operators.push_back(tokens_.next().text);
    } else if (tokens_.skip_name("in")) {
      operators.emplace_back("in");
    } else if (tokens_.is_name("not") && tokens_.is_name("in", 1)) {
      tokens_.next();
      tokens_.next();
      operators.emplace_back("not in");
    } else {
      break;
    }
    parts.push_back(sum());
  }
  if (operators.empty()) return std::move(parts[0]);
  ExpressionPtr node = make(Expression::Kind::compare, std::move(parts));
  node->operators = std::move(operators);
  return node;
}

ExpressionPtr ExpressionParser::sum() {
  ExpressionPtr left = concatenation();
  while (tokens_.is_symbol("+") || tokens_.is_symbol("-")) {
    std::string symbol = tokens_.next().text;
    left = make(Expression::Kind::binary, list_of(std::move(left), concatenation()), std::move(symbol));
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  ExpressionPtr first = product();
  if (!tokens_.is_symbol("~")) return first;
  std::vector<ExpressionPtr> parts = list_of(std::move(first));
  while (tokens_.skip_symbol("~")) parts.push_back(product());
  return make(Expression::Kind::concat, std::move(parts));
}

ExpressionPtr ExpressionParser::product() {
  ExpressionPtr left = power();
  while (tokens_.is_symbol("*") || tokens_.is_symbol("/") || tokens_.is_symbol("//") ||
         tokens_.is_symbol("%")) {
    std::string symbol = tokens_.next().text;
    left = make(Expression::Kind::binary, list_of(std::move(left), power()), std::move(symbol));
  }
  return left;
}

ExpressionPtr ExpressionParser::power() {
  ExpressionPtr left = unary(true);
  while (tokens_.skip_symbol("**"))
    left = make(Expression::Kind::binary, list_of(std::move(left), unary(true)), "**");
  return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  const Nested nested(*this);
  ExpressionPtr node;
  if (tokens_.skip_symbol("-")) {
    node = make(Expression::Kind::negative, list_of(unary(false)));
  } else if (tokens_.skip_symbol("+")) {
    node = make(Expression::Kind::positive, list_of(unary(false)));
  } else {
    node = primary();
  }
  node = postfix(std::move(node));
  return with_filters ? filters_and_tests(std::move(node)) : std::move(node);
}

ExpressionPtr ExpressionParser::primary() {
  const Token& token = tokens_.peek();
  const auto constant = [&](Value value) {
    ExpressionPtr node = make(Expression::Kind::constant, {});
    node->value = std::move(value);
    return node;
  };
  switch (token.type) {
    case TokenType::name: {
      const std::string name = tokens_.next().text;
      if (name == "true" || name == "True") return constant(true);
      if (name == "false" || name == "False") return constant(false);
      if (name == "none" || name == "None") return constant(None{});
      return make(Expression::Kind::name, {}, name);
    }
    case TokenType::string: {
      std::string text;
      while (tokens_.peek().type == TokenType::string) text += tokens_.next().text;
      return constant(std::move(text));
    }
    case TokenType::integer: {
      std::int64_t number = 0;
      const auto [end, problem] =
          std::from_chars(token.text.data(), token.text.data() + token.text.size(), number);
      if (problem != std::errc() || end != token.text.data() + token.text.size())
        fail(token.line, "the integer " + token.text.substr(0, 40) + " is too large");
      tokens_.next();
      return constant(number);
    }
    case TokenType::real:
      return constant(std::strtod(tokens_.next().text.c_str(), nullptr));
    case TokenType::symbol:
      return bracketed();
    default:
      fail(token.line, "expected an expression, found " + tokens_.found());
  }
}

ExpressionPtr ExpressionParser::bracketed() {
  if (tokens_.skip_symbol("[")) return list_literal();
  if (tokens_.skip_symbol("{")) return dict_literal();
  if (!tokens_.skip_symbol("(")) fail(tokens_.line(), "expected an expression, found " + tokens_.found());
  if (tokens_.skip_symbol(")")) return make(Expression::Kind::list, {});
  ExpressionPtr inner = expression_list();
  tokens_.expect_symbol(")");
  return inner;
}

ExpressionPtr ExpressionParser::list_literal() {
  std::vector<ExpressionPtr> parts;
  while (!tokens_.skip_symbol("]")) {
    if (!parts.empty()) tokens_.expect_symbol(",");
    if (tokens_.skip_symbol("]")) break;
    parts.push_back(expression());
  }
  return make(Expression::Kind::list, std::move(parts));
}

ExpressionPtr ExpressionParser::dict_literal() {
  std::vector<ExpressionPtr> parts;
  while (!tokens_.skip_symbol("}")) {
    if (!parts.empty()) tokens_.expect_symbol(",");
    if (tokens_.skip_symbol("}")) break;
    parts.push_back(expression());
    tokens_.expect_symbol(":");
    parts.push_back(expression());
  }
  return make(Expression::Kind::dict, std::move(parts));
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr base) {
  while (true) {
    if (tokens_.skip_symbol(".")) {
      if (tokens_.peek().type == TokenType::integer) {
        ExpressionPtr index = primary();
        base = make(Expression::Kind::item, list_of(std::move(base), std::move(index)));
      } else {
        std::string name = tokens_.expect_name("an attribute's name");
        base = make(Expression::Kind::attribute, list_of(std::move(base)), std::move(name));
      }
    } else if (tokens_.skip_symbol("[")) {
      base = subscript(std::move(base));
    } else if (tokens_.is_symbol("(")) {
      base = make(Expression::Kind::call, list_of(std::move(base)));
      arguments(*base);
    } else {
      return base;
    }
  }
}

// Behind the opening bracket.
ExpressionPtr ExpressionParser::subscript(ExpressionPtr base) {
  std::vector<ExpressionPtr> parts = list_of(std::move(base));
  bool is_slice = false;
  for (int part = 0; part < 3; ++part) {
    const bool empty = tokens_.is_symbol(":") || tokens_.is_symbol("]");
    if (empty && part == 0 && tokens_.is_symbol("]"))
      fail(tokens_.line(), "expected an index between '[' and ']'");
    parts.push_back(empty ? nullptr : expression());
    if (!tokens_.skip_symbol(":")) break;
    is_slice = true;
  }
  tokens_.expect_symbol("]");
  if (!is_slice) return make(Expression::Kind::item, std::move(parts));
  parts.resize(4);
  return make(Expression::Kind::slice, std::move(parts));
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr base) {
  while (true) {
    if (tokens_.is_symbol("|")) {
      base = filters(std::move(base));
    } else if (tokens_.is_name("is")) {
      base = test(std::move(base));
    } else if (tokens_.is_symbol("(")) {
      base = make(Expression::Kind::call, list_of(std::move(base)));
      arguments(*base);
    } else {
      return base;
    }
  }
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr base) {
  while (tokens_.skip_symbol("|")) base = filter(std::move(base));
  return base;
}

ExpressionPtr ExpressionParser::filter_chain() {
  return filters(filter(nullptr));
}

ExpressionPtr ExpressionParser::filter(ExpressionPtr base) {
  std::string name = tokens_.expect_name("a filter's name");
  ExpressionPtr node = make(Expression::Kind::filter, list_of(std::move(base)), std::move(name));
  if (tokens_.is_symbol("(")) arguments(*node);
  return node;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr base) {
  tokens_.next();  // "is"
  const bool negated = tokens_.skip_name("not");
  std::string name = tokens_.expect_name("a test's name");
  ExpressionPtr node = make(Expression::Kind::test, list_of(std::move(base)), std::move(name));
  const Token& token = tokens_.peek();
  const bool is_keyword = tokens_.is_name("else") || tokens_.is_name("or") || tokens_.is_name("and") ||
                          tokens_.is_name("is") || tokens_.is_name("if") || tokens_.is_name("in") ||
                          tokens_.is_name("not");
  if (tokens_.is_symbol("(")) {
    arguments(*node);
  } else if ((token.type == TokenType::name && !is_keyword) || token.type == TokenType::string ||
             token.type == TokenType::integer || token.type == TokenType::real || tokens_.is_symbol("[") ||
             tokens_.is_symbol("{")) {
    ExpressionPtr argument = postfix(primary());
    node->depth = std::max(node->depth, argument->depth + 1);
    node->parts.push_back(std::move(argument));
  }
  return negated ? make(Expression::Kind::logical_not, list_of(std::move(node))) : std::move(node);
}

void ExpressionParser::arguments(Expression& call) {
  const Nested nested(*this);
  tokens_.expect_symbol("(");
  bool first = true;
  while (!tokens_.skip_symbol(")")) {
    if (!first) tokens_.expect_symbol(",");
    first = false;
    if (tokens_.skip_symbol(")")) break;
    if (tokens_.is_symbol("*") || tokens_.is_symbol("**"))
      fail(tokens_.line(), "'*' before an argument is not supported");
    std::string name;
    if (tokens_.peek().type == TokenType::name && tokens_.is_symbol("=", 1)) {
      name = tokens_.next().text;
      tokens_.next();
    } else if (!call.named.empty()) {
      fail(tokens_.line(), "a positional argument stands behind a named one");
    }
    ExpressionPtr argument = expression();
    call.depth = std::max(call.depth, argument->depth + 1);
    if (call.depth > most_depth) fail(call.line, "an expression has too many parts");
    if (name.empty())
      call.parts.push_back(std::move(argument));
    else
      call.named.emplace_back(std::move(name), std::move(argument));
  }
}

}  // namespace lynxkv::model::jinja
