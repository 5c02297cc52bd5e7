#include "engine/config.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/error.hpp"
#include "codec/options.hpp"
#include "engine/config_keys.hpp"
#include "engine/transfer_options.hpp"
#include "results/link_settings.hpp"

namespace lynxkv::engine {
namespace {

std::string config_file(const std::string& text) {
  const std::string path = ::testing::TempDir() + "lynxkv_config_test_" + std::to_string(::getpid()) + ".yaml";
  std::ofstream(path) << text;
  return path;
}

std::string message_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    load_config(config_file(text), overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::usage);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "accepted";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Config, HasADefaultForEveryKey) {
  const Config config = load_config("", {});
  EXPECT_EQ(config.transfer.modes, std::vector<std::string>{"lynx"});
  EXPECT_EQ(config.transfer.page_tokens, 256);
  EXPECT_EQ(config.speculation.cap, 64);
}

TEST(Config, HasTheDefaultsOfTheLinkThatReportsLeaveOut) {
  EXPECT_EQ(results::link_settings({result_keys_json(Config{})}), std::vector<std::string>{""});
}

TEST(Config, ReadsSectionsAndOverridesInOrder) {
  const Config config = load_config(config_file("transfer: {modes: [bf16, lynx], sinks: 0}\nlink: {gbps: 2.5}\n"),
                                    {"transfer.sinks=8", "transfer.sinks=7", "suite.lengths=[512, 1024]", "link.strict=true"});
  EXPECT_EQ(config.transfer.modes.size(), 2u);
  EXPECT_EQ(config.transfer.sinks, 7);
  EXPECT_EQ(config.link.gbps, 2.5);
  EXPECT_TRUE(config.link.strict);
  EXPECT_EQ(config.suite.lengths, (std::vector<int>{512, 1024}));
}

TEST(Config, TakesRolesAsCountsOrAsLists) {
  EXPECT_EQ(load_config("", {"roles.prefill=2"}).roles.prefill, 2);
  const Config listed = load_config("", {"roles.prefill=[0, 3]", "roles.decode=[1, 2]"});
  EXPECT_EQ(listed.roles.prefill_ranks, (std::vector<int>{0, 3}));
  EXPECT_EQ(listed.roles.prefill, 2);
}

TEST(Config, NamesTheNearestKeyForAnUnknownOne) {
  EXPECT_TRUE(has(message_of("transfer: {mode: [lynx]}"), "did you mean 'transfer.modes'"));
  EXPECT_TRUE(has(message_of("transfers: {modes: [lynx]}"), "did you mean 'transfer'"));
  EXPECT_TRUE(has(message_of("", {"link.gpbs=1"}), "did you mean 'link.gbps'"));
}

TEST(Config, NamesTheNearestValueForAnUnknownOne) {
  EXPECT_TRUE(has(message_of("transfer: {modes: [lynks]}"), "did you mean 'lynx'"));
  EXPECT_TRUE(has(message_of("transfer: {start: stream}"), "did you mean 'streaming'"));
}

TEST(Config, TakesATrafficClassForAnchorsAndOneForResidualsOrNone) {
  EXPECT_EQ(load_config("", {"link.transport=nccl"}).link.traffic_classes, (std::vector<int>{104, 32}));
  EXPECT_EQ(load_config("", {"link.traffic_classes=[8, 0]"}).link.traffic_classes, (std::vector<int>{8, 0}));
  EXPECT_TRUE(load_config("", {"link.traffic_classes=[]"}).link.traffic_classes.empty());
  EXPECT_TRUE(has(message_of("link: {traffic_classes: [1]}"), "[anchor, residual]"));
  EXPECT_TRUE(has(message_of("link: {traffic_classes: [1, 256]}"), "link.traffic_classes"));
}

TEST(Config, RefusesWrongTypes) {
  EXPECT_TRUE(has(message_of("transfer: {sinks: many}"), "takes a whole number, not 'many'"));
  EXPECT_TRUE(has(message_of("transfer: {sinks: 1.5}"), "takes a whole number"));
  EXPECT_TRUE(has(message_of("link: {strict: 7}"), "true or false"));
  EXPECT_TRUE(has(message_of("link: {gbps: [1]}"), "takes a number"));
  EXPECT_TRUE(has(message_of("suite: {lengths: {a: 1}}"), "a list"));
  EXPECT_TRUE(has(message_of("suite: ruler"), "takes keys"));
  EXPECT_TRUE(has(message_of("- 1"), "expected sections"));
  EXPECT_TRUE(has(message_of("a: [1"), "line"));
}

TEST(Config, RefusesValuesOutOfRange) {
  EXPECT_TRUE(has(message_of("transfer: {alpha: 0}"), "transfer.alpha"));
  EXPECT_TRUE(has(message_of("transfer: {alpha: .nan}"), "transfer.alpha"));
  EXPECT_TRUE(has(message_of("transfer: {levels: 127}"), "112 or 120"));
  EXPECT_TRUE(has(message_of("transfer: {page_tokens: 257}"), "page_tokens"));
  EXPECT_TRUE(has(message_of("engine: {prefill_chunk: 100}"), "multiple of transfer.page_tokens"));
  EXPECT_TRUE(has(message_of("transfer: {modes: []}"), "at least one"));
  EXPECT_TRUE(has(message_of("transfer: {modes: [lynx, lynx]}"), "twice"));
  EXPECT_TRUE(has(message_of("suite: {tasks: []}"), "at least one"));
  EXPECT_TRUE(has(message_of("suite: {tasks: [vt, vt]}"), "twice"));
  EXPECT_TRUE(has(message_of("suite: {lengths: [512, 512]}"), "twice"));
  EXPECT_TRUE(has(message_of("suite: {lengths: [-1]}"), "suite.lengths"));
  EXPECT_TRUE(has(message_of("", {"noequals"}), "expected key=value"));
  EXPECT_TRUE(has(message_of("speculation: {temperature: 0.7}"), "only 0"));
}

TEST(Config, SaysNumbersAndValuesAsPeopleWriteThem) {
  EXPECT_TRUE(has(message_of("", {"link.latency_us=.nan"}), "from 0 to 10000000, found nan"));
  EXPECT_TRUE(has(message_of("", {"link.gbps=2e7"}), "from 0 to 1000000, found 20000000"));
  EXPECT_TRUE(has(message_of("", {"link.gbps=.inf"}), "found inf"));
  EXPECT_TRUE(has(message_of("", {"output.progress_s=0"}), "from 0.1 to 3600, found 0"));
  EXPECT_TRUE(has(message_of("", {"transfer.alpha="}), "takes a number, not nothing"));
  EXPECT_TRUE(has(message_of("", {"transfer.alpha=[1]"}), "takes a number, not a list"));
  EXPECT_TRUE(has(message_of("", {"transfer.alpha={a: 1}"}), "takes a number, not keys with values"));
}

TEST(Config, SaysWhatAPresetIsNot) {
  EXPECT_TRUE(has(message_of("", {"transfer.preset=[default]"}), "key 'transfer.preset' takes a text, not a list"));
  EXPECT_TRUE(has(message_of("transfer: {preset: [default]}"), "key 'transfer.preset' takes a text, not a list"));
  EXPECT_TRUE(has(message_of("", {"transfer.preset="}), "key 'transfer.preset' takes a text, not nothing"));
  EXPECT_TRUE(has(message_of("", {"transfer.preset=["}), "--set transfer.preset=["));
  EXPECT_TRUE(has(message_of("", {"transfer.alpha=["}), "--set transfer.alpha=["));
}

TEST(Config, RefusesAFileThatIsNotThere) {
  EXPECT_THROW(load_config("/nonexistent/run.yaml", {}), Error);
}

TEST(Config, PrintsAnEffectiveConfigThatReadsBackTheSame) {
  const Config config = load_config("", {"transfer.modes=[bf16, lynx]", "roles.prefill=[1]", "roles.decode=[0]", "link.gbps=0.75",
                                         "suite.text=\"a: 'quoted' text\""});
  const Config again = load_config(config_file(to_yaml(config)), {});
  EXPECT_EQ(to_yaml(again), to_yaml(config));
  EXPECT_EQ(again.suite.text, "a: 'quoted' text");
}

TEST(Config, SaysOfEveryKeyWhatItMeansAndTakesTheExampleThatItGives) {
  for (const ConfigKey& key : config_keys()) {
    const std::string name(key.name);
    EXPECT_GT(key.meaning.size(), 10u) << name;
    EXPECT_EQ(key.meaning.find('\n'), std::string_view::npos) << name;
    EXPECT_NE(key.meaning.back(), '.') << name;
    EXPECT_FALSE(key.value.empty()) << name;
    EXPECT_NO_THROW(load_config("", {name + "=" + std::string(key.example)})) << name;
  }
}

TEST(Config, ExplainsEveryKeyInAConfigThatReadsBackTheSame) {
  const Config config = load_config("", {"transfer.preset=plain", "roles.prefill=[1]", "roles.decode=[0]", "link.gbps=0.75", "suite.text=\"a # b\""});
  const std::string text = explained_yaml(config);
  EXPECT_EQ(to_yaml(load_config(config_file(text), {})), to_yaml(config));
  for (const ConfigKey& key : config_keys()) EXPECT_TRUE(has(text, "# " + std::string(key.meaning) + ".\n")) << key.name;
  EXPECT_TRUE(has(text, "a number (result); default 0.0; e.g. 0.75\n  gbps: 0.75\n"));
}

// Names that a meaning lists are those that the code knows.
TEST(Config, ListsTheModesPresetsAndPathsThatThereAre) {
  const auto meaning = [](std::string_view name) {
    for (const ConfigKey& key : config_keys())
      if (key.name == name) return std::string(key.meaning);
    return std::string();
  };
  for (const std::string_view mode : codec::mode_names()) EXPECT_TRUE(has(meaning("transfer.modes"), std::string(mode))) << mode;
  for (const std::string_view preset : codec::preset_names()) EXPECT_TRUE(has(meaning("transfer.preset"), std::string(preset))) << preset;
}

TEST(Config, CountsOnlyResultKeysAsResult) {
  const Config base = load_config("", {});
  EXPECT_EQ(result_keys_json(base), result_keys_json(load_config("", {"engine.threads=2", "output.dir=elsewhere", "roles.decode=2"})));
  EXPECT_NE(result_keys_json(base), result_keys_json(load_config("", {"transfer.sinks=3"})));
}

TEST(Config, DefaultsAreThoseOfThePresetDefault) {
  TransferSection written, expected;
  set_codec_options(written, codec::preset_options("default"));
  EXPECT_EQ(codec_options_of(expected), codec::preset_options("default"));
  EXPECT_EQ(codec_options_of(written), codec::preset_options("default"));
  EXPECT_EQ(load_config("", {}).transfer.alpha, 0.01);
}

TEST(Config, APresetSetsAllOptionsAndKeysBesideItChangeOne) {
  const Config paper = load_config("", {"transfer.preset=paper"});
  EXPECT_EQ(codec_options_of(paper.transfer), codec::preset_options("paper"));
  const Config other = load_config("", {"transfer.alpha=0.5", "transfer.preset=paper"});
  EXPECT_EQ(other.transfer.alpha, 0.5);
  EXPECT_EQ(other.transfer.centre, "mean");
}

TEST(Config, WhatItPrintsGivesTheSameOptionsBack) {
  const Config plain = load_config("", {"transfer.preset=plain", "transfer.early_tokens_v=7"});
  EXPECT_EQ(codec_options_of(load_config(config_file(to_yaml(plain)), {}).transfer), codec_options_of(plain.transfer));
}

TEST(Config, RefusesPresetsAndEarlyChannelsThatDoNotExist) {
  EXPECT_TRUE(has(message_of("transfer: {preset: papre}"), "paper"));
  EXPECT_TRUE(has(message_of("transfer: {early_channels_k: 3}"), "even"));
  EXPECT_TRUE(has(message_of("transfer: {fit: best}"), "transfer.fit"));
}

TEST(Config, TakesTheFaultsOfALinkAsAMapOrOneByOne) {
  const Config map = load_config("", {"link.faults={flip: 0.25, drop: 0.5, seed: 9}"});
  EXPECT_EQ(map.link.fault_flip, 0.25);
  EXPECT_EQ(map.link.fault_drop, 0.5);
  EXPECT_EQ(map.link.fault_seed, 9);
  const Config single = load_config("", {"link.faults.delay=3", "link.faults.stall=0.5"});
  EXPECT_EQ(single.link.fault_delay_ms, 3);
  EXPECT_EQ(single.link.fault_stall_s, 0.5);
  EXPECT_THROW(load_config("", {"link.faults={flap: 1}"}), Error);
  EXPECT_THROW(load_config("", {"link.faults.flip=1.5"}), Error);
}

}  // namespace
}  // namespace lynxkv::engine
