// A report as text for people, as Markdown, and as one JSON document.
#pragma once

#include <string>
#include <vector>

#include "results/report.hpp"

namespace lynxkv::results {

// One table of a report: a group's lines, numbers as text.
struct ReportTable {
  std::string title;
  struct Column {
    std::string name, unit;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as columns
};

std::vector<ReportTable> make_tables(const Report& report);

std::string to_text(const Report& report);  // columns aligned by blanks
std::string to_markdown(const Report& report);
std::string to_json(
    const Report& report);  // {"schema_version": 1, "outputs", "groups", "links", "link_uses", "link_settings", "notes"}; NaN is null

}  // namespace lynxkv::results
