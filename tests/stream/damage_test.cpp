// Transfers under disturbance: flipped bits, lost, doubled and late frames, contradictions. Never a wrong value in a
// page, and every damage is either mended or named.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/stream/rig.hpp"

namespace lynxkv::stream {
namespace {

comm::Message flipped(const comm::Message& frame, std::size_t bit) {
  comm::Message out = frame;
  out.bytes[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << (bit % 8))};
  return out;
}

void expect_mended(Rig& rig, int asked_at_least, int asked_at_most) {
  const int asked = rig.resend_all();
  EXPECT_GE(asked, asked_at_least);
  EXPECT_LE(asked, asked_at_most);
  rig.complete();
  EXPECT_EQ(rig.progress().level, codec::Level::target);
  EXPECT_EQ(rig.differing(), 0);
  EXPECT_EQ(rig.deserializer.held_bytes(), 0u);
}

TEST(Damage, OfAPayloadIsAskedForAgainAndMended) {
  for (const std::size_t which : {0u, 3u, 8u, 15u}) {
    Rig rig(300);
    rig.push_all();
    const auto frames = rig.frames();
    ASSERT_EQ(frames.size(), 16u);
    for (std::size_t i = 0; i < frames.size(); ++i) rig.deliver(i == which ? flipped(frames[i], 80 * 8 + 77) : frames[i]);
    EXPECT_EQ(rig.progress().refused_frames, 1u);
    EXPECT_NE(rig.progress().level, codec::Level::target);
    expect_mended(rig, 1, 2);  // its header is not believed alone: at the stream's end it may be asked for once more
    EXPECT_GE(rig.serializer->totals(7).resent_tensors, 1u);
  }
}

TEST(Damage, AnywhereInAFrameIsMended) {
  // Every bit of a header and some of the payload, in the first frame, one in the middle and the last one.
  for (const std::size_t which : {0u, 3u, 7u})
    for (std::size_t bit = 0; bit < 84 * 8; ++bit) {
      Rig rig(20);
      rig.push_all();
      const auto frames = rig.frames();
      ASSERT_EQ(frames.size(), 8u);
      for (std::size_t i = 0; i < frames.size(); ++i) rig.deliver(i == which ? flipped(frames[i], bit) : frames[i]);
      SCOPED_TRACE(testing::Message() << "frame " << which << ", bit " << bit);
      expect_mended(rig, 1, 8);
    }
}

TEST(Damage, InsideAMessageOfManyFramesIsMended) {
  for (std::size_t bit = 0; bit < 80 * 8; bit += 3) {
    Rig rig(20);
    rig.push_all();
    comm::Message anchors, residuals;
    for (const auto& frame : rig.frames()) {
      comm::Message& to = frame.channel == comm::Channel::anchor ? anchors : residuals;
      to.channel = frame.channel;
      to.peer = frame.peer;
      to.arrived_ns = frame.arrived_ns;
      to.bytes.insert(to.bytes.end(), frame.bytes.begin(), frame.bytes.end());
    }
    rig.deliver(flipped(anchors, 3 * (80 + 160) * 8 + bit));
    rig.deliver(residuals);
    SCOPED_TRACE(testing::Message() << "bit " << bit);
    expect_mended(rig, 1, 8);
  }
}

TEST(Damage, ThatNeverEndsIsAnErrorThatNamesTheTensor) {
  Rig rig(20);
  rig.push(1, page::Kind::value, 0);
  auto frame = rig.frames().at(1);
  ASSERT_EQ(frame.channel, comm::Channel::residual);
  std::string said;
  for (int attempt = 0; attempt < 14 && said.empty(); ++attempt) {
    const auto done = rig.deserializer.accept(flipped(frame, 80 * 8));
    if (!done.ok()) said = done.error().what();
    for (const Missing& m : rig.deserializer.take_missing()) {
      EXPECT_EQ(m.attempt, attempt + 1);
      EXPECT_LE(m.attempt, 12);
      rig.serializer->push_again(7, m.layer, m.kind, m.page, 0, 20, Rig::rows_of(rig.source, 1, page::Kind::value, 0),
                                 m.stream, m.attempt);
      frame = rig.frames().at(0);
    }
  }
  EXPECT_NE(said.find("rank 0, request 7, layer 1, V, page 0, stream residual"), std::string::npos) << said;
}

TEST(Loss, OfAnyOneFrameButTheLastIsMended) {
  for (std::size_t lost = 0; lost < 16; ++lost) {
    Rig rig(300);
    rig.push_all();
    const auto frames = rig.frames();
    if (Rig::header(frames[lost]).last) continue;  // shows only in silence
    for (std::size_t i = 0; i < frames.size(); ++i)
      if (i != lost) rig.deliver(frames[i]);
    SCOPED_TRACE(testing::Message() << "frame " << lost);
    expect_mended(rig, 1, 1);
  }
}

TEST(Loss, OfFragmentsIsMended) {
  Rig count(300, std::make_shared<SplitCodec>(), small_geometry(), 4096);
  count.push_all();
  const std::size_t all = count.frames().size();
  ASSERT_GT(all, 20u);
  for (std::size_t lost = 0; lost < all; ++lost) {
    Rig rig(300, std::make_shared<SplitCodec>(), small_geometry(), 4096);
    rig.push_all();
    const auto frames = rig.frames();
    if (Rig::header(frames[lost]).last) continue;
    for (std::size_t i = 0; i < frames.size(); ++i)
      if (i != lost) rig.deliver(frames[i]);
    SCOPED_TRACE(testing::Message() << "frame " << lost);
    expect_mended(rig, 1, 2);
  }
}

TEST(Loss, OfAResendShowsWhenTheNextOneComes) {
  Rig rig(20);
  rig.push_all();
  int anchors = 0;
  for (const auto& frame : rig.frames()) {
    const bool lost = frame.channel == comm::Channel::anchor && (anchors == 1 || anchors == 2);
    anchors += frame.channel == comm::Channel::anchor;
    if (!lost) rig.deliver(frame);
  }
  const auto missing = rig.deserializer.take_missing();
  ASSERT_EQ(missing.size(), 2u);
  for (const Missing& m : missing)
    rig.serializer->push_again(7, m.layer, m.kind, m.page, 0, 20, Rig::rows_of(rig.source, m.layer, m.kind, 0),
                               m.stream, m.attempt);
  const auto resent = rig.frames();
  ASSERT_EQ(resent.size(), 2u);
  rig.deliver(resent[1]);
  expect_mended(rig, 1, 1);
}

// With many resends on their way each loss among them concerns one of them: no tensor's attempts are used up by others.
TEST(Loss, AmongManyResendsAsksForEachOnlyAsOftenAsItWasLost) {
  page::Geometry geometry = small_geometry(32);
  Rig rig(32 * 40, std::make_shared<SplitCodec>(), geometry);  // 160 tensors
  rig.push_all();
  int at = 0;
  for (const auto& frame : rig.frames()) {
    const bool anchor = frame.channel == comm::Channel::anchor;
    if (!anchor || ++at % 2 != 0 || at == 160) rig.deliver(frame);
  }
  int most_attempts = 0, asked = 0;
  for (int round = 0; round < 40; ++round) {
    const auto missing = rig.deserializer.take_missing();
    if (missing.empty()) break;
    for (const Missing& m : missing) {
      ++asked;
      most_attempts = std::max(most_attempts, m.attempt);
      rig.serializer->push_again(7, m.layer, m.kind, m.page, rig.source.page_first_position(m.page), 32,
                                 Rig::rows_of(rig.source, m.layer, m.kind, m.page), m.stream, m.attempt);
    }
    const auto resent = rig.frames();
    for (std::size_t i = 0; i < resent.size(); ++i)
      if (i % 4 != 1 || i + 1 == resent.size()) rig.deliver(resent[i]);  // each round loses a quarter, never the last one
  }
  rig.complete();
  EXPECT_EQ(rig.progress().level, codec::Level::target);
  EXPECT_EQ(rig.differing(), 0);
  EXPECT_LE(most_attempts, 6);
  EXPECT_LE(asked, 140);  // 79 were lost, then a quarter of each round
}

TEST(Loss, MakesTheReceiverAskForNothingThatIsStillToCome) {
  Rig rig(20);
  rig.push(0, page::Kind::key, 0);
  rig.push(0, page::Kind::value, 0);
  const auto frames = rig.frames();
  for (const auto& frame : frames)
    if (Rig::header(frame).kind == page::Kind::value) rig.deliver(frame);
  EXPECT_TRUE(rig.deserializer.take_missing().empty());
}

TEST(Resend, OfATensorThatWasNotPushedYetIsLeftOut) {
  Rig rig(20);
  rig.serializer->push_again(7, 0, page::Kind::key, 0, 0, 20, Rig::rows_of(rig.source, 0, page::Kind::key, 0),
                             codec::StreamId::anchor, 1);
  EXPECT_TRUE(rig.frames().empty());
}

TEST(Duplicates, AreDroppedAndCounted) {
  Rig rig(300, std::make_shared<SplitCodec>(), small_geometry(), 4096);
  rig.push_all();
  const auto frames = rig.frames();
  for (const auto& frame : frames) {
    rig.deliver(frame);
    rig.deliver(frame);
  }
  EXPECT_EQ(rig.deserializer.dropped_frames(), frames.size());
  rig.complete();
  for (const auto& frame : frames) rig.deliver(frame);
  EXPECT_EQ(rig.deserializer.dropped_frames(), 2 * frames.size());
  EXPECT_EQ(rig.progress().level, codec::Level::target);
  EXPECT_EQ(rig.differing(), 0);
  EXPECT_TRUE(rig.deserializer.take_missing().empty());
  EXPECT_EQ(rig.deserializer.held_bytes(), 0u);
}

TEST(LateFrames, OfAnEarlierGenerationNeverTouchTheNewRequestsPages) {
  Rig rig(40);
  rig.push_all();
  const auto frames = rig.frames();
  fill(rig.target, 99);
  const auto before = std::vector<Bf16>(Rig::rows_of(rig.target, 0, page::Kind::key, 0),
                                        Rig::rows_of(rig.target, 0, page::Kind::key, 0) + 40 * 8);
  for (const auto& frame : frames) rig.deliver(Rig::altered(frame, [](page::WireHeader& h) { h.generation = 2; }));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), Rig::rows_of(rig.target, 0, page::Kind::key, 0)));
  EXPECT_EQ(rig.progress().level, codec::Level::none);
  EXPECT_EQ(rig.deserializer.dropped_frames(), frames.size());
  for (const auto& frame : frames) rig.deliver(frame);
  rig.complete();
  EXPECT_EQ(rig.differing(), 0);
}

