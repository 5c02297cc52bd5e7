// Every mode through the wire: what comes out is what the codec gives without a wire, bit for bit.
#include <gtest/gtest.h>

#include <string>

#include "codec/options.hpp"
#include "tests/stream/rig.hpp"

namespace lynxkv::stream {
namespace {

class Modes : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(All, Modes, testing::ValuesIn(codec::mode_names().begin(), codec::mode_names().end()),
                         [](const auto& mode) {
                           std::string name(mode.param);
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

TEST_P(Modes, GivesTheSamePagesAsTheCodecAlone) {
  for (const char* preset : {"plain", "default"})
    for (const std::size_t chunk_bytes : {std::size_t{4096}, std::size_t{256} * 1024}) {
      const std::shared_ptr<const codec::Codec> codec = codec::make_codec(GetParam(), codec::preset_options(preset));
      Rig rig(300, codec, small_geometry(), chunk_bytes);
      rig.push_all();
      rig.deliver_all();
      rig.complete();
      EXPECT_EQ(rig.progress().level, codec->streams().back().enables);
      EXPECT_GT(rig.progress().target_ready_ns, 0);
      EXPECT_EQ(rig.deserializer.held_bytes(), 0u);
      for (int page = 0; page < 2; ++page)
        for (const auto kind : {page::Kind::key, page::Kind::value}) {
          codec::TensorShape shape;
          shape.tokens = rig.source.page_tokens(page);
          shape.channels = 8;
          shape.head_dim = 4;
          shape.first_position = page * 256;
          shape.layer = 1;
          shape.layers = 2;
          shape.kind = kind;
          shape.tokens_behind = 300 - shape.first_position - shape.tokens;
          codec::Encoded encoded;
          ASSERT_TRUE(codec->encode(Rig::rows_of(rig.source, 1, kind, page), shape, encoded).ok());
          codec::Payloads in;
          for (std::size_t i = 0; i < codec::max_streams; ++i) in.payload[i] = encoded.payload[i];
          in.raw = encoded.raw;
          std::vector<Bf16> expected(static_cast<std::size_t>(shape.tokens * shape.channels));
          ASSERT_TRUE(codec->decode(codec->streams().back().enables, in, shape, expected.data()).ok());
          EXPECT_EQ(std::memcmp(expected.data(), Rig::rows_of(rig.target, 1, kind, page), expected.size() * 2), 0);
        }
    }
}

}  // namespace
}  // namespace lynxkv::stream
