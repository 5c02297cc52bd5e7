#include "engine/agreement.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.hpp"

namespace lynxkv::engine {

std::vector<RankFacts> exchange(const comm::World& world, const std::map<std::string, std::string>& mine) {
  std::vector<RankFacts> all;
  for (const std::string& text : world.gather(nlohmann::json(mine).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))) {
    RankFacts rank;
    rank.rank = static_cast<int>(all.size());
    try {
      rank.facts = nlohmann::json::parse(text).get<std::map<std::string, std::string>>();
    } catch (const nlohmann::json::exception&) {
      throw Error(ErrorCode::transport, "rank " + std::to_string(rank.rank), "sent facts that cannot be read: is it another build?");
    }
    all.push_back(std::move(rank));
  }
  return all;
}

void require_equal(const std::vector<RankFacts>& all, const std::vector<std::string>& names) {
  std::string differences;
  for (const std::string& name : names) {
    std::map<std::string, std::string> ranks_by_value;
    for (const RankFacts& rank : all) {
      const auto found = rank.facts.find(name);
      std::string& ranks = ranks_by_value[found == rank.facts.end() ? "(none)" : found->second];
      ranks += (ranks.empty() ? "" : ",") + std::to_string(rank.rank);
    }
    if (ranks_by_value.size() <= 1) continue;
    std::string text;
    for (const auto& [value, ranks] : ranks_by_value)
      text += (text.empty() ? "" : ", ") + std::string("rank ") + ranks + " has '" + value.substr(0, 200) + "'";
    differences += (differences.empty() ? "" : "; ") + name + ": " + text;
  }
  if (!differences.empty())
    throw Error(ErrorCode::usage, "ranks differ", differences + "; start all ranks with the same");
}

std::string communication_environment() {
  constexpr std::array<std::string_view, 3> wanted = {"NCCL_", "UCX_", "OMPI_MCA_"};
  // Launchers describe the job and the rank itself in these.
  constexpr std::array<std::string_view, 10> own = {"OMPI_MCA_orte_", "OMPI_MCA_ess_", "OMPI_MCA_pmix", "OMPI_MCA_initial_wdir",
                                                   "OMPI_MCA_shmem_", "OMPI_MCA_mpi_oversubscribe", "OMPI_MCA_schizo",
                                                   "OMPI_MCA_prte_", "OMPI_MCA_plm", "OMPI_MCA_hwloc_base_"};
  std::vector<std::string> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const auto starts = [variable](std::string_view prefix) { return variable.rfind(prefix, 0) == 0; };
    if (std::any_of(wanted.begin(), wanted.end(), starts) && std::none_of(own.begin(), own.end(), starts))
      found.emplace_back(variable);
  }
  std::sort(found.begin(), found.end());
  std::string text;
  for (const std::string& variable : found) text += (text.empty() ? "" : " ") + variable;
  return text;
}

}  // namespace lynxkv::engine
