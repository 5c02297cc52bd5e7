// Requests of unusual size: thousands of tiny pages, and more bytes than 32 bits count.
#include <gtest/gtest.h>

#include "tests/stream/rig.hpp"

namespace lynxkv::stream {
namespace {

// A payload of 8 MiB for each tensor, however small the tensor: its bytes tell the position it begins at. Decoding
// looks at every byte and keeps none.
class LargeCodec final : public PlainCodec {
 public:
  static constexpr std::size_t bytes = std::size_t{8} << 20;
  std::size_t payload_bytes(codec::StreamId, const codec::TensorShape&, bool) const noexcept override { return bytes; }
  Result<void> encode(const Bf16*, const codec::TensorShape& shape, codec::Encoded& out) const override {
    out.payload[0].assign(bytes, mark(shape));
    return {};
  }
  Result<void> decode(codec::Level, const codec::Payloads& in, const codec::TensorShape& shape, Bf16*) const override {
    const auto payload = in.payload[0];
    // All equal to the first, and the first right.
    const bool same = std::memcmp(payload.data(), payload.data() + 1, payload.size() - 1) == 0;
    if (payload.size() != bytes || payload[0] != mark(shape) || !same) return Error(ErrorCode::bad_data, "fake", "wrong bytes");
    return {};
  }

 private:
  static std::byte mark(const codec::TensorShape& shape) { return static_cast<std::byte>(shape.first_position / 32 % 251); }
};

TEST(Size, OfMoreThanFourGigabytesInOneRequestIsCountedAndArrives) {
  constexpr int pages = 129;  // x 2 layers x K and V x 8 MiB = 4.03 GiB
  Rig rig(pages * 32, std::make_shared<LargeCodec>(), small_geometry(32));
  std::size_t most_waiting = 0;
  const auto deliver = [&] {
    for (comm::Message message; rig.receiver->receive(message);) ASSERT_TRUE(rig.deserializer.accept(std::move(message)).ok());
  };
  for (int page = 0; page < pages; ++page)
    for (int layer = 0; layer < 2; ++layer)
      for (const auto kind : {page::Kind::key, page::Kind::value}) {
        while (!rig.serializer->ready()) {
          deliver();
          rig.receiver->wait(std::chrono::microseconds(200));
        }
        rig.push(layer, kind, page);
        most_waiting = std::max(most_waiting, rig.sender->waiting_bytes(comm::Channel::anchor));
      }
  while (rig.progress().level < codec::Level::target) {
    deliver();
    rig.receiver->wait(std::chrono::microseconds(200));
  }
  const std::uint64_t expected = std::uint64_t{pages} * 4 * LargeCodec::bytes;
  EXPECT_GT(expected, std::uint64_t{1} << 32);
  EXPECT_EQ(rig.serializer->totals(7).payload_bytes[0], expected);
  EXPECT_EQ(rig.progress().payload_bytes[0], expected);
  EXPECT_EQ(rig.receiver->totals(comm::Channel::anchor).received_bytes, rig.serializer->totals(7).wire_bytes);
  EXPECT_EQ(rig.deserializer.dropped_frames(), 0u);
  EXPECT_LT(most_waiting, std::size_t{64} << 20);  // encoding does not run ahead of the wire
  EXPECT_LT(rig.deserializer.most_held_bytes(), std::size_t{64} << 20);
}

TEST(Size, OfThousandsOfTinyPagesArrivesInFewMessages) {
  Rig rig(1000, std::make_shared<SplitCodec>(), small_geometry(1));  // 4000 tensors of 16 bytes
  rig.push_all();
  rig.settle();
  for (comm::Message message; rig.receiver->receive(message);) ASSERT_TRUE(rig.deserializer.accept(std::move(message)).ok());
  rig.complete();
  EXPECT_EQ(rig.progress().level, codec::Level::target);
  EXPECT_EQ(rig.differing(), 0);
  EXPECT_LT(rig.receiver->totals(comm::Channel::residual).received_messages, 2000u);
}

// The loss of the very last frames shows in nothing that comes: the receiver is told that all was sent, and asks.
TEST(Overdue, FramesThatNothingBehindThemShowsAreAskedForAndMended) {
  for (const std::size_t lost : {std::size_t{1}, std::size_t{5}}) {
    Rig rig(300);
    rig.push_all();
    auto frames = rig.frames();
    frames.resize(frames.size() - lost);
    for (auto& frame : frames) ASSERT_TRUE(rig.deserializer.accept(std::move(frame)).ok());
    rig.complete();
    EXPECT_LT(rig.progress().level, codec::Level::target);
    EXPECT_TRUE(rig.deserializer.take_missing().empty());
    ASSERT_TRUE(rig.deserializer.overdue(7).ok());
    const auto missing = rig.deserializer.take_missing();
    EXPECT_EQ(missing.size(), lost);
    for (const Missing& m : missing)
      rig.serializer->push_again(7, m.layer, m.kind, m.page, rig.source.page_first_position(m.page), rig.source.page_tokens(m.page),
                                 Rig::rows_of(rig.source, m.layer, m.kind, m.page), m.stream, m.attempt);
    for (auto& frame : rig.frames()) ASSERT_TRUE(rig.deserializer.accept(std::move(frame)).ok());
    rig.complete();
    EXPECT_EQ(rig.progress().level, codec::Level::target);
    EXPECT_EQ(rig.differing(), 0);
  }
}

}  // namespace
}  // namespace lynxkv::stream