TEST(LateFrames, OfClosedAndUnknownRequestsAreDropped) {
  Rig rig(40);
  rig.push_all();
  const auto frames = rig.frames();
  rig.deliver(frames[0]);
  rig.deserializer.close(7);
  EXPECT_EQ(rig.deserializer.held_bytes(), 0u);
  EXPECT_FALSE(rig.deserializer.knows(7));
  for (const auto& frame : frames) rig.deliver(frame);
  EXPECT_EQ(rig.deserializer.dropped_frames(), frames.size());
}

// What an honest wire cannot make: a frame with a good checksum that is not what was announced.
std::string contradiction(const std::function<void(page::WireHeader&)>& change) {
  Rig rig(300);
  rig.push_all();
  const auto done = rig.deserializer.accept(Rig::altered(rig.frames().at(0), change));
  if (done.ok()) return "";
  EXPECT_EQ(done.error().code(), ErrorCode::transport);
  EXPECT_EQ(done.error().where().rfind("rank 0, request 7, layer ", 0), 0u) << done.error().where();
  return done.error().what();
}

TEST(Contradictions, AreErrorsThatNameFieldAndBothValues) {
  using page::WireHeader;
  EXPECT_NE(contradiction([](WireHeader& h) { h.codec ^= 1; }).find("codec tag: announced"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.layer = 2; }).find("announced 2 layers, found layer 2"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.page = 2; }).find("announced 2 pages, found page 2"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.first_position = 1; }).find("first position: announced 0, found 1"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.tokens = 255; }).find("tokens: announced 256, found 255"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.channels = 16; }).find("channels: announced 8, found 16"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.head_dim = 8; }).find("head dimension: announced 4, found 8"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.page_tokens = 512; }).find("page tokens: announced 256, found 512"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.chunk_tokens = 16; }).find("chunk tokens: announced 32, found 16"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.alpha = 2; }).find("alpha: announced 0.05, found 2"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.levels = 120; }).find("levels: announced 112, found 120"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.sigma = 1; }).find("sigma mode: announced 0, found 1"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.sinks = 0; }).find("sinks: announced 4, found 0"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.generation = 4; }).find("generation: announced 3, found 4"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.attempt = 1; }).find("attempt 1 was never asked for"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.payload_bytes = 1u << 30; }).find("payload bytes: at most 2048"), std::string::npos);
  EXPECT_NE(contradiction([](WireHeader& h) { h.stream = 1; }).find("came on channel anchor"), std::string::npos);
}

