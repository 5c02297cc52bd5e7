#include "engine/roles.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"

namespace lynxkv::engine {
namespace {

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

void check_alone(const RolesSection& roles, bool lists) {
  const std::string advice = "; start as many (mpirun -n), or leave roles.prefill and roles.decode at 1: a job of one rank then does both";
  const auto elsewhere = [](const std::vector<int>& ranks) { return !ranks.empty() && ranks != std::vector<int>{0}; };
  if (lists && (elsewhere(roles.prefill_ranks) || elsewhere(roles.decode_ranks)))
    throw Error(ErrorCode::usage, "roles", "the lists name ranks other than 0, but the job has 1 rank" + advice);
  if (roles.prefill > 1 || roles.decode > 1)
    throw Error(ErrorCode::usage, "roles",
                std::to_string(roles.prefill) + " prefill + " + std::to_string(roles.decode) + " decode makes " +
                    std::to_string(roles.prefill + roles.decode) + " ranks, but the job has 1" + advice);
}

}  // namespace

bool RoleMap::prefills(int rank) const noexcept { return contains(prefill, rank); }
bool RoleMap::decodes(int rank) const noexcept { return contains(decode, rank); }

std::string RoleMap::name_of(int rank) const {
  const bool both = prefills(rank) && decodes(rank);
  return both ? "prefill+decode" : prefills(rank) ? "prefill" : "decode";
}

std::vector<std::pair<int, int>> RoleMap::data_routes() const {
  std::vector<std::pair<int, int>> routes;
  for (const int from : prefill)
    for (const int to : decode) routes.emplace_back(from, to);
  return routes;
}

RoleMap make_roles(const RolesSection& roles, int world_size) {
  RoleMap map{roles.prefill_ranks, roles.decode_ranks};
  const bool lists = !map.prefill.empty() || !map.decode.empty();
  if (world_size == 1) {
    // One of each fits into one rank; more of them were not asked for to be ignored.
    check_alone(roles, lists);
    return {{0}, {0}};
  }
  if (!lists) {
    if (roles.prefill + roles.decode != world_size)
      throw Error(ErrorCode::usage, "roles",
                  std::to_string(roles.prefill) + " prefill + " + std::to_string(roles.decode) + " decode makes " +
                      std::to_string(roles.prefill + roles.decode) + " ranks, but the job has " +
                      std::to_string(world_size) + "; start as many ranks, or set roles.prefill and roles.decode");
    map.prefill.resize(static_cast<std::size_t>(roles.prefill));
    std::iota(map.prefill.begin(), map.prefill.end(), 0);
    map.decode.resize(static_cast<std::size_t>(roles.decode));
    std::iota(map.decode.begin(), map.decode.end(), roles.prefill);
    return map;
  }
  std::sort(map.prefill.begin(), map.prefill.end());
  std::sort(map.decode.begin(), map.decode.end());
  for (int rank = 0; rank < world_size; ++rank)
    if (map.prefills(rank) == map.decodes(rank))
      throw Error(ErrorCode::usage, "roles",
                  "rank " + std::to_string(rank) + (map.prefills(rank) ? " is in both lists" : " is in neither list") +
                      " of the job's " + std::to_string(world_size) + " ranks");
  if (static_cast<int>(map.prefill.size() + map.decode.size()) != world_size || map.prefill.empty() ||
      map.decode.empty())
    throw Error(ErrorCode::usage, "roles", "the lists name ranks that the job of " + std::to_string(world_size) +
                                               " does not have, a rank twice, or leave a role empty");
  return map;
}

}  // namespace lynxkv::engine
