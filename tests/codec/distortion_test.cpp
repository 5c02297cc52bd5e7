// How far decoded values are from real KV, bounded from both sides: an error that is suddenly smaller means that
// the test or the page changed, not that the codec got better by itself.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "codec/options.hpp"
#include "tests/codec/golden.hpp"

namespace lynxkv::codec {
namespace {

struct Bounds {
  const char* page;
  const char* mode;
  Level level;
  double least, largest;  // RMS error over RMS of the page, sinks left out
  const char* preset = "plain";  // of runs (default): V pays for its chunks of 64, K gains what that saves
};

double relative_rms(const Bounds& bounds) {
  for (const golden::Case& one : golden::cases()) {
    if (one.name != bounds.page) continue;
    const auto codec = make_codec(bounds.mode, preset_options(bounds.preset));
    const std::vector<Bf16> kv = golden::read_bf16(one.name + ".kv.bin");
    Encoded out;
    TensorShape shape = one.shape;
    shape.kind = one.name.find("_v_") != std::string::npos ? page::Kind::value : page::Kind::key;
    shape.tokens_behind = 1000;
    codec->encode(kv.data(), shape, out).take();
    std::vector<Bf16> rows(kv.size());
    codec->decode(bounds.level, {{out.payload[0], out.payload[1], {}}, out.raw}, shape, rows.data()).take();
    double error = 0, power = 0;
    for (std::size_t i = 4 * static_cast<std::size_t>(one.shape.channels); i < kv.size(); ++i) {
      const double x = to_float(kv[i]), y = to_float(rows[i]);
      error += (x - y) * (x - y);
      power += x * x;
    }
    return std::sqrt(error / power);
  }
  ADD_FAILURE() << "no page " << bounds.page;
  return 0;
}

TEST(Distortion, StaysWithinItsBoundsOnRealPages) {
  for (const Bounds& bounds : {
           Bounds{"real_l0_k_p0", "lynx", Level::draft, 0.0509, 0.0541},
           Bounds{"real_l0_k_p0", "lynx", Level::target, 0.00355, 0.00377},
           Bounds{"real_l0_k_p0", "int8", Level::target, 0.00653, 0.00693},
           Bounds{"real_l0_k_p0", "int4", Level::target, 0.108, 0.115},
           Bounds{"real_l0_k_p0", "int8-channel", Level::target, 0.00429, 0.00456},
           Bounds{"real_l0_k_p0", "int4-channel", Level::target, 0.07, 0.0743},
           Bounds{"real_l15_k_p0", "lynx", Level::draft, 0.0379, 0.0402},
           Bounds{"real_l15_k_p0", "lynx", Level::target, 0.00261, 0.00277},
           Bounds{"real_l15_k_p0", "int8", Level::target, 0.00712, 0.00756},
           Bounds{"real_l15_k_p0", "int4", Level::target, 0.117, 0.124},
           Bounds{"real_l15_k_p0", "int8-channel", Level::target, 0.00365, 0.00388},
           Bounds{"real_l15_k_p0", "int4-channel", Level::target, 0.0594, 0.0631},
           Bounds{"real_l29_v_p0", "lynx", Level::draft, 0.0752, 0.0798},
           Bounds{"real_l29_v_p0", "lynx", Level::target, 0.00528, 0.0056},
           Bounds{"real_l29_v_p0", "int8", Level::target, 0.00572, 0.00607},
           Bounds{"real_l29_v_p0", "int4", Level::target, 0.0926, 0.0983},
           Bounds{"real_l29_v_p0", "int8-channel", Level::target, 0.00719, 0.00764},
           Bounds{"real_l29_v_p0", "int4-channel", Level::target, 0.119, 0.126},
           Bounds{"real_l7_v_p3", "lynx", Level::draft, 0.0776, 0.0824},
           Bounds{"real_l7_v_p3", "lynx", Level::target, 0.0054, 0.00573},
           Bounds{"real_l7_v_p3", "int8", Level::target, 0.00581, 0.00617},
           Bounds{"real_l7_v_p3", "int4", Level::target, 0.0939, 0.0998},
           Bounds{"real_l7_v_p3", "int8-channel", Level::target, 0.00666, 0.00707},
           Bounds{"real_l7_v_p3", "int4-channel", Level::target, 0.109, 0.116},
           Bounds{"real_l0_k_p0", "lynx", Level::draft, 0.0365, 0.0387, "default"},
           Bounds{"real_l0_k_p0", "lynx", Level::target, 0.00343, 0.00365, "default"},
           Bounds{"real_l15_k_p0", "lynx", Level::draft, 0.0298, 0.0316, "default"},
           Bounds{"real_l15_k_p0", "lynx", Level::target, 0.0025, 0.00266, "default"},
           Bounds{"real_l29_v_p0", "lynx", Level::draft, 0.0806, 0.0856, "default"},
           Bounds{"real_l29_v_p0", "lynx", Level::target, 0.00596, 0.00632, "default"},
           Bounds{"real_l7_v_p3", "lynx", Level::draft, 0.0801, 0.0851, "default"},
           Bounds{"real_l7_v_p3", "lynx", Level::target, 0.00598, 0.00634, "default"},
       }) {
    const double found = relative_rms(bounds);
    EXPECT_GE(found, bounds.least) << bounds.page << ", " << bounds.mode << ", level " << static_cast<int>(bounds.level);
    EXPECT_LE(found, bounds.largest) << bounds.page << ", " << bounds.mode << ", level " << static_cast<int>(bounds.level);
  }
}

}  // namespace
}  // namespace lynxkv::codec
