// Rows for other programs: JSONL, one object a sample, and CSV.
#pragma once

#include <string>
#include <vector>

#include "results/row.hpp"

namespace lynxkv::results {

// One line: suite, task, line, mode, prompt_tokens, output_ids, prediction, references, score, finish,
// ttft_s, ttkt_s {k: s}, tpot_s, drafted, accepted, bytes {stream: n} and the row's other fields. Hashes are
// hexadecimal texts, because JSON's readers round large numbers; text that is no UTF-8 gets U+FFFD; NaN is
// null.
std::string json_line(const Row& row);

// A header line and a line a sample (RFC 4180, but with \n). Lists are JSON texts in one cell.
std::string samples_csv(const std::vector<Row>& rows);
// A line for each output token: suite, task, length, line, mode, position, id, commit_s.
std::string tokens_csv(const std::vector<Row>& rows);

}  // namespace lynxkv::results
