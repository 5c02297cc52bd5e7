// A parsed template: statements and expressions, each with its line.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/jinja_value.hpp"

namespace lynxkv::model::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Expression {
  enum class Kind {
    constant,     // value
    name,         // text
    list,         // parts
    dict,         // parts: key, value, key, value ...
    attribute,    // parts[0].text
    item,         // parts[0][parts[1]]
    slice,        // parts[0][parts[1] : parts[2] : parts[3]]; the last three may be null
    call,         // parts[0](parts[1..], named...)
    filter,       // parts[0] | text(parts[1..], named...); parts[0] null in a filter block
    test,         // parts[0] is text(parts[1..])
    negative,     // -parts[0]
    positive,     // +parts[0]
    logical_not,  // not parts[0]
    logical_and,  // parts[0] and parts[1]
    logical_or,   // parts[0] or parts[1]
    binary,       // parts[0] text parts[1]
    concat,       // parts joined as text
    compare,      // parts[0] operators[0] parts[1] operators[1] parts[2] ...
    conditional,  // parts[1] if parts[0] else parts[2]; parts[2] may be null
  };

  Kind kind = Kind::constant;
  int line = 1;
  int depth = 1;  // of expressions inside one another
  std::string text;
  Value value;
  std::vector<ExpressionPtr> parts;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  std::vector<std::string> operators;
};

using Body = std::vector<Statement>;

struct Parameter {
  std::string name;
  ExpressionPtr fallback;  // null: must be given
};

struct Statement {
  enum class Kind {
    text,       // text
    output,     // expression
    if_else,    // conditions[i] -> bodies[i]; one more body: else
    for_loop,   // targets in expression (filtered by conditions[0]): bodies[0]; bodies[1]: where nothing was
                // looped
    set,        // targets = expression; or text.targets[0] = expression for a namespace's field
    set_block,  // targets[0] = bodies[0], through expression where it is a filter
    macro,      // text(parameters): bodies[0]
    filter,     // bodies[0] through expression
    with,       // targets[i] = conditions[i] inside bodies[0]
    block,      // bodies[0] as it stands
    break_loop,
    continue_loop,
  };

  Kind kind = Kind::text;
  int line = 1;
  std::string text;
  ExpressionPtr expression;
  std::vector<ExpressionPtr> conditions;
  std::vector<std::string> targets;
  std::vector<Parameter> parameters;
  std::vector<Body> bodies;
};

}  // namespace lynxkv::model::jinja
