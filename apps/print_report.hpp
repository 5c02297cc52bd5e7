// Prints the tables of one or more outputs: what `lynxkv report` does, and what `lynxkv run` ends with.
#pragma once

#include <string>
#include <vector>

namespace lynxkv::apps {

enum class ReportFormat { text, markdown, json };

// To standard output. Throws Error for an output that cannot be read.
void print_report(const std::vector<std::string>& outputs, ReportFormat format);

}  // namespace lynxkv::apps
