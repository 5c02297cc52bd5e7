#include "engine/version.hpp"

namespace lynxkv::engine {

std::string version() { return LYNXKV_VERSION; }
std::string revision() { return LYNXKV_REVISION; }

}  // namespace lynxkv::engine
