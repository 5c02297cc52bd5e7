#include "engine/campaign.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "engine/host.hpp"
#include "engine/rank_loop.hpp"
#include "engine/signals.hpp"
#include "engine/stop_guard.hpp"
#include "engine/transfer_options.hpp"
#include "engine/version.hpp"
#include "results/hdf5.hpp"
#include "results/link_model.hpp"
#include "results/journal.hpp"

namespace lynxkv::engine {
namespace {

// From the end of the last sample to the end of a run that was asked to stop, the results file included.
constexpr double seconds_to_leave = 60;
// Not all ranks may come to this end, and the scheduler's patience is half used up.
constexpr double seconds_to_leave_after_abandoning = 5;

// Versions, hashes and placement of this attempt: stored in the journal and in the HDF5 file.
std::string attempt_json(const Preparation& preparation) {
  nlohmann::json facts;
  facts["version"] = version();
  facts["revision"] = revision();
  facts["settings_hash"] = hex64(preparation.settings_hash);
  facts["model"] = preparation.model.config.name;
  facts["model_hash"] = hex64(preparation.model.content_hash);
  facts["data_hash"] = preparation.data_hash;
  facts["isa"] = model::name_of(preparation.isa);
  facts["threads"] = preparation.threads;
  const model::ModelConfig& model = preparation.model.config;
  facts["kv_elements_per_token"] = std::int64_t{2} * model.layers * model.kv_heads * model.head_dim;
  facts["seed"] = preparation.config.suite.seed;
  for (const RankFacts& rank : preparation.ranks) {
    nlohmann::json placed;
    for (const char* name : {"host", "cpu", "isa", "mask", "cores", "environment"}) placed[name] = rank.facts.at(name);
    placed["role"] = preparation.roles.name_of(rank.rank);
    facts["ranks"].push_back(std::move(placed));
  }
  for (const auto& [name, value] : slurm_variables()) facts["slurm"][name] = value;
  return facts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write_prompts(const std::string& path, const Preparation& preparation) {
  std::ofstream file(path);
  for (const suite::Sample& sample : preparation.samples) {
    const Prompt prompt = build_prompt(sample, preparation.model, preparation.config.suite);
    const nlohmann::json line = {{"suite", sample.suite},
                                 {"task", sample.task},
                                 {"length", sample.length},
                                 {"line", sample.line},
                                 {"prompt", render_prompt(sample, sample.prompt, preparation.model, preparation.config.suite)},
                                 {"prompt_tokens", prompt.ids.size()},
                                 {"truncated_tokens", prompt.truncated_tokens},
                                 {"references", sample.references}};
    file << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
  if (!file.flush()) throw Error(ErrorCode::incomplete, path, "the prompts could not be written");
}

// `attempt` 0: the first of this output folder. A resumed run meets other faults, or the one that ended the attempt
// before would end this one at the same place.
comm::LinkOptions link_options(const LinkSection& link, std::uint64_t attempt) {
  comm::LinkOptions options;
  options.gbps = link.gbps;
  options.latency_us = link.latency_us;
  options.residual_chunk_bytes = static_cast<std::size_t>(link.residual_chunk_kib) * 1024;
  options.strict = link.strict;
  options.faults = {link.fault_flip,    link.fault_drop,    link.fault_delay_ms,
                    link.fault_stall_s, link.fault_control, static_cast<std::uint64_t>(link.fault_seed) + attempt};
  options.stall_seconds = link.stall_s;
  return options;
}

std::unique_ptr<results::Journal> open_journal(const Preparation& preparation) {
  results::JournalHeader header;
  header.result_config = preparation.result_json;
  header.settings_hash = preparation.settings_hash;
  header.attempt_json = attempt_json(preparation);
  return std::make_unique<results::Journal>(preparation.config.output.dir, header, preparation.config.output.fsync_s);
}

// The HDF5 file is derived from the journal as it lies on the disk.
void derive_results(const Preparation& preparation, RunOutcome& outcome) {
  const std::filesystem::path directory = preparation.config.output.dir;
  const auto contents = results::read_journal((directory / results::journal_file_name).string()).take();
  nlohmann::json facts = nlohmann::json::parse(attempt_json(preparation));
  facts["result_config"] = nlohmann::json::parse(preparation.result_json);
  facts["restart_count"] = contents.attempts.empty() ? 0 : contents.attempts.size() - 1;
  const results::LinkModel link = results::fit_link(results::transfers_of(contents.rows));
  if (link.known())
    facts["link_model"] = {{"latency_s", link.latency_s},       {"bytes_per_s", link.bytes_per_s}, {"transfers", link.transfers},
                           {"measured", link.measured},         {"apart_median", link.apart_median}, {"apart_p90", link.apart_p90}};
  results::Hdf5Meta meta;
  meta.complete = outcome.complete;
  meta.config_yaml = to_yaml(preparation.config);
  meta.facts_json = facts.dump();
  outcome.hdf5_path = (directory / "results.h5").string();
  results::write_hdf5(outcome.hdf5_path, contents.rows, meta);
  outcome.rows = static_cast<std::int64_t>(contents.rows.size());
}

}  // namespace

RunOutcome run_campaign(comm::World& world, Preparation& preparation, bool dump_prompts) {
  const Config& config = preparation.config;
  RunOutcome outcome;
  outcome.output_dir = config.output.dir;
  const StopSignals signals;
  StopGuard stop(config.output.stop_grace_s, [&] { world.abort(exit_code(ErrorCode::incomplete)); });

  std::unique_ptr<results::Journal> journal;
  std::unique_ptr<model::Forward> forward;
  std::optional<Error> failure;
  try {
    if (world.rank() == 0) {
      journal = open_journal(preparation);
      outcome.rows_before = static_cast<std::int64_t>(journal->before().rows.size());
      outcome.torn_bytes = journal->before().torn_bytes;
      if (outcome.torn_bytes > 0)
        log::warning("the journal ended in the middle of a record: {} bytes dropped, that row is done again", outcome.torn_bytes);
      if (dump_prompts) write_prompts(config.output.dir + "/prompts.jsonl", preparation);
    }
    forward = std::make_unique<model::Forward>(
        preparation.model, model::ForwardOptions{model::Precision::bf16, preparation.isa, preparation.threads},
        [](double) {
          if (StopSignals::received() != 0) throw Error(ErrorCode::incomplete, "model load", "stopped by a signal; run the same command again");
        });
  } catch (const Error& error) {
    failure = error;
  }
  agree_on_failure(world, failure);
  const std::string earlier = world.gather(journal ? std::to_string(journal->before().attempts.size()) : "").front();

  {
    page::PagePool pool(forward->geometry(config.transfer.page_tokens, config.transfer.chunk_tokens), forward->kv_element(),
                        preparation.capacity_blocks[static_cast<std::size_t>(world.rank())]);
    comm::Courier courier(
        world.make_transport(world.uses_mpi() ? config.link.transport : "loop",
                             nccl_options(config.link, preparation.roles.data_routes())),
        link_options(config.link, std::stoull(earlier)));
    courier.sync_clocks();
    Job job{config,        preparation.roles, preparation.samples, preparation.model,
            *forward,      pool,              courier,             stop,
            preparation.settings_hash, codec_options_of(config.transfer), {}};
    for (const std::string& mode : config.transfer.modes) job.codecs.push_back(codec::make_codec(mode, job.codec_options));
    RankLoop loop(job, journal.get(), {preparation.capacity_blocks});
    outcome.complete = loop.run();
    stop.allow(loop.abandoned() ? seconds_to_leave_after_abandoning : seconds_to_leave);
    if (loop.abandoned()) courier.abandon();
    else courier.flush(std::chrono::seconds(30));
    log::info("peak memory {:.0f} MB: weights {:.0f} MB, pages {:.0f} MB", 1e-6 * static_cast<double>(peak_memory_bytes()),
              1e-6 * static_cast<double>(forward->weight_bytes()), 1e-6 * static_cast<double>(pool.resident_bytes()));
  }

  // Ranks leave together, after the results are in place: launchers end a job at its first exit.
  failure.reset();
  try {
    if (world.rank() == 0) derive_results(preparation, outcome);
  } catch (const Error& error) {
    failure = error;
  }
  agree_on_failure(world, failure);
  return outcome;
}

}  // namespace lynxkv::engine
