// The settings of the link that a reader of a table has to know.
#pragma once

#include <string>
#include <vector>

namespace lynxkv::results {

// `result_configs`: of each output, its keys that change results as a JSON object by dotted keys; anything else counts
// as the defaults. Of each output "link.gbps 0.5, link.faults.flip 0.01": the keys of the link that are not the default
// in it, or that differ between the outputs ("link.gbps 0 (default)"). The seed of the faults is told only where
// something may fail.
std::vector<std::string> link_settings(const std::vector<std::string>& result_configs);

}  // namespace lynxkv::results
