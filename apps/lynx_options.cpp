#include "apps/lynx_options.hpp"

#include "apps/option_checks.hpp"

namespace lynxkv::apps {

codec::CodecOptions lynx_options(const LynxArguments& arguments) {
  codec::CodecOptions options = as_option("--preset", [&] { return codec::preset_options(arguments.preset); });
  for (const std::string& item : arguments.set)
    options = as_option("--set " + item, [&] { return codec::parse_options(item, options); });
  for (const auto& [name, value] : arguments.named)
    as_option("--" + name, [&] { codec::set_option(options, name, value); });
  return options;
}

}  // namespace lynxkv::apps
