// Which rank prefills and which decodes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/config.hpp"

namespace lynxkv::engine {

struct RoleMap {
  std::vector<int> prefill;  // ranks, ascending
  std::vector<int> decode;

  bool prefills(int rank) const noexcept;
  bool decodes(int rank) const noexcept;
  std::string name_of(int rank) const;  // "prefill", "decode", "prefill+decode"
  // (sender, receiver): every prefill rank to every decode rank. All data goes there.
  std::vector<std::pair<int, int>> data_routes() const;
};

// A job of one rank holds both roles, where the config asks for no more than one of each. Otherwise the explicit lists of the config, or the first
// roles.prefill ranks and the roles.decode ranks behind them. Throws Error{usage} where the ranks of the job
// and the roles do not come out even.
RoleMap make_roles(const RolesSection& roles, int world_size);

}  // namespace lynxkv::engine
