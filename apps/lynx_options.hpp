// The options of the lynx codecs as a command line gives them: a preset, --set, and options of their own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codec/options.hpp"

namespace lynxkv::apps {

struct LynxArguments {
  std::string preset = "default";
  std::vector<std::string> set;                            // NAME=VALUE,... of --set
  std::vector<std::pair<std::string, std::string>> named;  // of --alpha and the like; they count above --set
};

// Throws Error{usage} that names the option as it was typed.
codec::CodecOptions lynx_options(const LynxArguments& arguments);

}  // namespace lynxkv::apps
