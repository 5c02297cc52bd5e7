// Replays a corpus folder and mutations of it through a fuzz target: fuzz_<name> FOLDER MUTATIONS. Ends with
// 0 where the target took everything; a crash says which input it was.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/replay/mutate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

std::vector<Bytes> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

// Said on a crash, so that the input can be made again.
std::uint64_t current_input = 0, current_seed = 0;

void say_where(int signal) {
  char line[128];
  const int length = std::snprintf(
      line, sizeof line, "crash (signal %d) on corpus file %llu, mutation %llu\n", signal,
      static_cast<unsigned long long>(current_input), static_cast<unsigned long long>(current_seed));
  std::fwrite(line, 1, static_cast<std::size_t>(length), stderr);
  std::fflush(stderr);
  std::_Exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER MUTATIONS\n", argv[0]);
    return 2;
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, say_where);
  std::vector<Bytes> corpus;
  if (std::filesystem::is_directory(argv[1])) corpus = read_corpus(argv[1]);
  if (corpus.empty()) corpus.emplace_back(64, std::uint8_t{0});  // a target without files begins with zeros
  for (current_input = 0; current_input < corpus.size(); ++current_input)
    LLVMFuzzerTestOneInput(corpus[current_input].data(), corpus[current_input].size());
  const auto mutations = std::strtoull(argv[2], nullptr, 10);
  for (current_seed = 1; current_seed <= mutations; ++current_seed) {
    current_input = current_seed % corpus.size();
    const Bytes bytes =
        lynxkv::fuzz::mutate(corpus[current_input], corpus[current_seed / 3 % corpus.size()], current_seed);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%zu corpus files and %llu mutations of them: nothing crashed\n", corpus.size(), mutations);
  return 0;
}
