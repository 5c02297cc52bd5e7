// How this program was called.
#pragma once

#include <string>
#include <vector>

namespace lynxkv::apps {

// The program's name as the user typed it, then the arguments.
std::vector<std::string> command_line();

// An example as it works from where the user stands: with the program's name as it was called.
std::string as_called(const std::string& example);

}  // namespace lynxkv::apps
