#include "engine/preparation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "comm/nccl.hpp"
#include "engine/host.hpp"
#include "engine/version.hpp"
#include "model/chat_template.hpp"
#include "page/geometry.hpp"
#include "results/journal.hpp"
#include "suite/suite.hpp"

namespace lynxkv::engine {
namespace {

template <class Stage>
void collectively(const comm::World& world, Stage stage) {
  std::optional<Error> failure;
  try {
    stage();
  } catch (const Error& error) {
    failure = error;
  } catch (const std::bad_alloc&) {
    failure = Error(ErrorCode::incomplete, "memory", "is not enough for this run");
  }
  agree_on_failure(world, failure);
}

int ranks_on(const std::vector<RankFacts>& ranks, const std::string& host) {
  return static_cast<int>(std::count_if(ranks.begin(), ranks.end(),
                                        [&](const RankFacts& rank) { return rank.facts.at("host") == host; }));
}

page::Geometry geometry_of(const Config& config, const model::ModelConfig& model) {
  page::Geometry geometry;
  geometry.layers = model.layers;
  geometry.kv_heads = model.kv_heads;
  geometry.head_dim = model.head_dim;
  geometry.page_tokens = config.transfer.page_tokens;
  geometry.chunk_tokens = config.transfer.chunk_tokens;
  return geometry;
}

// Memory for pages, as page tensors: the config's, or half of what is free, shared by the ranks of a host.
std::int64_t capacity_blocks(const Config& config, const page::Geometry& geometry, int ranks_here) {
  const double bytes = config.engine.kv_memory_gib > 0
                           ? config.engine.kv_memory_gib * 1073741824.0
                           : 0.5 * static_cast<double>(available_memory_bytes()) / std::max(1, ranks_here);
  const double block = 2.0 * geometry.page_tokens * geometry.channels();
  return static_cast<std::int64_t>(std::clamp(bytes / block, 1.0, 2147483647.0));
}

std::uint64_t hash_samples(const std::vector<suite::Sample>& samples) {
  Hash64 hash;
  for (const suite::Sample& sample : samples) {
    hash.add(sample.suite + "\n" + sample.task + "\n" + std::to_string(sample.line) + "\n" + sample.prompt + "\n" +
             sample.answer_prefix + "\n" + std::to_string(sample.max_tokens) + "\n");
    for (const std::string& reference : sample.references) hash.add(reference + "\n");
  }
  return hash.digest();
}

std::string role_text(const RoleMap& roles) {
  return "prefill " + nlohmann::json(roles.prefill).dump() + ", decode " + nlohmann::json(roles.decode).dump();
}

suite::SuiteOptions suite_options(const Config& config) {
  suite::SuiteOptions options;
  options.name = config.suite.name;
  options.tasks = config.suite.tasks;
  options.lengths = config.suite.lengths;
  options.samples = config.suite.samples;
  options.file = config.suite.file;
  options.text = config.suite.text;
  options.seed = static_cast<std::uint64_t>(config.suite.seed);
  options.max_tokens = config.suite.max_tokens;
  return options;
}

// The kernel path that earlier results of this output folder were made with; empty where there are none.
std::string isa_of_results(const std::string& directory) {
  const auto path = std::filesystem::path(directory) / results::journal_file_name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const auto contents = results::read_journal(path.string());
  if (!contents) return {};  // opening it for writing says what is wrong with it
  const auto keys = nlohmann::json::parse(contents.value().header.result_config, nullptr, false);
  return keys.is_object() ? keys.value("engine.isa", std::string()) : std::string();
}

// The best path that every CPU has; a resumed run keeps to the path of its earlier results.
model::Isa agreed_isa(const Config& config, const std::vector<RankFacts>& ranks) {
  model::Isa lowest = model::Isa::amx;
  for (const RankFacts& rank : ranks) lowest = std::max(lowest, model::isa_from(rank.facts.at("isa")));
  const std::string& earlier = ranks.front().facts.at("results isa");
  if (config.engine.isa != "auto" || earlier.empty()) return lowest;
  const model::Isa kept = model::isa_from(earlier);
  for (const RankFacts& rank : ranks)
    if (kept < model::isa_from(rank.facts.at("isa")))
      throw Error(ErrorCode::incomplete, "rank " + std::to_string(rank.rank),
                  "the results in this folder were made on kernel path " + earlier + ", which the CPU of " +
                      rank.facts.at("host") + " lacks (its best is " + rank.facts.at("isa") +
                      "): continue on such a machine, or choose another output folder");
  return kept;
}

// Refused here, before any model is read, where the ranks have no GPUs of their own.
std::vector<int> gpus_for_nccl(const Preparation& made) {
  std::vector<comm::NcclFacts> facts;
  for (const RankFacts& rank : made.ranks) facts.push_back(comm::parse_nccl_facts(rank.facts.at("nccl")).take());
  return comm::place_on_gpus(facts, made.roles.data_routes()).take();
}

std::string gpu_text(int device) { return device < 0 ? "-" : std::to_string(device); }

}  // namespace

void agree_on_failure(const comm::World& world, const std::optional<Error>& mine) {
  nlohmann::json json;
  if (mine) json = {{"code", static_cast<int>(mine->code())}, {"where", mine->where()}, {"text", mine->what()}};
  const auto texts = world.gather(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    const auto failed = nlohmann::json::parse(texts[rank], nullptr, false);
    if (!failed.is_object()) continue;
    const std::string from = rank == 0 || texts.size() == 1 ? "" : "rank " + std::to_string(rank);
    throw AgreedError(Error(static_cast<ErrorCode>(failed.value("code", 0)), from, failed.value("text", std::string("failed"))));
  }
}

Preparation prepare_roles(const comm::World& world, const RunRequest& request) {
  Preparation made;
  std::string isa;
  collectively(world, [&] {
    made.config = load_config(request.config_path, request.overrides);
    if (!request.output_dir.empty()) made.config.output.dir = request.output_dir;
    made.roles = make_roles(made.config.roles, world.size());
    if (made.config.link.transport == "loop" && world.size() > 1)
      throw Error(ErrorCode::usage, "link.transport", "'loop' joins the roles of one rank; this job has " +
                                                          std::to_string(world.size()) + " ranks: use 'mpi'");
    suite::check_options(suite_options(made.config));
    const model::Isa best = model::best_isa();
    const model::Isa wanted = made.config.engine.isa == "auto" ? best : model::isa_from(made.config.engine.isa);
    // Results of that path wait for a machine that has it; a first run would wait for ever.
    if (wanted < best)
      throw Error(isa_of_results(made.config.output.dir).empty() ? ErrorCode::usage : ErrorCode::incomplete, "engine.isa",
                  "this CPU has no " + std::string(model::name_of(wanted)) + "; its best path is " +
                      std::string(model::name_of(best)));
    isa = std::string(model::name_of(wanted));
  });
  std::map<std::string, std::string> mine = {{"host", world.host()},
                                             {"version", version()},
                                             {"roles", role_text(made.roles)},
                                             {"environment", communication_environment()},
                                             {"isa", isa},
                                             {"results isa", world.rank() == 0 ? isa_of_results(made.config.output.dir) : ""},
                                             {"nccl", made.config.link.transport == "nccl" ? comm::to_text(comm::nccl_facts()) : ""},
                                             {"cpu", cpu_name()},
                                             {"mask", cpu_mask()},
                                             {"cores", std::to_string(allowed_cores())}};
  std::vector<std::string> must_agree = {"version", "roles", "environment"};
  const nlohmann::json keys = nlohmann::json::parse(result_keys_json(made.config));
  for (const auto& [name, value] : keys.items()) {
    mine[name] = value.dump();
    must_agree.push_back(name);
  }
  made.ranks = engine::exchange(world, mine);
  collectively(world, [&] {
    require_equal(made.ranks, must_agree);
    if (made.config.link.transport == "nccl") made.gpus = gpus_for_nccl(made);
    made.isa = agreed_isa(made.config, made.ranks);
    const int here = ranks_on(made.ranks, world.host());
    made.threads = made.config.engine.threads > 0 ? made.config.engine.threads : fair_threads(here);
    if (allowed_cores() < made.threads)
      log::warning("rank {} may use CPUs {} only, but engine.threads is {}: start it with --bind-to none", world.rank(),
                   cpu_mask(), made.threads);
  });
  return made;
}

comm::NcclOptions nccl_options(const LinkSection& link, std::vector<comm::Route> routes) {
  comm::NcclOptions options;
  options.routes = std::move(routes);
  options.anchor_traffic_class = link.traffic_classes.empty() ? -1 : link.traffic_classes.at(0);
  options.residual_traffic_class = link.traffic_classes.empty() ? -1 : link.traffic_classes.at(1);
  return options;
}

std::vector<suite::Sample> make_samples(const Config& config, const model::ModelFile& model) {
  return suite::make_samples(suite_options(config), [&](const std::string& text) {
    return static_cast<int>(model.tokenizer->encode(text, model::SpecialText::is_plain).size());
  });
}

void prepare_model(const comm::World& world, Preparation& made) {
  std::int64_t blocks = 0;
  nlohmann::json result;
  collectively(world, [&] {
    if (made.config.model.path.empty())
      throw Error(ErrorCode::usage, "model.path", "names no model; jobs/fetch-model.sh fetches a small one and prints its path");
    made.model = model::open_model(made.config.model.path);
    if (made.model.tokenizer == nullptr)
      throw Error(ErrorCode::bad_data, made.config.model.path, "has no tokenizer that we read; prompts cannot be made");
    made.samples = make_samples(made.config, made.model);
    made.data_hash = hex64(hash_samples(made.samples));
    blocks = capacity_blocks(made.config, geometry_of(made.config, made.model.config), ranks_on(made.ranks, world.host()));
    result = nlohmann::json::parse(result_keys_json(made.config));
    result["model.hash"] = hex64(made.model.content_hash);
    result["tokenizer.hash"] = hex64(made.model.tokenizer->hash());
    result["template.hash"] = made.model.chat_template ? hex64(made.model.chat_template->hash()) : "none";
    result["suite.hash"] = made.data_hash;
    result["engine.isa"] = model::name_of(made.isa);
  });
  made.result_json = result.dump();
  made.settings_hash = hash64(made.result_json);
  const auto facts = engine::exchange(world, {{"model", result["model.hash"]},
                                      {"tokenizer", result["tokenizer.hash"]},
                                      {"template", result["template.hash"]},
                                      {"suite data", made.data_hash},
                                      {"blocks", std::to_string(blocks)}});
  collectively(world, [&] { require_equal(facts, {"model", "tokenizer", "template", "suite data"}); });
  for (const RankFacts& rank : facts) made.capacity_blocks.push_back(std::stoll(rank.facts.at("blocks")));
}

std::string role_table(const Preparation& preparation) {
  const bool gpus = !preparation.gpus.empty();
  std::string text = fmt::format("{:>4}  {:<14}  {:<20}  {:<11}  {}{}\n", "rank", "role", "host", "kernels", gpus ? "GPU  " : "", "CPUs");
  for (const RankFacts& rank : preparation.ranks)
    text += fmt::format("{:>4}  {:<14}  {:<20}  {:<11}  {}{}\n", rank.rank, preparation.roles.name_of(rank.rank),
                        rank.facts.at("host"), model::name_of(preparation.isa),
                        gpus ? fmt::format("{:>3}  ", gpu_text(preparation.gpus[static_cast<std::size_t>(rank.rank)])) : "",
                        rank.facts.at("mask"));
  return text;
}

}  // namespace lynxkv::engine
