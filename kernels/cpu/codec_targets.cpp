// Which instruction sets the codec's vector kernels can use here. Highway chooses; tests choose for it.
#include <hwy/highway.h>

#include "base/error.hpp"
#include "kernels/codec.hpp"

namespace lynxkv::kernels {
namespace {

// Highway gives better sets lower bits.
template <class Visit>
void for_targets(Visit visit) {
  for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) visit(left & -left);
}

}  // namespace

std::vector<std::string> codec_targets() {
  std::vector<std::string> names;
  for_targets([&](std::int64_t target) { names.emplace_back(hwy::TargetName(target)); });
  return names;
}

std::string codec_target() { return codec_targets().front(); }

void use_codec_target(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  std::int64_t wanted = 0;
  for_targets([&](std::int64_t target) {
    if (name == hwy::TargetName(target)) wanted = target;
  });
  if (wanted == 0 && !name.empty())
    throw Error(ErrorCode::usage, "instruction set " + std::string(name), "this CPU or this build does not have it");
  hwy::SetSupportedTargetsForTest(wanted);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace lynxkv::kernels
