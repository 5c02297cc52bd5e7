#include "apps/commands.hpp"

#include <vector>

namespace lynxkv::apps {

// Each is defined in the file of its name.
extern const Command run_command;
extern const Command report_command;
extern const Command export_command;
extern const Command merge_command;
extern const Command score_command;
extern const Command codec_command;
extern const Command capture_command;
extern const Command calibrate_command;
extern const Command bench_command;
extern const Command logits_command;
extern const Command tokenize_command;
extern const Command detokenize_command;
extern const Command inspect_command;
extern const Command doctor_command;

std::span<const Command> all_commands() {
  static const std::vector<Command> commands = {
      run_command,
      report_command,
      export_command,
      merge_command,
      score_command,
      codec_command,
      capture_command,
      calibrate_command,
      bench_command,
      logits_command,
      tokenize_command,
      detokenize_command,
      inspect_command,
      doctor_command,
  };
  return commands;
}

}  // namespace lynxkv::apps