TEST(Contradictions, InSizeAreRefusedByTheCodecAndNamed) {
  Rig rig(300);
  rig.push_all();
  comm::Message frame = rig.frames().at(0);
  page::WireHeader h = Rig::header(frame);
  h.payload_bytes = h.fragment_bytes = 100;
  const std::vector<std::byte> fragment(100);
  frame.bytes.clear();
  page::append_frame(h, fragment, frame.bytes);
  const auto done = rig.deserializer.accept(frame);
  ASSERT_FALSE(done.ok());
  EXPECT_NE(std::string(done.error().what()).find("the codec refuses the payload"), std::string::npos);
}

TEST(Contradictions, OfTheRawFlagBetweenStreamsAreErrors) {
  Rig rig(300);
  rig.push_all();
  const auto frames = rig.frames();
  for (const auto& frame : frames)
    if (frame.channel == comm::Channel::anchor) rig.deliver(frame);
  for (const auto& frame : frames) {
    if (frame.channel == comm::Channel::anchor) continue;
    comm::Message empty = frame;
    page::WireHeader h = Rig::header(frame);
    h.raw = true;
    h.payload_bytes = h.fragment_bytes = 0;
    empty.bytes.clear();
    page::append_frame(h, {}, empty.bytes);
    EXPECT_FALSE(rig.deserializer.accept(empty).ok());
    break;
  }
}

TEST(Contradictions, OfThePeerAreErrors) {
  Rig rig(40);
  rig.push_all();
  comm::Message frame = rig.frames().at(0);
  frame.peer = 5;
  const auto done = rig.deserializer.accept(frame);
  ASSERT_FALSE(done.ok());
  EXPECT_NE(std::string(done.error().what()).find("announced to come from rank 0"), std::string::npos);
}

}  // namespace
}  // namespace lynxkv::stream
