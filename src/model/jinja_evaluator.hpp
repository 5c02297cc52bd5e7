// Runs a parsed template over its variables.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/jinja_ast.hpp"
#include "model/jinja_call.hpp"

namespace lynxkv::model::jinja {

class Evaluator {
 public:
  using Variables = std::vector<std::pair<std::string, Value>>;

  // Throws Error{bad_data} naming line and construct. Depth, steps, memory and output are bounded.
  std::string render(const Body& body, Variables variables);

 private:
  // Names of one block; outer blocks' names are seen through it.
  struct Scope {
    Variables variables;
    Scope* outer;
    void set(const std::string& name, Value value);
    const Value* find(const std::string& name) const;
  };
  enum class Flow { onward, break_loop, continue_loop };
  class Deeper;  // counts how deep evaluation is
  class Inner;   // a scope inside the current one

  Flow run(const Body& body, std::string& out);
  Flow run(const Statement& statement, std::string& out);
  Flow if_else(const Statement& statement, std::string& out);
  Flow for_loop(const Statement& statement, std::string& out);
  void set(const Statement& statement);
  void assign(const Statement& statement, const Value& value);
  void with(const Statement& statement, std::string& out);
  void write(std::string& out, const std::string& text, int line);
  std::string captured(const Body& body);
  Value loop_state(const std::vector<Value>& items, std::size_t index, int line);

  Value evaluate(const Expression& expression);
  Value name_value(const Expression& expression);
  Value attribute(const Value& base, const Expression& expression);
  Value call(const Expression& expression);
  Value call_macro(const Statement& macro, const Call& call);
  Value filter_block(const Expression& expression, const Value& text);
  Value compare_chain(const Expression& expression);
  Value dict_value(const Expression& expression);
  Value slice(const Expression& expression);
  Value negate(const Expression& expression);
  Value concat(const Expression& expression);
  // A call of the given name with the expression's arguments from parts[first] on.
  Call call_with(const Expression& expression, std::size_t first, std::string_view name);
  Call plain(const Expression& expression, std::string_view name) {
    return Call{budget_, expression.line, name};
  }

  Budget budget_;
  Scope root_{{}, nullptr};
  Scope* scope_ = &root_;
  int depth_ = 0;
  int loop_depth_ = 0;
};

}  // namespace lynxkv::model::jinja
