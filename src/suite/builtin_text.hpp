// Text that ships with the program, so that a first run needs no download: word lists for keys, dull
// sentences, and an account of an invented valley with questions about it. All written for this project.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lynxkv::suite {

const std::vector<std::string>& adjectives();
const std::vector<std::string>& nouns();

// Sentences that say nothing; a haystack of them hides a needle in plain sight.
const std::vector<std::string>& dull_sentences();

std::string_view valley_text();

struct Question {
  std::string question;
  std::vector<std::string> answers;
};
const std::vector<Question>& valley_questions();

}  // namespace lynxkv::suite
