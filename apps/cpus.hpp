// What this process finds on its machine by default.
#pragma once

#include <string>

namespace lynxkv::apps {

// CPUs that the process may run on (its affinity mask), at least 1.
int usable_cpus() noexcept;

// Where jobs/fetch-model.sh puts the small model; the file may be absent.
std::string cached_model_path();

}  // namespace lynxkv::apps
