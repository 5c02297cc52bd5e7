// Which CPU generations the Highway kernels are built for: AVX2 and AVX-512 (and each architecture's
// baseline); those between gain nothing here and cost build time. Included before hwy/foreach_target.h.
// LYNXKV_UNROLL goes before a short loop of fixed length over an array of vectors: only where it is unrolled
// does the array live in registers.
#pragma once

#if defined(__clang__)
#define LYNXKV_UNROLL _Pragma("unroll")
#else
#define LYNXKV_UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(__x86_64__)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#endif
