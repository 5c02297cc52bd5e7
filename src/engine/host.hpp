// What this process may use of its host, and where Slurm put it.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace lynxkv::engine {

int host_cores() noexcept;            // of the whole host
int allowed_cores() noexcept;         // in this process's CPU mask
std::string cpu_mask();               // as a list of ranges: "0-3,8"
std::string cpu_name();
std::int64_t available_memory_bytes() noexcept;
std::int64_t peak_memory_bytes() noexcept;  // of this process so far, mapped files included
std::int64_t free_disk_bytes(const std::string& directory) noexcept;  // -1: not known
std::map<std::string, std::string> slurm_variables();                 // SLURM_JOB_ID and its kin, where set
double seconds_to_job_end() noexcept;                                 // by SLURM_JOB_END_TIME; negative: no limit known

// Threads for one of `ranks_here` ranks of a host: the whole CPU mask where the launcher bound the rank to
// part of the host, its share of the mask otherwise. At least one.
int fair_threads(int ranks_here) noexcept;

}  // namespace lynxkv::engine
