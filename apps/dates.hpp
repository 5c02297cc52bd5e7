// When a report was made, in UTC.
#pragma once

#include <string>

namespace lynxkv::apps {

std::string today();    // 2025-01-31
std::string utc_now();  // 2025-01-31 23:59 UTC

}  // namespace lynxkv::apps
