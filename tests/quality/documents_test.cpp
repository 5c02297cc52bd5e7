// Documents: files and folders of text, and those that are none. Runs where the real model is (its tokenizer).
#include "quality/document.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "tests/support/real_model.hpp"
#include "tests/support/temporary_folder.hpp"

namespace lynxkv::quality {
namespace {

class Documents : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = lynxkv::testing::real_model_path();
    if (path.empty()) GTEST_SKIP() << "the real model is not there; jobs/fetch-model.sh fetches it";
    file_ = model::open_model(path);
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }
  std::vector<Document> read(const std::string& path, int tokens) {
    const std::string paths[] = {path};
    return read_documents(file_, paths, tokens);
  }
  std::string refusal(const std::string& path, int tokens) {
    try {
      read(path, tokens);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_data);
      return error.what();
    }
    return "accepted";
  }
  lynxkv::testing::TemporaryFolder folder_;
  model::ModelFile file_;
};

TEST_F(Documents, AreCutToTheSameLengthAndSortedByName) {
  write("b.txt", "two three four five six seven");
  write("a.txt", "one two three four five six");
  std::filesystem::create_directory(folder_.file("inner"));
  const auto documents = read(folder_.path(), 4);
  ASSERT_EQ(documents.size(), 2u);
  EXPECT_EQ(documents[0].name, "a.txt");
  EXPECT_EQ(documents[0].tokens.size(), 4u);
  EXPECT_EQ(documents[1].tokens.size(), 4u);
}

TEST_F(Documents, AreRefusedWhereTheyAreEmptyShortOrAbsent) {
  EXPECT_NE(refusal(write("empty.txt", ""), 4).find("found 0"), std::string::npos);
  EXPECT_NE(refusal(write("short.txt", "one two"), 40).find("at least 40 tokens"), std::string::npos);
  EXPECT_NE(refusal(folder_.file("absent.txt"), 4).find("could not be opened"), std::string::npos);
  std::filesystem::create_directory(folder_.file("hollow"));
  EXPECT_NE(refusal(folder_.file("hollow"), 4).find("none in it"), std::string::npos);
}

}  // namespace
}  // namespace lynxkv::quality
