// Whole transfers, undisturbed: every length that has made trouble elsewhere, what is decoded when, what is held.
#include <gtest/gtest.h>

#include <thread>

#include "tests/stream/rig.hpp"

namespace lynxkv::stream {
namespace {

class TransferLength : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Tokens, TransferLength, testing::Values(1, 31, 32, 33, 255, 256, 257, 511, 512, 513));

TEST_P(TransferLength, ArrivesWholeInTwoStreams) {
  Rig rig(GetParam());
  rig.push_all();
  rig.deliver_all();
  rig.complete();
  EXPECT_EQ(rig.progress().level, codec::Level::target);
  EXPECT_EQ(rig.differing(), 0);
  EXPECT_EQ(rig.deserializer.held_bytes(), 0u);
  EXPECT_EQ(rig.deserializer.dropped_frames(), 0u);
  EXPECT_TRUE(rig.deserializer.take_missing().empty());
}

TEST_P(TransferLength, ArrivesWholeInOneStream) {
  Rig rig(GetParam(), std::make_shared<PlainCodec>());
  rig.push_all();
  rig.deliver_all();
  EXPECT_EQ(rig.progress().level, codec::Level::target);
  EXPECT_EQ(rig.differing(), 0);
  EXPECT_FALSE(rig.deserializer.complete(1));
}

TEST_P(TransferLength, ArrivesWholeInSmallFragments) {
  Rig rig(GetParam(), std::make_shared<SplitCodec>(), small_geometry(), 4096);
  ASSERT_LT(rig.sender->good_parcel_bytes(), 1024u);
  rig.push_all();
  rig.deliver_all();
  rig.complete();
  EXPECT_EQ(rig.progress().level, codec::Level::target);
  EXPECT_EQ(rig.differing(), 0);
}

TEST(Transfer, OfNoTokensIsCompleteAtOnce) {
  Rig rig(0);
  EXPECT_EQ(rig.progress().level, codec::Level::target);
  EXPECT_GT(rig.progress().target_ready_ns, 0);
  EXPECT_EQ(rig.serializer->totals(7).wire_bytes, 0u);
}

TEST(Transfer, IsDraftableOnceAllAnchorsAreHereAndNotBefore) {
  Rig rig(300);
  rig.push_all();
  const auto frames = rig.frames();
  std::vector<comm::Message> residuals;
  int anchors = 0;
  for (const auto& frame : frames) {
    if (frame.channel == comm::Channel::residual) {
      residuals.push_back(frame);
      continue;
    }
    EXPECT_EQ(rig.progress().level, codec::Level::none);
    rig.deliver(frame);
    ++anchors;
  }
  EXPECT_EQ(anchors, 8);
  EXPECT_EQ(rig.progress().level, codec::Level::draft);
  EXPECT_GT(rig.progress().draft_ready_ns, 0);
  EXPECT_EQ(rig.progress().target_ready_ns, 0);
  EXPECT_EQ(rig.differing(true), 0);
  EXPECT_GT(rig.differing(), 0);
  EXPECT_EQ(rig.deserializer.held_bytes(), 8u * 0 + 300u * 8 * 4);  // the anchors' codes, until the residuals come
  for (const auto& frame : residuals) rig.deliver(frame);
  EXPECT_EQ(rig.progress().level, codec::Level::draft);  // completed between steps, not while messages come
  EXPECT_TRUE(rig.deserializer.complete(7));
  EXPECT_EQ(rig.progress().level, codec::Level::draft);
  EXPECT_FALSE(rig.deserializer.complete(7));
  EXPECT_EQ(rig.progress().level, codec::Level::target);
  EXPECT_EQ(rig.differing(), 0);
  EXPECT_EQ(rig.deserializer.held_bytes(), 0u);
  EXPECT_EQ(rig.deserializer.most_held_bytes(), 2u * 300 * 8 * 4);
}

TEST(Transfer, TakesResidualsThatComeBeforeTheirAnchors) {
  Rig rig(40);
  rig.push_all();
  const auto frames = rig.frames();
  for (const auto& frame : frames)
    if (frame.channel == comm::Channel::residual) rig.deliver(frame);
  EXPECT_EQ(rig.progress().level, codec::Level::none);
  for (const auto& frame : frames)
    if (frame.channel == comm::Channel::anchor) rig.deliver(frame);
  EXPECT_EQ(rig.progress().level, codec::Level::target);
  EXPECT_EQ(rig.differing(), 0);
  EXPECT_FALSE(rig.deserializer.complete(100));
}

TEST(Transfer, ThatIsRushedSendsNoResidualBeforeItsLastAnchor) {
  Rig rig(600);
  rig.serializer->rush(7);
  for (int page = 0; page < 2; ++page)
    for (int layer = 0; layer < 2; ++layer)
      for (const auto kind : {page::Kind::key, page::Kind::value}) {
        rig.push(layer, kind, page);
        while (rig.receiver->totals(comm::Channel::anchor).received_bytes < rig.serializer->totals(7).payload_bytes[0])
          rig.receiver->wait(std::chrono::microseconds(100));  // the wire is empty between two anchors
      }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(rig.sender->totals(comm::Channel::residual).sent_bytes, 0u);
  for (int layer = 0; layer < 2; ++layer)
    for (const auto kind : {page::Kind::key, page::Kind::value}) rig.push(layer, kind, 2);
  rig.deliver_all();
  rig.complete();
  EXPECT_EQ(rig.differing(), 0);
}

TEST(Transfer, ThatIsRushedButEncodedSlowerThanTheLinkLeavesTheGapsToResiduals) {
  Rig rig(300, std::make_shared<SplitCodec>(), small_geometry(), 256 * 1024, page::Element::bf16, 400);
  rig.serializer->rush(7);
  rig.push(0, page::Kind::key, 0);
  rig.settle();
  EXPECT_GT(rig.sender->totals(comm::Channel::residual).sent_bytes, 0u);
}

TEST(Transfer, ThatIsRushedLeavesTheWireToResidualsWhileItsSenderDoesOtherWork) {
  Rig rig(300);
  rig.serializer->rush(7);
  rig.push(0, page::Kind::key, 0);
  rig.serializer->rest();
  rig.settle();
  EXPECT_GT(rig.sender->totals(comm::Channel::residual).sent_bytes, 0u);
}

TEST(Transfer, ThatIsClosedWhileRushedHoldsNothingBack) {
  Rig rig(300);
  rig.serializer->rush(7);
  rig.push(0, page::Kind::key, 0);
  rig.serializer->close(7);
  rig.settle();
  EXPECT_GT(rig.sender->totals(comm::Channel::residual).sent_bytes, 0u);
}

TEST(Transfer, CountsWhatItSendsAndReceives) {
  Rig rig(33);
  rig.push_all();
  rig.deliver_all();
  rig.complete();
  const SentTotals sent = rig.serializer->totals(7);
  EXPECT_EQ(sent.payload_bytes[0], 33u * 8 * 4);
  EXPECT_EQ(sent.payload_bytes[1], 33u * 8 * 4);
  EXPECT_EQ(sent.wire_bytes, 2u * 33 * 8 * 4 + 8 * 80);
  EXPECT_EQ(sent.resent_tensors, 0u);
  EXPECT_EQ(rig.progress().payload_bytes[0], sent.payload_bytes[0]);
  EXPECT_EQ(rig.progress().payload_bytes[1], sent.payload_bytes[1]);
  EXPECT_GT(rig.progress().first_byte_ns, 0);
  EXPECT_GE(rig.progress().target_ready_ns, rig.progress().draft_ready_ns);
}

TEST(Transfer, CarriesRawPagesWithAnEmptyResidual) {
  Rig rig(40);
  reinterpret_cast<Bf16*>(rig.source.page_data(1, page::Kind::value, 0))[0].bits = 0x3f80;
  rig.push_all();
  int raw_frames = 0;
  for (const auto& frame : rig.frames()) {
    raw_frames += Rig::header(frame).raw;
    rig.deliver(frame);
  }
  EXPECT_EQ(raw_frames, 2);
  rig.complete();
  EXPECT_EQ(rig.progress().level, codec::Level::target);
  EXPECT_EQ(rig.differing(), 0);
}

TEST(Transfer, WidensIntoAFloatCache) {
  Rig rig(40, std::make_shared<SplitCodec>(), small_geometry(), 256 * 1024, page::Element::f32);
  rig.push_all();
  rig.deliver_all();
  rig.complete();
  const auto* narrow = Rig::rows_of(rig.source, 1, page::Kind::key, 0);
  const auto* wide = reinterpret_cast<const float*>(rig.target.page_data(1, page::Kind::key, 0));
  for (int i = 0; i < 40 * 8; ++i) ASSERT_EQ(wide[i], to_float(narrow[i]));
}

TEST(Transfer, JoinsSmallFramesIntoFewMessages) {
  Rig rig(1, std::make_shared<SplitCodec>(), [] {
    page::Geometry geometry = small_geometry();
    geometry.layers = 200;
    return geometry;
  }());
  rig.push_all();
  rig.settle();
  EXPECT_LT(rig.sender->totals(comm::Channel::anchor).sent_messages +
                rig.sender->totals(comm::Channel::residual).sent_messages,
            600u);
  for (comm::Message message; rig.receiver->receive(message);) rig.deliver(message);
  rig.complete();
  EXPECT_EQ(rig.progress().level, codec::Level::target);
  EXPECT_EQ(rig.differing(), 0);
}

TEST(Transfer, NamesRequestLayerPositionAndChannelOfAValueThatIsNoNumber) {
  Rig rig(300, std::make_shared<PlainCodec>());
  reinterpret_cast<Bf16*>(rig.source.page_data(1, page::Kind::value, 1))[3 * 8 + 5].bits = 0x7fc0;
  try {
    rig.push_all();
    FAIL() << "a NaN was sent";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_data);
    EXPECT_EQ(error.where(), "request 7, layer 1, V");
    EXPECT_NE(std::string(error.what()).find("position 259, channel 5"), std::string::npos) << error.what();
  }
  for (const auto& frame : rig.frames()) {
    const page::WireHeader h = Rig::header(frame);
    EXPECT_FALSE(h.page == 1 && h.layer == 1 && h.kind == page::Kind::value);
  }
}

}  // namespace
}  // namespace lynxkv::stream
