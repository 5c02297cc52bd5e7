#include "apps/command_line.hpp"

#include <fstream>

namespace lynxkv::apps {

std::vector<std::string> command_line() {
  std::vector<std::string> words;
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  if (words.empty()) words.push_back("lynxkv");
  return words;
}

std::string as_called(const std::string& example) {
  const std::string program = command_line()[0];
  std::string text;
  std::size_t at = 0;
  for (std::size_t found; (found = example.find("lynxkv ", at)) != std::string::npos; at = found + 6) {
    const bool word = found == 0 || example[found - 1] == ' ';
    text += example.substr(at, found - at) + (word ? program : std::string("lynxkv"));
  }
  return text + example.substr(at);
}

}  // namespace lynxkv::apps
