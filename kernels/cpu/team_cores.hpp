// The workers' side of placement.hpp.
#pragma once

namespace lynxkv::kernels {

// For a team of that many threads; on the home thread, before they first compute.
void choose_team_cores(int threads);
// On a thread of the team, inside a parallel region; cheap once it is done.
void place_team_thread() noexcept;

}  // namespace lynxkv::kernels
