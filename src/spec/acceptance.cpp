#include "spec/acceptance.hpp"

#include "base/check.hpp"

namespace lynxkv::spec {

int accepted_prefix(std::span<const model::TokenId> draft, std::span<const model::TokenId> chosen) noexcept {
  LYNXKV_CHECK(chosen.size() == draft.size() + 1);
  std::size_t accepted = 0;
  while (accepted < draft.size() && draft[accepted] == chosen[accepted]) ++accepted;
  return static_cast<int>(accepted);
}

}  // namespace lynxkv::spec
