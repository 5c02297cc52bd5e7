// Which thread may hand work to the others: the one that started the runtime, while it is not inside a task.
#pragma once

namespace lynxkv::kernels {

bool on_home_thread() noexcept;
void leave_home_thread() noexcept;
void return_to_home_thread() noexcept;

}  // namespace lynxkv::kernels
