// A program outside the project that uses the installed libraries: one page through the lynx codec.
#include <cmath>
#include <cstdio>
#include <vector>

#include "codec/codec.hpp"

int main() {
  namespace codec = lynxkv::codec;
  codec::TensorShape shape;
  shape.tokens = 40;
  shape.channels = 8;
  shape.head_dim = 4;
  std::vector<lynxkv::Bf16> rows, back(40 * 8);
  for (int i = 0; i < 40 * 8; ++i) rows.push_back(lynxkv::to_bf16(std::sin(0.37f * static_cast<float>(i))));
  const auto lynx = codec::make_codec("lynx", {});
  codec::Encoded encoded;
  lynx->encode(rows.data(), shape, encoded).take();
  codec::Payloads payloads;
  for (int s = 0; s < codec::max_streams; ++s) payloads.payload[s] = encoded.payload[s];
  lynx->decode(codec::Level::target, payloads, shape, back.data()).take();
  double worst = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) worst = std::max(worst, std::abs(double(to_float(rows[i]) - to_float(back[i]))));
  std::printf("worst error %.4f\n", worst);
  return worst < 0.05 ? 0 : 1;
}
