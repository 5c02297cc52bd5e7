// The kernel tests' rig on the emulation: several seeds and orders.
#include "tests/cuda_emulation/emulation.hpp"
#include "tests/cuda_emulation/kernels/rig.hpp"

namespace lynxkv::kernels::cuda::rig {

bool is_emulation() { return true; }
std::string why_no_device() { return {}; }

void under_every_setup(const std::function<void()>& body) {
  using cuda_emulation::Order;
  for (const cuda_emulation::Setup& setup : {cuda_emulation::Setup{1, Order::drawn, 2}, {2, Order::late, 1}, {3, Order::others_first, 3}}) {
    SCOPED_TRACE("emulation with seed " + std::to_string(setup.seed));
    cuda_emulation::reset(setup);
    body();
    EXPECT_EQ(cuda_emulation::last_fault(), "");
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace lynxkv::kernels::cuda::rig
