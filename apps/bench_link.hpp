// What `lynxkv bench link` has measured, and how it is shown.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "comm/measure_priority.hpp"
#include "comm/measure_transfer.hpp"

namespace lynxkv::apps {

struct LinkBenchOptions {
  std::string transport = "mpi", model, json, csv, note;
  std::vector<std::string> tests, channels = {"anchor", "residual"};
  std::size_t min_bytes = 1024, max_bytes = std::size_t{4} << 20;
  double factor = 4;
  int iterations = 0, warm_up = 2, repeats = 5, ranks = 2, latencies = 50;
  double seconds = 10;
  comm::LinkOptions link;
  double chunk_kib = 0;  // adapts
  comm::PriorityLoad priority;
};

struct LinkRow {
  std::string test;     // one-way, both-ways, pairs, incast, all-to-all; "page" for a model's sizes
  std::string channel;  // anchor, residual
  std::string note;     // a page tensor's stream
  std::size_t bytes = 0;
  int count = 0;        // messages of each flow
  int flows = 1, port_flows = 1;
  int raw_window = 1;   // messages of a flow under way at once on the raw link; 0: that is arithmetic
  std::vector<double> seconds, raw_seconds;  // of each repetition
  std::vector<double> latency_s, raw_latency_s;
  std::uint64_t wrong = 0;
};

struct LinkPriority {
  std::string name;  // "two channels", "one channel"
  bool emulated = false;
  comm::PriorityLoad load;
  comm::PriorityTimes times;
};

struct LinkSummary {
  double share_of_raw = 0, urgent_p50_ratio = 0, urgent_p99_ratio = 0;
  std::uint64_t wrong = 0;
  bool has_priority = false;  // not between threads of one process: a copy in memory is no link
};

struct LinkReport {
  std::string date, version, command, transport, raw, raw_method, mpi, components, clock;
  LinkBenchOptions options;
  std::vector<std::map<std::string, std::string>> ranks;
  std::vector<std::pair<std::string, std::string>> environment;
  int size = 0;
  std::size_t good_parcel_bytes = 0;
  std::vector<LinkRow> rows;
  std::vector<LinkPriority> priorities;
};

// Of sorted or unsorted values; q in [0, 1]; 0 where there are none.
double quantile(std::vector<double> values, double q);
LinkSummary summary_of(const LinkReport& report);

// Throws Error{usage} where a test that was asked for by name cannot run.
void check_link_tests(const LinkBenchOptions& options, int ranks);
// Collective. Prints rows on rank 0 as they come, and adds them to the report.
void run_link_tests(const LinkBenchOptions& options, comm::LinkEnds ends, LinkReport& report);

void print_link_header(const LinkReport& report);
void print_link_columns(const LinkReport& report);
void print_link_row(const LinkRow& row);
void print_link_priority(const LinkPriority& priority);
void print_link_verdict(const LinkReport& report);
std::string link_json(const LinkReport& report);
std::string link_csv(const LinkReport& report);

}  // namespace lynxkv::apps
