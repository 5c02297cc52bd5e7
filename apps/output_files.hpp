// The files that options such as --json name: looked at before the work, written whole when it is done.
#pragma once

#include <initializer_list>
#include <string>

namespace lynxkv::apps {

// Throws Error{usage} for the first path that could not be written; empty paths are options not given. What is there
// stays as it is.
void check_outputs(std::initializer_list<std::string> paths);

// Puts `text` at `path`, whole or not at all; does nothing where the path is empty. Throws Error{usage}, or
// Error{incomplete} where the disk is full.
void write_output(const std::string& path, const std::string& text);

}  // namespace lynxkv::apps
