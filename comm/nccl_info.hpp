// Which NCCL this program runs with.
#pragma once

#include <string>

namespace lynxkv::comm {

// "2.28.9", or why there is none: "built without NCCL".
std::string nccl_version();

}  // namespace lynxkv::comm
