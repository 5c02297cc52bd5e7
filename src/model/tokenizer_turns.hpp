// Control tokens of these texts end a reply in the chat formats that use them. Internal to the tokenizer readers.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace lynxkv::model {

inline bool ends_a_turn(std::string_view token) {
  constexpr std::array<std::string_view, 7> turn_ends = {"<|im_end|>",      "<|eot_id|>",    "<|end|>",
                                                         "<|end_of_turn|>", "<|endoftext|>", "<|end_of_text|>",
                                                         "<|eom_id|>"};
  return std::find(turn_ends.begin(), turn_ends.end(), token) != turn_ends.end();
}

}  // namespace lynxkv::model
