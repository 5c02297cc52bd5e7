// What this build is.
#pragma once

#include <string>

namespace lynxkv::engine {

std::string version();   // "0.1.0"
std::string revision();  // the source revision it was configured from, or "unknown"

}  // namespace lynxkv::engine
