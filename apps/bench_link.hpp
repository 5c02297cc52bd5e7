// What `lynxkv bench link` has measured, and how it is shown.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "comm/measure_priority.hpp"
#include "comm/measure_transfer.hpp"

namespace lynxkv::apps {

struct LinkRow {
  std::string test;     // one-way, both-ways, pairs, incast, all-to-all; "page" for a model's sizes
  std::string channel;  // anchor, residual
  std::string note;     // a page tensor's stream
  std::size_t bytes = 0;
  int count = 0;        // messages of each flow
  int flows = 1, port_flows = 1;
  std::vector<double> seconds, raw_seconds;  // of each repetition
  std::vector<double> latency_s, raw_latency_s;
  std::uint64_t wrong = 0;
};

struct LinkPriority {
  std::string name;  // "two channels", "one channel"
  comm::PriorityLoad load;
  comm::PriorityTimes times;
};

struct LinkSummary {
  double share_of_raw = 0, urgent_p50_ratio = 0, urgent_p99_ratio = 0;
  std::uint64_t wrong = 0;
  bool has_priority = false;
};

struct LinkReport {
  std::string date, version, command, transport, raw, mpi, components, clock;
  std::vector<std::map<std::string, std::string>> ranks;
  std::vector<std::pair<std::string, std::string>> environment;
  int size = 0;
  std::size_t good_parcel_bytes = 0;
  std::vector<LinkRow> rows;
  std::vector<LinkPriority> priorities;
};

// Of sorted or unsorted values; q in [0, 1]; 0 where there are none.
double quantile(std::vector<double> values, double q);
double chunk_seconds(const comm::PriorityTimes& times);
LinkSummary summary_of(const LinkReport& report);

void print_link_header(const LinkReport& report);
void print_link_columns();
void print_link_row(const LinkRow& row);
void print_link_priority(const LinkPriority& priority);
void print_link_verdict(const LinkReport& report);
std::string link_json(const LinkReport& report);
std::string link_csv(const LinkReport& report);

}  // namespace lynxkv::apps
