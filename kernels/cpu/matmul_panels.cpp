#include <algorithm>
#include <memory>
#include <vector>

#include "base/bf16.hpp"
#include "kernels/cpu/matmul_body.hpp"
#include "kernels/cpu/matmul_panel.hpp"
#include "kernels/parallel.hpp"

namespace lynxkv::kernels {
namespace {

template <class Stored>
Stored stored(float value);
template <>
Bf16 stored<Bf16>(float value) {
  return to_bf16(value);
}
template <>
float stored<float>(float value) {
  return value;
}
float widened(Bf16 value) {
  return to_float(value);
}
float widened(float value) {
  return value;
}

template <class Stored>
class PanelMatmul final : public MatmulBody {
 public:
  PanelMatmul(int outputs, int inputs)
      : outputs_(outputs),
        inputs_(inputs),
        panels_((outputs + panel_columns - 1) / panel_columns),
        weights_(static_cast<std::size_t>(panels_) * panel_size()) {}

  std::size_t weight_bytes() const noexcept override { return weights_.size() * sizeof(Stored); }

  void pack_rows(int first_output, int count, const float* weights) override {
    for (int row = 0; row < count; ++row)
      for (int input = 0; input < inputs_; ++input)
        weights_[at(first_output + row, input)] =
            stored<Stored>(weights[static_cast<std::size_t>(row) * static_cast<std::size_t>(inputs_) +
                                   static_cast<std::size_t>(input)]);
  }

  void unpack_row(int output, float* out) const override {
    for (int input = 0; input < inputs_; ++input) out[input] = widened(weights_[at(output, input)]);
  }

  void run(int rows, const void* x, float* y, bool add) const override {
    const auto* in = static_cast<const Stored*>(x);
    const std::size_t values = static_cast<std::size_t>(rows) * static_cast<std::size_t>(inputs_);
    static thread_local std::vector<float> wide;
    const float* x32;
    if constexpr (std::is_same_v<Stored, float>) {
      x32 = in;
    } else {
      if (wide.size() < values) wide.resize(values);
      std::transform(in, in + values, wide.begin(), [](Stored value) { return widened(value); });
      x32 = wide.data();
    }
    parallel_for(panels_, [&](int panel, int) {
      const int column = panel * panel_columns;
      multiply_panel(
          {x32, y + column, rows, inputs_, outputs_, std::min(panel_columns, outputs_ - column), add},
          weights_.data() + static_cast<std::size_t>(panel) * panel_size());
    });
  }

 private:
  std::size_t panel_size() const { return static_cast<std::size_t>(inputs_) * panel_columns; }
  std::size_t at(int output, int input) const {
    return static_cast<std::size_t>(output / panel_columns) * panel_size() +
           static_cast<std::size_t>(input) * panel_columns + static_cast<std::size_t>(output % panel_columns);
  }

  int outputs_;
  int inputs_;
  int panels_;
  std::vector<Stored> weights_;
};

}  // namespace

std::unique_ptr<MatmulBody> make_panel_matmul(int outputs, int inputs, Element element) {
  if (element == Element::bf16) return std::make_unique<PanelMatmul<Bf16>>(outputs, inputs);
  return std::make_unique<PanelMatmul<float>>(outputs, inputs);
}

}  // namespace lynxkv::kernels
