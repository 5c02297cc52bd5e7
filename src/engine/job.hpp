// What the parts of a running rank share. Owned by the campaign; everybody else holds a reference.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codec/codec.hpp"
#include "comm/courier.hpp"
#include "engine/config.hpp"
#include "engine/control.hpp"
#include "engine/prompt.hpp"
#include "engine/roles.hpp"
#include "engine/stop_guard.hpp"
#include "model/forward.hpp"
#include "model/model_file.hpp"
#include "page/pool.hpp"
#include "suite/sample.hpp"

namespace lynxkv::engine {

constexpr int coordinator_rank = 0;

struct Job {
  const Config& config;
  const RoleMap& roles;
  const std::vector<suite::Sample>& samples;
  const model::ModelFile& model;
  model::Forward& forward;
  page::PagePool& pool;
  comm::Courier& courier;
  StopGuard& stop;
  std::uint64_t settings_hash = 0;
  codec::CodecOptions codec_options;
  std::vector<std::unique_ptr<codec::Codec>> codecs;  // by index in transfer.modes

  const std::string& mode_name(int mode) const { return config.transfer.modes[static_cast<std::size_t>(mode)]; }
  const codec::Codec& codec(int mode) const { return *codecs[static_cast<std::size_t>(mode)]; }
  Prompt prompt(std::int64_t sample) const {
    return build_prompt(samples[static_cast<std::size_t>(sample)], model, config.suite);
  }
  void tell(int rank, const Control& message) const {
    courier.send({comm::Channel::control, rank, 0, encode(message)});
  }
  // Something was done that brings the job's end nearer. While the job stops the coordinator hears of it.
  void moved() const {
    stop.moved();
    if (stop.time_to_tell()) tell(coordinator_rank, Moving{});
  }
};

}  // namespace lynxkv::engine
