#include "comm/nccl_placement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

namespace lynxkv::comm {
namespace {

constexpr char field_end = '\n';
constexpr const char* or_else = "or use link.transport: mpi";

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

Error refusal(std::string_view what) { return Error(ErrorCode::usage, "link.transport: nccl", what); }

// The first thing that is in the way of several ranks alike, with the ranks it stands in the way of.
template <class Wrong>
std::string first_trouble(const std::vector<NcclFacts>& by_rank, const std::set<int>& needed, Wrong wrong) {
  std::map<std::string, std::vector<int>> ranks_of;
  for (const int rank : needed)
    if (const std::string text = wrong(by_rank[static_cast<std::size_t>(rank)]); !text.empty()) ranks_of[text].push_back(rank);
  if (ranks_of.empty()) return {};
  const auto& [text, ranks] = *ranks_of.begin();
  return fmt::format("{} on {}: {}", ranks_text(ranks), by_rank[static_cast<std::size_t>(ranks.front())].host, text);
}

std::string too_many_streams(const std::vector<NcclFacts>& by_rank, const std::vector<Route>& routes) {
  std::map<int, int> streams;
  for (const auto& [from, to] : routes) {
    streams[from] += 2;
    streams[to] += 2;
  }
  constexpr int copies = 2;
  for (const auto& [rank, count] : streams) {
    const int queues = by_rank[static_cast<std::size_t>(rank)].queues;
    if (count + copies > queues)
      return fmt::format("rank {} would need {} streams ({} routes of two classes, and copies), but a GPU keeps {} apart; beyond "
                         "that transfers wait for each other and may never end: fewer peers a rank, CUDA_DEVICE_MAX_CONNECTIONS "
                         "unset or 32, {}",
                         rank, count + copies, count / 2, queues, or_else);
  }
  return {};
}

}  // namespace

std::string to_text(const NcclFacts& facts) {
  std::string text;
  const auto add = [&](std::string field) {
    std::replace(field.begin(), field.end(), field_end, ' ');
    text += field + field_end;
  };
  add(facts.host);
  add(facts.version);
  add(facts.trouble);
  add(std::to_string(facts.queues));
  for (const std::string& gpu : facts.gpus) add(gpu);
  return text;
}

Result<NcclFacts> parse_nccl_facts(std::string_view text) {
  std::vector<std::string> fields;
  while (!text.empty()) {
    const std::size_t end = text.find(field_end);
    if (end == std::string_view::npos) break;
    fields.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  NcclFacts facts;
  const bool whole = text.empty() && fields.size() >= 4 &&
                     std::from_chars(fields[3].data(), fields[3].data() + fields[3].size(), facts.queues).ec == std::errc();
  if (!whole) return Error(ErrorCode::transport, "NCCL set-up", "a rank tells of its GPUs in words of another build");
  facts.host = fields[0];
  facts.version = fields[1];
  facts.trouble = fields[2];
  facts.gpus.assign(fields.begin() + 4, fields.end());
  return facts;
}

Result<std::vector<int>> place_on_gpus(const std::vector<NcclFacts>& by_rank, const std::vector<Route>& routes) {
  std::set<int> needed;
  for (const auto& [from, to] : routes) {
    LYNXKV_CHECK(from >= 0 && to >= 0 && std::max(from, to) < static_cast<int>(by_rank.size()));
    if (from != to) needed.insert({from, to});
  }
  std::vector<int> devices(by_rank.size(), -1);
  if (needed.empty()) return devices;
  if (const auto text = first_trouble(by_rank, needed, [](const NcclFacts& facts) {
        return facts.version.empty() ? std::string("this program was built without NCCL") : std::string();
      });
      !text.empty())
    return refusal(text + "; build it where CUDA and NCCL are installed, " + or_else);
  if (const auto text = first_trouble(by_rank, needed, [](const NcclFacts& facts) { return facts.trouble; }); !text.empty())
    return refusal(fmt::format("{}; start them where each rank has a GPU (srun --gpus-per-task=1), {}", text, or_else));
  const NcclFacts& first = by_rank[static_cast<std::size_t>(*needed.begin())];
  for (const int rank : needed)
    if (const NcclFacts& facts = by_rank[static_cast<std::size_t>(rank)]; facts.version != first.version)
      return refusal(fmt::format("rank {} has NCCL {} and rank {} has {}; run one build on all ranks", *needed.begin(),
                                 first.version, rank, facts.version));
  if (const std::string text = too_many_streams(by_rank, routes); !text.empty()) return refusal(text);

  std::map<std::pair<std::string, std::string>, int> owner;  // of a host's GPU
  for (const int rank : needed) {
    const NcclFacts& facts = by_rank[static_cast<std::size_t>(rank)];
    const auto is_free = [&](const std::string& gpu) { return owner.count({facts.host, gpu}) == 0; };
    const auto free = std::find_if(facts.gpus.begin(), facts.gpus.end(), is_free);
    if (free == facts.gpus.end()) {
      if (facts.gpus.empty()) return refusal(fmt::format("rank {} on {} sees no GPU; {}", rank, facts.host, or_else));
      return refusal(fmt::format("ranks {} and {} would share GPU {} of {}, which NCCL does not take; start at most as many ranks a "
                                 "host as it has GPUs, give each rank one of its own (srun --gpus-per-task=1, "
                                 "CUDA_VISIBLE_DEVICES), {}",
                                 owner.at({facts.host, facts.gpus.front()}), rank, facts.gpus.front(), facts.host, or_else));
    }
    owner[{facts.host, *free}] = rank;
    devices[static_cast<std::size_t>(rank)] = static_cast<int>(free - facts.gpus.begin());
  }
  return devices;
}

std::vector<Route> all_routes(int ranks) {
  std::vector<Route> routes;
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (from != to) routes.emplace_back(from, to);
  return routes;
}

}  // namespace lynxkv::comm
