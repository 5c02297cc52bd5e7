#include "kernels/cpu/row_kernels.hpp"

#include <cmath>
#include <limits>

#include "kernels/argmax.hpp"
#include "kernels/cpu/highway_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/row_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <hwy/contrib/math/math-inl.h>

#include "kernels/cpu/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace lynxkv::kernels::HWY_NAMESPACE {

float sum_of_squares(int columns, const float* x) {
  const hn::ScalableTag<float> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  auto first = hn::Zero(d), second = hn::Zero(d);
  int i = 0;
  for (; i + 2 * lanes <= columns; i += 2 * lanes) {
    const auto a = hn::LoadU(d, x + i);
    const auto b = hn::LoadU(d, x + i + lanes);
    first = hn::MulAdd(a, a, first);
    second = hn::MulAdd(b, b, second);
  }
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(first, second)));
  for (; i < columns; ++i) sum += x[i] * x[i];
  return sum;
}

template <class Out>
HWY_INLINE void rms_norm_any(int columns, const float* x, const float* weight, float epsilon, Out* out) {
  const float scale = 1.0f / std::sqrt(sum_of_squares(columns, x) / static_cast<float>(columns) + epsilon);
  for_lanes(columns, [=](auto d, int i) HWY_ATTR {
    store(d, hn::Mul(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, scale)), hn::LoadU(d, weight + i)), out + i);
  });
}

template <class Out>
HWY_INLINE void swiglu_any(int columns, const float* gate, const float* up, Out* out) {
  for_lanes(columns, [=](auto d, int i) HWY_ATTR {
    const auto g = hn::LoadU(d, gate + i);
    const auto divisor = hn::Add(hn::Set(d, 1.0f), hn::Exp(d, hn::Neg(g)));
    store(d, hn::Mul(hn::Div(g, divisor), hn::LoadU(d, up + i)), out + i);
  });
}

void rms_norm_bf16(int columns, const float* x, const float* weight, float epsilon, Bf16* out) {
  rms_norm_any(columns, x, weight, epsilon, out);
}
void rms_norm_f32(int columns, const float* x, const float* weight, float epsilon, float* out) {
  rms_norm_any(columns, x, weight, epsilon, out);
}
void swiglu_bf16(int columns, const float* gate, const float* up, Bf16* out) {
  swiglu_any(columns, gate, up, out);
}
void swiglu_f32(int columns, const float* gate, const float* up, float* out) {
  swiglu_any(columns, gate, up, out);
}

void rope_halves(float* head, int half, const float* cosines, const float* sines) {
  for_lanes(half, [=](auto d, int i) HWY_ATTR {
    const auto c = hn::LoadU(d, cosines + i), s = hn::LoadU(d, sines + i);
    const auto a = hn::LoadU(d, head + i), b = hn::LoadU(d, head + half + i);
    hn::StoreU(hn::Sub(hn::Mul(a, c), hn::Mul(b, s)), d, head + i);
    hn::StoreU(hn::Add(hn::Mul(b, c), hn::Mul(a, s)), d, head + half + i);
  });
}

int first_largest(int count, const float* x) {
  const hn::ScalableTag<float> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  auto most = hn::Set(d, -std::numeric_limits<float>::infinity());
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(d, x + i);
    most = hn::IfThenElse(hn::Gt(value, most), value, most);
  }
  float largest = hn::GetLane(hn::MaxOfLanes(d, most));
  for (; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  i = 0;
  for (; i + lanes <= count; i += lanes)
    if (!hn::AllFalse(d, hn::Eq(hn::LoadU(d, x + i), hn::Set(d, largest)))) break;
  for (; i < count; ++i)
    if (x[i] == largest) return i;
  return 0;  // nothing but NaN
}

void store_bf16(int columns, const float* x, Bf16* out) {
  for_lanes(columns, [=](auto d, int i) HWY_ATTR { store(d, hn::LoadU(d, x + i), out + i); });
}

}  // namespace lynxkv::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lynxkv::kernels {

HWY_EXPORT(rms_norm_bf16);
HWY_EXPORT(rms_norm_f32);
HWY_EXPORT(swiglu_bf16);
HWY_EXPORT(swiglu_f32);
HWY_EXPORT(rope_halves);
HWY_EXPORT(store_bf16);
HWY_EXPORT(first_largest);

void rms_norm_row(int columns, const float* x, const float* weight, float epsilon, Bf16* out) {
  HWY_DYNAMIC_DISPATCH(rms_norm_bf16)(columns, x, weight, epsilon, out);
}
void rms_norm_row(int columns, const float* x, const float* weight, float epsilon, float* out) {
  HWY_DYNAMIC_DISPATCH(rms_norm_f32)(columns, x, weight, epsilon, out);
}
int argmax(int count, const float* x) {
  return HWY_DYNAMIC_DISPATCH(first_largest)(count, x);
}
void rope_head(float* head, int half, const float* cosines, const float* sines) {
  HWY_DYNAMIC_DISPATCH(rope_halves)(head, half, cosines, sines);
}
void store_row(int columns, const float* x, Bf16* out) {
  HWY_DYNAMIC_DISPATCH(store_bf16)(columns, x, out);
}
void swiglu_row(int columns, const float* gate, const float* up, Bf16* out) {
  HWY_DYNAMIC_DISPATCH(swiglu_bf16)(columns, gate, up, out);
}
void swiglu_row(int columns, const float* gate, const float* up, float* out) {
  HWY_DYNAMIC_DISPATCH(swiglu_f32)(columns, gate, up, out);
}

}  // namespace lynxkv::kernels
#endif
